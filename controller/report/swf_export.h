/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/report/summary.h"

/*
 * A run as a trace in the Standard Workload Format, version 2.2 (D. G. Feitelson, Parallel Workloads
 * Archive): 18 numbers a job, -1 for what is not known, after header comments that say what the numbers
 * stand for. Times are whole seconds since the start of the run. A processor is a node, which one VM fills;
 * jobs are tasks, executables their types, partitions the clusters, and users those who submitted them to a
 * service, numbered in order of appearance. What has not ended in a service has neither status nor run time.
 * The requested time is the estimate for the place that the task got. The run time is what a task executed: the
 * time for which it was suspended is none of it, and of a task whose attempts were lost it is the sum of all
 * attempts; the wait ends when it first started. A note says of how many jobs that is so. What ran for less than
 * half a second has run for one. Jobs that were neither suspended nor lost start and end at the rounded times of
 * the run, so that FCFS replays them to the same schedule.
 */

/*
 * The trace of a run of the summary. The caller frees; NULL with `error` set (STORE_ERROR) where the store
 * cannot be read.
 */
char *swf_export(const struct summary *summary, const struct store_run *run, GError **error);

/* The run with that row id, or where it is 0 the only one. NULL: there is none, or more than one. */
const struct store_run *swf_export_run(const struct summary *summary, gint64 run);
