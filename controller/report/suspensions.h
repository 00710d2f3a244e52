/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "controller/report/summary.h"
#include "controller/report/table.h"

/*
 * The recorded suspensions of a directory's runs (docs/reference/store.md, suspension): how often
 * the tasks of each type were suspended and for how long, and the time of each step on each
 * cluster.
 */
struct suspensions;
typedef struct suspensions suspensions_t; /* for g_autoptr() */

/*
 * The tasks of a type under a policy and limit; sums over its repeats, or for a simulation the
 * first trial, the only one with recorded tasks. A task stands still from the moment when all of
 * its VMs are frozen until they are resumed; a task that was not resumed before its run ended does
 * not count in the times.
 */
struct suspensions_count {
	const char *policy; /* borrowed from the summary */
	double limit;
	char *type;
	uint32_t tasks;     /* number of suspended tasks, by attempt */
	uint32_t suspended; /* number of suspensions, without those rolled back */
	uint32_t resumed;   /* number of suspensions that were resumed */
	double still_s;     /* sum of the times that the tasks stood still */
	double still_median_s, still_max_s; /* NAN: none was resumed */
};

/* The time of a step for the tasks of a type on a cluster, over all runs. */
struct suspensions_step {
	char *type, *cluster;
	const char *step; /* "freeze", "save", "restore", "resume", "skew": as the columns of the store */
	uint32_t n;
	double median_s, p90_s, max_s;
};

/*
 * Reads the suspensions of `summary`, which is borrowed until the result is freed. NULL with `error`
 * (DATABASE_ERROR) where they cannot be read.
 */
struct suspensions *suspensions_new(const struct summary *summary, GError **error);
/* NULL is allowed. */
void suspensions_free(struct suspensions *suspensions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(suspensions_t, suspensions_free)

/*
 * By limit, policy and type in the order of the summary's cells; by type, cluster and step.
 * Borrowed GArrays of the structs above; empty where no task was suspended. A step that took no
 * time anywhere is left out.
 */
const GArray *suspensions_counts(const struct suspensions *suspensions);
const GArray *suspensions_steps(const struct suspensions *suspensions);

/* Both as tables; the caller frees them with table_free(). */
struct table *suspensions_counts_table(const struct suspensions *suspensions);
struct table *suspensions_steps_table(const struct suspensions *suspensions);

/* Both with their headings, or NULL where no task was suspended. The caller frees. */
char *suspensions_text(const struct suspensions *suspensions);

/*
 * {"types": [{"policy", "limit", "type", "tasks", "suspended", "resumed", "still_s", "still_median_s",
 * "still_max_s"}], "steps": [{"type", "cluster", "step", "n", "median_s", "p90_s", "max_s"}]}. New
 * reference.
 */
json_t *suspensions_json(const struct suspensions *suspensions);

/* Titles of the two tables, for captions. */
#define SUSPENSIONS_COUNTS_TITLE "Suspended tasks, by type"
#define SUSPENSIONS_STEPS_TITLE "What suspending and resuming took, ms"
