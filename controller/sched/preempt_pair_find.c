/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/preempt_pair.h"
#include "controller/sched/rank_key.h"

/* A search. */
struct seeker {
	struct pair_searches *all;
	const struct immediate_class *class;
	const struct sched_task *task;
	bool found;
	struct pair best;
};

/* Whether `a` is a better pair than `b`. */
static bool pair_before(const struct pair *a, const struct pair *b)
{
	const int order = rank_key_compare(a->net, b->net);

	if (order != 0)
		return order > 0;
	if (a->cluster != b->cluster)
		return a->cluster < b->cluster;
	if (a->node != b->node)
		return a->node < b->node;
	if (a->way != b->way)
		return a->way < b->way;
	return !a->first && b->first;
}

static void offer(struct seeker *seeker, const struct pair *pair)
{
	if (!seeker->found || pair_before(pair, &seeker->best))
		seeker->best = *pair;
	seeker->found = true;
}

/*
 * Whether a pair on `node` with a net value of at most `bound` may be better than the best so far.
 */
static bool may_win(const struct seeker *seeker, double bound, uint32_t cluster, uint32_t node)
{
	const struct pair *best = &seeker->best;
	const int order = seeker->found ? rank_key_compare(bound, best->net) : 1;

	if (order != 0)
		return order > 0;
	return cluster != best->cluster ? cluster < best->cluster : node <= best->node;
}

/* The value of a task that waits for `left_s`. */
static double worth_second(const struct immediate *immediate, const struct sched_task *task,
			   double left_s, double ret_s)
{
	return objective_at(immediate->objective, task, immediate->snapshot->now_s + left_s + ret_s,
			    ret_s);
}

/* Whether a way takes part in pairs. */
static bool takes_part(const struct immediate *immediate, const struct immediate_way *way)
{
	return way->value > 0 &&
	       energy_judge(&immediate->energy, &way->rest) == SCHED_REFUSAL_TAKEN;
}

/*
 * Computes the better ordering of `task` and `victims_count` victims; fills net, second and first.
 * False: they make no pair.
 */
static bool compute_pair(const struct pair_searches *all, const struct sched_task *task,
			 const struct immediate_way *way, const uint32_t *victims,
			 uint32_t victims_count, struct pair *pair)
{
	const struct immediate *immediate = all->immediate;
	double first = way->value;
	double second = 0;
	double longest_s = 0;

	for (uint32_t i = 0; i < victims_count; i++) {
		const struct immediate_occupant *victim = &immediate->occupants[victims[i]];

		first += pair_worth_behind(immediate, victim, way->rest.etc_s);
		second += victim->value;
		longest_s = fmax(longest_s, victim->rest.etc_s);
	}
	pair->second = worth_second(immediate, task, longest_s, way->rest.etc_s);
	second += pair->second;
	pair->first = rank_key_compare(first, second) > (all->algorithm_3 ? 0 : -1);
	pair->net = pair->first ? first : second;
	return pair->first || all->algorithm_3;
}

/* Computes all pairs of a class. */
static bool find_plain(struct pair_searches *all, uint32_t index, struct pair *ret_pair)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_class *class = &immediate->classes[index];
	struct seeker seeker = {.found = false};

	for (uint32_t w = 0; w < class->ways_count; w++) {
		const struct immediate_way *way = &class->ways[w];
		const struct immediate_cluster *cluster = &immediate->clusters[way->rest.cluster];

		for (uint32_t i = 0; takes_part(immediate, way) && i < cluster->victims_count;
		     i++) {
			const struct immediate_choice choice = {
				.class = index,
				.way = w,
				.anchor = cluster->victims[i].occupant,
			};
			struct pair pair = {
				.cluster = way->rest.cluster,
				.node = cluster->victims[i].node,
				.anchor = choice.anchor,
				.way = (uint16_t)w,
			};
			const uint32_t count = immediate_victims(immediate, &choice, all->victims);

			if (count != IMMEDIATE_NONE &&
			    compute_pair(all, class->tasks[class->next], way, all->victims, count,
					 &pair))
				offer(&seeker, &pair);
		}
	}
	*ret_pair = seeker.best;
	return seeker.found;
}

/* Computes the ordering in which the task goes second, or first, with a member of a group. */
static void compute_group_pair(struct seeker *seeker, uint32_t index, uint32_t group, bool first)
{
	const struct immediate *immediate = seeker->all->immediate;
	const struct immediate_way *way = &seeker->class->ways[index];
	const struct immediate_occupant *o = pair_occupant(seeker->all, group);
	struct pair pair = {
		.cluster = way->rest.cluster,
		.node = o->nodes[0],
		.anchor = seeker->all->lowest[group],
		.group = group,
		.way = (uint16_t)index,
		.first = first,
	};

	if (!first || !seeker->all->algorithm_3) {
		pair.second = worth_second(immediate, seeker->task, o->rest.etc_s, way->rest.etc_s);
		pair.net = o->value + pair.second;
	}
	if (first) {
		const double net = way->value + pair_worth_behind(immediate, o, way->rest.etc_s);

		if (!seeker->all->algorithm_3 && rank_key_compare(net, pair.net) < 0)
			return;
		pair.net = net;
	}
	offer(seeker, &pair);
}

/* Searches the pairs of a way in which the task goes second. */
static void search_second(struct seeker *seeker, uint32_t index)
{
	struct pair_searches *all = seeker->all;
	const struct immediate *immediate = all->immediate;
	const struct immediate_way *way = &seeker->class->ways[index];
	const struct pair_cluster *cluster = &all->clusters[way->rest.cluster];
	const double end_s = immediate->snapshot->now_s + way->rest.etc_s;
	const double most = way->value * objective_margin(seeker->task, end_s);

	pair_frontier(all, way->rest.cluster);
	for (uint32_t i = 0; i < cluster->frontier_count; i++) {
		const struct immediate_occupant *o = pair_occupant(all, cluster->frontier[i]);
		const double bound = o->value + most;

		if (seeker->found && rank_key_above(seeker->best.net, bound))
			return;
		if (may_win(seeker, bound, way->rest.cluster, o->nodes[0]))
			compute_group_pair(seeker, index, cluster->frontier[i], false);
	}
}

/* Searches the pairs of a way in which the task goes first. */
static int search_first(struct seeker *seeker, uint32_t index)
{
	const struct immediate_way *way = &seeker->class->ways[index];
	const struct pair_list *list = pair_range(seeker->all, way->rest.cluster, way->rest.etc_s);

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct pair_behind *behind = &list->behind[i];
		const double bound = way->value + behind->bound;

		if (seeker->found && rank_key_above(seeker->best.net, bound))
			return 0;
		if (may_win(seeker, bound, way->rest.cluster, behind->node))
			compute_group_pair(seeker, index, behind->group, true);
	}
	return 0;
}

/* Searches the pairs of a class in a cluster, or in all clusters (IMMEDIATE_NONE). */
static int search_pairs(struct seeker *seeker, uint32_t cluster)
{
	int result = 0;

	for (uint32_t w = 0; result == 0 && w < seeker->class->ways_count; w++) {
		const struct immediate_way *way = &seeker->class->ways[w];

		if (!takes_part(seeker->all->immediate, way) ||
		    (cluster != IMMEDIATE_NONE && way->rest.cluster != cluster))
			continue;
		if (seeker->all->algorithm_3)
			search_second(seeker, w);
		result = search_first(seeker, w);
	}
	return result;
}

static struct seeker make_seeker(struct pair_searches *all, uint32_t class)
{
	return (struct seeker){
		.all = all,
		.class = &all->immediate->classes[class],
		.task = immediate_head(all->immediate, class),
	};
}

int pair_find(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *ret_pair)
{
	struct seeker seeker = make_seeker(all, class);
	int result;

	if (all->plain) {
		*ret_found = find_plain(all, class, ret_pair);
		return 0;
	}
	result = search_pairs(&seeker, IMMEDIATE_NONE);
	*ret_found = seeker.found;
	*ret_pair = seeker.best;
	return result;
}

int pair_mend(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *pair)
{
	struct seeker seeker = make_seeker(all, class);
	int result;

	if (pair_is_empty(all, pair->group))
		return pair_find(all, class, ret_found, pair);
	/*
	 * Another member of the group gives the same net value; only equal pairs on lower nodes may
	 * come before it.
	 */
	seeker.found = true;
	seeker.best = *pair;
	seeker.best.anchor = all->lowest[pair->group];
	seeker.best.node = pair_occupant(all, pair->group)->nodes[0];
	result = search_pairs(&seeker, pair->cluster);
	*pair = seeker.best;
	return result;
}

double pair_alone(struct pair_searches *all, uint32_t class, const struct pair *pair,
		  enum objective objective)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_choice choice = {class, pair->way, pair->anchor, 0, 0};
	const uint32_t count = immediate_victims(immediate, &choice, all->victims);
	double sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct immediate_occupant *o = &immediate->occupants[all->victims[i]];

		sum += objective == immediate->objective
			       ? o->value
			       : objective_at(objective, o->task,
					      immediate->snapshot->now_s + o->rest.etc_s,
					      o->rest.etc_s);
	}
	return sum;
}
