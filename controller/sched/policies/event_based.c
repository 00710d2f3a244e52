/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event-based metaheuristic (paper 002, 3.6.2): Max UPE when the energy consumed and committed
 * so far lies above the goal of an even consumption over the day, else Max UPR.
 */
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"

/*
 * Energy consumed, the rest of the running tasks, and all of what is promised. Place-holders count
 * although they vanish with this event.
 */
static double committed_j(const struct sched_snapshot *snapshot, bool placeholders)
{
	const struct sched_system *system = snapshot->system;
	double sum_j = snapshot->consumed_j;

	for (uint32_t i = 0; i < snapshot->running_count; i++)
		sum_j += sched_running_committed_j(system, &snapshot->running[i], snapshot->now_s);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		sum_j += sched_planned_energy_j(system, &snapshot->reservations[i]);
	for (uint32_t i = 0; placeholders && i < snapshot->placeholders_count; i++)
		sum_j += sched_planned_energy_j(system, &snapshot->placeholders[i]);
	return sum_j;
}

static double goal_j(const struct sched_snapshot *snapshot, double time_s)
{
	return snapshot->budget_j * (time_s - snapshot->day_start_s) /
	       (snapshot->end_s - snapshot->day_start_s);
}

/*
 * Whether the choice at the next event is certain already, whatever place-holders this one leaves:
 * what is committed now can only grow by the waiting tasks. The margin keeps clear of rounding.
 */
static bool next_is_certain(const struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;
	const double next_j = goal_j(snapshot, snapshot->next_event_s);
	const double least_j = committed_j(snapshot, false);
	const double margin_j = 1e-9 * (next_j + least_j);
	double most_j = least_j;

	if (least_j > next_j + margin_j)
		return true;
	for (uint32_t i = 0; i < mapping->tasks_count; i++) {
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(mapping->system, mapping->tasks[i]->row, &count);
		double dearest_j = 0;

		for (uint32_t j = 0; j < count; j++)
			dearest_j = fmax(dearest_j, options[j].eec_j);
		most_j += dearest_j;
	}
	return most_j < next_j - margin_j;
}

static int decide(struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;
	const bool limited = isfinite(snapshot->budget_j);
	const bool above =
		limited && committed_j(snapshot, true) > goal_j(snapshot, snapshot->now_s);
	const bool trim = mapping->flags & POLICY_TRIM && (!limited || next_is_certain(mapping));

	mapping->note = above ? "max-upe" : "max-upr";
	return greedy_map(mapping, above ? GREEDY_UPE : GREEDY_UPR, trim);
}

const struct policy_ops policy_event_based = {
	.name = "event-based",
	.section = "002, 3.6.2",
	.summary = "Event-Based: Max UPE while consumption runs ahead of the budget, else Max UPR",
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.future_fixed = true,
	.reads_budget = true,
	.reads_placeholders = true,
	.decide = decide,
};
