/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"
#include "controller/engine/task_lists.h"

/* The engine's insides, for the files of this folder alone. Tests do not include it. */

/* Room for the longest answer of engine_waits_because(). */
#define ENGINE_BECAUSE_SIZE 240

/*
 * The engine: its setup, its tasks, its owners, and how far the run has come. An owner is private
 * to the file that its header belongs to. Lists are ordered: their order decides what a policy sees
 * and how ties are broken.
 */
struct engine {
	struct engine_setup setup;
	const struct placement_ops *placement; /* how tasks get nodes (placement.h) */
	struct backend *backend;

	struct engine_task *tasks; /* by index */
	struct sched_task *known;  /* per task, as policies see it: engine_set_preemptible() */

	/* Owners. */
	struct places *places;             /* places.h */
	struct nodes *nodes;               /* nodes.h */
	struct placement *placement_state; /* placement.h; NULL: the placement remembers nothing */
	struct waiting *waiting;           /* task_lists.h */
	struct planned *planned;           /* reservations.h */
	struct suspensions *suspensions;   /* suspensions.h */
	struct migrations *migrations;     /* migration.h */
	struct window *window;             /* window.h: an energy limit per window */
	struct mapping_clock *mapping_clock;     /* mapping_clock.h: when mapping events are held */
	struct counters *counters;               /* counters.h */
	struct decider *decider;                 /* mapping.h: a decision (mapping_event.c) */
	struct decision_record *decision_record; /* engine_record.h */
	struct records *records;                 /* engine_record.h */
	struct utility_log *utility_log;         /* counters.h */
	struct users *users;                     /* users.h; NULL: none reacts */
	struct running_list running; /* tasks that are starting or running, or have a claim */

	/* The run. */
	uint32_t arrivals_next; /* index of the next task to arrive */
	double next_s;          /* when the engine has something to do if no event comes */
	bool stirred;           /* it has something to do at once: engine_stir() */
	bool ended;
	bool noting; /* an input is being handled (engine_record.h) */
	char *reason;
	char *because; /* buffer of engine_waits_because() */
};

/* Whether a task has a claim to nodes. */
static inline bool engine_has_claim(const struct engine *engine, uint32_t task)
{
	return engine_task_state_in(engine->tasks[task].state, ENGINE_TASK_WITH_CLAIM);
}

/* To be called after a change that may make engine_next_s() earlier: the engine has a turn. */
static inline void engine_stir(struct engine *engine)
{
	engine->stirred = true;
}

/* The present, in run time. */
static inline double engine_now_s(const struct engine *engine)
{
	return backend_now_s(engine->backend);
}
