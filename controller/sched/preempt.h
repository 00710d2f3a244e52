/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/immediate.h"

/*
 * Max Util and Max UPT, without and with preemption (Machovec 2017, III.D to III.F, Algorithms 1 to
 * 3). Repeatedly the task with the highest value of its best assignment is placed, until there is
 * no valid assignment left. The value is Util or UPT (objective.h); the value of a running task r
 * is that of finishing where it runs.
 *
 * Assignments of a task t, none of which may earn nothing:
 * - PREEMPT_NEVER: idle nodes. The highest value wins.
 * - PREEMPT_GREEDY: also the nodes of preemptible tasks, if t may preempt and its value is strictly
 *   above theirs. The highest value of t wins.
 * - PREEMPT_DIFF: the same assignments, but the highest difference of t's value and theirs (on idle
 *   nodes: t's value) wins.
 * - PREEMPT_PAIR: see preempt_pair.c.
 *
 * Values are compared by their keys (rank_key.h); the gain of Diff is the difference of two keys,
 * so that it is 0 between equals. Ties: idle nodes, then victims of lower value, then cluster
 * order, lower node, lower P-state; between tasks earlier arrival, then lower id, before all of
 * that.
 *
 * Several nodes (the paper defines one): t takes the idle nodes first, then those of whole
 * preemptible tasks in order of increasing value, lower node first among equals, until there are
 * enough; its value must exceed the sum of their values. A task with nothing left to execute is
 * about to end and is not preempted.
 *
 * Within a cluster all tasks of one width have to exceed the same value, so the best of them is the
 * one with the highest value: the candidates of a cluster, a width and a right to preempt wait in
 * one heap (a lane), whose order never changes, and only the tops of the lanes are compared.
 * Classes enter the lanes when the bound of their value says that they might win; before that they
 * wait in a heap by this bound.
 *
 * Cost of an event beside immediate.h, with k classes of o ways that enter the lanes, l lanes (on a
 * serial system 2 per cluster), r running tasks, p placements: r log r for the victims (r log r / c
 * in c clusters), k + k' o log k' for the k' classes that enter, and p (l + log k' + v) with v the
 * victims of a placement, for one node 1. A plain rescan takes p x tasks x (r + idle nodes).
 */
enum preempt {
	PREEMPT_NEVER = 0,
	PREEMPT_GREEDY,
	PREEMPT_DIFF,
	PREEMPT_PAIR,
};

/* Decides the event. Returns 0, or -ENOMEM. */
int preempt_map(struct immediate *immediate, enum objective objective, enum preempt preempt);

/* Decides the event with PREEMPT_PAIR. Returns 0, or -ENOMEM. */
int preempt_pair_map(struct immediate *immediate, enum objective objective);
