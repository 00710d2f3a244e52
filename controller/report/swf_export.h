/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/report/summary.h"

/*
 * A run as a trace in the Standard Workload Format, version 2.2 (D. G. Feitelson, Parallel
 * Workloads Archive): 18 numbers a job, -1 for unknown, after header comments that explain the
 * numbers. Times are whole seconds since the start of the run. A processor is a node, which a
 * single VM fills; jobs are tasks, executables their types, partitions the clusters, and users
 * the users that submitted them to a service, numbered in order of appearance. A job of a service
 * that has not ended has neither status nor run time.
 *
 * The requested time is the estimate for the cluster that the task got. The run time is the
 * execution time of the task: without the time for which it was suspended, and for a task with lost
 * attempts the sum over all attempts; the wait ends when it first started. A note counts such jobs.
 * A job of less than half a second has run time 1. Jobs that were neither suspended nor lost start
 * and end at the rounded times of the run, so that FCFS replays them to the same schedule.
 */

/*
 * The trace of a run of the summary. The caller frees; NULL with `error` (DATABASE_ERROR) where the
 * store cannot be read.
 */
char *swf_export(const struct summary *summary, const struct store_run *run, GError **error);

/* The run with that row id, or for 0 the only one. NULL: there is none, or several. */
const struct store_run *swf_export_run(const struct summary *summary, gint64 run);
