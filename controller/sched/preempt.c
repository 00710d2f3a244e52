/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/preempt.h"

#include "controller/sched/preempt_heap.h"
#include "controller/sched/rank_key.h"

/* Candidates that have to exceed the same value. */
struct lane {
	uint32_t cluster;
	uint32_t nodes;
	bool may_preempt;
	uint32_t version; /* version of the cluster, + 1; 0: `beat` is not known yet */
	double beat;      /* 0: idle nodes; INFINITY: nothing can be placed */
	double beat_key;
	uint32_t victims; /* victims whose values make up `beat` */
	struct preempt_heap heap;
};

/* The event. */
struct preempting {
	struct immediate *immediate;
	enum preempt preempt;
	bool energy; /* energy may refuse options: all candidates are considered */
	uint32_t lanes_count;
	uint32_t lanes_capacity;
	struct lane *lanes;
	struct preempt_heap whole;  /* classes that are not in the lanes, by their bounds */
	struct preempt_heap parked; /* classes that cannot preempt, while no node is idle */
};

/* The best candidate so far. */
struct best {
	const struct lane *lane;    /* NULL: no candidate */
	struct preempt_entry entry; /* its key is that of t's value */
	double key;                 /* key of the quantity that is maximised */
};

static const enum sched_reason idle_reasons[] = {
	[OBJECTIVE_UTIL] = SCHED_REASON_BEST_UTIL,
	[OBJECTIVE_UPT] = SCHED_REASON_BEST_UPT,
};

static struct lane *find_lane(struct preempting *p, uint32_t cluster, uint32_t nodes,
			      bool may_preempt)
{
	for (uint32_t i = 0; i < p->lanes_count; i++) {
		struct lane *lane = &p->lanes[i];

		if (lane->cluster == cluster && lane->nodes == nodes &&
		    lane->may_preempt == may_preempt)
			return lane;
	}
	if (immediate_grow(p->immediate->arena, (void **)&p->lanes, p->lanes_count,
			   &p->lanes_capacity, sizeof(*p->lanes)) < 0)
		return NULL;
	p->lanes[p->lanes_count] = (struct lane){cluster, nodes, may_preempt, .version = 0};
	return &p->lanes[p->lanes_count++];
}

/* Puts all ways of a class that earn something into the lanes. */
static int enter_lanes(struct preempting *p, uint32_t class)
{
	struct immediate *immediate = p->immediate;
	const struct immediate_way *ways = immediate_ways(immediate, class);
	const bool may_preempt =
		p->preempt != PREEMPT_NEVER && immediate->classes[class].may_preempt;

	if (!ways)
		return -ENOMEM;
	for (uint32_t i = 0; i < immediate->classes[class].ways_count; i++) {
		struct preempt_entry entry;
		struct lane *lane;

		if (ways[i].value <= 0)
			continue;
		lane = find_lane(p, ways[i].rest.cluster, ways[i].rest.nodes, may_preempt);
		entry = preempt_entry_of(immediate, class, i, rank_key(ways[i].value));
		if (!lane || preempt_heap_push(&lane->heap, immediate->arena, &entry) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Recomputes the value that the candidates of a lane have to exceed. */
static void refresh(struct preempting *p, struct lane *lane)
{
	const struct immediate_cluster *cluster = &p->immediate->clusters[lane->cluster];

	if (lane->version == cluster->version + 1)
		return;
	lane->version = cluster->version + 1;
	lane->victims = 0;
	if (cluster->idle >= lane->nodes)
		lane->beat = 0;
	else
		lane->beat = lane->may_preempt ? immediate_beat(p->immediate, lane->cluster,
								lane->nodes, &lane->victims)
					       : (double)INFINITY;
	lane->beat_key = rank_key(lane->beat);
}

/* The first candidate of a lane whose class still has that task; NULL: none. */
static const struct preempt_entry *top_of(struct preempting *p, struct lane *lane)
{
	const struct immediate *immediate = p->immediate;
	struct preempt_heap *heap = &lane->heap;

	while (heap->count > 0) {
		struct preempt_entry *top = &heap->entries[0];

		if (preempt_exhausted(immediate, top->class)) {
			preempt_heap_remove(heap);
			continue;
		}
		if (top->id == immediate_head(immediate, top->class)->id)
			return top;
		*top = preempt_entry_of(immediate, top->class, top->way, top->key);
		preempt_heap_sift(heap, 0);
	}
	return NULL;
}

/* The first candidate of a lane that energy allows, considering all of them. */
static const struct preempt_entry *allowed_of(struct preempting *p, struct lane *lane)
{
	const struct immediate *immediate = p->immediate;
	struct preempt_entry *best = NULL;

	for (uint32_t i = 0; i < lane->heap.count; i++) {
		struct preempt_entry *entry = &lane->heap.entries[i];
		const struct immediate_class *class = &immediate->classes[entry->class];

		if (preempt_exhausted(immediate, entry->class) ||
		    energy_judge(&immediate->energy, &class->ways[entry->way].rest) !=
			    SCHED_REFUSAL_TAKEN)
			continue;
		*entry = preempt_entry_of(immediate, entry->class, entry->way, entry->key);
		if (!best || preempt_before(entry, best))
			best = entry;
	}
	return best;
}

/* Whether a candidate comes before the best so far. */
static bool is_better(const struct best *best, const struct lane *lane,
		      const struct preempt_entry *entry, double key)
{
	const struct lane *other = best->lane;

	if (!other)
		return true;
	if (key != best->key)
		return key > best->key;
	if (entry->arrival_s != best->entry.arrival_s)
		return entry->arrival_s < best->entry.arrival_s;
	if (entry->id != best->entry.id)
		return entry->id < best->entry.id;
	if ((lane->victims == 0) != (other->victims == 0))
		return lane->victims == 0;
	if (lane->beat_key != other->beat_key)
		return lane->beat_key < other->beat_key;
	return lane->cluster < other->cluster;
}

/* The best candidate of all lanes. */
static struct best find_best(struct preempting *p)
{
	struct best best = {0};

	for (uint32_t i = 0; i < p->lanes_count; i++) {
		struct lane *lane = &p->lanes[i];
		const struct preempt_entry *top;
		double key;

		refresh(p, lane);
		if (isinf(lane->beat))
			continue;
		top = p->energy ? allowed_of(p, lane) : top_of(p, lane);
		if (!top || (lane->victims > 0 && top->key <= lane->beat_key))
			continue;
		key = p->preempt == PREEMPT_DIFF ? rank_key(top->key - lane->beat_key) : top->key;
		if (is_better(&best, lane, top, key))
			best = (struct best){lane, *top, key};
	}
	return best;
}

/* The key of the value that a task has to exceed to be placed anywhere. */
static double reach(const struct preempting *p)
{
	const struct immediate *immediate = p->immediate;
	double least = (double)INFINITY;

	if (immediate->idle > 0)
		return 0;
	for (uint32_t c = 0; p->preempt != PREEMPT_NEVER && c < immediate->system->clusters_count;
	     c++)
		if (immediate->clusters[c].victims_count > 0)
			least = fmin(least, immediate->clusters[c].victims[0].key);
	return least;
}

/* Whether a whole class on top might come before the best of the lanes. */
static bool might_win(const struct preempt_entry *whole, const struct best *best, double least)
{
	if (!best->lane)
		return whole->key > least;
	if (whole->key != best->key)
		return whole->key > best->key;
	if (whole->arrival_s != best->entry.arrival_s)
		return whole->arrival_s < best->entry.arrival_s;
	return whole->id < best->entry.id;
}

/*
 * Finds the best candidate, after all classes that might win have entered the lanes. Returns 0, or
 * -ENOMEM.
 */
static int choose_best(struct preempting *p, struct best *ret_best)
{
	struct immediate *immediate = p->immediate;
	const double least = reach(p);

	*ret_best = find_best(p);
	while (p->whole.count > 0) {
		const struct preempt_entry whole = p->whole.entries[0];
		int result;

		if (!p->energy && !might_win(&whole, ret_best, least))
			break;
		preempt_heap_remove(&p->whole);
		if (immediate->idle == 0 && !immediate->classes[whole.class].may_preempt) {
			result = preempt_heap_append(&p->parked, immediate->arena, &whole);
		} else {
			result = enter_lanes(p, whole.class);
			*ret_best = find_best(p);
		}
		if (result < 0)
			return result;
	}
	return 0;
}

/* Puts parked classes back as soon as nodes are idle again. */
static int unpark(struct preempting *p)
{
	int result = 0;

	if (p->immediate->idle == 0)
		return 0;
	for (uint32_t i = 0; result == 0 && i < p->parked.count; i++)
		result = preempt_heap_push(&p->whole, p->immediate->arena, &p->parked.entries[i]);
	p->parked.count = 0;
	return result;
}

/* Why a way of a class is not taken. */
static enum sched_refusal refusal_of(struct preempting *p, uint32_t class,
				     const struct immediate_way *way)
{
	const struct immediate *immediate = p->immediate;
	const enum sched_refusal energy = energy_judge(&immediate->energy, &way->rest);
	uint32_t victims;
	double beat;

	if (way->value <= 0)
		return SCHED_REFUSAL_NO_UTILITY;
	if (energy != SCHED_REFUSAL_TAKEN)
		return energy;
	if (immediate->clusters[way->rest.cluster].idle >= way->rest.nodes)
		return SCHED_REFUSAL_LOWER;
	if (p->preempt == PREEMPT_NEVER || !immediate->classes[class].may_preempt)
		return SCHED_REFUSAL_BUSY;
	beat = immediate_beat(immediate, way->rest.cluster, way->rest.nodes, &victims);
	if (isinf(beat))
		return SCHED_REFUSAL_BUSY;
	return rank_key_compare(way->value, beat) > 0 ? SCHED_REFUSAL_LOWER
						      : SCHED_REFUSAL_NOT_WORTH;
}

/* The objective of a way, whether it can be taken or not. */
static double objective_of(struct preempting *p, uint32_t class, const struct immediate_way *way)
{
	const bool may_preempt = p->immediate->classes[class].may_preempt;
	uint32_t victims;
	double beat;

	if (p->preempt != PREEMPT_DIFF || !may_preempt)
		return way->value;
	beat = immediate_beat(p->immediate, way->rest.cluster, way->rest.nodes, &victims);
	return isinf(beat) ? way->value : way->value - beat;
}

/* Notes the ways of a task; `taken` is the one about to be placed, or NULL. */
static int explain(struct preempting *p, uint32_t class, const struct sched_task *task,
		   const struct immediate_way *taken)
{
	const struct immediate_way *ways = immediate_ways(p->immediate, class);
	int result = ways ? 0 : -ENOMEM;

	for (uint32_t i = 0; result == 0 && i < p->immediate->classes[class].ways_count; i++)
		result = immediate_consider(p->immediate, task, &ways[i],
					    objective_of(p, class, &ways[i]),
					    &ways[i] == taken ? SCHED_REFUSAL_TAKEN
							      : refusal_of(p, class, &ways[i]));
	return result;
}

static int explain_rest(struct preempting *p)
{
	const struct immediate *immediate = p->immediate;
	int result = 0;

	for (uint32_t c = 0; c < immediate->classes_count; c++)
		for (uint32_t i = immediate->classes[c].next;
		     result == 0 && i < immediate->classes[c].count; i++)
			result = explain(p, c, immediate->classes[c].tasks[i], NULL);
	return result;
}

/* Places the best candidate, and adds the classes of the tasks that it preempted. */
static int place_best(struct preempting *p, const struct best *best)
{
	struct immediate *immediate = p->immediate;
	const uint32_t before = immediate->classes_count;
	const double value = immediate->classes[best->entry.class].ways[best->entry.way].value;
	const struct immediate_choice choice = {
		.class = best->entry.class,
		.way = best->entry.way,
		.anchor = IMMEDIATE_NONE,
		.objective = p->preempt == PREEMPT_DIFF ? value - best->lane->beat : value,
		.reason = best->lane->victims > 0 ? SCHED_REASON_PREEMPTS
						  : idle_reasons[immediate->objective],
	};
	int result = 0;

	if (immediate_explains(immediate))
		result = explain(p, choice.class, immediate_head(immediate, choice.class),
				 &immediate->classes[choice.class].ways[choice.way]);
	if (result == 0)
		result = immediate_place(immediate, &choice);
	for (uint32_t c = before; result == 0 && c < immediate->classes_count; c++)
		result = enter_lanes(p, c);
	return result < 0 ? result : unpark(p);
}

static int init_preempting(struct preempting *p, struct immediate *immediate, enum preempt preempt)
{
	*p = (struct preempting){
		.immediate = immediate,
		.preempt = preempt,
		.energy = immediate->energy.gate || immediate->energy.filter != POLICY_FILTER_NONE,
	};
	for (uint32_t c = 0; c < immediate->classes_count; c++) {
		const struct preempt_entry entry =
			preempt_entry_of(immediate, c, 0, rank_key(immediate->classes[c].bound));

		if (preempt_heap_append(&p->whole, immediate->arena, &entry) < 0)
			return -ENOMEM;
	}
	preempt_heap_order(&p->whole);
	return 0;
}

int preempt_map(struct immediate *immediate, enum objective objective, enum preempt preempt)
{
	struct preempting p;
	struct best best;
	int result;

	if (preempt == PREEMPT_PAIR) {
		immediate->settles = true;
		return preempt_pair_map(immediate, objective);
	}
	result = immediate_value(immediate, objective, preempt != PREEMPT_NEVER);
	if (result == 0)
		result = init_preempting(&p, immediate, preempt);
	while (result == 0) {
		result = choose_best(&p, &best);
		if (result < 0 || !best.lane)
			break;
		result = place_best(&p, &best);
	}
	if (result == 0 && immediate_explains(immediate))
		result = explain_rest(&p);
	return result;
}
