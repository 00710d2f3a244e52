/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/swf.h"

/*
 * Workloads of Batsim: one JSON document of jobs and profiles (Batsim's documentation,
 * input-workload; versions 1 to 5). Nothing in it is trusted.
 */

/*
 * Reads the workload `path` as a trace. A job's run time is the delay of its profile ("delay",
 * "DelayProfile"), or the sum over a sequence of such ("composed", "SequentialCompositionProfile").
 * The run time of any other profile depends on a platform, and a job with one is an error that
 * names both, as is a job without what Batsim requires. Its estimate is the walltime. The system
 * has `nb_res` processors unless the filter says otherwise. Numbers of jobs are their ids where all
 * of these are whole numbers, as numbers or as texts; else jobs are numbered from 1. A line of
 * swf_trace.left_out is the number of the job in the list, from 1. Jobs without a positive run time
 * are skipped and counted, wider ones refused and counted. Returns a new trace, or NULL with
 * `error` (SWF_ERROR) set.
 */
struct swf_trace *batsim_workload_read(const char *path, const struct swf_filter *filter,
				       GError **error);
