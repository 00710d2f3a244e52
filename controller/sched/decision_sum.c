/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/decision_sum.h"

#include <string.h>

#include "controller/sched/pet.h"

/* The constants of the finalizer of MurmurHash3 (Appleby 2011). */
#define MIX_1 UINT64_C(0xff51afd7ed558ccd)
#define MIX_2 UINT64_C(0xc4ceb9fe1a85ec53)
#define BEGIN UINT64_C(0x9e3779b97f4a7c15)

static void add(uint64_t *sum, uint64_t word)
{
	uint64_t mixed = *sum ^ word;

	mixed *= MIX_1;
	mixed ^= mixed >> 33;
	mixed *= MIX_2;
	mixed ^= mixed >> 29;
	*sum = mixed + BEGIN;
}

static void add_real(uint64_t *sum, double value)
{
	const double one_nan = NAN;
	uint64_t bits;

	memcpy(&bits, isnan(value) ? &one_nan : &value, sizeof(bits));
	add(sum, isnan(value) ? UINT64_MAX : bits);
}

static void add_reals(uint64_t *sum, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_real(sum, values[i]);
}

static void add_numbers(uint64_t *sum, const uint32_t *numbers, size_t count)
{
	add(sum, count);
	for (size_t i = 0; i < count; i++)
		add(sum, numbers[i]);
}

static void add_text(uint64_t *sum, const char *text)
{
	const size_t length = text ? strlen(text) : 0;

	add(sum, text ? length : UINT64_MAX);
	for (size_t i = 0; i < length; i++)
		add(sum, (unsigned char)text[i]);
}

static void add_task(uint64_t *sum, const struct sched_task *task)
{
	add(sum, task->id);
	add(sum, task->row);
	add_real(sum, task->arrival_s);
	add(sum, (uint64_t)task->may_preempt << 1 | task->preemptible);
	add_real(sum, task->deadline_s);
	add(sum, (uint64_t)(int64_t)task->priority);
}

static void add_planned(uint64_t *sum, const struct sched_allocation *planned, uint32_t count)
{
	add(sum, count);
	for (uint32_t i = 0; i < count; i++) {
		add_task(sum, planned[i].task);
		add(sum, (uint64_t)planned[i].cluster << 32 | planned[i].pstate);
		add_numbers(sum, planned[i].nodes, planned[i].nodes_count);
		add_real(sum, planned[i].start_s);
		add_real(sum, planned[i].end_s);
	}
}

static void add_running(uint64_t *sum, const struct sched_snapshot *snapshot)
{
	add(sum, snapshot->running_count);
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];

		add_task(sum, running->task);
		add(sum, (uint64_t)running->cluster << 32 | running->pstate);
		add_numbers(sum, running->nodes, running->nodes_count);
		add_real(sum, running->start_s);
		add_real(sum, running->executed_s);
		add_real(sum, running->end_s);
		if (!snapshot->system->shared)
			continue;
		add_real(sum, running->yield);
		add_real(sum, running->virtual_s);
		add(sum, running->busy);
	}
}

static void add_suspended(uint64_t *sum, const struct sched_snapshot *snapshot)
{
	add(sum, snapshot->suspended_count);
	for (uint32_t i = 0; i < snapshot->suspended_count; i++) {
		const struct sched_allocation *suspended = &snapshot->suspended[i];

		add_task(sum, suspended->task);
		add(sum, (uint64_t)suspended->cluster << 32 | suspended->pstate);
		add(sum, suspended->nodes_count);
		add_real(sum, suspended->executed_s);
		if (snapshot->system->shared)
			add_real(sum, suspended->virtual_s);
	}
}

static void add_queues(uint64_t *sum, const struct sched_snapshot *snapshot)
{
	const struct sched_system *system = snapshot->system;

	for (uint32_t c = 0; c < system->clusters_count; c++) {
		const struct sched_queue *queue = &snapshot->queues[c];

		add(sum, (uint64_t)queue->count << 1 | queue->executes);
		for (uint32_t i = 0; i < queue->count; i++)
			add_task(sum, queue->tasks[i]);
		if (queue->executes)
			add_real(sum, queue->start_s);
	}
	add_real(sum, snapshot->pruner.level);
	add(sum, (uint64_t)snapshot->missed << 1 | snapshot->pruner.dropping);
	if (snapshot->sufferage)
		add_reals(sum, snapshot->sufferage, system->rows_count);
}

uint64_t sched_snapshot_sum(const struct sched_snapshot *snapshot)
{
	uint64_t sum = BEGIN;

	add(&sum, snapshot->seed);
	add(&sum, snapshot->event << 2 | (uint64_t)snapshot->between << 1 | snapshot->gate);
	add_real(&sum, snapshot->now_s);
	add_real(&sum, snapshot->next_event_s);
	add_real(&sum, snapshot->day_start_s);
	add_real(&sum, snapshot->end_s);
	add_real(&sum, snapshot->consumed_j);
	add_real(&sum, snapshot->budget_j);
	add(&sum, snapshot->completed_count);
	add_real(&sum, snapshot->completed_j);
	add_real(&sum, snapshot->completed_resources);
	add(&sum, snapshot->waiting_count);
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		add_task(&sum, snapshot->waiting[i]);
	add_suspended(&sum, snapshot);
	add_running(&sum, snapshot);
	add_planned(&sum, snapshot->reservations, snapshot->reservations_count);
	add_planned(&sum, snapshot->placeholders, snapshot->placeholders_count);
	add(&sum, snapshot->down_count);
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		add(&sum, (uint64_t)snapshot->down[i].cluster << 32 | snapshot->down[i].node);
	add(&sum, snapshot->deferred_count);
	for (uint32_t i = 0; i < snapshot->deferred_count; i++) {
		add_task(&sum, snapshot->deferred[i].task);
		add(&sum, snapshot->deferred[i].deferrals);
		add_real(&sum, snapshot->deferred[i].start_s);
	}
	if (snapshot->system->queueing)
		add_queues(&sum, snapshot);
	return sum;
}

uint64_t sched_plan_sum(const struct sched_plan *plan)
{
	uint64_t sum = BEGIN;

	add(&sum, plan->actions_count);
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		const double values[] = {action->start_s, action->end_s,     action->energy_j,
					 action->utility, action->objective, action->yield,
					 action->chance,  action->threshold};

		add(&sum, (uint64_t)action->kind << 32 | action->task);
		add(&sum, (uint64_t)action->cluster << 32 | action->pstate);
		add(&sum, action->reason);
		add_numbers(&sum, action->nodes, action->nodes_count);
		add_reals(&sum, values, sizeof(values) / sizeof(values[0]));
	}
	add_text(&sum, plan->note);
	return sum;
}

static void add_pet(uint64_t *sum, const struct sched_system *system)
{
	const struct sched_queueing *queueing = system->queueing;

	add_real(sum, queueing->bin_s);
	add(sum, queueing->length);
	for (uint32_t row = 0; row < system->rows_count; row++)
		for (uint32_t c = 0; c < system->clusters_count; c++) {
			const struct pmf *pmf = &pet_at(queueing->pet, row, c)->pmf;

			add(sum, (uint64_t)pmf->first << 32 | pmf->count);
			add_reals(sum, pmf->mass, pmf->count);
		}
}

uint64_t sched_system_sum(const struct sched_system *system)
{
	const size_t pairs = (size_t)system->rows_count * system->columns_count;
	uint64_t sum = BEGIN;

	add(&sum, (uint64_t)system->immediate << 1 | system->shared);
	add(&sum, system->clusters_count);
	for (uint32_t c = 0; c < system->clusters_count; c++) {
		const struct sched_cluster *cluster = &system->clusters[c];

		add_text(&sum, cluster->name);
		add(&sum, (uint64_t)cluster->nodes << 32 | cluster->cores);
		add(&sum, cluster->pstates);
	}
	add(&sum, system->rows_count);
	for (uint32_t row = 0; row < system->rows_count; row++)
		add_text(&sum, system->row_names[row]);
	add_reals(&sum, system->etc_s, pairs);
	add_reals(&sum, system->eec_j, pairs);
	add_numbers(&sum, system->nodes, (size_t)system->rows_count * system->clusters_count);
	if (system->queueing)
		add_pet(&sum, system);
	return sum;
}

static void add_utility(uint64_t *sum, const struct utility *utility)
{
	add_real(sum, utility->max);
	add(sum, utility->segments_count);
	for (uint32_t i = 0; i < utility->segments_count; i++) {
		const struct utility_segment *segment = &utility->segments[i];

		add(sum, segment->curve);
		add_real(sum, segment->duration_s);
		add_real(sum, segment->start_fraction);
		add_real(sum, segment->end_fraction);
		add_real(sum, segment->rate_per_s);
	}
}

uint64_t sched_tasks_sum(const struct sched_task *tasks, uint32_t count)
{
	uint64_t sum = BEGIN;

	add(&sum, count);
	for (uint32_t i = 0; i < count; i++) {
		add_task(&sum, &tasks[i]);
		add_utility(&sum, &tasks[i].utility);
		add(&sum, tasks[i].demand.vms);
		add_real(&sum, tasks[i].demand.cpu);
		add_real(&sum, tasks[i].demand.memory);
	}
	return sum;
}

uint64_t sched_sums_join(uint64_t first, uint64_t second)
{
	uint64_t sum = first;

	add(&sum, second);
	return sum;
}
