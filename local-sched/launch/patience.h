/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * How long rank 0 of a task may be silent before the task counts as hung. A task that is slow reports
 * seldom, and one that hangs not at all: so the patience is a multiple of the longest silence that was seen,
 * in this task so far, and in tasks of the same benchmark and class that have completed. Before anything
 * was seen it is the longest one. Pure, and in memory: a scheduler that starts begins with nothing.
 */

/* How often rank 0 is to report at most. */
#define PATIENCE_REPORT_MS 1000

/* The longest silence that was seen, times this. */
#define PATIENCE_TIMES 10.0

/*
 * No less than so many reports: what a busy vm does to the process that takes them is no hang. And no more
 * than so long: with what it takes to kill the ranks, a task that hangs costs at most two minutes.
 */
#define PATIENCE_MIN_S (60 * PATIENCE_REPORT_MS * 1e-3)
#define PATIENCE_MAX_S 100.0

struct patience;
typedef struct patience patience_t;

struct patience *patience_new(void);
/* NULL is allowed. */
void patience_free(struct patience *patience);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(patience_t, patience_free)

/*
 * The patience in seconds for a task of `benchmark` and `class_`, whose own longest silence was `longest_s`;
 * 0: it has not reported yet. `patience` may be NULL: no other task is known.
 */
double patience_s(const struct patience *patience, const char *benchmark, char class_,
		  double longest_s);

/* Such a task has completed, and was silent for `longest_s` at most. */
void patience_learn(struct patience *patience, const char *benchmark, char class_,
		    double longest_s);
