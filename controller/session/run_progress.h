/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;

/*
 * The progress of a controller, for its API and for `virtbed run`, which prints it: its position in
 * the list of runs, figures of the run under way, and numbered notices, one line each, of what
 * happened.
 */
enum run_phase {
	RUN_PHASE_STARTING = 0, /* waiting for local schedulers and nodes */
	RUN_PHASE_PROFILE,
	RUN_PHASE_BASELINE, /* measuring the idle baseline */
	RUN_PHASE_RUN,
	RUN_PHASE_SETTLE, /* between runs */
	RUN_PHASE_DONE,
	RUN_PHASE_FAILED,
};

/* "starting", ... */
const char *run_phase_name(enum run_phase phase);

struct run_progress {
	const struct platform *platform;
	enum run_phase phase;
	uint32_t run; /* number of the present run, from 1 to `runs`; 0: none yet */
	uint32_t runs;
	uint32_t profile_done, profile_total; /* number of measurements */
	char *policy;
	json_t *program; /* of a policy from outside, for GET /v1/status; NULL: there is none */
	double limit;    /* fraction */
	double time_s, duration_s;
	double utility, energy_j, limit_j;
	uint32_t waiting, running, suspended, completed, tasks;
	/* the tasks before `settled` have ended; what they count as */
	uint32_t settled, settled_completed;
	double settled_utility;
	double phase_left_s; /* seconds left of the run or the profile; NAN: not known */
	double left_s;       /* seconds left of all runs; NAN: not known */
	char *missing;       /* what it waits for, or NULL */
	char *error;         /* why it failed, or NULL */
	bool end_seen;       /* a client has read the phase DONE or FAILED */
	GQueue notices;      /* struct run_notice, the last RUN_NOTICES_KEPT */
	uint64_t notices_last;
	/* Updates the figures, for view_progress(); NULL: they are up to date. */
	void (*refresh)(struct run_progress *progress, void *data);
	void *refresh_data;
};

#define RUN_NOTICES_KEPT 200

/* One line about what happened. */
struct run_notice {
	uint64_t seq; /* from 1 */
	char *utc;
	char *kind;
	char *text;
};

/* Progress in phase STARTING, without notices; times left are not known. */
struct run_progress *run_progress_new(const struct platform *platform);
/* Frees it with its texts and notices. NULL is allowed. */
void run_progress_free(struct run_progress *progress);

/* Adds a notice and logs it. */
void run_progress_note(struct run_progress *progress, const char *kind, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Begins to count the tasks of another run. */
void run_progress_begin(struct run_progress *progress);

/*
 * Counts the first `tasks` tasks of an engine: their utility and their states become the figures of
 * the run. O(tasks after the first task that has not ended).
 */
void run_progress_count(struct run_progress *progress, struct engine *engine, uint32_t tasks);

/*
 * The JSON document of GET /v1/status (docs/how-to/run.md), with notices above `after`. Sets
 * end_seen in the phases DONE and FAILED.
 */
json_t *run_progress_json(struct run_progress *progress, uint64_t after);
