/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct engine_task;

/*
 * What a controller is doing, for those who watch: where it is in its list of runs, the numbers of
 * the run that is under way, and notices (one line each, numbered) of what happened. The API serves
 * it, `virtbed run` prints it.
 */
enum run_phase {
	RUN_PHASE_STARTING = 0, /* waiting for local schedulers and nodes */
	RUN_PHASE_PROFILE,
	RUN_PHASE_BASELINE, /* metering the idle testbed */
	RUN_PHASE_RUN,
	RUN_PHASE_SETTLE, /* between runs */
	RUN_PHASE_DONE,
	RUN_PHASE_FAILED,
};

/* "starting", ... */
const char *run_phase_name(enum run_phase phase);

struct run_progress {
	enum run_phase phase;
	uint32_t run; /* which of `runs` is under way, from 1; 0: none yet */
	uint32_t runs;
	uint32_t profile_done, profile_total; /* measurements */
	char *policy;
	double limit; /* fraction */
	double time_s, duration_s;
	double utility, energy_j, limit_j;
	uint32_t waiting, running, suspended, completed, tasks;
	double phase_left_s; /* of the run or the profile; NAN: not known */
	double left_s;       /* of everything; NAN: not known */
	char *missing;       /* what it waits for, or NULL */
	char *error;         /* why it failed, or NULL */
	bool end_seen;       /* somebody was told that it is done or has failed */
	GQueue notices;      /* struct run_notice, the last RUN_NOTICES_KEPT */
	uint64_t notices_last;
	/* Brings the numbers up to date before they are shown; NULL: they are. */
	void (*refresh)(struct run_progress *progress, void *data);
	void *refresh_data;
};

#define RUN_NOTICES_KEPT 200

/* One line of what happened. */
struct run_notice {
	uint64_t seq; /* from 1 */
	char *utc;
	char *kind;
	char *text;
};

/* One that is starting, without notices; times left are not known. */
struct run_progress *run_progress_new(void);
/* With its texts and notices. NULL is allowed. */
void run_progress_free(struct run_progress *progress);

/* Adds a notice and logs it. */
void run_progress_note(struct run_progress *progress, const char *kind, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Counts a task among the numbers of the run: its utility, and by its state. */
void run_progress_count(struct run_progress *progress, const struct engine_task *task);

/* The JSON document of GET /v1/status (docs/how-to/run.md), with notices above `after`. */
json_t *run_progress_json(struct run_progress *progress, uint64_t after);
