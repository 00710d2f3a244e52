/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <math.h>

#include "controller/sched/queueing_private.h"

const struct pet_entry *queueing_exec(const struct queueing *queueing,
				      const struct sched_task *task, uint32_t machine)
{
	return pet_at(queueing->settings->pet, task->row, machine);
}

/*
 * Adds QUEUEING_TOLERANCE before rounding down: a time that is meant to be a whole number of bins
 * may be a sum.
 */
int64_t queueing_bin(const struct queueing *queueing, double time_s)
{
	return (int64_t)floor(time_s / queueing->settings->bin_s + QUEUEING_TOLERANCE);
}

double queueing_round_chance(double chance)
{
	return rint(chance * 0x1p30) * 0x1p-30;
}

bool queueing_reaches(double chance, double threshold)
{
	return chance >= queueing_round_chance(threshold);
}

double queueing_round_time(double bins)
{
	return rint(bins * 0x1p20) * 0x1p-20;
}

void queueing_drop(struct queueing *queueing, const struct sched_task *task, double chance,
		   double threshold, enum sched_reason reason)
{
	queueing->actions[queueing->actions_count++] = (struct sched_action){
		.kind = SCHED_ACTION_DROP,
		.task = task->id,
		.chance = chance,
		.threshold = threshold,
		.reason = reason,
	};
}

double queueing_relief(const struct queueing *queueing, uint32_t row)
{
	return queueing->policy->ops->queueing->fair && queueing->snapshot->sufferage
		       ? queueing->snapshot->sufferage[row]
		       : 0;
}

static int result_of(enum pmf_fault fault)
{
	return fault == PMF_OK ? 0 : -ENOMEM; /* lengths were verified with the settings */
}

/* Computes the expected time at which the machine is done with its queue. */
static void find_free(struct queueing *queueing, struct queueing_machine *machine)
{
	const struct completion_queue *times = machine->times;

	machine->free =
		times->count > 0 ? times->places[times->count - 1].mean : (double)queueing->now;
}

double queueing_chance(const struct queueing *queueing, const struct queueing_task *task,
		       uint32_t m)
{
	return queueing_round_chance(
		completion_time_chance(completion_queue_free(queueing->machines[m].times),
				       queueing_exec(queueing, task->task, m), task->deadline));
}

void queueing_pair_all(struct queueing *queueing, uint32_t m)
{
	const double free = queueing->machines[m].free;
	const bool chances = queueing->wishes & QUEUEING_CHANCES;

	if (!queueing_has_place(queueing, m))
		return;
	for (uint32_t i = 0; i < queueing->tasks_count; i++) {
		struct queueing_task *task = &queueing->tasks[i];

		if (task->out)
			continue;
		task->pairs[m] = (struct queueing_pair){
			.chance = chances ? queueing_chance(queueing, task, m) : 0,
			.end = queueing_round_time(free +
						   queueing_exec(queueing, task->task, m)->mean),
		};
	}
}

int queueing_push(struct queueing *queueing, const struct queueing_task *task, uint32_t m)
{
	struct queueing_machine *machine = &queueing->machines[m];
	const enum pmf_fault fault =
		completion_queue_push(machine->times, queueing_exec(queueing, task->task, m),
				      task->deadline);

	if (fault != PMF_OK)
		return result_of(fault);
	machine->tasks[machine->count++] = task->task;
	find_free(queueing, machine);
	return 0;
}

void queueing_pop(struct queueing *queueing, uint32_t m)
{
	struct queueing_machine *machine = &queueing->machines[m];

	machine->count--;
	completion_queue_pop(machine->times);
	find_free(queueing, machine);
}

/* Begins the walk of a machine whose first task executes. */
static int begin_executing(struct queueing *queueing, uint32_t m)
{
	const struct sched_queue *queue = &queueing->snapshot->queues[m];
	const struct sched_task *task = queueing->machines[m].tasks[0];
	const int64_t start = llround(queue->start_s / queueing->settings->bin_s);

	return result_of(completion_queue_begin_executing(
		queueing->machines[m].times, queueing_exec(queueing, task, m), start, queueing->now,
		queueing_bin(queueing, task->deadline_s), queueing->scenario,
		queueing->settings->pruning.merge));
}

static int begin_idle(struct queueing *queueing, uint32_t m)
{
	return result_of(completion_queue_begin(queueing->machines[m].times, queueing->now,
						queueing->scenario,
						queueing->settings->pruning.merge));
}

/* The dropping threshold of the last task in a walk: the base threshold plus eq. (7). */
static double threshold(struct queueing *queueing, const struct sched_task *task,
			struct completion_queue *times)
{
	const struct sched_pruning *pruning = &queueing->settings->pruning;
	const uint32_t position = times->count - 1;
	const double skewness = completion_queue_skewness(times, position);
	const double base = pruning->drop_threshold - queueing_relief(queueing, task->row);
	const double adjustment = -skewness * pruning->adjustment / (position + 1);

	return queueing_round_chance(fmin(1, fmax(0, base + adjustment)));
}

/*
 * Compares the chance of the last task in the walk with its threshold. Returns whether it is
 * dropped.
 */
static bool prune_task(struct queueing *queueing, uint32_t m, const struct sched_task *task)
{
	struct completion_queue *times = queueing->machines[m].times;
	const uint32_t position = times->count - 1;
	const double chance = queueing_round_chance(times->places[position].chance);
	const bool explains = queueing->flags & POLICY_EXPLAIN;
	const bool prunes = queueing->wishes & QUEUEING_PRUNES;
	const bool drops = prunes && queueing->pruner.dropping;
	const double least = prunes && (drops || explains) ? threshold(queueing, task, times) : 0;
	const bool leaves = drops && chance <= least;

	if (explains)
		queueing->judged[queueing->judged_count++] = (struct sched_judged){
			.task = task->id,
			.cluster = m,
			.position = position,
			.mean_s = times->places[position].mean * queueing->settings->bin_s,
			.skewness = completion_queue_skewness(times, position),
			.chance = chance,
			.threshold = least,
			.dropped = leaves,
		};
	if (leaves)
		queueing_drop(queueing, task, chance, least, SCHED_REASON_PRUNED);
	return leaves;
}

/* Walks down the queue of a machine from the head to the tail. */
static int load_queue(struct queueing *queueing, uint32_t m)
{
	struct queueing_machine *machine = &queueing->machines[m];
	const uint32_t count = machine->count;
	const bool executes = machine->executes;
	int result = executes ? begin_executing(queueing, m) : begin_idle(queueing, m);

	machine->count = 0;
	for (uint32_t i = 0; result == 0 && i < count; i++) {
		const struct sched_task *task = machine->tasks[i];

		if (i > 0 || !executes)
			result = result_of(
				completion_queue_push(machine->times,
						      queueing_exec(queueing, task, m),
						      queueing_bin(queueing, task->deadline_s)));
		if (result < 0)
			break;
		if (!prune_task(queueing, m, task)) {
			machine->tasks[machine->count++] = task;
		} else if (i == 0 && executes) {
			machine->executes = false;
			result = begin_idle(queueing, m);
		} else {
			completion_queue_pop(machine->times);
		}
	}
	find_free(queueing, machine);
	return result;
}

int queueing_load(struct queueing *queueing, unsigned int wishes)
{
	queueing->wishes = wishes;
	if (queueing->policy->prunes)
		queueing->wishes |= QUEUEING_PRUNES | QUEUEING_CHANCES;
	if (queueing->flags & POLICY_EXPLAIN)
		queueing->wishes |= QUEUEING_CHANCES;
	for (uint32_t m = 0; m < queueing->machines_count; m++) {
		const int result = load_queue(queueing, m);

		if (result < 0)
			return result;
		queueing_pair_all(queueing, m);
	}
	return 0;
}
