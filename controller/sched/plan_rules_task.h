/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/arena.h"
#include "controller/sched/model.h"

/* A check of a plan: its tasks by id, and the sentence. For files of plan_rules*.c alone. */

/* Where a task is before the plan. */
enum rules_list {
	RULES_WAITING,
	RULES_SUSPENDED,
	RULES_RUNNING,
	RULES_QUEUED,
	RULES_RESERVED,
};

/* A task of the snapshot, and what the plan has done with it so far. */
struct rules_task {
	const struct sched_task *task;
	enum rules_list list;
	const struct sched_allocation *place; /* of RULES_SUSPENDED and RULES_RUNNING */
	uint32_t cluster;                     /* of RULES_QUEUED */
	bool ended;                           /* it needs no more actions */
	bool suspended;                       /* by the plan */
	const struct sched_action *action;    /* the last one; NULL: none */
};

/* The check. */
struct rules {
	const struct sched_snapshot *snapshot;
	const struct sched_system *system;
	const struct sched_plan *plan;
	struct arena *arena;
	char *message;
	uint32_t tasks_count;
	struct rules_task *tasks; /* waiting, suspended, queued, running, reserved */
	uint32_t slots_count;     /* a power of two */
	uint32_t *slots;          /* of tasks, by a hash of their ids; 0: none, else index + 1 */
};

#define RULES_MESSAGE 512

/*
 * Lists the tasks of the snapshot. `rules` has the snapshot, its system, the plan, the arena and
 * room for a message of RULES_MESSAGE bytes.
 */
bool rules_list_tasks(struct rules *rules);

/* The index of an action in the array of the program, for messages. */
uint32_t rules_entry(const struct rules *rules, uint32_t action);

/* Notes the sentence about an action; UINT32_MAX: about the plan. Returns false. */
bool rules_refuse(struct rules *rules, uint32_t action, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An array of the arena, all 0; NULL with a sentence. */
void *rules_array(struct rules *rules, size_t count, size_t size);

/* The task of an action, or NULL with a sentence: there is none, or it has had its action. */
struct rules_task *rules_task_of(struct rules *rules, uint32_t action);

/* Refuses an action of a task that is in a list where the kind cannot be. */
bool rules_refuse_list(struct rules *rules, uint32_t action, const struct rules_task *task);

/* Whether the numbers of nodes exist in the cluster of the action, which exists. */
bool rules_check_cluster(struct rules *rules, uint32_t action);
