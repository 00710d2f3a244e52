/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/energy_target.h"

#include "controller/sched/rank_key.h"

double energy_target_j(const struct sched_snapshot *snapshot, double time_s)
{
	if (isinf(snapshot->budget_j))
		return INFINITY;
	return snapshot->budget_j * (time_s - snapshot->day_start_s) /
	       (snapshot->end_s - snapshot->day_start_s);
}

double energy_target_committed_j(const struct sched_snapshot *snapshot, bool placeholders)
{
	const struct sched_system *system = snapshot->system;
	double sum_j = snapshot->consumed_j;

	for (uint32_t i = 0; i < snapshot->running_count; i++)
		sum_j += sched_allocation_committed_j(system, &snapshot->running[i],
						      snapshot->now_s);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		sum_j += sched_allocation_energy_j(system, &snapshot->reservations[i]);
	for (uint32_t i = 0; placeholders && i < snapshot->placeholders_count; i++)
		sum_j += sched_allocation_energy_j(system, &snapshot->placeholders[i]);
	return sum_j;
}

bool energy_target_exceeded(const struct sched_snapshot *snapshot)
{
	return isfinite(snapshot->budget_j) &&
	       rank_key_compare(energy_target_committed_j(snapshot, true),
				energy_target_j(snapshot, snapshot->now_s)) > 0;
}

/* The committed energy can only grow by the waiting tasks. The margin keeps rounding errors out. */
bool energy_target_next_is_certain(const struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;

	if (isinf(snapshot->budget_j))
		return true;

	const double next_j = energy_target_j(snapshot, snapshot->next_event_s);
	const double least_j = energy_target_committed_j(snapshot, false);
	const double margin_j = 1e-9 * (next_j + least_j);
	double most_j = least_j;

	if (least_j > next_j + margin_j)
		return true;
	for (uint32_t i = 0; i < mapping->tasks_count; i++)
		most_j += mapping->system->rows[mapping->tasks[i]->row].eec_max_j;
	return most_j < next_j - margin_j;
}
