/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/engine/engine.h"
#include "tests/unit/backend/scripted_backend.h"

/*
 * Scenes of a policy that decides on a thread of its own. What people do meanwhile is done while
 * the policy stands still in the midst of its decision, so that it always comes before the plan is
 * carried out.
 */

/*
 * A narrow task takes one of the two nodes for 15 s, a wide one both; an urgent one is narrow and
 * dear.
 */
enum { NARROW, WIDE, URGENT };

enum async_deed {
	NOTHING,
	SUBMIT,
	CANCEL,
	HOLD,
	SUSPEND,
	RESUME_AND_CANCEL,
	MIGRATE,
	DRAIN,
	FCFS,
	EASY,
	SPOIL,
	LOOK,
	LOOK_PROMISED
};

/* Tasks are submitted at 10 s; what is done while the nth decision is made. */
struct async_scene {
	const char *name;
	const char *policy;
	bool preempts;           /* it makes no promises; tasks may take the nodes of others */
	uint32_t rows[4];        /* of the tasks, + 1 */
	double late_s;           /* how long task 0 executes, if not for 15 s */
	double leaves_s;         /* how long it takes to leave its nodes when it is suspended */
	bool unmoved;            /* migrations fail */
	struct script_step step; /* a step that is rolled back; `after_s` 0: none */
	struct {
		enum async_deed deed;
		uint32_t of; /* task, node or row */
	} deeds[4];
	struct {
		double time_s;
		enum async_deed deed;
		uint32_t of;
	} later[4];       /* while nothing is decided */
	uint32_t at_once; /* actions of a plan; 0: all */
	struct {
		enum async_deed deed;
		uint32_t of;
	} between;             /* the first two parts of the first plan that has some */
	const char *log;       /* what the backend was asked */
	const char *overtaken; /* tasks of the plan that were left out */
	/* tasks whose promises slid, and "c" and those whose were taken back */
	const char *slid;
	const char *deciders; /* policies on record, in order */
	const char *aborts;   /* why the run ends, if it does */
	uint32_t completed;
	uint32_t fallbacks; /* on record */
};

struct async_stage {
	const struct async_scene *scene;
	struct sched_system *system;
	struct workload *workload;
	struct policy_ops ops;
	struct policy_planning planning;
	struct policy_immediate immediate;
	struct policy_outside outside; /* never decides itself */
	struct engine_recorder recorder;
	struct engine_setup setup;
	struct script script;
	double calls_s[5];
	struct script_attempt late;
	struct backend *backend;
	struct engine *engine;
	struct engine_result result;
	GString *overtaken, *slid, *deciders;
	uint32_t called, fallbacks;
	uint32_t decisions; /* that the test watched */
	bool parted;        /* a plan was carried out in parts */
	bool changed;       /* the policy was replaced by one without a gate */
	bool leaves;        /* the engine comes to its end while it is decided */
};

/* Prepares a scene; its engine is to be run by drive() with async_stage_wait(). One at a time. */
void async_stage_init(struct async_stage *stage, const struct async_scene *scene);
void async_stage_finish(struct async_stage *stage);
void async_stage_wait(struct backend *backend, double until_s, struct backend_event *ret_event);

/* Has the policy decide without waiting for what people do. */
void async_stage_open_gate(struct async_stage *stage);

/* Registers /engine/async/NAME for each scene: it is run, and what came of it is what it says. */
void async_stage_add(const struct async_scene *scenes, gsize count);
