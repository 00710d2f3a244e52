/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/preempt_pair.h"

/* Whether `a` is a better pair than `b`; what was not weighed comes first, to be weighed. */
static bool pair_before(const struct pair *a, const struct pair *b)
{
	if (a->net != b->net)
		return a->net > b->net;
	if (a->weighed != b->weighed)
		return !a->weighed;
	if (a->cluster != b->cluster)
		return a->cluster < b->cluster;
	if (a->node != b->node)
		return a->node < b->node;
	return a->way < b->way;
}

static void sift(struct pair_search *search, uint32_t i)
{
	const struct pair pair = search->pairs[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= search->count)
			break;
		if (child + 1 < search->count &&
		    pair_before(&search->pairs[child + 1], &search->pairs[child]))
			child++;
		if (!pair_before(&search->pairs[child], &pair))
			break;
		search->pairs[i] = search->pairs[child];
		i = child;
	}
	search->pairs[i] = pair;
}

static void remove_top(struct pair_search *search)
{
	search->pairs[0] = search->pairs[--search->count];
	if (search->count > 0)
		sift(search, 0);
}

static int push(struct pair_searches *all, struct pair_search *search, const struct pair *pair)
{
	uint32_t i = search->count;

	if (immediate_grow(all->immediate->scratch, (void **)&search->pairs, search->count,
			   &search->capacity, sizeof(*search->pairs)) < 0)
		return -ENOMEM;
	for (search->count++; i > 0 && pair_before(pair, &search->pairs[(i - 1) / 2]);
	     i = (i - 1) / 2)
		search->pairs[i] = search->pairs[(i - 1) / 2];
	search->pairs[i] = *pair;
	return 0;
}

static bool rank_before(const struct pair_rank *a, const struct pair_rank *b)
{
	return a->bound != b->bound ? a->bound > b->bound : a->node < b->node;
}

/*
 * The victims of a cluster in the other direction. They come in increasing order of value, so this
 * mostly reverses runs of equals.
 */
static int order_cluster(struct pair_searches *all, uint32_t cluster)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_cluster *c = &immediate->clusters[cluster];
	struct pair_order *order = &all->orders[cluster];

	order->count = 0;
	order->ranks =
		scratch_array(immediate->scratch, c->victims_count, sizeof(*order->ranks));
	if (!order->ranks)
		return -ENOMEM;
	for (uint32_t i = c->victims_count, end = i; i > 0; end = i) {
		while (i > 0 && c->victims[i - 1].value == c->victims[end - 1].value)
			i--;
		for (uint32_t j = i; j < end; j++) {
			const uint32_t occupant = c->victims[j].occupant;
			const struct pair_rank rank = {
				.bound = c->victims[j].value *
					 worth_margin(immediate->occupants[occupant].task),
				.node = c->victims[j].node,
				.occupant = occupant,
			};
			uint32_t at = order->count++;

			for (; at > 0 && rank_before(&rank, &order->ranks[at - 1]); at--)
				order->ranks[at] = order->ranks[at - 1];
			order->ranks[at] = rank;
		}
	}
	for (uint32_t i = order->count; i-- > 0;) {
		const bool same = i + 1 < order->count &&
				  order->ranks[i + 1].bound == order->ranks[i].bound;

		order->ranks[i].next = same ? order->ranks[i + 1].next : i + 1;
	}
	return 0;
}

static int add_searches(struct pair_searches *all)
{
	while (all->searches_count < all->immediate->classes_count) {
		if (immediate_grow(all->immediate->scratch, (void **)&all->searches,
				   all->searches_count, &all->searches_capacity,
				   sizeof(*all->searches)) < 0)
			return -ENOMEM;
		all->searches[all->searches_count++] = (struct pair_search){ .begun = false };
	}
	return 0;
}

int pair_searches_begin(struct pair_searches *all, struct immediate *immediate)
{
	const struct sched_system *system = immediate->system;
	uint32_t most = 0;
	int result = 0;

	for (uint32_t c = 0; c < system->clusters_count; c++)
		most = system->clusters[c].nodes > most ? system->clusters[c].nodes : most;
	*all = (struct pair_searches){
		.immediate = immediate,
		.plain = !immediate->serial || immediate->energy.gate,
		.orders = scratch_array(immediate->scratch, system->clusters_count,
					sizeof(*all->orders)),
		.victims = scratch_array(immediate->scratch, most, sizeof(*all->victims)),
	};
	if (!all->orders || !all->victims)
		return -ENOMEM;
	for (uint32_t c = 0; result == 0 && !all->plain && c < system->clusters_count; c++)
		result = order_cluster(all, c);
	return result < 0 ? result : add_searches(all);
}

int pair_searches_update(struct pair_searches *all)
{
	const struct immediate *immediate = all->immediate;
	const uint32_t last = immediate->occupants_count - 1;

	if (!all->plain && immediate->occupants[last].preemptible) {
		if (immediate_grow(immediate->scratch, (void **)&all->placed, all->placed_count,
				   &all->placed_capacity, sizeof(*all->placed)) < 0)
			return -ENOMEM;
		all->placed[all->placed_count++] = last;
	}
	return add_searches(all);
}

/* The better ordering of `task` and `victims_count` victims; fills net, second and first. */
static void weigh(const struct immediate *immediate, const struct sched_task *task,
		  const struct immediate_way *way, const uint32_t *victims, uint32_t victims_count,
		  struct pair *pair)
{
	const double now_s = immediate->snapshot->now_s;
	const double ret_s = way->rest.etc_s;
	double first = way->value;
	double second = 0;
	double longest_s = 0;

	for (uint32_t i = 0; i < victims_count; i++) {
		const struct immediate_occupant *victim = &immediate->occupants[victims[i]];
		const double left_s = victim->rest.etc_s;

		first += worth_at(immediate->worth, victim->task, now_s + ret_s + left_s, left_s);
		second += victim->value;
		longest_s = left_s > longest_s ? left_s : longest_s;
	}
	pair->second = worth_at(immediate->worth, task, now_s + longest_s + ret_s, ret_s);
	second += pair->second;
	pair->first = first > second;
	pair->net = pair->first ? first : second;
	pair->weighed = true;
}

/* Whether a way takes part in pairs. */
static bool takes_part(const struct immediate *immediate, const struct immediate_way *way)
{
	return way->value > 0 &&
	       energy_judge(&immediate->energy, &way->rest) == SCHED_REFUSAL_TAKEN;
}

/* Weighs all pairs of a class. */
static bool find_plain(struct pair_searches *all, uint32_t index, struct pair *ret_pair)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_class *class = &immediate->classes[index];
	bool found = false;

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

			if (count == IMMEDIATE_NONE)
				continue;
			weigh(immediate, class->tasks[class->next], way, all->victims, count,
			      &pair);
			if (!found || pair_before(&pair, ret_pair))
				*ret_pair = pair;
			found = true;
		}
	}
	return found;
}

static int begin_search(struct pair_searches *all, uint32_t class)
{
	struct pair_search *search = &all->searches[class];
	const uint32_t ways = all->immediate->classes[class].ways_count;

	if (search->begun)
		return 0;
	search->begun = true;
	search->margin = worth_margin(immediate_head(all->immediate, class));
	search->at = scratch_array(all->immediate->scratch, ways, sizeof(*search->at));
	if (!search->at)
		return -ENOMEM;
	memset(search->at, 0, ways * sizeof(*search->at));
	return 0;
}

/* Takes in what was placed since the last search, with its bound. */
static int take_in(struct pair_searches *all, uint32_t class)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	struct pair_search *search = &all->searches[class];

	for (; search->placed < all->placed_count; search->placed++) {
		const uint32_t index = all->placed[search->placed];
		const struct immediate_occupant *occupant = &immediate->occupants[index];

		for (uint32_t w = 0; occupant->present && w < c->ways_count; w++) {
			const struct pair pair = {
				.net = c->ways[w].value * search->margin +
				       occupant->value * worth_margin(occupant->task),
				.cluster = occupant->rest.cluster,
				.node = occupant->nodes[0],
				.anchor = index,
				.way = (uint16_t)w,
			};

			if (c->ways[w].rest.cluster != pair.cluster || c->ways[w].value <= 0)
				continue;
			if (push(all, search, &pair) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Whether the rest of a cluster's order may hold a better pair than `top` (NULL: none is known). */
static bool may_hold(const struct pair_order *order, uint32_t at, double value, uint32_t cluster,
		     const struct pair *top)
{
	const struct pair_rank *rank = &order->ranks[at];

	if (at == order->count)
		return false;
	if (!top || value + rank->bound != top->net)
		return !top || value + rank->bound > top->net;
	if (cluster != top->cluster)
		return cluster < top->cluster;
	/* Within equals nodes ascend; behind them a rounding may make the sum equal once more. */
	return rank->node <= top->node ||
	       (rank->next < order->count && value + order->ranks[rank->next].bound == top->net);
}

/* Weighs the next victim of the way that may hold the best pair; false when no way does. */
static int weigh_next(struct pair_searches *all, uint32_t class, bool *ret_weighed)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	struct pair_search *search = &all->searches[class];
	const struct pair *top = search->count > 0 ? &search->pairs[0] : NULL;
	const struct pair_rank *best = NULL;
	double best_bound = 0;
	uint32_t best_way = 0;

	for (uint32_t w = 0; w < c->ways_count; w++) {
		const uint32_t cluster = c->ways[w].rest.cluster;
		const struct pair_order *order = &all->orders[cluster];
		const double value = c->ways[w].value * search->margin;

		while (search->at[w] < order->count &&
		       !immediate->occupants[order->ranks[search->at[w]].occupant].present)
			search->at[w]++;
		if (value <= 0 || !may_hold(order, search->at[w], value, cluster, top))
			continue;
		if (!best || value + order->ranks[search->at[w]].bound > best_bound) {
			best = &order->ranks[search->at[w]];
			best_bound = value + best->bound;
			best_way = w;
		}
	}
	*ret_weighed = best;
	if (!best)
		return 0;
	search->at[best_way]++;

	struct pair pair = {
		.cluster = c->ways[best_way].rest.cluster,
		.node = best->node,
		.anchor = best->occupant,
		.way = (uint16_t)best_way,
	};

	weigh(immediate, c->tasks[c->next], &c->ways[best_way], &best->occupant, 1, &pair);
	return push(all, search, &pair);
}

/* Continues the search of a class until its heap's top is the best. */
static int find_next(struct pair_searches *all, uint32_t class, bool *ret_found,
		     struct pair *ret_pair)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	struct pair_search *search = &all->searches[class];
	int result = begin_search(all, class);

	if (result == 0)
		result = take_in(all, class);
	while (result == 0) {
		struct pair *top = search->pairs;
		bool weighed = true;

		if (search->count > 0 && !immediate->occupants[top->anchor].present) {
			remove_top(search);
		} else if (search->count > 0 && !top->weighed) {
			weigh(immediate, c->tasks[c->next], &c->ways[top->way], &top->anchor, 1,
			      top);
			sift(search, 0);
		} else {
			result = weigh_next(all, class, &weighed);
		}
		if (!weighed)
			break;
	}
	*ret_found = search->count > 0;
	if (*ret_found)
		*ret_pair = search->pairs[0];
	return result;
}

int pair_find(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *ret_pair)
{
	if (!all->plain)
		return find_next(all, class, ret_found, ret_pair);
	*ret_found = find_plain(all, class, ret_pair);
	return 0;
}

double pair_alone(struct pair_searches *all, uint32_t class, const struct pair *pair)
{
	const struct immediate_choice choice = { class, pair->way, pair->anchor, 0, 0 };
	const uint32_t count = immediate_victims(all->immediate, &choice, all->victims);
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += all->immediate->occupants[all->victims[i]].value;
	return sum;
}
