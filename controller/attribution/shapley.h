/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/attribution/cause.h"

/*
 * Shapley values (Shapley, "A value for n-person games", 1953): the part that each cause has in the
 * change from no cause to all of them, which is its marginal contribution in the mean over all
 * orders of the causes. With few simulations to spare, over orders that are drawn (Castro, Gomez
 * and Tejada, "Polynomial calculation of the Shapley value based on sampling", 2009), each together
 * with its reverse. Either way the parts add up to the whole change.
 */
struct shapley_plan;
typedef struct shapley_plan shapley_plan_t;

/*
 * A plan for the causes of `causes` that values at most `most` sets, or as few as a draw needs if
 * that is less: no cause, all, each one alone, and two orders with their reverses. With room for
 * all sets it is exact.
 */
struct shapley_plan *shapley_plan_new(cause_set causes, uint32_t most);
/* NULL is allowed. */
void shapley_plan_free(struct shapley_plan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(shapley_plan_t, shapley_plan_free)

/* The sets to value, each once: *ret_count of them. Borrowed. */
const cause_set *shapley_plan_sets(const struct shapley_plan *plan, uint32_t *ret_count);

/* Whether it takes all sets. */
bool shapley_plan_is_exact(const struct shapley_plan *plan);
/* The number of orders that were drawn; 0: it is exact. */
uint32_t shapley_plan_orders(const struct shapley_plan *plan);

/*
 * The parts by the values of the plan's sets: values[set] for each of these; CAUSE_SETS long.
 * ret_errors, which may be NULL: standard errors of the draw; 0 where the plan is exact.
 */
void shapley_values(const struct shapley_plan *plan, const double *values, double ret_parts[CAUSES],
		    double ret_errors[CAUSES]);
