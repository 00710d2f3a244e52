/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A schedule in the files that Batsim writes: jobs.csv, one row per job, and schedule.json, the
 * sums (Batsim's documentation, output-jobs and output-schedule), so that tools for its results
 * read ours. Times are seconds. What is not known is an empty field, and null.
 */
struct batsim_schedule;

/* What became of a job: Batsim's final states. */
enum batsim_state {
	BATSIM_SUCCESS = 0,
	BATSIM_FAILED,   /* ended with an error */
	BATSIM_WALLTIME, /* killed as the time that it asked for had passed */
	BATSIM_KILLED,
	BATSIM_REJECTED,  /* never started, and left the queue */
	BATSIM_RUNNING,   /* has not ended */
	BATSIM_SUBMITTED, /* has not started */
};

/* A job of the schedule. */
struct batsim_job {
	int64_t id;
	const char *profile; /* what it runs; printable, without commas and quotes */
	double submit_s;
	int64_t procs;     /* resources asked for; -1: not known */
	double walltime_s; /* time asked for; NAN: none */
	enum batsim_state state;
	double start_s;        /* NAN: it never started */
	double end_s;          /* NAN: it has not ended */
	const char *resources; /* "0-3 5": numbers of resources; NULL: none */
	double energy_j;       /* NAN: not known */
};

/*
 * An empty schedule of `machines` resources; `workload` names what was submitted, `version` the
 * program that made the schedule; both are copied.
 */
struct batsim_schedule *batsim_schedule_new(const char *workload, uint32_t machines,
					    const char *version);

/* NULL is allowed. */
void batsim_schedule_free(struct batsim_schedule *schedule);
typedef struct batsim_schedule batsim_schedule_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(batsim_schedule_t, batsim_schedule_free)

/* Adds a job; jobs are listed in the order in which they are added. */
void batsim_schedule_add(struct batsim_schedule *schedule, const struct batsim_job *job);

/* Counts jobs as rejected that have no row of their own. */
void batsim_schedule_reject(struct batsim_schedule *schedule, uint64_t count);

/*
 * Makes the directory if need be and writes jobs.csv and schedule.json there. Returns true, or
 * false with `error` (G_FILE_ERROR) set.
 */
bool batsim_schedule_write(const struct batsim_schedule *schedule, const char *dir, GError **error);
