/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/energy.h"

#include <math.h>

/* The part of [start_s, end_s) between now and the end of the day, seconds. */
static double time_left(const struct sched_snapshot *snapshot, double start_s, double end_s)
{
	return fmax(0, fmin(end_s, snapshot->end_s) - fmax(start_s, snapshot->now_s));
}

/* The core-seconds that a placement takes of the rest of the day. */
static double place_resources(const struct sched_snapshot *snapshot, uint32_t cluster,
			      uint32_t nodes, double start_s, double end_s)
{
	return time_left(snapshot, start_s, end_s) * nodes *
	       snapshot->system->clusters[cluster].cores;
}

/* Equation (6). */
static double resources_left(const struct sched_snapshot *snapshot)
{
	const struct sched_system *system = snapshot->system;
	double sum = 0;

	for (uint32_t c = 0; c < system->clusters_count; c++)
		sum += place_resources(snapshot, c, system->clusters[c].nodes, snapshot->now_s,
				       INFINITY);
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		sum -= place_resources(snapshot, snapshot->down[i].cluster, 1, snapshot->now_s,
				       INFINITY);
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *r = &snapshot->running[i];

		sum -= place_resources(snapshot, r->cluster, r->nodes_count, r->start_s, r->end_s);
	}
	for (uint32_t i = 0; i < snapshot->reservations_count; i++) {
		const struct sched_allocation *p = &snapshot->reservations[i];

		sum -= place_resources(snapshot, p->cluster, p->nodes_count, p->start_s, p->end_s);
	}
	return sum;
}

static double energy_left(const struct sched_snapshot *snapshot)
{
	const struct sched_system *system = snapshot->system;
	double committed_j = 0;

	for (uint32_t i = 0; i < snapshot->running_count; i++)
		committed_j += sched_allocation_committed_j(system, &snapshot->running[i],
							    snapshot->now_s);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		committed_j += sched_allocation_energy_j(system, &snapshot->reservations[i]);
	return snapshot->budget_j - snapshot->consumed_j - committed_j;
}

static void find_averages(struct energy *energy, const struct sched_task *const *tasks,
			  uint32_t count)
{
	const struct sched_snapshot *snapshot = energy->snapshot;
	double sum_j = 0;
	double sum_resources = 0;

	if (snapshot->completed_count > 0) {
		energy->average_j = snapshot->completed_j / snapshot->completed_count;
		energy->average_resources =
			snapshot->completed_resources / snapshot->completed_count;
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		sum_j += snapshot->system->rows[tasks[i]->row].eec_mean_j;
		sum_resources += snapshot->system->rows[tasks[i]->row].resources_mean;
	}
	if (count > 0) {
		energy->average_j = sum_j / count;
		energy->average_resources = sum_resources / count;
	}
}

/* Equations (7) to (9). The fair share of no energy is 0. */
static double find_budget(const struct energy *energy)
{
	const double budget_j = energy->snapshot->budget_j;

	if (energy->filter == POLICY_FILTER_NONE || isinf(energy->remaining_j))
		return INFINITY;
	if (rank_key_compare(budget_j - energy->remaining_j, budget_j) >= 0)
		return 0;
	if (energy->filter == POLICY_FILTER_RESOURCE)
		return energy->leniency * (energy->remaining_j / energy->resources);

	const double tasks = fmin(energy->resources / energy->average_resources,
				  energy->remaining_j / energy->average_j);

	return energy->leniency * (energy->remaining_j / tasks);
}

void energy_begin(struct energy *energy, const struct policy *policy,
		  const struct sched_snapshot *snapshot, const struct sched_task *const *tasks,
		  uint32_t count)
{
	*energy = (struct energy){
		.snapshot = snapshot,
		.filter = policy->filter,
		.leniency = policy->leniency,
		.once = policy->filter_once,
		.gate = snapshot->gate && isfinite(snapshot->budget_j),
		.remaining_j = INFINITY,
		.budget = INFINITY,
	};
	if (isinf(snapshot->budget_j) || (!energy->gate && energy->filter == POLICY_FILTER_NONE))
		return;
	energy->remaining_j = energy_left(snapshot);
	if (energy->filter == POLICY_FILTER_NONE)
		return;
	energy->resources = resources_left(snapshot);
	if (energy->filter == POLICY_FILTER_TASK)
		find_averages(energy, tasks, count);
	energy->budget = find_budget(energy);
}

enum sched_refusal energy_judge(const struct energy *energy, const struct sched_option *option)
{
	if (energy_too_much(energy, option))
		return SCHED_REFUSAL_ENERGY;
	if (energy_filtered(energy, option))
		return SCHED_REFUSAL_FILTERED;
	return SCHED_REFUSAL_TAKEN;
}

void energy_take(struct energy *energy, const struct sched_option *option, double start_s)
{
	if (isinf(energy->remaining_j))
		return;
	energy->remaining_j -= option->eec_j;
	if (energy->filter == POLICY_FILTER_NONE)
		return;
	energy->resources -= place_resources(energy->snapshot, option->cluster, option->nodes,
					     start_s, start_s + option->etc_s);
	if (!energy->once)
		energy->budget = find_budget(energy);
}
