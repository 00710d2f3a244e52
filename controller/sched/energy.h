/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/policy.h"
#include "controller/sched/rank_key.h"

/*
 * The energy of a mapping event: what remains of the budget and of the nodes' time, and which
 * options may therefore be considered (Machovec 2018, section 3.8). Two rules refuse an option:
 *
 * - the gate, if the snapshot has one: an option that needs more than the energy that remains.
 *   Remaining = budget - consumed - committed to tasks that run (EEC x the rest of the ETC), hold a
 *   reservation, or were placed in this event. It only falls within an event: a refused option
 *   stays refused;
 * - the filter of the policy: an option whose energy (per core-second for +filter:resource) lies
 *   strictly above a fair share, equations (8) and (9). The share moves both ways as tasks are
 *   placed, and is recomputed after each placement unless +filter-once was given.
 *
 * Values that are equal up to rounding (rank_key.h) are not above one another: the remaining energy
 * is a difference that may be small, so the gate compares the total with the whole budget.
 *
 * Cost: to begin an event, running tasks + reservations + mappable tasks x clusters; O(1) per
 * placement and per query.
 */
struct energy {
	const struct sched_snapshot *snapshot;
	enum policy_filter filter;
	double leniency;
	bool once;
	bool gate;
	double remaining_j;
	double resources;         /* core-seconds that remain until the end of the day, eq. (6) */
	double average_j;         /* of a task, for eq. (7) */
	double average_resources; /* of a task, core-seconds */
	double budget;            /* joules (per core-second); INFINITY: everything passes */
};

/*
 * Begins the event. `tasks` (`count` of them) are the mappable tasks that were not dropped: their
 * averages are used as long as no task has completed.
 */
void energy_begin(struct energy *energy, const struct policy *policy,
		  const struct sched_snapshot *snapshot, const struct sched_task *const *tasks,
		  uint32_t count);

/* The value of an option that the filter compares with energy->budget. */
static inline double energy_key(const struct energy *energy, const struct sched_option *option)
{
	return energy->filter == POLICY_FILTER_RESOURCE ? option->eec_j / option->resources
							: option->eec_j;
}

/* Whether the gate refuses the option, which then holds for the whole event. */
static inline bool energy_too_much(const struct energy *energy, const struct sched_option *option)
{
	const double budget_j = energy->snapshot->budget_j;

	return energy->gate &&
	       rank_key_above(budget_j - energy->remaining_j + option->eec_j, budget_j);
}

/* Whether the filter refuses the option now. */
static inline bool energy_filtered(const struct energy *energy, const struct sched_option *option)
{
	return energy->filter != POLICY_FILTER_NONE &&
	       rank_key_above(energy_key(energy, option), energy->budget);
}

/*
 * SCHED_REFUSAL_TAKEN if neither rule refuses the option, else the refusal; the gate comes first.
 */
enum sched_refusal energy_judge(const struct energy *energy, const struct sched_option *option);

/* Subtracts the energy and time of a task that was placed by `option` at `start_s`. */
void energy_take(struct energy *energy, const struct sched_option *option, double start_s);
