/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max Ontime Completions (Gentry 2019, VI.C.4). Every waiting task is paired with the machine where
 * it is most likely to be on time; pairs below the culling threshold do not count. Of the three
 * most likely pairs (ties: queue_order.h) all six orders are tried on the virtual queues: the order
 * with the largest sum of chances wins (ties: the order with the more likely pairs in front), and
 * its first pair is queued. This is repeated until no pair is left.
 *
 * Cost: completion times of the changed parts of queues, then per queued task: the tasks with one
 * machine, and at most fifteen completion times if the three pairs share a machine.
 */
#include <errno.h>

#include "controller/sched/policies/queue_order.h"
#include "controller/sched/policies/registry.h"

#define PAIRS_MAX 3

/* The orders of three pairs. Fewer pairs use the beginnings of some orders. */
static const unsigned char orders[][PAIRS_MAX] = {
	{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0},
};
static const unsigned int orders_of_two[] = {0, 2};

static bool likelier(const struct queueing *queueing, const struct queueing_task *task,
		     const struct queueing_task *other)
{
	const double chance = task->pairs[task->machine].chance;
	const double other_chance = other->pairs[other->machine].chance;

	if (chance != other_chance)
		return chance > other_chance;
	return queue_order_ends_first(queueing, task, other);
}

/* Writes the most likely pairs, at most three, to `best`. Returns their number. */
static uint32_t find_pairs(struct queueing *queueing, struct queueing_task **best)
{
	const double least = queueing->settings->pruning.cull_threshold;
	uint32_t count = 0;

	for (uint32_t i = 0; i < queueing->tasks_count; i++) {
		struct queueing_task *task = &queueing->tasks[i];
		uint32_t at = count;

		if (task->out)
			continue;
		if (!queue_order_likeliest(queueing, task) ||
		    !queueing_reaches(task->pairs[task->machine].chance, least)) {
			/* Its chance does not rise in this event. */
			queueing_exclude(queueing, task);
			continue;
		}
		if (queueing_defers(queueing, task, task->machine))
			continue;
		for (; at > 0 && likelier(queueing, task, best[at - 1]); at--)
			if (at < PAIRS_MAX)
				best[at] = best[at - 1];
		if (at < PAIRS_MAX)
			best[at] = task;
		if (count < PAIRS_MAX)
			count++;
	}
	return count;
}

/*
 * Computes the sum of chances if the pairs are queued in an order; in a full queue the chance is 0.
 */
static int try_order(struct queueing *queueing, struct queueing_task *const *pairs, uint32_t count,
		     const unsigned char *order, double *ret_sum)
{
	double chances[PAIRS_MAX] = {0};
	bool pushed[PAIRS_MAX] = {false};
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < count; i++) {
		const struct queueing_task *task = pairs[order[i]];

		if (!queueing_has_place(queueing, task->machine))
			continue;
		chances[order[i]] = queueing_chance(queueing, task, task->machine);
		/* The last pair affects no other pair. */
		if (i + 1 < count)
			result = queueing_push(queueing, task, task->machine);
		pushed[i] = i + 1 < count && result == 0;
	}
	for (uint32_t i = count; i-- > 0;)
		if (pushed[i])
			queueing_pop(queueing, pairs[order[i]]->machine);
	*ret_sum = chances[0] + chances[1] + chances[2];
	return result;
}

/* Whether two of the pairs share a machine: otherwise all orders have the same sum. */
static bool share_machine(struct queueing_task *const *pairs, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (pairs[i]->machine == pairs[j]->machine)
				return true;
	return false;
}

/* Chooses the pair to queue. */
static int choose_pair(struct queueing *queueing, struct queueing_task *const *pairs,
		       uint32_t count, struct queueing_task **ret_task)
{
	const uint32_t tries = count == PAIRS_MAX ? 6 : count == 2 ? 2 : 1;
	double best = -1;

	*ret_task = pairs[0];
	if (!share_machine(pairs, count))
		return 0;
	for (uint32_t i = 0; i < tries; i++) {
		const unsigned char *order = orders[count == 2 ? orders_of_two[i] : i];
		double sum;
		const int result = try_order(queueing, pairs, count, order, &sum);

		if (result < 0)
			return result;
		if (sum > best) {
			best = sum;
			*ret_task = pairs[order[0]];
		}
	}
	return 0;
}

/* The threshold that a task has reached. */
static double least_of(const struct queueing *queueing, const struct queueing_task *task)
{
	const double deferral = queueing_deferral(queueing, task->task->row);
	const double least = queueing->settings->pruning.cull_threshold;

	return deferral > least ? deferral : least;
}

static int decide(struct queueing *queueing)
{
	struct queueing_task *pairs[PAIRS_MAX];
	uint32_t count;
	int result = queueing_load(queueing, QUEUEING_CHANCES);

	while (result == 0 && (count = find_pairs(queueing, pairs)) > 0) {
		struct queueing_task *task;

		result = choose_pair(queueing, pairs, count, &task);
		if (result == 0)
			result = queueing_enqueue(queueing, task, task->machine,
						  least_of(queueing, task),
						  SCHED_REASON_MOST_ON_TIME);
	}
	return result;
}

static const struct policy_queueing queueing = {.decide = decide};

const struct policy_ops policy_moc = {
	.name = "moc",
	.section = "Gentry 2019, VI.C.4",
	.summary =
		"Max Ontime Completions: the order of likely tasks that has most of them on time",
	.queueing = &queueing,
};
