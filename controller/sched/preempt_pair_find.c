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

/* The lowest node that an occupant of a serial system is on. */
static uint32_t node_of(const struct pair_searches *all, uint32_t occupant)
{
	return all->immediate->occupants[occupant].nodes[0];
}

/* The member of a group on the lowest node; IMMEDIATE_NONE: all are gone. */
static uint32_t lowest_of(struct pair_searches *all, uint32_t group)
{
	struct pair_group *g = &all->groups[group];

	while (g->count > 0 && !all->immediate->occupants[g->members[g->count - 1]].present)
		g->count--;
	return g->count > 0 ? g->members[g->count - 1] : IMMEDIATE_NONE;
}

static int add_member(struct pair_searches *all, uint32_t group, uint32_t occupant)
{
	struct pair_group *g = &all->groups[group];
	uint32_t i = g->count;

	if (immediate_grow(all->immediate->scratch, (void **)&g->members, g->count, &g->capacity,
			   sizeof(*g->members)) < 0)
		return -ENOMEM;
	for (g->count++; i > 0 && node_of(all, g->members[i - 1]) < node_of(all, occupant); i--)
		g->members[i] = g->members[i - 1];
	g->members[i] = occupant;
	return 0;
}

/* Adds a group with one member. Returns its index; IMMEDIATE_NONE: out of memory. */
static uint32_t add_group(struct pair_searches *all, uint32_t class, uint32_t occupant)
{
	const struct immediate_occupant *o = &all->immediate->occupants[occupant];

	if (immediate_grow(all->immediate->scratch, (void **)&all->groups, all->groups_count,
			   &all->groups_capacity, sizeof(*all->groups)) < 0)
		return IMMEDIATE_NONE;
	all->groups[all->groups_count] = (struct pair_group){
		.bound = o->value * worth_margin(o->task),
		.cluster = o->rest.cluster,
		.class = class,
	};
	if (add_member(all, all->groups_count, occupant) < 0)
		return IMMEDIATE_NONE;
	return all->groups_count++;
}

/* Adds an occupant to one of the groups from `first` on, or to a new one. */
static int group_occupant(struct pair_searches *all, uint32_t first, uint32_t occupant)
{
	const struct immediate_occupant *o = &all->immediate->occupants[occupant];

	for (uint32_t g = first; g < all->groups_count; g++) {
		const struct immediate_occupant *other =
			&all->immediate->occupants[all->groups[g].members[0]];

		if (o->rest.etc_s == other->rest.etc_s &&
		    immediate_same_task(o->task, other->task))
			return add_member(all, g, occupant);
	}
	return add_group(all, IMMEDIATE_NONE, occupant) == IMMEDIATE_NONE ? -ENOMEM : 0;
}

/*
 * Groups the victims of a cluster, which come in increasing order of value, in the other direction.
 * Interchangeable ones have equal values.
 */
static int order_cluster(struct pair_searches *all, uint32_t cluster)
{
	const struct immediate_cluster *c = &all->immediate->clusters[cluster];
	struct pair_order *order = &all->orders[cluster];
	uint32_t equals = all->groups_count;
	int result = 0;

	order->first = all->groups_count;
	for (uint32_t i = c->victims_count; result == 0 && i-- > 0;) {
		if (i + 1 < c->victims_count && c->victims[i].value != c->victims[i + 1].value)
			equals = all->groups_count;
		result = group_occupant(all, equals, c->victims[i].occupant);
	}
	order->count = all->groups_count - order->first;
	/* The bounds may have another order than the values, by a margin. */
	for (uint32_t i = order->first + 1; i < all->groups_count; i++) {
		const struct pair_group group = all->groups[i];
		uint32_t at = i;

		for (; at > order->first && all->groups[at - 1].bound < group.bound; at--)
			all->groups[at] = all->groups[at - 1];
		all->groups[at] = group;
	}
	return result;
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

/* Adds the occupant that was just placed to those placed from the same class in its cluster. */
static int add_placed(struct pair_searches *all, uint32_t occupant)
{
	const struct immediate_occupant *o = &all->immediate->occupants[occupant];
	uint32_t group = all->groups_count;
	uint32_t lowest;

	/* What was placed last is found first; a task that is back on its nodes is alone. */
	while (group > 0 && o->class != IMMEDIATE_NONE &&
	       all->groups[group - 1].class != IMMEDIATE_NONE &&
	       (all->groups[group - 1].class != o->class ||
		all->groups[group - 1].cluster != o->rest.cluster ||
		all->immediate->occupants[all->groups[group - 1].members[0]].rest.etc_s !=
			o->rest.etc_s))
		group--;
	if (group > 0 && o->class != IMMEDIATE_NONE &&
	    all->groups[group - 1].class != IMMEDIATE_NONE) {
		group--;
		lowest = lowest_of(all, group);
		if (add_member(all, group, occupant) < 0)
			return -ENOMEM;
		if (lowest != IMMEDIATE_NONE && node_of(all, lowest) < node_of(all, occupant))
			return 0;
	} else {
		group = add_group(all, o->class, occupant);
		if (group == IMMEDIATE_NONE)
			return -ENOMEM;
	}
	if (immediate_grow(all->immediate->scratch, (void **)&all->news, all->news_count,
			   &all->news_capacity, sizeof(*all->news)) < 0)
		return -ENOMEM;
	all->news[all->news_count++] = group;
	return 0;
}

int pair_searches_update(struct pair_searches *all)
{
	const struct immediate *immediate = all->immediate;
	const uint32_t last = immediate->occupants_count - 1;

	if (!all->plain && immediate->occupants[last].preemptible && add_placed(all, last) < 0)
		return -ENOMEM;
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
	const struct immediate_class *c = &all->immediate->classes[class];
	struct pair_search *search = &all->searches[class];

	for (; search->news < all->news_count; search->news++) {
		const uint32_t index = all->news[search->news];
		const struct pair_group *group = &all->groups[index];
		const uint32_t lowest = lowest_of(all, index);

		for (uint32_t w = 0; lowest != IMMEDIATE_NONE && w < c->ways_count; w++) {
			const struct pair pair = {
				.net = c->ways[w].value * search->margin + group->bound,
				.cluster = group->cluster,
				.node = node_of(all, lowest),
				.anchor = lowest,
				.group = index,
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

/* Whether a group, or one behind it, may make a better pair than `top` (NULL: none is known). */
static bool may_hold(const struct pair_group *group, double value, const struct pair *top)
{
	if (!top || value + group->bound != top->net)
		return !top || value + group->bound > top->net;
	return group->cluster <= top->cluster;
}

/* Weighs the next group of the way that may hold the best pair; false when no way does. */
static int weigh_next(struct pair_searches *all, uint32_t class, bool *ret_weighed)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	struct pair_search *search = &all->searches[class];
	const struct pair *top = search->count > 0 ? &search->pairs[0] : NULL;
	uint32_t best = IMMEDIATE_NONE;
	double best_bound = 0;
	uint32_t best_way = 0;

	for (uint32_t w = 0; w < c->ways_count; w++) {
		const struct pair_order *order = &all->orders[c->ways[w].rest.cluster];
		const double value = c->ways[w].value * search->margin;
		uint32_t *at = &search->at[w];

		while (*at < order->count &&
		       lowest_of(all, order->first + *at) == IMMEDIATE_NONE)
			++*at;
		if (value <= 0 || *at == order->count ||
		    !may_hold(&all->groups[order->first + *at], value, top))
			continue;
		if (best == IMMEDIATE_NONE ||
		    value + all->groups[order->first + *at].bound > best_bound) {
			best = order->first + *at;
			best_bound = value + all->groups[best].bound;
			best_way = w;
		}
	}
	*ret_weighed = best != IMMEDIATE_NONE;
	if (best == IMMEDIATE_NONE)
		return 0;
	search->at[best_way]++;

	const uint32_t anchor = lowest_of(all, best);
	struct pair pair = {
		.cluster = c->ways[best_way].rest.cluster,
		.node = node_of(all, anchor),
		.anchor = anchor,
		.group = best,
		.way = (uint16_t)best_way,
	};

	weigh(immediate, c->tasks[c->next], &c->ways[best_way], &anchor, 1, &pair);
	return push(all, search, &pair);
}

/* Brings the pair on top up to date; false when it is. */
static bool refresh_top(struct pair_searches *all, uint32_t class)
{
	const struct immediate *immediate = all->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	struct pair_search *search = &all->searches[class];
	struct pair *top = search->pairs;
	uint32_t lowest;

	if (search->count == 0)
		return false;
	lowest = lowest_of(all, top->group);
	if (lowest == IMMEDIATE_NONE) {
		remove_top(search);
		return true;
	}
	if (top->weighed && top->anchor == lowest)
		return false;
	top->anchor = lowest;
	top->node = node_of(all, lowest);
	if (!top->weighed)
		weigh(immediate, c->tasks[c->next], &c->ways[top->way], &lowest, 1, top);
	sift(search, 0);
	return true;
}

/* Continues the search of a class until its heap's top is the best. */
static int find_next(struct pair_searches *all, uint32_t class, bool *ret_found,
		     struct pair *ret_pair)
{
	struct pair_search *search = &all->searches[class];
	bool more = true;
	int result = begin_search(all, class);

	if (result == 0)
		result = take_in(all, class);
	while (result == 0 && more)
		if (!refresh_top(all, class))
			result = weigh_next(all, class, &more);
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
