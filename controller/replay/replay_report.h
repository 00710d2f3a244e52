/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "common/record/record.h"
#include "controller/replay/replay.h"

/*
 * The results of a replay, with Batsim's names where it has them. Times are seconds. Waiting time
 * is start - submission, turnaround is end - submission, and slowdown (Batsim's stretch) is
 * turnaround / execution time. The bounded slowdown of a threshold is max(1, turnaround /
 * max(execution time, threshold)).
 */

/* Means and maxima over all jobs; 0 without jobs. */
struct replay_summary {
	uint64_t nb_jobs;          /* in the trace, skipped ones not counted */
	uint64_t nb_jobs_finished; /* replayed */
	uint64_t nb_jobs_success;
	uint64_t nb_jobs_killed;   /* at their estimates */
	uint64_t nb_jobs_rejected; /* wider than the system */
	uint64_t nb_jobs_promised; /* Conservative: all jobs; else 0 */
	uint64_t nb_jobs_slipped;  /* promised jobs that started later than promised */
	double max_slip_s;         /* the largest delay of such a job */
	/* Number of the first job with that delay; valid if nb_jobs_slipped > 0. */
	int64_t max_slip_job;
	uint64_t skipped;  /* without size or run time */
	uint64_t parts;    /* lines of parts of jobs, left out */
	uint64_t partial;  /* jobs of parts alone, left out */
	uint64_t passes;   /* scheduling passes */
	uint64_t sessions; /* semi-open arrivals, else 0, as the next */
	uint64_t followed; /* batches that were submitted after another one of their user */
	double makespan_s;
	double utilization; /* used processor-seconds / (processors x makespan) */
	double mean_waiting_time_s;
	double max_waiting_time_s;
	double mean_turnaround_time_s;
	double max_turnaround_time_s;
	double mean_slowdown;
	double max_slowdown;
	double mean_bounded_slowdown_10;
	double mean_bounded_slowdown_30;
	/* Of jobs whose power is known (swf_job.power_w), else 0: */
	double consumed_j;      /* power x execution time */
	double mean_power_w;    /* consumed_j / makespan_s */
	double max_power_w;     /* of the jobs that execute at one instant */
	uint64_t without_power; /* jobs whose power is not known */
	uint64_t within_limit;  /* jobs that end before the energy limit is used, or as it is */
	double limit_reached_s; /* when it is, after the first submission; INFINITY: never */
};

/*
 * Writes one CSV row per line of the trace that is not replayed to `path`: the line's number, the
 * job's, and why. The trace has a list of them. Returns true, or false with `error` (GFileError)
 * set.
 */
bool replay_write_left_out(const struct swf_trace *trace, const char *path, GError **error);

/* Its fields, with the names of the JSON object. */
extern const struct record replay_summary_record;

/* Computes the summary. */
void replay_summarize(const struct replay_setup *setup, const struct replay_result *result,
		      struct replay_summary *ret_summary);

/* The summary as a JSON object. Returns a new reference. */
json_t *replay_summary_json(const struct replay_setup *setup, const struct replay_summary *summary);

/*
 * Writes one CSV row per job, in order of submission, to `path`; ratios with 6 decimals,
 * reservations empty if the policy makes none. Returns true, or false with `error` (GFileError)
 * set.
 */
bool replay_write_csv(const struct replay_setup *setup, const struct replay_result *result,
		      const char *path, GError **error);
