/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * How long rank 0 of a task may be silent before the task counts as hung. A slow task reports
 * seldom, and a hung task not at all. The patience is therefore a multiple of the longest silence
 * seen in this task so far, and in completed tasks of the same benchmark and class. Before the
 * first silence was seen it is PATIENCE_MAX_S. Pure, and in memory: it starts empty with each
 * scheduler.
 */

/* The shortest time between two reports of rank 0. */
#define PATIENCE_REPORT_MS 1000

/* The factor on the longest silence. */
#define PATIENCE_TIMES 10.0

/*
 * The bounds of the patience. Below the minimum, a busy machine that delays the process which reads
 * the reports would count as a hang. The maximum, with the time to kill the ranks, limits the cost
 * of a hung task to two minutes.
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
 * The patience in seconds for a task of `benchmark` and `class_` whose own longest silence was
 * `longest_s` (0: it has not reported yet). `patience` may be NULL: no other task is known.
 */
double patience_s(const struct patience *patience, const char *benchmark, char class_,
		  double longest_s);

/* Records that a task has completed whose longest silence was `longest_s`. */
void patience_learn(struct patience *patience, const char *benchmark, char class_,
		    double longest_s);
