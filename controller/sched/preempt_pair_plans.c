/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/preempt_pair_plans.h"

#include "controller/sched/rank_key.h"

int pair_plans_begin(struct pair_plans *plans, struct immediate *immediate)
{
	const uint32_t count = immediate->occupants_count;

	*plans = (struct pair_plans){
		.immediate = immediate,
		.anchors = arena_array(immediate->arena, count, sizeof(*plans->anchors)),
	};
	if (!plans->anchors)
		return -ENOMEM;
	memset(plans->anchors, 0xff, count * sizeof(*plans->anchors));
	return 0;
}

int pair_plans_add(struct pair_plans *plans, uint32_t class)
{
	struct immediate *immediate = plans->immediate;
	const struct preempt_entry entry =
		preempt_entry_of(immediate, class, 0, rank_key(immediate->classes[class].bound));

	while (plans->capacity <= class)
		if (immediate_grow(immediate->arena, (void **)&plans->plans, plans->capacity,
				   &plans->capacity, sizeof(*plans->plans)) < 0)
			return -ENOMEM;
	plans->plans[class] = (struct pair_plan){.fresh = false};
	return preempt_queue_add(&plans->queue, immediate->arena, &entry);
}

/* Ends the watch over a plan. */
static void unwatch(struct pair_plans *plans, uint32_t class)
{
	struct pair_plan *plan = &plans->plans[class];

	if (!plan->watched)
		return;
	plan->watched = false;
	if (plan->before == IMMEDIATE_NONE)
		plans->anchors[plan->pair.anchor] = plan->behind;
	else
		plans->plans[plan->before].behind = plan->behind;
	if (plan->behind != IMMEDIATE_NONE)
		plans->plans[plan->behind].before = plan->before;
}

void pair_plans_remove(struct pair_plans *plans, uint32_t class)
{
	unwatch(plans, class);
	preempt_queue_remove(&plans->queue, class);
}

void pair_plans_settle(struct pair_plans *plans, uint32_t class)
{
	const struct immediate *immediate = plans->immediate;
	const struct pair_plan *plan = &plans->plans[class];
	const double value = !plan->fresh              ? immediate->classes[class].bound
			     : plan->kind == PAIR_NONE ? -1
						       : plan->value;
	const struct preempt_entry entry = preempt_entry_of(immediate, class, 0, rank_key(value));

	preempt_queue_change(&plans->queue, &entry);
}

void pair_plans_watch(struct pair_plans *plans, uint32_t class)
{
	struct pair_plan *plan = &plans->plans[class];

	if (plan->watched || !plan->found)
		return;
	plan->watched = true;
	plan->before = IMMEDIATE_NONE;
	plan->behind = plans->anchors[plan->pair.anchor];
	if (plan->behind != IMMEDIATE_NONE)
		plans->plans[plan->behind].before = class;
	plans->anchors[plan->pair.anchor] = class;
}

static void make_stale(struct pair_plans *plans, uint32_t class)
{
	unwatch(plans, class);
	plans->plans[class].fresh = false;
	pair_plans_settle(plans, class);
}

/* Invalidates the plans for idle nodes of a cluster, which has none left. */
static void update_idle(struct pair_plans *plans, uint32_t cluster)
{
	const struct immediate *immediate = plans->immediate;

	for (uint32_t class = 0; class < immediate->classes_count; class ++) {
		const struct pair_plan *plan = &plans->plans[class];

		if (plans->queue.places[class] > 0 && plan->fresh && plan->kind == PAIR_IDLE &&
		    immediate->classes[class].ways[plan->way].rest.cluster == cluster)
			make_stale(plans, class);
	}
}

void pair_plans_update(struct pair_plans *plans, uint32_t cluster, uint32_t anchor, bool all)
{
	const struct immediate *immediate = plans->immediate;

	for (uint32_t i = 0; all && i < plans->queue.heap.count; i++) {
		const uint32_t class = plans->queue.heap.entries[i].class;

		plans->plans[class].fresh = false;
		plans->queue.heap.entries[i].key = rank_key(immediate->classes[class].bound);
	}
	if (all) {
		preempt_queue_order(&plans->queue);
		return;
	}
	while (anchor != IMMEDIATE_NONE && plans->anchors[anchor] != IMMEDIATE_NONE)
		make_stale(plans, plans->anchors[anchor]);
	if (anchor == IMMEDIATE_NONE && immediate->clusters[cluster].idle == 0)
		update_idle(plans, cluster);
}
