/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/mapping.h"

#include <errno.h>
#include <string.h>

#include "controller/sched/rank_key.h"

/*
 * Drops the tasks that cannot earn the threshold even if they started now where they are fastest
 * (3.3).
 */
static void drop_tasks(struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;
	const struct policy *policy = mapping->policy;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < snapshot->waiting_count; i++) {
		const struct sched_task *task = snapshot->waiting[i];
		const double end_s = snapshot->now_s + mapping->system->etc_min_s[task->row];
		const double bound = sched_task_utility(task, end_s);

		if (policy->drop_given ? rank_key_compare(bound, policy->drop_threshold) >= 0
				       : bound > 0) {
			mapping->bounds[kept] = bound;
			mapping->tasks[kept++] = task;
			continue;
		}
		mapping->actions[mapping->actions_count++] = (struct sched_action){
			.kind = SCHED_ACTION_DROP,
			.task = task->id,
			.objective = bound,
			.reason = bound > 0 ? SCHED_REASON_THRESHOLD : SCHED_REASON_WORTHLESS,
		};
	}
	mapping->tasks_count = kept;
}

/*
 * Allocates room for the earliest starts of every row that a mappable task has. The system may have
 * many more rows: a task type at every width that occurs in a day.
 */
static int init_starts(struct mapping *mapping)
{
	const struct sched_system *system = mapping->system;
	uint32_t rows = 0;

	mapping->slots = arena_array(mapping->arena, system->rows_count, sizeof(*mapping->slots));
	if (!mapping->slots)
		return -ENOMEM;
	memset(mapping->slots, 0xff, system->rows_count * sizeof(*mapping->slots));
	for (uint32_t i = 0; i < mapping->tasks_count; i++) {
		uint32_t *slot = &mapping->slots[mapping->tasks[i]->row];

		if (*slot == UINT32_MAX)
			*slot = rows++;
	}
	const size_t cells = (size_t)rows * system->columns_count;

	mapping->starts = arena_array(mapping->arena, cells, sizeof(*mapping->starts));
	mapping->widest =
		arena_array(mapping->arena, system->clusters_count, sizeof(*mapping->widest));
	if (!mapping->starts || !mapping->widest)
		return -ENOMEM;
	return 0;
}

/* Takes reserved nodes from now on, not only from the planned start on. */
static int reserve_now(struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < snapshot->reservations_count; i++) {
		const struct sched_allocation *p = &snapshot->reservations[i];

		result = availability_take(&mapping->clusters[p->cluster], p->nodes, p->nodes_count,
					   snapshot->now_s, p->start_s);
	}
	return result;
}

int mapping_begin(struct mapping *mapping, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context)
{
	const struct sched_system *system = snapshot->system;
	struct arena *arena = context->arena;

	*mapping = (struct mapping){
		.policy = policy,
		.snapshot = snapshot,
		.system = system,
		.arena = arena,
		.flags = context->flags,
		.tasks = arena_array(arena, snapshot->waiting_count, sizeof(*mapping->tasks)),
		.bounds = arena_array(arena, snapshot->waiting_count, sizeof(*mapping->bounds)),
		.actions = arena_array(arena, snapshot->waiting_count, sizeof(*mapping->actions)),
	};
	if (!mapping->tasks || !mapping->bounds || !mapping->actions)
		return -ENOMEM;
	drop_tasks(mapping);
	if (mapping->tasks_count == 0)
		return 0;
	if (init_starts(mapping) < 0)
		return -ENOMEM;
	energy_begin(&mapping->energy, policy, snapshot, mapping->tasks, mapping->tasks_count);
	mapping->clusters = availability_of_snapshot(snapshot, arena);
	if (!mapping->clusters)
		return -ENOMEM;
	return policy->reserve_now ? reserve_now(mapping) : 0;
}

/* The cached start of an option, recomputed if need be. */
static const struct mapping_start *find_start(struct mapping *mapping, uint32_t row,
					      const struct sched_option *option)
{
	const struct sched_system *system = mapping->system;
	const struct availability *cluster = &mapping->clusters[option->cluster];
	const uint32_t column = system->clusters[option->cluster].column + option->pstate;
	struct mapping_start *start =
		&mapping->starts[(size_t)mapping->slots[row] * system->columns_count + column];

	if (start->version == cluster->version + 1)
		return start;
	start->step = availability_earliest(cluster, option->nodes, option->etc_s);
	start->start_s = start->step == UINT32_MAX ? INFINITY : cluster->time_s[start->step];
	start->version = cluster->version + 1;
	return start;
}

double mapping_start_s(struct mapping *mapping, uint32_t row, const struct sched_option *option)
{
	return find_start(mapping, row, option)->start_s;
}

uint32_t mapping_widest_soon(struct mapping *mapping, uint32_t cluster)
{
	const struct availability *schedule = &mapping->clusters[cluster];
	struct mapping_widest *widest = &mapping->widest[cluster];

	if (widest->version == schedule->version + 1)
		return widest->nodes;
	widest->nodes = availability_widest(schedule, mapping->snapshot->next_event_s);
	widest->version = schedule->version + 1;
	return widest->nodes;
}

/* Ties the options considered since the last action to action `action`. */
static void close_considered(struct mapping *mapping, uint32_t task, uint32_t action)
{
	for (uint32_t i = mapping->considered_open; i < mapping->considered_count; i++)
		if (mapping->considered[i].task == task)
			mapping->considered[i].action = action;
	mapping->considered_open = mapping->considered_count;
}

int mapping_place(struct mapping *mapping, const struct sched_task *task,
		  const struct sched_option *option, double objective, enum sched_reason reason)
{
	const struct mapping_start *start = find_start(mapping, task->row, option);
	struct availability *cluster = &mapping->clusters[option->cluster];
	uint32_t *nodes = arena_array(mapping->arena, option->nodes, sizeof(*nodes));
	const double end_s = start->start_s + option->etc_s;
	enum sched_action_kind kind = SCHED_ACTION_START;
	int result;

	if (!nodes)
		return -ENOMEM;
	result = availability_choose(cluster, start->step, option->nodes, option->etc_s, nodes);
	if (result < 0)
		return result;
	result = availability_take(cluster, nodes, option->nodes,
				   mapping->policy->reserve_now ? mapping->snapshot->now_s
								: start->start_s,
				   end_s);
	if (result < 0)
		return result;
	if (start->start_s > mapping->snapshot->now_s)
		kind = mapping->policy->future == POLICY_FUTURE_RESERVATIONS
			       ? SCHED_ACTION_RESERVE
			       : SCHED_ACTION_PLACEHOLDER;
	energy_take(&mapping->energy, option, start->start_s);
	close_considered(mapping, task->id, mapping->actions_count);
	mapping->actions[mapping->actions_count++] = (struct sched_action){
		.kind = kind,
		.task = task->id,
		.cluster = option->cluster,
		.pstate = option->pstate,
		.nodes_count = option->nodes,
		.nodes = nodes,
		.start_s = start->start_s,
		.end_s = end_s,
		.energy_j = option->eec_j,
		.utility = sched_task_utility(task, end_s),
		.objective = objective,
		.reason = reason,
	};
	return 0;
}

static int grow_considered(struct mapping *mapping)
{
	const uint32_t capacity =
		mapping->considered_capacity ? 2 * mapping->considered_capacity : 64;
	struct sched_considered *considered =
		arena_array(mapping->arena, capacity, sizeof(*considered));

	if (!considered)
		return -ENOMEM;
	if (mapping->considered_count > 0)
		memcpy(considered, mapping->considered,
		       mapping->considered_count * sizeof(*considered));
	mapping->considered = considered;
	mapping->considered_capacity = capacity;
	return 0;
}

int mapping_consider(struct mapping *mapping, const struct sched_task *task,
		     const struct sched_option *option, double objective,
		     enum sched_refusal refusal)
{
	if (!mapping_explains(mapping))
		return 0;
	if (mapping->considered_count == mapping->considered_capacity &&
	    grow_considered(mapping) < 0)
		return -ENOMEM;

	const double start_s = mapping_start_s(mapping, task->row, option);
	const double end_s = start_s + option->etc_s;
	const bool possible = isfinite(start_s);

	mapping->considered[mapping->considered_count++] = (struct sched_considered){
		.task = task->id,
		.action = UINT32_MAX,
		.cluster = option->cluster,
		.pstate = option->pstate,
		.start_s = possible ? start_s : NAN,
		.end_s = possible ? end_s : NAN,
		.utility = possible ? sched_task_utility(task, end_s) : 0,
		.objective = objective,
		.refusal = refusal,
	};
	return 0;
}

void mapping_end(struct mapping *mapping, struct sched_plan *ret_plan)
{
	*ret_plan = (struct sched_plan){
		.actions_count = mapping->actions_count,
		.actions = mapping->actions,
		.considered_count = mapping->considered_count,
		.considered = mapping->considered,
		.note = mapping->note,
	};
}
