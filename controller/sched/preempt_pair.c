/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max Util and Max UPT with the Pair technique (paper 000, III.E.4, Algorithm 3).
 *
 * A task t that may preempt makes a pair with every preemptible task r of a cluster where it can
 * earn. Either t goes first and r resumes behind it, or r goes first: the ordering with the higher
 * net value, the sum of both tasks' values, counts, and r goes first unless t first is worth more,
 * strictly. The value of the second one is taken at its later completion and, for UPT, divided by
 * its own RET. The pair with the highest net value is compared with the idle alternative, the
 * highest value of t on idle nodes plus the value of this r left alone, and must exceed it, strictly.
 * Of all tasks the one whose own value in its allocation is highest is decided: it takes the idle
 * nodes, or preempts r, or, if r is to go first, leaves the event without anything.
 *
 * Several nodes: r, the anchor, is any preemptible task. If its nodes are not enough, t takes the
 * idle ones, too, and if these are not either, those of other preemptible tasks in order of
 * increasing value; then r stands for all of them: t goes second when the last of them has ended.
 *
 * Algorithm 3 may go round in circles: that x should go before y, y before z and z before x is
 * possible. So a task that is preempted ROUNDS times in an event leaves it. Random serial systems
 * never get there; among those with wide tasks one in some hundreds does.
 *
 * The decisions are those of a full rescan: what may be worth more than the best known decision, by
 * the bound of its class, is evaluated, the rest waits; and on a serial system an evaluation holds
 * until the r of the best pair or the last idle node is gone, or a better r may have come. In a serial system
 * without idle nodes a class that loses nothing by waiting as long as the longest task takes would
 * always go second, and leaves at once.
 *
 * Cost of an event beside immediate.h, with k classes, o ways each, r victims and p placements: the
 * searches (preempt_pair.h) weigh k x o x r pairs at most, mostly some per class; each placement
 * takes one look at the evaluated classes.
 * On systems that are not serial every search weighs all o x r pairs.
 */
#include "controller/sched/preempt_pair.h"

#include "controller/sched/preempt_heap.h"

/* A task that is preempted so often in one event leaves it. */
#define ROUNDS 16

/* What the first phase chose for a task. */
enum kind { KIND_NONE = 0, KIND_IDLE, KIND_FIRST, KIND_SECOND };

struct plan {
	enum kind kind;
	uint32_t way;
	double value;  /* of t */
	bool paired;   /* there is a pair, whether it was chosen or not: */
	struct pair pair;
};

/* The event. */
struct pairing {
	struct immediate *immediate;
	struct pair_searches searches;
	struct preempt_heap stale; /* classes by their bounds */
	struct preempt_heap ready; /* evaluated ones by what they chose; way: of their plans */
	uint32_t plans_capacity;
	struct plan *plans;        /* per class; good while it is in `ready` */
	double longest_s;          /* no RET is longer */
};

/* The idle nodes where the next task of a class is worth most; false where there are none. */
static bool find_idle(const struct immediate *immediate, uint32_t class, struct plan *ret_plan)
{
	const struct immediate_class *c = &immediate->classes[class];
	bool found = false;

	for (uint32_t w = 0; w < c->ways_count; w++) {
		const struct immediate_way *way = &c->ways[w];

		if (way->value <= 0 || (found && way->value <= ret_plan->value) ||
		    immediate->clusters[way->rest.cluster].idle < way->rest.nodes ||
		    energy_judge(&immediate->energy, &way->rest) != SCHED_REFUSAL_TAKEN)
			continue;
		*ret_plan = (struct plan){ .kind = KIND_IDLE, .way = w, .value = way->value };
		found = true;
	}
	return found;
}

/* The first phase for the next task of a class (lines 3 to 15). */
static int evaluate(struct pairing *p, uint32_t class, struct plan *ret_plan)
{
	const struct immediate *immediate = p->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	struct plan plan = { 0 };
	const bool idle = find_idle(immediate, class, &plan);
	const struct pair *pair = &plan.pair;

	if (c->may_preempt && pair_find(&p->searches, class, &plan.paired, &plan.pair) < 0)
		return -ENOMEM;
	if (plan.paired &&
	    (!idle || pair->net > plan.value + pair_alone(&p->searches, class, pair))) {
		plan.kind = pair->first ? KIND_FIRST : KIND_SECOND;
		plan.way = pair->way;
		plan.value = pair->first ? c->ways[pair->way].value : pair->second;
	}
	*ret_plan = plan;
	return 0;
}

/*
 * Whether a class goes second everywhere, whatever else the event brings: nothing is idle, nor will
 * be, and it loses nothing by waiting for the longest task.
 */
static bool can_wait(const struct pairing *p, uint32_t class)
{
	const struct immediate *immediate = p->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	const struct sched_task *task = immediate_head(immediate, class);
	const double end_s = immediate->snapshot->now_s + p->longest_s + p->longest_s;

	if (p->searches.plain || immediate->idle > 0)
		return false;
	return !c->may_preempt ||
	       utility_value(&task->utility, end_s - task->arrival_s) == c->utility;
}

/* Adds a class to those that are to be evaluated. */
static int add_class(struct pairing *p, uint32_t class)
{
	struct immediate *immediate = p->immediate;
	struct preempt_entry entry;

	while (p->plans_capacity <= class)
		if (immediate_grow(immediate->scratch, (void **)&p->plans, p->plans_capacity,
				   &p->plans_capacity, sizeof(*p->plans)) < 0)
			return -ENOMEM;
	entry = preempt_entry_of(immediate, class, 0, immediate->classes[class].bound);
	return preempt_heap_push(&p->stale, immediate->scratch, &entry);
}

/* No task has more than this left. */
static double find_longest_s(const struct sched_system *system)
{
	const uint32_t count = system->options_first[system->rows_count];
	double longest_s = 0;

	for (uint32_t i = 0; i < count; i++)
		longest_s = fmax(longest_s, system->options[i].etc_s);
	return longest_s;
}

/* Evaluates all classes that might come before what is ready. Returns 0, or -ENOMEM. */
static int evaluate_stale(struct pairing *p)
{
	while (p->stale.count > 0 &&
	       (p->ready.count == 0 ||
		preempt_before(&p->stale.entries[0], &p->ready.entries[0]))) {
		const uint32_t class = p->stale.entries[0].class;
		struct preempt_entry entry;

		preempt_heap_remove(&p->stale);
		if (can_wait(p, class))
			continue;
		if (!immediate_ways(p->immediate, class) ||
		    evaluate(p, class, &p->plans[class]) < 0)
			return -ENOMEM;
		entry = preempt_entry_of(p->immediate, class, p->plans[class].way,
					 p->plans[class].kind == KIND_NONE
						 ? -1
						 : p->plans[class].value);
		if (preempt_heap_push(&p->ready, p->immediate->scratch, &entry) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Why a way of a class is not taken. */
static enum sched_refusal refusal_of(const struct immediate *immediate, uint32_t class,
				     const struct immediate_way *way)
{
	const struct immediate_cluster *cluster = &immediate->clusters[way->rest.cluster];
	const enum sched_refusal energy = energy_judge(&immediate->energy, &way->rest);
	uint32_t victims;

	if (way->value <= 0)
		return SCHED_REFUSAL_NO_UTILITY;
	if (energy != SCHED_REFUSAL_TAKEN)
		return energy;
	if (cluster->idle >= way->rest.nodes)
		return SCHED_REFUSAL_LOWER;
	if (!immediate->classes[class].may_preempt ||
	    isinf(immediate_beat(immediate, way->rest.cluster, way->rest.nodes, &victims)))
		return SCHED_REFUSAL_BUSY;
	return SCHED_REFUSAL_GOES_SECOND;
}

/* Notes the ways of a task; `taken` is the one about to be placed, or NULL. */
static int explain(struct pairing *p, uint32_t class, const struct sched_task *task,
		   const struct immediate_way *taken)
{
	const struct immediate_way *ways = immediate_ways(p->immediate, class);
	int result = ways ? 0 : -ENOMEM;

	for (uint32_t i = 0; result == 0 && i < p->immediate->classes[class].ways_count; i++) {
		enum sched_refusal refusal = refusal_of(p->immediate, class, &ways[i]);

		if (&ways[i] == taken)
			refusal = SCHED_REFUSAL_TAKEN;
		else if (taken && refusal == SCHED_REFUSAL_GOES_SECOND)
			refusal = SCHED_REFUSAL_LOWER;
		result = immediate_consider(p->immediate, task, &ways[i], ways[i].value, refusal);
	}
	return result;
}

/*
 * Lets the next task of the class on top, which goes second, leave the event, and with it those
 * behind it that would be next: nothing changes by it.
 */
static int leave(struct pairing *p)
{
	struct immediate *immediate = p->immediate;
	struct preempt_entry top = p->ready.entries[0];
	struct immediate_class *class = &immediate->classes[top.class];
	struct preempt_entry other = { .value = -1 };
	int result = 0;

	if (p->stale.count > 0)
		other = p->stale.entries[0];
	for (uint32_t i = 1; i < 3 && i < p->ready.count; i++)
		if (preempt_before(&p->ready.entries[i], &other))
			other = p->ready.entries[i];
	do {
		if (immediate_explains(immediate))
			result = explain(p, top.class, immediate_head(immediate, top.class), NULL);
		class->next++;
		if (preempt_exhausted(immediate, top.class)) {
			preempt_heap_remove(&p->ready);
			return result;
		}
		top.id = immediate_head(immediate, top.class)->id;
	} while (result == 0 && preempt_before(&top, &other));
	p->ready.entries[0] = top;
	preempt_heap_sift(&p->ready, 0);
	return result;
}

/* Whether the newest occupant may make a better pair with a class than the one that it has. */
static bool may_pair_better(const struct pairing *p, uint32_t class)
{
	const struct immediate *immediate = p->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	const struct immediate_occupant *newest =
		&immediate->occupants[immediate->occupants_count - 1];
	const struct plan *plan = &p->plans[class];
	const double value = newest->value * worth_margin(newest->task);

	if (!newest->preemptible || !c->may_preempt ||
	    (plan->paired && c->bound + value < plan->pair.net))
		return false;
	for (uint32_t w = 0; w < c->ways_count; w++)
		if (c->ways[w].rest.cluster == newest->rest.cluster && c->ways[w].value > 0 &&
		    (!plan->paired || c->ways[w].value * p->searches.searches[class].margin +
						      value >=
					      plan->pair.net))
			return true;
	return false;
}

/* Whether the last placement may have changed the plan of a class that was evaluated before. */
static bool is_touched(const struct pairing *p, uint32_t class)
{
	const struct immediate *immediate = p->immediate;
	const struct immediate_class *c = &immediate->classes[class];
	const struct plan *plan = &p->plans[class];

	if (p->searches.plain ||
	    (plan->paired && !immediate->occupants[plan->pair.anchor].present))
		return true;
	/* Less that is idle makes a chosen pair no worse a choice. */
	if (plan->kind == KIND_IDLE &&
	    immediate->clusters[c->ways[plan->way].rest.cluster].idle == 0)
		return true;
	return may_pair_better(p, class);
}

/* Puts back what has to be evaluated once more after a placement. */
static int make_stale(struct pairing *p)
{
	const struct immediate *immediate = p->immediate;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->ready.count; i++) {
		struct preempt_entry entry = p->ready.entries[i];

		if (preempt_exhausted(immediate, entry.class))
			continue;
		if (!is_touched(p, entry.class)) {
			entry.id = immediate_head(immediate, entry.class)->id;
			p->ready.entries[kept++] = entry;
			continue;
		}
		entry = preempt_entry_of(immediate, entry.class, 0,
					 immediate->classes[entry.class].bound);
		if (preempt_heap_push(&p->stale, immediate->scratch, &entry) < 0)
			return -ENOMEM;
	}
	p->ready.count = kept;
	preempt_heap_order(&p->ready);
	return 0;
}

/* Adds the classes from `first` on, what was preempted last. */
static int add_displaced(struct pairing *p, uint32_t first)
{
	struct immediate *immediate = p->immediate;
	int result = 0;

	for (uint32_t c = first; result == 0 && c < immediate->classes_count; c++) {
		if (immediate->classes[c].displaced < ROUNDS) {
			result = add_class(p, c);
			continue;
		}
		if (immediate_explains(immediate))
			result = explain(p, c, immediate_head(immediate, c), NULL);
		immediate->classes[c].next++;
	}
	return result;
}

/* Carries out what the class on top chose (lines 17 to 22). */
static int carry_out(struct pairing *p)
{
	struct immediate *immediate = p->immediate;
	const uint32_t before = immediate->classes_count;
	const uint32_t class = p->ready.entries[0].class;
	const struct plan plan = p->plans[class];
	const struct immediate_choice choice = {
		.class = class,
		.way = plan.way,
		.anchor = plan.kind == KIND_FIRST ? plan.pair.anchor : IMMEDIATE_NONE,
		.objective = plan.value,
		.reason = plan.kind == KIND_FIRST		? SCHED_REASON_GOES_FIRST
			  : immediate->worth == WORTH_UTIL ? SCHED_REASON_BEST_UTIL
							      : SCHED_REASON_BEST_UPT,
	};
	int result = 0;

	if (plan.kind == KIND_SECOND)
		return leave(p);
	if (immediate_explains(immediate))
		result = explain(p, class, immediate_head(immediate, class),
				 &immediate->classes[class].ways[plan.way]);
	if (result == 0)
		result = immediate_place(immediate, &choice);
	if (result == 0)
		result = pair_searches_update(&p->searches);
	if (result == 0)
		result = make_stale(p);
	return result < 0 ? result : add_displaced(p, before);
}

static int explain_rest(struct pairing *p)
{
	const struct immediate *immediate = p->immediate;
	int result = 0;

	for (uint32_t c = 0; c < immediate->classes_count; c++)
		for (uint32_t i = immediate->classes[c].next;
		     result == 0 && i < immediate->classes[c].count; i++)
			result = explain(p, c, immediate->classes[c].tasks[i], NULL);
	return result;
}

int preempt_pair_map(struct immediate *immediate, enum worth worth)
{
	struct pairing p = {
		.immediate = immediate,
		.longest_s = find_longest_s(immediate->system),
	};
	int result = immediate_value(immediate, worth, true);

	if (result == 0)
		result = pair_searches_begin(&p.searches, immediate);
	for (uint32_t c = 0, count = immediate->classes_count; result == 0 && c < count; c++)
		result = add_class(&p, c);
	while (result == 0) {
		result = evaluate_stale(&p);
		if (result < 0 || p.ready.count == 0 ||
		    p.plans[p.ready.entries[0].class].kind == KIND_NONE)
			break;
		result = carry_out(&p);
	}
	if (result == 0 && immediate_explains(immediate))
		result = explain_rest(&p);
	return result;
}
