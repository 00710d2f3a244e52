/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/engine/engine.h"
#include "tests/unit/backend/scripted_backend.h"

/*
 * Scenes of tasks that leave their nodes and resume: what a policy asks for that plays out a
 * script, what a scripted backend makes of it, and what comes of that.
 */

/*
 * Two clusters: c has two nodes, d one. A narrow task takes one node for 15 s, a wide one both
 * nodes of c for as long. The last task of every case is never mapped: the policy is asked as long
 * as a task waits.
 */
enum { NARROW, WIDE };

/* What the policy asks for at an event. */
struct preempt_order {
	double time_s;
	enum sched_action_kind kind;
	uint32_t task;
	uint32_t cluster;
	uint32_t nodes_count;
	uint32_t nodes[2];
};

#define START(time, task, ...)                                                                     \
	{                                                                                          \
		time, SCHED_ACTION_START, task, 0, __VA_ARGS__                                     \
	}
#define RESUME(time, task, ...)                                                                    \
	{                                                                                          \
		time, SCHED_ACTION_RESUME, task, 0, __VA_ARGS__                                    \
	}
#define SUSPEND(time, task)                                                                        \
	{                                                                                          \
		time, SCHED_ACTION_SUSPEND, task, 0, 0,                                            \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
#define DROP(time, task)                                                                           \
	{                                                                                          \
		time, SCHED_ACTION_DROP, task, 0, 0,                                               \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
#define ON(node)                                                                                   \
	1,                                                                                         \
	{                                                                                          \
		node                                                                               \
	}
#define ON_BOTH                                                                                    \
	2,                                                                                         \
	{                                                                                          \
		0, 1                                                                               \
	}

#define PREEMPT_TASKS_MAX 6

struct preempt_scene {
	const char *name;
	uint32_t tasks_count; /* including the task that is never mapped */
	uint32_t rows[PREEMPT_TASKS_MAX];
	bool stubborn; /* task 0 is not preemptible */
	struct preempt_order orders[16];
	struct script_attempt attempts[3];
	struct script_step steps[4];
	struct script_event events[3];
	bool twice;
	const char *log;
	const char *story; /* events */
	const char *seen;  /* what the policy saw at some events; NULL: not looked at */
	double seen_s;     /* the time at which it was seen */
	uint32_t completed, failed, dropped;
};

/* A recorder that remembers. */
struct preempt_memory {
	struct engine_recorder recorder;
	GString *story;
	GString *suspensions;
	enum engine_task_state states[PREEMPT_TASKS_MAX];
};

/* A run of a scene. */
struct preempt_stage {
	const struct preempt_scene *scene;
	struct sched_system *system;
	struct sched_task tasks[PREEMPT_TASKS_MAX];
	struct workload workload;
	struct script script;
	struct preempt_memory memory;
	struct engine_setup setup;
	struct backend *backend;
	struct engine *engine;
	struct engine_result result;
	GString *seen; /* by the policy */
};

/*
 * Readies a run of `scene`, which is borrowed; one at a time. Its settings may be changed before it
 * runs.
 */
void preempt_stage_init(struct preempt_stage *stage, const struct preempt_scene *scene);
void preempt_stage_run(struct preempt_stage *stage);
void preempt_stage_finish(struct preempt_stage *stage);

/* Asserts that this is what the backend was asked for. */
void preempt_stage_check_log(const struct preempt_stage *stage, const char *log);
