/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/sched/arena.h"
#include "controller/sched/model.h"
#include "controller/sched/pet.h"
#include "controller/sched/policy.h"

/*
 * Snapshots and plans as JSON: the C structures field by field. The JSON is self-contained (the
 * system is in it); numbers have 17 digits so that they read back equal. docs/reference/snapshot.md
 * describes the format.
 */

/* A type with its options. */
struct snapshot_type {
	const char *name;
	uint32_t options_count;
	struct sched_option *options;
};

/* The execution time of a type on a cluster, bins. */
struct snapshot_pair {
	uint32_t row;
	uint32_t cluster;
	struct pmf pmf;
};

/* A system as JSON has it. */
struct snapshot_system {
	uint32_t clusters_count;
	struct sched_cluster *clusters;
	uint32_t types_count;
	struct snapshot_type *types;
	bool immediate;
	bool shared;
	struct sched_queueing queueing;
	uint32_t pet_count;
	struct snapshot_pair *pet;
};

/* A snapshot read from JSON, with everything that it points to. */
struct snapshot_json {
	struct sched_snapshot snapshot;
	const char *policy; /* the policy's name that was recorded with it, or NULL */
	/* What else is in the JSON. The lists of `snapshot` and these own their memory. */
	struct snapshot_system parts;
	uint32_t tasks_count;
	struct sched_task *tasks;
	uint32_t queues_count;
	uint32_t sufferage_count;
	/* Made of it; freed with it: */
	struct sched_system *system;
	struct pet *pet;
	json_t *text;      /* names are borrowed from it */
	GHashTable *by_id; /* of `tasks` */
	GPtrArray *lists;  /* arrays of pointers to tasks */
};

/*
 * A snapshot as a JSON object; `policy` may be NULL. `pet`: the name that a system with queues has
 * in place of the matrix of execution times, which is large and does not change; the result cannot
 * be read without the matrix. NULL: the matrix itself. Returns a new reference.
 */
json_t *snapshot_json_write(const struct sched_snapshot *snapshot, const struct policy *policy,
			    const char *pet);

/* The member `system` of a snapshot, whole. Returns a new reference. */
json_t *snapshot_json_system(const struct sched_system *system);

/*
 * Every task of the snapshot, once: an array of const struct sched_task *, borrowed, which the
 * caller frees. Those with place-holders are among the waiting.
 */
GPtrArray *snapshot_json_tasks(const struct sched_snapshot *snapshot);

/*
 * A snapshot as a JSON object without policy and system, and with no other tasks than those of
 * `tasks` (as of snapshot_json_tasks()). Returns a new reference.
 */
json_t *snapshot_json_write_part(const struct sched_snapshot *snapshot, const GPtrArray *tasks);

/* The matrix of execution times. Returns a new reference. */
json_t *snapshot_json_pet(const struct sched_system *system);

/* An action as a JSON object. Returns a new reference. */
json_t *snapshot_json_action(const struct sched_system *system, const struct sched_action *action);

/*
 * The actions of a plan as a JSON array. With `explain` each has the options that were considered,
 * tasks without an action follow as {"kind": "wait"}, then the judgements of tasks that were queued
 * before, as {"kind": "judge"}. Returns a new reference.
 */
json_t *snapshot_json_actions(const struct sched_system *system, const struct sched_plan *plan,
			      bool explain);

/*
 * The text (json_text()) of those actions of a plan for which `wanted` (NULL: all) returns true,
 * without their options. The caller frees it.
 */
char *snapshot_text_actions(const struct sched_system *system, const struct sched_plan *plan,
			    bool (*wanted)(const struct sched_action *action));

/*
 * Reads untrusted actions (docs/reference/snapshot.md, Actions) for `snapshot` into a plan, whose
 * memory comes from `arena`, which is not reset. `end_s`, `energy_j` and `utility` that are missing
 * are filled in from the estimates, and the present for the start of what begins now; a missing
 * P-state and objective are 0, and a missing reason SCHED_REASON_OUTSIDE. What `explain` of
 * snapshot_json_actions() adds is left out. The pruner is that of the snapshot. Whether the plan is
 * legal is not verified (sched/plan_rules.h). Returns false with `error` (JSON_ERROR), which begins
 * with the place, as "actions[3]: ", and *ret_plan is then untouched. O(size of the list + tasks of
 * the snapshot).
 */
bool snapshot_json_read_actions(const json_t *list, const struct sched_snapshot *snapshot,
				struct arena *arena, struct sched_plan *ret_plan, GError **error);

/*
 * Reads and verifies a snapshot; `what` names it in errors. Nothing in it is trusted: indices,
 * orders and ranges are checked, so that any policy can decide on the result. Returns a new
 * structure, or NULL with `error` (JSON_ERROR) set.
 */
struct snapshot_json *snapshot_json_read(const json_t *object, const char *what, GError **error);

/* NULL is allowed. */
void snapshot_json_free(struct snapshot_json *read);
typedef struct snapshot_json snapshot_json_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(snapshot_json_t, snapshot_json_free)
