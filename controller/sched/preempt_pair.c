/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max Util and Max UPT with the Pair technique (Machovec 2017, III.E.4, Algorithm 3).
 *
 * A task t that may preempt makes a pair with every preemptible task r of a cluster where t can
 * earn something. Either t goes first and r resumes behind it, or r goes first: the ordering with
 * the higher net value, the sum of both tasks' values, counts. The value of the second task is
 * taken at its later completion and, for UPT, divided by its own RET. The pair with the highest net
 * value is compared with the idle alternative, the highest value of t on idle nodes plus the value
 * of this r left alone, and must strictly exceed it. Of all tasks the task whose own value in its
 * allocation is highest is decided: it takes the idle nodes, or preempts r.
 *
 * Where the text and Algorithm 3 differ, this follows the text. "If the second ordering results in
 * higher Util, preemption is not considered for that core" (III.E.4): an r that should go first
 * makes no pair, and in a tie t goes first. "Tasks are not preempted unless higher utility can be
 * earned for another task" (II.D): if t would earn no more utility than the r of its best pair left
 * alone, that pair is barred. t then takes idle nodes, or stays unmapped while that pair is its
 * best. Of the readings of II.D, this one (only the best pair is tested, and by utility whatever
 * the objective is) was chosen for its results (docs/explanation/reproduction.md, 10): if every
 * pair is tested, Pair is better than Greedy.
 *
 * +algorithm-3 is Algorithm 3 exactly. All pairs compete, and r goes first unless the value with t
 * first is strictly higher; no pair is barred. A t whose best pair has r first leaves the event
 * without an assignment.
 *
 * Several nodes: r, the anchor, is any preemptible task. If its nodes are not enough, t takes the
 * idle ones, too, and if these are not either, those of other preemptible tasks in order of
 * increasing value; then r stands for all of them: t goes second when the last of them has ended.
 *
 * r executes (III.E.4): a task placed in the event does not execute yet ("this mapping is used to
 * preempt and assign tasks" when it is made, III.A), so that it is never an r. So a task is
 * preempted at most once in an event, and the loop ends; otherwise it might not end (x before y, y
 * before z, z before x).
 *
 * The decisions are those of a full rescan: classes whose bound may exceed the value of the best
 * known decision are evaluated, the others wait; and on a serial system an evaluation holds until
 * the r of the best pair or the last idle node is gone (preempt_pair_plans.h). With +algorithm-3,
 * in a serial system without idle nodes, a class that loses nothing by waiting as long as the
 * longest task takes would always go second, and leaves at once.
 *
 * Cost of an event on a serial system beside immediate.h and the searches (preempt_pair.h), with k
 * classes, those of preempted tasks included, e evaluations, l times that tasks leave and p
 * placements: (k + e + l + p) log k, and k once per cluster. A class is evaluated once, and again
 * when it comes to the top after the r of its best pair has gone, so e is k + p k at worst. On
 * systems that are not serial every placement makes all plans void, and every search computes all
 * pairs of a class of o ways with r tasks: p k o r.
 */
#include "controller/sched/preempt_pair.h"

#include "controller/sched/preempt_pair_plans.h"
#include "controller/sched/rank_key.h"

/* The event. */
struct pairing {
	struct immediate *immediate;
	struct pair_searches searches;
	struct pair_plans plans;
	double longest_s; /* upper bound of all RETs */
};

/*
 * Finds the idle nodes where the next task of a class has the highest value; false: there are none.
 */
static bool find_idle(const struct immediate *immediate, uint32_t class, uint32_t *ret_way)
{
	const struct immediate_class *c = &immediate->classes[class];
	bool found = false;

	for (uint32_t w = 0; immediate->idle > 0 && w < c->ways_count; w++) {
		const struct immediate_way *way = &c->ways[w];

		if (way->value <= 0 ||
		    (found && rank_key_compare(way->value, c->ways[*ret_way].value) <= 0) ||
		    immediate->clusters[way->rest.cluster].idle < way->rest.nodes ||
		    energy_judge(&immediate->energy, &way->rest) != SCHED_REFUSAL_TAKEN)
			continue;
		*ret_way = w;
		found = true;
	}
	return found;
}

/* Finds the best pair of a class, starting from its former best pair where there is one. */
static int find_pair(struct pairing *p, uint32_t class)
{
	const struct immediate *immediate = p->immediate;
	struct pair_plan *plan = &p->plans.plans[class];
	int result = 0;

	if (!immediate->classes[class].may_preempt)
		return 0;
	if (!plan->searched || p->searches.plain)
		result = pair_find(&p->searches, class, &plan->found, &plan->pair);
	else if (plan->found && !immediate->occupants[plan->pair.anchor].present)
		result = pair_mend(&p->searches, class, &plan->found, &plan->pair);
	plan->searched = true;
	return result;
}

/*
 * Whether a pair is barred: without +algorithm-3 the task has to earn more than the victims would
 * (II.D).
 */
static bool is_barred(struct pairing *p, uint32_t class, const struct pair *pair)
{
	const struct immediate *immediate = p->immediate;
	const double etc_s = immediate->classes[class].ways[pair->way].rest.etc_s;
	const double end_s = immediate->snapshot->now_s + etc_s;

	return !p->searches.algorithm_3 &&
	       rank_key_compare(objective_at(OBJECTIVE_UTIL, immediate_head(immediate, class),
					     end_s, etc_s),
				pair_alone(&p->searches, class, pair, OBJECTIVE_UTIL)) <= 0;
}

/* The first phase for the next task of a class (lines 3 to 15). */
static int evaluate(struct pairing *p, uint32_t class)
{
	struct immediate *immediate = p->immediate;
	struct pair_plan *plan = &p->plans.plans[class];
	const struct immediate_way *ways = immediate_ways(immediate, class);
	const struct pair *pair = &plan->pair;
	uint32_t way = 0;
	bool idle;

	if (!ways || find_pair(p, class) < 0)
		return -ENOMEM;
	idle = find_idle(immediate, class, &way);
	plan->kind = idle ? PAIR_IDLE : PAIR_NONE;
	plan->way = way;
	plan->value = ways[way].value;
	plan->barred = plan->found && is_barred(p, class, pair);
	if (plan->found && !plan->barred &&
	    (!idle ||
	     rank_key_compare(pair->net, plan->value + pair_alone(&p->searches, class, pair,
								  immediate->objective)) > 0)) {
		plan->kind = pair->first ? PAIR_FIRST : PAIR_SECOND;
		plan->way = pair->way;
		plan->value = pair->first ? ways[pair->way].value : pair->second;
	}
	plan->fresh = true;
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

	if (p->searches.plain || !p->searches.algorithm_3 || immediate->idle > 0)
		return false;
	return !c->may_preempt || sched_task_utility(task, end_s) == c->utility;
}

/* An upper bound of the remaining execution times of all tasks. */
static double find_longest_s(const struct sched_system *system)
{
	const uint32_t count = system->options_first[system->rows_count];
	double longest_s = 0;

	for (uint32_t i = 0; i < count; i++)
		longest_s = fmax(longest_s, system->options[i].etc_s);
	return longest_s;
}

/* Evaluates the class on top until the top is evaluated. Returns 0, or -ENOMEM. */
static int evaluate_top(struct pairing *p)
{
	struct pair_plans *plans = &p->plans;
	const struct preempt_heap *heap = &plans->queue.heap;
	int result = 0;

	while (result == 0 && heap->count > 0) {
		const uint32_t class = heap->entries[0].class;

		if (plans->plans[class].fresh)
			break;
		if (can_wait(p, class)) {
			pair_plans_remove(plans, class);
			continue;
		}
		result = evaluate(p, class);
		pair_plans_settle(plans, class);
		if (!p->searches.plain && heap->entries[0].class != class)
			pair_plans_watch(plans, class);
	}
	return result;
}

/* Why a way of a class is not taken. */
static enum sched_refusal refusal_of(const struct pairing *p, uint32_t class,
				     const struct immediate_way *way)
{
	const struct immediate *immediate = p->immediate;
	const struct pair_plan *plan = &p->plans.plans[class];
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
	if (plan->barred)
		return way == &immediate->classes[class].ways[plan->pair.way]
			       ? SCHED_REFUSAL_NOT_WORTH
			       : SCHED_REFUSAL_LOWER;
	return SCHED_REFUSAL_GOES_SECOND;
}

/* Notes the ways of a task; `taken` is the one about to be placed, or NULL. */
static int explain(struct pairing *p, uint32_t class, const struct sched_task *task,
		   const struct immediate_way *taken)
{
	const struct immediate_way *ways = immediate_ways(p->immediate, class);
	int result = ways ? 0 : -ENOMEM;

	for (uint32_t i = 0; result == 0 && i < p->immediate->classes[class].ways_count; i++) {
		enum sched_refusal refusal = refusal_of(p, class, &ways[i]);

		if (&ways[i] == taken)
			refusal = SCHED_REFUSAL_TAKEN;
		else if (taken && refusal == SCHED_REFUSAL_GOES_SECOND)
			refusal = SCHED_REFUSAL_LOWER;
		result = immediate_consider(p->immediate, task, &ways[i], ways[i].value, refusal);
	}
	return result;
}

/*
 * Lets the next task of the class on top, which goes second, leave the event, together with the
 * tasks behind it that would be next: nothing changes by it.
 */
static int leave_event(struct pairing *p)
{
	struct immediate *immediate = p->immediate;
	const struct preempt_heap *heap = &p->plans.queue.heap;
	struct preempt_entry top = heap->entries[0];
	struct immediate_class *class = &immediate->classes[top.class];
	struct preempt_entry other = {.key = -1};
	int result = 0;

	for (uint32_t i = 1; i < 3 && i < heap->count; i++)
		if (preempt_before(&heap->entries[i], &other))
			other = heap->entries[i];
	do {
		if (immediate_explains(immediate))
			result = explain(p, top.class, immediate_head(immediate, top.class), NULL);
		class->next++;
		if (preempt_exhausted(immediate, top.class)) {
			pair_plans_remove(&p->plans, top.class);
			return result;
		}
		top.id = immediate_head(immediate, top.class)->id;
	} while (result == 0 && preempt_before(&top, &other));
	pair_plans_settle(&p->plans, top.class);
	if (!p->searches.plain)
		pair_plans_watch(&p->plans, top.class);
	return result;
}

/* Places the next task of the class on top (lines 17 to 21). */
static int place_task(struct pairing *p)
{
	struct immediate *immediate = p->immediate;
	const uint32_t class = p->plans.queue.heap.entries[0].class;
	const struct pair_plan *plan = &p->plans.plans[class];
	const struct immediate_choice choice = {
		.class = class,
		.way = plan->way,
		.anchor = plan->kind == PAIR_FIRST ? plan->pair.anchor : IMMEDIATE_NONE,
		.objective = plan->value,
		.reason = plan->kind == PAIR_FIRST                 ? SCHED_REASON_GOES_FIRST
			  : immediate->objective == OBJECTIVE_UTIL ? SCHED_REASON_BEST_UTIL
								   : SCHED_REASON_BEST_UPT,
	};
	const uint32_t cluster = immediate->classes[class].ways[plan->way].rest.cluster;
	int result = 0;

	if (immediate_explains(immediate))
		result = explain(p, class, immediate_head(immediate, class),
				 &immediate->classes[class].ways[plan->way]);
	if (result == 0)
		result = immediate_place(immediate, &choice);
	if (result < 0)
		return result;
	if (choice.anchor != IMMEDIATE_NONE)
		pair_searches_update(&p->searches, choice.anchor);
	if (preempt_exhausted(immediate, class)) {
		pair_plans_remove(&p->plans, class);
	} else {
		pair_plans_settle(&p->plans, class);
		if (!p->searches.plain)
			pair_plans_watch(&p->plans, class);
	}
	pair_plans_update(&p->plans, cluster, choice.anchor, p->searches.plain);
	return 0;
}

/* Carries out the plan of the class on top. */
static int apply_plan(struct pairing *p)
{
	const uint32_t before = p->immediate->classes_count;
	const uint32_t class = p->plans.queue.heap.entries[0].class;
	int result;

	if (p->plans.plans[class].kind == PAIR_SECOND)
		return leave_event(p);
	result = place_task(p);
	for (uint32_t c = before; result == 0 && c < p->immediate->classes_count; c++)
		result = pair_plans_add(&p->plans, c);
	return result;
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

int preempt_pair_map(struct immediate *immediate, enum objective objective)
{
	struct pairing p = {
		.immediate = immediate,
		.longest_s = find_longest_s(immediate->system),
	};
	int result = immediate_value(immediate, objective, true);

	if (result == 0)
		result = pair_searches_begin(&p.searches, immediate);
	if (result == 0)
		result = pair_plans_begin(&p.plans, immediate);
	for (uint32_t c = 0, count = immediate->classes_count; result == 0 && c < count; c++)
		result = pair_plans_add(&p.plans, c);
	while (result == 0) {
		const struct preempt_heap *heap = &p.plans.queue.heap;

		result = evaluate_top(&p);
		if (result < 0 || heap->count == 0 ||
		    p.plans.plans[heap->entries[0].class].kind == PAIR_NONE)
			break;
		result = apply_plan(&p);
	}
	if (result == 0 && immediate_explains(immediate))
		result = explain_rest(&p);
	return result;
}
