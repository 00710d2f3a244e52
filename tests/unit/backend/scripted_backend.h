/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/backend/backend.h"
#include "controller/engine/engine.h"
#include "controller/sched/model.h"

/*
 * A backend that plays out a script in virtual time: which attempt of which task takes how long and
 * how it ends, and when nodes go down. What the script does not mention completes after its ETC. It
 * asserts that nothing is started on nodes that are taken or down.
 */

/* How one attempt goes. */
struct script_attempt {
	uint32_t task;
	uint32_t attempt;
	double exec_s;
	enum backend_outcome outcome;
	bool late; /* its end is told after the run alone */
};

/* How a step of a suspension goes. */
enum script_way {
	SCRIPT_DONE = 0, /* after_s later; the task is frozen at once, and continues at the end */
	SCRIPT_STAYED,   /* rolled back after_s later */
	SCRIPT_LOST,     /* the task is lost after_s later */
	SCRIPT_SILENT,   /* nothing comes of it: the task ends first */
};

/* One step; what the script does not mention is done, after suspend_s or resume_s. */
struct script_step {
	uint32_t task;
	uint32_t n; /* of the suspension */
	bool resume;
	enum script_way way;
	double after_s;
	uint32_t times; /* how often it goes so before it is done at once; 0: always */
};

/* Something that happens by itself. */
struct script_event {
	double time_s;
	enum backend_event_kind kind;
	uint32_t cluster;
	uint32_t node;
	const char *reason;
};

struct script {
	const struct sched_system *system;
	double now_s; /* when the backend begins */
	double watts; /* dynamic power, always */
	const struct script_attempt *attempts;
	uint32_t attempts_count;
	const struct script_event *events; /* in order of time */
	uint32_t events_count;
	bool twice; /* says everything that ends, or is suspended or resumed, twice */
	const struct script_step *steps;
	uint32_t steps_count;
	/* an attempt that is killed ends at once; otherwise nothing comes of it */
	bool kills;
	double suspend_s;      /* what steps take that are not mentioned */
	double resume_s;       /* and migrations */
	bool unmoved;          /* these fail then */
	const double *calls_s; /* in order of time: when call() is to be called */
	uint32_t calls_count;
	void (*call)(double time_s, void *data); /* while the engine waits */
	void *data;
};

/* `script` is borrowed. */
struct backend *scripted_backend_new(const struct script *script);

/*
 * Advances the clock as backend_sim_wait() does; NONE comes before `until_s` after a call(), so
 * that the caller can ask the engine when its next time is.
 */
void scripted_backend_wait(struct backend *backend, double until_s,
			   struct backend_event *ret_event);

/* Takes on a task that a former backend started at `start_s`. */
void scripted_backend_adopt(struct backend *backend, const struct sched_allocation *placed,
			    uint32_t attempt, double start_s);

/* What is known of a task that a former backend suspended. */
struct script_suspended {
	uint32_t n;        /* the last time */
	double executed_s; /* in the stretches before since_s */
	double since_s;    /* of its last stretch */
	double leaves_s;   /* asked to suspend it; NAN: it is suspended, or ran on */
	/* when its resumption was requested; NAN: it was not, or the task continues */
	double goes_on_s;
	bool runs; /* since since_s */
};

/* Takes on such a task; its steps take suspend_s and resume_s. */
void scripted_backend_adopt_suspended(struct backend *backend,
				      const struct sched_allocation *placed, uint32_t attempt,
				      const struct script_suspended *known);

/*
 * As drive() with scripted_backend_wait(), and takes ends that are reported after the run: an end
 * before the end of the run counts, as in run_loop().
 */
void scripted_backend_run(struct backend *backend, struct engine *engine,
			  struct engine_result *ret_result);

/* What was asked for, a line per call: "50 start 3.1 c0 0,1", "55 suspend 3.1 #1",
 * "58 resume 3.1 #1 c0 1,2", "59 migrate 3.1 #1 c0 0,2", "60 kill 3.1". Borrowed. */
const char *scripted_backend_log(struct backend *backend);
