/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/queueing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/sched/queueing_private.h"
#include "controller/sched/rank_key.h"

struct queueing_memory {
	uint32_t machines_count;
	struct completion_queue *queues;
};

struct queueing_memory *queueing_memory_new(void)
{
	return calloc(1, sizeof(struct queueing_memory));
}

void queueing_memory_free(struct queueing_memory *memory)
{
	if (!memory)
		return;
	for (uint32_t m = 0; m < memory->machines_count; m++)
		completion_queue_finish(memory->queues + m);
	free(memory->queues);
	free(memory);
}

/* The memory of the caller, or one for this event, with a queue for each machine. */
static int take_memory(struct queueing *queueing, struct policy_context *context)
{
	const uint32_t count = queueing->system->clusters_count;
	struct queueing_memory *memory = context->memory;

	if (!memory) {
		memory = queueing_memory_new();
		queueing->owns_memory = true;
	}
	queueing->memory = memory;
	if (!memory)
		return -ENOMEM;
	if (!memory->queues) {
		memory->queues = calloc(count, sizeof(*memory->queues));
		if (!memory->queues)
			return -ENOMEM;
		memory->machines_count = count;
	}
	return 0;
}

static bool is_share(double value)
{
	return value >= 0 && value <= 1;
}

static const char *pruning_fault(const struct sched_pruning *pruning)
{
	if (!is_share(pruning->drop_threshold) || !is_share(pruning->defer_threshold) ||
	    !is_share(pruning->cull_threshold))
		return "a threshold is outside 0 to 1";
	if (!is_share(pruning->adjustment))
		return "the adjustment of the dropping threshold is outside 0 to 1";
	if (!is_share(pruning->recency) || !is_share(pruning->separation) ||
	    !is_share(pruning->fairness))
		return "recency, separation or fairness is outside 0 to 1";
	if (!(pruning->toggle > 0 && isfinite(pruning->toggle)))
		return "the level at which dropping begins is not above 0";
	return NULL;
}

bool queueing_fits(const struct pet *pet, uint64_t tasks)
{
	uint64_t first = 0, count = 0;

	for (uint32_t i = 0; i < pet->types_count * pet->machines_count; i++) {
		const struct pmf *pmf = &pet->entries[i].pmf;

		first = (uint64_t)pmf->first > first ? (uint64_t)pmf->first : first;
		count = pmf->count > count ? pmf->count : count;
	}
	return first <= PMF_BINS_MAX && count <= (PMF_BINS_MAX - first) / (tasks + 1);
}

const char *queueing_fault(const struct sched_system *system)
{
	const struct sched_queueing *queueing = system->queueing;
	uint32_t type, machine;

	if (queueing->length == 0 || queueing->length > QUEUEING_LENGTH_MOST)
		return "the length of queues is outside 1 to 1000";
	if (!(queueing->bin_s > 0 && isfinite(queueing->bin_s)))
		return "a time bin is not longer than 0";
	if (queueing->pet->types_count != system->rows_count ||
	    queueing->pet->machines_count != system->clusters_count)
		return "the execution times are those of other types or machines";
	if (pet_check(queueing->pet, &type, &machine) != PMF_OK)
		return "a type has no execution times on one of the machines";
	if (!queueing_fits(queueing->pet, queueing->length))
		return "the completion times of full queues may have more than 4194304 bins; take "
		       "larger bins or shorter queues";
	return pruning_fault(&queueing->pruning);
}

bool queueing_evicts(const struct policy *policy, const struct sched_system *system)
{
	return policy->ops->queueing->evicts || system->queueing->pruning.evicting_baselines;
}

/*
 * Drops a task whose deadline has passed, by the exact time and not by the bin. Returns whether it
 * was dropped.
 */
static bool drop_late(struct queueing *queueing, const struct sched_task *task)
{
	if (task->deadline_s >
	    queueing->snapshot->now_s + QUEUEING_TOLERANCE * queueing->settings->bin_s)
		return false;
	queueing_drop(queueing, task, 0, 0, SCHED_REASON_DEADLINE);
	return true;
}

static int read_queue(struct queueing *queueing, uint32_t m)
{
	const struct sched_queue *queue = &queueing->snapshot->queues[m];
	struct queueing_machine *machine = &queueing->machines[m];
	const uint32_t room = queue->count > queueing->settings->length
				      ? queue->count
				      : queueing->settings->length;

	*machine = (struct queueing_machine){
		.times = &queueing->memory->queues[m],
		.tasks = arena_array(queueing->arena, room, sizeof(*machine->tasks)),
	};
	if (!machine->tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i < queue->count; i++) {
		const bool executes = i == 0 && queue->executes;

		if ((!executes || queueing->scenario == COMPLETION_DROP_ANY) &&
		    drop_late(queueing, queue->tasks[i]))
			continue;
		machine->executes |= executes;
		machine->tasks[machine->count++] = queue->tasks[i];
	}
	return 0;
}

/* Marks machines with a node that is down: they start no tasks, so none is mapped to them. */
static void mark_down(struct queueing *queueing)
{
	for (uint32_t i = 0; i < queueing->snapshot->down_count; i++)
		queueing->machines[queueing->snapshot->down[i].cluster].down = true;
}

static int read_tasks(struct queueing *queueing)
{
	const struct sched_snapshot *snapshot = queueing->snapshot;
	const size_t count = snapshot->waiting_count;
	struct queueing_pair *pairs =
		arena_array(queueing->arena, count * queueing->machines_count, sizeof(*pairs));

	queueing->tasks = arena_array(queueing->arena, count, sizeof(*queueing->tasks));
	if (!pairs || !queueing->tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct sched_task *task = snapshot->waiting[i];

		if (drop_late(queueing, task))
			continue;
		queueing->tasks[queueing->tasks_count++] = (struct queueing_task){
			.task = task,
			.deadline = queueing_bin(queueing, task->deadline_s),
			.pairs = pairs,
		};
		pairs += queueing->machines_count;
	}
	return 0;
}

/* Allocates room for all results of an event. */
static int allocate(struct queueing *queueing)
{
	const struct sched_snapshot *snapshot = queueing->snapshot;
	const uint32_t machines = queueing->machines_count;
	struct arena *arena = queueing->arena;
	size_t queued = 0;

	for (uint32_t m = 0; m < machines; m++)
		queued += snapshot->queues[m].count;
	queueing->machines = arena_array(arena, machines, sizeof(*queueing->machines));
	queueing->actions =
		arena_array(arena, queued + snapshot->waiting_count, sizeof(*queueing->actions));
	if (!queueing->machines || !queueing->actions)
		return -ENOMEM;
	if (!(queueing->flags & POLICY_EXPLAIN))
		return 0;
	queueing->judged = arena_array(arena, queued, sizeof(*queueing->judged));
	queueing->considered = arena_array(arena, (size_t)machines * snapshot->waiting_count,
					   sizeof(*queueing->considered));
	return queueing->judged && queueing->considered ? 0 : -ENOMEM;
}

/*
 * Updates the oversubscription level (eq. 8) and the Schmitt trigger; so far all actions are drops
 * of tasks that missed their deadlines.
 */
static void update_pruner(struct queueing *queueing)
{
	const struct sched_pruning *pruning = &queueing->settings->pruning;
	const double missed = queueing->snapshot->missed + queueing->actions_count;
	struct sched_pruner *pruner = &queueing->pruner;

	*pruner = queueing->snapshot->pruner;
	pruner->level = missed * pruning->recency + pruner->level * (1 - pruning->recency);
	if (rank_key_compare(pruner->level, pruning->toggle) >= 0)
		pruner->dropping = true;
	else if (pruning->separation <= 0 ||
		 rank_key_compare(pruner->level, pruning->toggle * (1 - pruning->separation)) <= 0)
		pruner->dropping = false;
}

int queueing_begin(struct queueing *queueing, const struct policy *policy,
		   const struct sched_snapshot *snapshot, struct policy_context *context)
{
	int result;

	*queueing = (struct queueing){
		.policy = policy,
		.snapshot = snapshot,
		.system = snapshot->system,
		.settings = snapshot->system->queueing,
		.arena = context->arena,
		.flags = context->flags,
		.scenario = queueing_evicts(policy, snapshot->system) ? COMPLETION_DROP_ANY
								      : COMPLETION_DROP_PENDING,
		.machines_count = snapshot->system->clusters_count,
	};
	queueing->now = queueing_bin(queueing, snapshot->now_s);
	result = take_memory(queueing, context);
	if (result == 0)
		result = allocate(queueing);
	for (uint32_t m = 0; result == 0 && m < queueing->machines_count; m++)
		result = read_queue(queueing, m);
	if (result == 0)
		mark_down(queueing);
	if (result == 0)
		result = read_tasks(queueing);
	if (result == 0)
		update_pruner(queueing);
	return result;
}

/* Notes a pair with the values of its last computation. */
static void note_pair(struct queueing *queueing, const struct queueing_task *task, uint32_t machine,
		      uint32_t action, enum sched_refusal refusal)
{
	const struct queueing_pair *pair = &task->pairs[machine];
	const bool full = refusal == SCHED_REFUSAL_QUEUE_FULL;

	queueing->considered[queueing->considered_count++] = (struct sched_considered){
		.task = task->task->id,
		.action = action,
		.cluster = machine,
		.start_s = NAN,
		.end_s = full ? (double)NAN : pair->end * queueing->settings->bin_s,
		.objective = full ? 0 : pair->chance,
		.refusal = refusal,
	};
}

int queueing_enqueue(struct queueing *queueing, struct queueing_task *task, uint32_t m,
		     double threshold, enum sched_reason reason)
{
	const double bin_s = queueing->settings->bin_s;
	const struct queueing_pair pair = task->pairs[m];
	const double chance = queueing->wishes & QUEUEING_CHANCES
				      ? pair.chance
				      : queueing_chance(queueing, task, m);
	const int result = queueing_push(queueing, task, m);

	if (result < 0)
		return result;
	task->out = task->queued = true;
	for (uint32_t other = 0;
	     (queueing->flags & POLICY_EXPLAIN) && other < queueing->machines_count; other++)
		note_pair(queueing, task, other, queueing->actions_count,
			  other == m                            ? SCHED_REFUSAL_TAKEN
			  : queueing_has_place(queueing, other) ? SCHED_REFUSAL_LOWER
								: SCHED_REFUSAL_QUEUE_FULL);
	queueing->actions[queueing->actions_count++] = (struct sched_action){
		.kind = SCHED_ACTION_ENQUEUE,
		.task = task->task->id,
		.cluster = m,
		.start_s = (pair.end - queueing_exec(queueing, task->task, m)->mean) * bin_s,
		.end_s = pair.end * bin_s,
		.objective = chance,
		.chance = chance,
		.threshold = threshold,
		.reason = reason,
	};
	queueing_pair_all(queueing, m);
	return 0;
}

void queueing_exclude(struct queueing *queueing, struct queueing_task *task)
{
	task->out = true;
	for (uint32_t m = 0; (queueing->flags & POLICY_EXPLAIN) && m < queueing->machines_count;
	     m++)
		note_pair(queueing, task, m, UINT32_MAX,
			  queueing_has_place(queueing, m) ? SCHED_REFUSAL_UNLIKELY
							  : SCHED_REFUSAL_QUEUE_FULL);
}

double queueing_deferral(const struct queueing *queueing, uint32_t row)
{
	if (!queueing->policy->ops->queueing->prunes && !queueing->policy->prunes)
		return 0;
	return fmax(0,
		    queueing->settings->pruning.defer_threshold - queueing_relief(queueing, row));
}

bool queueing_defers(struct queueing *queueing, struct queueing_task *task, uint32_t machine)
{
	const double chance = task->pairs[machine].chance;

	/* A task that cannot be on time is not mapped, whatever the threshold. */
	if (!queueing->policy->prunes ||
	    (chance > 0 && queueing_reaches(chance, queueing_deferral(queueing, task->task->row))))
		return false;
	queueing_exclude(queueing, task);
	return true;
}

/* Notes why the tasks that still wait were not queued. */
static void explain_rest(struct queueing *queueing)
{
	for (uint32_t i = 0; i < queueing->tasks_count; i++)
		if (!queueing->tasks[i].out)
			queueing_exclude(queueing, &queueing->tasks[i]);
}

void queueing_end(struct queueing *queueing, struct sched_plan *ret_plan)
{
	if (queueing->flags & POLICY_EXPLAIN)
		explain_rest(queueing);
	*ret_plan = (struct sched_plan){
		.actions_count = queueing->actions_count,
		.actions = queueing->actions,
		.considered_count = queueing->considered_count,
		.considered = queueing->considered,
		.pruner = queueing->pruner,
		.judged_count = queueing->judged_count,
		.judged = queueing->judged,
	};
}

void queueing_finish(struct queueing *queueing)
{
	if (queueing->owns_memory)
		queueing_memory_free(queueing->memory);
	queueing->memory = NULL;
}
