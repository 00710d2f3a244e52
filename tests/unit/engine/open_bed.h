/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/random.h"
#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "tests/unit/engine/drive.h"

/*
 * An engine with an open workload on the simulation, and what people ask of it at certain times.
 * It checks at every record that no node has two tasks, that nothing starts on a drained node, and
 * that policies see as down what nothing can start on.
 */
#define OPEN_TASKS_MAX 80
#define OPEN_CALLS_MAX 160
#define OPEN_HOSTS 5

/* A simulation in which a caller acts at certain times while the engine waits. */
struct open_caller {
	struct backend base;
	struct backend *sim;
	double calls_s[OPEN_CALLS_MAX]; /* in order */
	uint32_t calls_count, called;
	void (*call)(void *data);
	void *data;
	GQueue moves;    /* of struct backend_event: ends of migrations, in order of time */
	uint32_t moving; /* migrations so far: every third one fails */
	bool stubborn;   /* all fail */
	uint32_t tries[OPEN_TASKS_MAX], attempts[OPEN_TASKS_MAX]; /* migrations of the attempt */
};

/* Takes the events of a caller, and makes its calls. */
void open_caller_wait(struct backend *backend, double until_s, struct backend_event *ret_event);

/* What people do, and what may not come of it. */
struct open_bed {
	struct engine_recorder recorder;
	struct random_stream random;
	struct sched_system *system;
	struct sched_system *real; /* what the simulation knows */
	struct workload *workload; /* an open one */
	/* submitted at its arrivals; NULL: what people do is drawn */
	const struct workload *closed;
	struct engine_setup setup;
	struct open_caller caller;
	drive_wait_f wait; /* open_caller_wait() but where a test sets another one */
	struct engine *engine;
	struct engine_result result;
	enum engine_task_state states[OPEN_TASKS_MAX]; /* on record */
	uint32_t taken[2][OPEN_HOSTS];                 /* by which task, + 1 */
	uint32_t deeds[8];
	uint32_t left; /* nodes that were being left at mapping events */
	bool hasty;    /* the time may advance while a policy decides apart */
};

/*
 * Prepares a bed for `policy`: two clusters, or with `shared` hosts that are shared. What people do
 * is drawn from `seed`, unless `closed` is set before the run.
 */
void open_bed_init(struct open_bed *bed, const char *policy, bool shared, uint64_t seed);
/* Runs its engine to the end. */
void open_bed_run(struct open_bed *bed);
void open_bed_finish(struct open_bed *bed);

/* A task with random values. */
struct sched_task open_bed_draw_task(struct random_stream *random);
