/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes within an event. An action that is undone becomes an action of kind NONE, so that indices
 * stay valid; immediate_end() closes the gaps. A SUSPEND stays at its first position, before all
 * actions that took its nodes since.
 */
#include "controller/sched/immediate_private.h"

/* Makes the usable nodes of an occupant idle and takes it out of the victims. */
static void vacate(struct immediate *immediate, uint32_t index)
{
	struct immediate_occupant *occupant = &immediate->occupants[index];
	struct immediate_cluster *cluster = &immediate->clusters[occupant->rest.cluster];
	uint32_t i = 0;

	while (cluster->victims[i].occupant != index)
		i++;
	cluster->victims_count--;
	memmove(&cluster->victims[i], &cluster->victims[i + 1],
		(cluster->victims_count - i) * sizeof(*cluster->victims));
	for (uint32_t n = 0; n < occupant->nodes_count; n++)
		if (!immediate_has(cluster->blocked, occupant->nodes[n]))
			immediate_set(cluster->idle_mask, occupant->nodes[n]);
	cluster->idle += occupant->usable;
	immediate->idle += occupant->usable;
	occupant->present = false;
}

/* Fills in the class of an occupant that ran when the event began. */
static int init_ran(struct immediate *immediate, uint32_t index, struct immediate_class *class)
{
	const struct immediate_occupant *occupant = &immediate->occupants[index];
	const struct sched_action action = {
		.kind = SCHED_ACTION_SUSPEND,
		.task = occupant->task->id,
		.objective = occupant->value,
		.reason = SCHED_REASON_GIVES_WAY,
	};

	*class = (struct immediate_class){
		.origin = IMMEDIATE_RAN,
		.may_preempt = occupant->task->may_preempt,
		.executed_s = occupant->executed_s,
		.utility = sched_task_utility(occupant->task,
					      immediate->snapshot->now_s + occupant->rest.etc_s),
		.bound = occupant->value *
			 objective_margin(occupant->task,
					  immediate->snapshot->now_s + occupant->rest.etc_s),
		.cluster = occupant->rest.cluster,
		.pstate = occupant->rest.pstate,
		.nodes = occupant->nodes_count,
		.former = index,
		.suspend = immediate_add_action(immediate, &action),
	};
	return class->suspend == IMMEDIATE_NONE ? -ENOMEM : 0;
}

/* Makes a class of the task of a preempted occupant. */
static int displace(struct immediate *immediate, uint32_t index)
{
	const struct sched_task **tasks = arena_array(immediate->arena, 1, sizeof(*tasks));
	const uint32_t class = immediate_add_class(immediate);
	struct immediate_occupant *occupant = &immediate->occupants[index];

	if (!tasks || class == IMMEDIATE_NONE)
		return -ENOMEM;
	if (occupant->class == IMMEDIATE_NONE) {
		if (init_ran(immediate, index, &immediate->classes[class]) < 0)
			return -ENOMEM;
	} else {
		immediate->classes[class] = immediate->classes[occupant->class];
		immediate->actions[occupant->action].kind = SCHED_ACTION_NONE;
	}
	tasks[0] = occupant->task;
	immediate->classes[class].tasks = tasks;
	immediate->classes[class].count = 1;
	immediate->classes[class].next = 0;
	vacate(immediate, index);
	immediate->energy.remaining_j += occupant->rest.eec_j;
	return 0;
}

/* Appends nodes of an occupant that others can take, up to `want` in all. */
static void gather_from(const struct immediate *immediate, uint32_t occupant, uint32_t want,
			uint32_t *nodes, uint32_t *count)
{
	const struct immediate_occupant *o = &immediate->occupants[occupant];
	const struct immediate_cluster *cluster = &immediate->clusters[o->rest.cluster];

	for (uint32_t n = 0; n < o->nodes_count && *count < want; n++)
		if (!immediate_has(cluster->blocked, o->nodes[n]))
			nodes[(*count)++] = o->nodes[n];
}

static void gather_idle(const struct immediate_cluster *cluster, uint32_t want, uint32_t *nodes,
			uint32_t *count)
{
	for (uint32_t w = 0; w < cluster->words && *count < want; w++)
		for (uint64_t bits = cluster->idle_mask[w]; bits && *count < want; bits &= bits - 1)
			nodes[(*count)++] = w * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* Sorts by insertion: node lists are short, and mostly in order. */
static void sort_nodes(uint32_t *nodes, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		const uint32_t node = nodes[i];
		uint32_t j = i;

		for (; j > 0 && nodes[j - 1] > node; j--)
			nodes[j] = nodes[j - 1];
		nodes[j] = node;
	}
}

/* Assigns the ways considered since the last placement to an action. */
static void close_considered(struct immediate *immediate, uint32_t task, uint32_t action)
{
	for (uint32_t i = immediate->considered_open; i < immediate->considered_count; i++)
		if (immediate->considered[i].task == task)
			immediate->considered[i].action = action;
	immediate->considered_open = immediate->considered_count;
}

/*
 * Adds the START or RESUME of a placement; undoes the SUSPEND of a task that returns to its nodes.
 */
static int add_action(struct immediate *immediate, const struct immediate_choice *choice,
		      const uint32_t *nodes, uint32_t *ret_action)
{
	const struct immediate_class *class = &immediate->classes[choice->class];
	const struct sched_option *rest = &class->ways[choice->way].rest;
	const struct sched_task *task = immediate_head(immediate, choice->class);
	const double now_s = immediate->snapshot->now_s;
	const double end_s = now_s + rest->etc_s;
	const struct sched_action action = {
		.kind = class->origin == IMMEDIATE_WAITING ? SCHED_ACTION_START
							   : SCHED_ACTION_RESUME,
		.task = task->id,
		.cluster = rest->cluster,
		.pstate = rest->pstate,
		.nodes_count = rest->nodes,
		.nodes = nodes,
		.start_s = now_s,
		.end_s = end_s,
		.energy_j = rest->eec_j,
		.utility = sched_task_utility(task, end_s),
		.objective = choice->objective,
		.reason = choice->reason,
	};

	if (class->origin == IMMEDIATE_RAN &&
	    memcmp(nodes, immediate->occupants[class->former].nodes,
		   rest->nodes * sizeof(*nodes)) == 0) {
		immediate->actions[class->suspend].kind = SCHED_ACTION_NONE;
		immediate->considered_open = immediate->considered_count;
		*ret_action = IMMEDIATE_NONE;
		return 0;
	}
	*ret_action = immediate_add_action(immediate, &action);
	if (*ret_action == IMMEDIATE_NONE)
		return -ENOMEM;
	close_considered(immediate, task->id, *ret_action);
	return 0;
}

/* Puts the next task of the class on `nodes`, which are idle. */
static int occupy(struct immediate *immediate, const struct immediate_choice *choice,
		  const uint32_t *nodes)
{
	const uint32_t index = immediate_add_occupant(immediate);
	struct immediate_class *class = &immediate->classes[choice->class];
	const struct immediate_way *way = &class->ways[choice->way];
	struct immediate_cluster *cluster = &immediate->clusters[way->rest.cluster];
	const struct sched_task *task = immediate_head(immediate, choice->class);
	uint32_t action;

	if (index == IMMEDIATE_NONE || add_action(immediate, choice, nodes, &action) < 0)
		return -ENOMEM;
	immediate->occupants[index] = (struct immediate_occupant){
		.task = task,
		.present = true,
		.preemptible = immediate->preempts && !immediate->settles && task->preemptible &&
			       way->rest.etc_s > 0,
		.rest = way->rest,
		.executed_s = class->executed_s,
		.value = way->value,
		.nodes_count = way->rest.nodes,
		.usable = way->rest.nodes,
		.nodes = nodes,
		.class = action == IMMEDIATE_NONE ? IMMEDIATE_NONE : choice->class,
		.action = action,
	};
	for (uint32_t n = 0; n < way->rest.nodes; n++)
		immediate_clear(cluster->idle_mask, nodes[n]);
	cluster->idle -= way->rest.nodes;
	cluster->version++;
	immediate->idle -= way->rest.nodes;
	energy_take(&immediate->energy, &way->rest, immediate->snapshot->now_s);
	if (immediate->occupants[index].preemptible)
		immediate_add_victim(immediate, index);
	class->next++;
	return 0;
}

int immediate_place_at(struct immediate *immediate, const struct immediate_choice *choice,
		       const uint32_t *nodes)
{
	return occupy(immediate, choice, nodes);
}

int immediate_place(struct immediate *immediate, const struct immediate_choice *choice)
{
	const struct sched_option *rest = &immediate->classes[choice->class].ways[choice->way].rest;
	const struct immediate_cluster *cluster = &immediate->clusters[rest->cluster];
	const uint32_t want = rest->nodes;
	uint32_t *victims = arena_array(immediate->arena, want + 1, sizeof(*victims));
	uint32_t *nodes = arena_array(immediate->arena, want, sizeof(*nodes));
	uint32_t count = 0;

	if (!victims || !nodes)
		return -ENOMEM;

	const uint32_t victims_count = immediate_victims(immediate, choice, victims);

	if (choice->anchor != IMMEDIATE_NONE)
		gather_from(immediate, choice->anchor, want, nodes, &count);
	gather_idle(cluster, want, nodes, &count);
	for (uint32_t i = 0; i < victims_count; i++)
		if (victims[i] != choice->anchor)
			gather_from(immediate, victims[i], want, nodes, &count);
	for (uint32_t i = 0; i < victims_count; i++)
		if (displace(immediate, victims[i]) < 0)
			return -ENOMEM;
	sort_nodes(nodes, count);
	return occupy(immediate, choice, nodes);
}

int immediate_consider(struct immediate *immediate, const struct sched_task *task,
		       const struct immediate_way *way, double objective,
		       enum sched_refusal refusal)
{
	const double now_s = immediate->snapshot->now_s;
	const double end_s = now_s + way->rest.etc_s;

	if (!immediate_explains(immediate))
		return 0;
	if (immediate_grow(immediate->arena, (void **)&immediate->considered,
			   immediate->considered_count, &immediate->considered_capacity,
			   sizeof(*immediate->considered)) < 0)
		return -ENOMEM;
	immediate->considered[immediate->considered_count++] = (struct sched_considered){
		.task = task->id,
		.action = UINT32_MAX,
		.cluster = way->rest.cluster,
		.pstate = way->rest.pstate,
		.start_s = now_s,
		.end_s = end_s,
		.utility = sched_task_utility(task, end_s),
		.objective = objective,
		.refusal = refusal,
	};
	return 0;
}

int immediate_end(struct immediate *immediate, struct sched_plan *ret_plan)
{
	uint32_t *moved =
		arena_array(immediate->arena, immediate->actions_count + 1, sizeof(*moved));
	uint32_t actions = 0;
	uint32_t considered = 0;

	if (!moved)
		return -ENOMEM;
	for (uint32_t i = 0; i < immediate->actions_count; i++) {
		moved[i] = actions;
		if (immediate->actions[i].kind != SCHED_ACTION_NONE)
			immediate->actions[actions++] = immediate->actions[i];
		else
			moved[i] = IMMEDIATE_NONE;
	}
	for (uint32_t i = 0; i < immediate->considered_count; i++) {
		struct sched_considered c = immediate->considered[i];

		if (c.action != UINT32_MAX) {
			if (moved[c.action] == IMMEDIATE_NONE)
				continue; /* the placement was undone */
			c.action = moved[c.action];
		} else if (c.refusal == SCHED_REFUSAL_TAKEN) {
			continue; /* the task stays where it was */
		}
		immediate->considered[considered++] = c;
	}
	*ret_plan = (struct sched_plan){
		.actions_count = actions,
		.actions = immediate->actions,
		.considered_count = considered,
		.considered = immediate->considered,
	};
	return 0;
}
