/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/shapley.h"

#include <math.h>
#include <string.h>

#include "common/random.h"

/* Of the orders that are drawn: any fixed number would do. */
#define ORDERS_SEED 1

/* Drawn orders, with their reverses: at least so many pairs, and at most. */
enum { PAIRS_MIN = 2, PAIRS_MAX = 5000 };

struct shapley_plan {
	uint32_t count; /* of causes */
	enum cause causes[CAUSES];
	bool exact;
	cause_set sets[CAUSE_SETS];
	uint32_t sets_count;
	bool has[CAUSE_SETS];
	GArray *orders; /* enum cause[CAUSES]: every second one is the reverse of that before it */
};

static void need_set(struct shapley_plan *plan, cause_set set)
{
	if (plan->has[set])
		return;
	plan->has[set] = true;
	plan->sets[plan->sets_count++] = set;
}

/* The number of sets of an order and its reverse that the plan does not have yet. */
static uint32_t count_new(const struct shapley_plan *plan, const enum cause *order)
{
	cause_set there = 0, back = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		there |= 1u << order[i];
		back |= 1u << order[plan->count - 1 - i];
		count += !plan->has[there] + (back != there && !plan->has[back]);
	}
	return count;
}

static void add_orders(struct shapley_plan *plan, const enum cause *order)
{
	enum cause reverse[CAUSES] = {0};
	enum cause both[2][CAUSES];
	cause_set there = 0, back = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		reverse[i] = order[plan->count - 1 - i];
		there |= 1u << order[i];
		back |= 1u << reverse[i];
		need_set(plan, there);
		need_set(plan, back);
	}
	memcpy(both[0], order, sizeof(both[0]));
	memcpy(both[1], reverse, sizeof(both[1]));
	g_array_append_vals(plan->orders, both, 2);
}

/* Draws orders until the sets would be too many. */
static void draw(struct shapley_plan *plan, uint32_t most)
{
	struct random_stream random;

	random_stream_init(&random, ORDERS_SEED, plan->count);
	for (uint32_t pair = 0; pair < PAIRS_MAX; pair++) {
		enum cause order[CAUSES] = {0};

		memcpy(order, plan->causes, sizeof(order));
		for (uint32_t i = plan->count; i > 1; i--) {
			const uint32_t at = (uint32_t)random_stream_below(&random, i);
			const enum cause moved = order[at];

			order[at] = order[i - 1];
			order[i - 1] = moved;
		}
		if (pair >= PAIRS_MIN && plan->sets_count + count_new(plan, order) > most)
			return;
		add_orders(plan, order);
	}
}

struct shapley_plan *shapley_plan_new(cause_set causes, uint32_t most)
{
	struct shapley_plan *plan = g_new0(struct shapley_plan, 1);

	plan->orders = g_array_new(FALSE, FALSE, sizeof(enum cause[CAUSES]));
	for (enum cause c = 0; c < CAUSES; c++)
		if (causes >> c & 1)
			plan->causes[plan->count++] = c;
	plan->exact = plan->count < 2 || 1u << plan->count <= most;
	need_set(plan, 0);
	need_set(plan, causes);
	for (uint32_t i = 0; i < plan->count; i++)
		need_set(plan, 1u << plan->causes[i]);
	if (!plan->exact)
		draw(plan, most);
	else
		for (cause_set set = 0; set < CAUSE_SETS; set++)
			if ((set & ~causes) == 0)
				need_set(plan, set);
	return plan;
}

void shapley_plan_free(struct shapley_plan *plan)
{
	if (!plan)
		return;
	g_array_unref(plan->orders);
	g_free(plan);
}

const cause_set *shapley_plan_sets(const struct shapley_plan *plan, uint32_t *ret_count)
{
	*ret_count = plan->sets_count;
	return plan->sets;
}

bool shapley_plan_is_exact(const struct shapley_plan *plan)
{
	return plan->exact;
}

uint32_t shapley_plan_orders(const struct shapley_plan *plan)
{
	return plan->orders->len;
}

/* The weight of a set of `size` of the other causes: size! (count - size - 1)! / count!. */
static double weight(uint32_t size, uint32_t count)
{
	double product = 1.0 / count;

	for (uint32_t i = 1; i <= size; i++)
		product *= (double)i / (count - i);
	return product;
}

static uint32_t size_of(cause_set set)
{
	return (uint32_t)__builtin_popcount(set);
}

static void value_exactly(const struct shapley_plan *plan, const double *values,
			  double ret_parts[CAUSES])
{
	for (uint32_t s = 0; s < plan->sets_count; s++) {
		const cause_set set = plan->sets[s];

		for (uint32_t i = 0; i < plan->count; i++) {
			const enum cause cause = plan->causes[i];

			if (!(set >> cause & 1))
				ret_parts[cause] += weight(size_of(set), plan->count) *
						    (values[set | 1u << cause] - values[set]);
		}
	}
}

/* The marginal contributions in an order. */
static void follow(const struct shapley_plan *plan, const enum cause *order, const double *values,
		   double parts[CAUSES])
{
	cause_set set = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		const cause_set next = set | 1u << order[i];

		parts[order[i]] += (values[next] - values[set]) / 2;
		set = next;
	}
}

static void value_drawn(const struct shapley_plan *plan, const double *values,
			double ret_parts[CAUSES], double ret_errors[CAUSES])
{
	const enum cause(*orders)[CAUSES] =
		(const enum cause(*)[CAUSES])(const void *)plan->orders->data;
	const uint32_t pairs = plan->orders->len / 2;
	double squares[CAUSES] = {0};

	for (uint32_t p = 0; p < pairs; p++) {
		double both[CAUSES] = {0};

		follow(plan, orders[2 * p], values, both);
		follow(plan, orders[2 * p + 1], values, both);
		for (int c = 0; c < CAUSES; c++) {
			ret_parts[c] += both[c] / pairs;
			squares[c] += both[c] * both[c];
		}
	}
	for (int c = 0; c < CAUSES; c++)
		ret_errors[c] = sqrt(fmax(0, squares[c] / pairs - ret_parts[c] * ret_parts[c]) /
				     (pairs - 1));
}

void shapley_values(const struct shapley_plan *plan, const double *values, double ret_parts[CAUSES],
		    double ret_errors[CAUSES])
{
	double errors[CAUSES] = {0};

	memset(ret_parts, 0, CAUSES * sizeof(*ret_parts));
	if (plan->exact)
		value_exactly(plan, values, ret_parts);
	else
		value_drawn(plan, values, ret_parts, errors);
	if (ret_errors)
		memcpy(ret_errors, errors, sizeof(errors));
}
