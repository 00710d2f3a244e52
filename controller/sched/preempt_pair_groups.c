/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/preempt_pair.h"

/* Two ends at most this far apart are different, but neither is before the other; seconds. */
#define SAME_END_S 1e-6

static bool behind_before(const struct pair_behind *a, const struct pair_behind *b)
{
	return a->bound != b->bound ? a->bound > b->bound : a->node < b->node;
}

static void insert_behind(struct pair_list *list, const struct pair_behind *behind)
{
	uint32_t i = list->count++;

	for (; i > 0 && behind_before(behind, &list->behind[i - 1]); i--)
		list->behind[i] = list->behind[i - 1];
	list->behind[i] = *behind;
}

/* Removes a group from a list and returns its entry. */
static struct pair_behind remove_behind(struct pair_list *list, uint32_t group)
{
	struct pair_behind behind;
	uint32_t i = 0;

	while (list->behind[i].group != group)
		i++;
	behind = list->behind[i];
	list->count--;
	memmove(&list->behind[i], &list->behind[i + 1], (list->count - i) * sizeof(*list->behind));
	return behind;
}

/* The range that contains a RET. */
static uint32_t range_of(double ret_s)
{
	int exponent;
	const bool upper = frexp(ret_s, &exponent) >= 0.75;
	const int range = 2 * exponent + upper;

	return range < 0 ? 0 : range < PAIR_RANGES ? (uint32_t)range : PAIR_RANGES - 1;
}

/* The shortest RET of a range. */
static double least_of(uint32_t range)
{
	return range == 0 ? 0 : ldexp(range % 2 ? 0.75 : 0.5, (int)(range / 2));
}

/* The entry of a group: the bound of its members' values behind a task of a range. */
static struct pair_behind behind_of(const struct pair_searches *all, uint32_t group, uint32_t range)
{
	const struct immediate_occupant *o = pair_occupant(all, group);
	const double least_s = least_of(range);
	const double end_s = all->immediate->snapshot->now_s + least_s + o->rest.etc_s;

	return (struct pair_behind){
		.bound = pair_worth_behind(all->immediate, o, least_s) *
			 objective_margin(o->task, end_s),
		.node = o->nodes[0],
		.group = group,
	};
}

const struct pair_list *pair_range(struct pair_searches *all, uint32_t index, double ret_s)
{
	struct pair_cluster *cluster = &all->clusters[index];
	const uint32_t range = range_of(ret_s);
	struct pair_list *list = &cluster->ranges[range];

	if (list->behind)
		return list;
	list->behind =
		arena_array(all->immediate->arena, all->immediate->system->clusters[index].nodes,
			    sizeof(*list->behind));
	if (!list->behind)
		return NULL;
	for (uint32_t i = 0; i < cluster->order.count; i++) {
		const struct pair_behind behind =
			behind_of(all, cluster->order.behind[i].group, range);

		insert_behind(list, &behind);
	}
	return list;
}

/* The group of a cluster that an occupant belongs to; IMMEDIATE_NONE: none yet. */
static uint32_t find_group(const struct pair_searches *all, const struct immediate_occupant *o)
{
	const struct pair_list *order = &all->clusters[o->rest.cluster].order;

	for (uint32_t i = order->count; i-- > 0 && order->behind[i].bound <= o->value;) {
		const struct immediate_occupant *other = pair_occupant(all, order->behind[i].group);

		if (other->value == o->value && other->rest.etc_s == o->rest.etc_s &&
		    immediate_same_task(other->task, o->task))
			return order->behind[i].group;
	}
	return IMMEDIATE_NONE;
}

/* Moves a group that has lost a member to its position in all lists of a cluster. */
static void settle_group(struct pair_searches *all, struct pair_cluster *cluster, uint32_t group)
{
	for (uint32_t r = 0; r <= PAIR_RANGES; r++) {
		struct pair_list *list = r < PAIR_RANGES ? &cluster->ranges[r] : &cluster->order;
		struct pair_behind behind;

		if (!list->behind)
			continue;
		behind = remove_behind(list, group);
		if (pair_is_empty(all, group))
			continue;
		behind.node = pair_occupant(all, group)->nodes[0];
		insert_behind(list, &behind);
	}
}

/* Adds an occupant to its group; occupants are added in decreasing order of their nodes. */
static void add_occupant(struct pair_searches *all, uint32_t occupant)
{
	const struct immediate_occupant *o = &all->immediate->occupants[occupant];
	struct pair_list *order = &all->clusters[o->rest.cluster].order;
	struct pair_behind behind = {o->value, o->nodes[0], find_group(all, o)};

	if (behind.group != IMMEDIATE_NONE) {
		remove_behind(order, behind.group);
	} else {
		behind.group = all->groups_count++;
		all->lowest[behind.group] = IMMEDIATE_NONE;
	}
	all->next[occupant] = all->lowest[behind.group];
	all->lowest[behind.group] = occupant;
	insert_behind(order, &behind);
}

static int begin_cluster(struct pair_searches *all, uint32_t index)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_cluster *c = &immediate->clusters[index];
	const uint32_t nodes = immediate->system->clusters[index].nodes;
	struct pair_cluster *cluster = &all->clusters[index];

	*cluster = (struct pair_cluster){
		.frontier = arena_array(immediate->arena, nodes, sizeof(*cluster->frontier)),
		.order.behind =
			arena_array(immediate->arena, nodes, sizeof(*cluster->order.behind)),
	};
	if (!cluster->frontier || !cluster->order.behind)
		return -ENOMEM;
	for (uint32_t i = c->victims_count; !all->plain && i-- > 0;)
		add_occupant(all, c->victims[i].occupant);
	return 0;
}

int pair_searches_begin(struct pair_searches *all, struct immediate *immediate)
{
	const struct sched_system *system = immediate->system;
	const uint32_t count = system->clusters_count;
	const uint32_t occupants = immediate->occupants_count;
	uint32_t most = 0;

	for (uint32_t c = 0; c < count; c++)
		most = system->clusters[c].nodes > most ? system->clusters[c].nodes : most;
	*all = (struct pair_searches){
		.immediate = immediate,
		.plain = !immediate->serial || immediate->energy.gate ||
			 immediate->energy.filter != POLICY_FILTER_NONE,
		.algorithm_3 = immediate->policy->algorithm_3,
		.clusters = arena_array(immediate->arena, count, sizeof(*all->clusters)),
		.lowest = arena_array(immediate->arena, occupants, sizeof(*all->lowest)),
		.next = arena_array(immediate->arena, occupants, sizeof(*all->next)),
		.victims = arena_array(immediate->arena, most, sizeof(*all->victims)),
	};
	if (!all->clusters || !all->lowest || !all->next || !all->victims)
		return -ENOMEM;
	for (uint32_t c = 0; c < count; c++)
		if (begin_cluster(all, c) < 0)
			return -ENOMEM;
	return 0;
}

/* Whether a member of the frontier precedes `o`. */
static bool is_preceded(const struct pair_searches *all, const struct pair_cluster *cluster,
			const struct immediate_occupant *o)
{
	for (uint32_t i = 0; i < cluster->frontier_count; i++) {
		const struct immediate_occupant *other = pair_occupant(all, cluster->frontier[i]);

		if (other->nodes[0] < o->nodes[0] &&
		    (other->rest.etc_s == o->rest.etc_s ||
		     other->rest.etc_s < o->rest.etc_s - SAME_END_S))
			return true;
	}
	return false;
}

void pair_frontier(struct pair_searches *all, uint32_t index)
{
	struct pair_cluster *cluster = &all->clusters[index];

	if (cluster->frontier_count > 0)
		return;
	for (uint32_t i = 0; i < cluster->order.count; i++) {
		const uint32_t group = cluster->order.behind[i].group;

		if (!is_preceded(all, cluster, pair_occupant(all, group)))
			cluster->frontier[cluster->frontier_count++] = group;
	}
}

void pair_searches_update(struct pair_searches *all, uint32_t anchor)
{
	const struct immediate_occupant *o = &all->immediate->occupants[anchor];
	uint32_t group;

	if (all->plain)
		return;
	/* `o` is on the lowest node of its group. */
	group = find_group(all, o);
	all->lowest[group] = all->next[anchor];
	all->clusters[o->rest.cluster].frontier_count = 0;
	settle_group(all, &all->clusters[o->rest.cluster], group);
}
