/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/arrivals.h"

#include <math.h>

/* Arrivals closer than this are equal: the store keeps them exactly, older files may not. */
#define SAME_S 1e-6

/* Whether both were given the same tasks, instead of drawing them by their seeds. */
static bool were_given_same(const struct summary *a, const struct summary *b)
{
	g_autofree char *digest_a = store_get_meta(a->store, "tasks_sha256");
	g_autofree char *digest_b = store_get_meta(b->store, "tasks_sha256");

	return digest_a && g_strcmp0(digest_a, digest_b) == 0;
}

const struct store_run *arrivals_run(const struct summary *first, const struct summary *side,
				     const char *policy, double limit)
{
	const struct store_run *of_first = first->runs->pdata[0];
	const bool given = were_given_same(first, side);

	for (guint i = 0; i < side->runs->len; i++) {
		const struct store_run *run = side->runs->pdata[i];

		if ((side->measured || run->repeat == 1) &&
		    (given || run->seed == of_first->seed) &&
		    summary_same_limit(run->limit, limit) && g_str_equal(run->policy, policy))
			return run;
	}
	return NULL;
}

/* Whether the tasks that two runs have in common are equal, and there are any. */
static bool same_tasks(GPtrArray *a, GPtrArray *b)
{
	guint i = 0, j = 0;
	guint common = 0;

	while (i < a->len && j < b->len) {
		const struct store_task *x = a->pdata[i];
		const struct store_task *y = b->pdata[j];

		if (x->task == y->task &&
		    (fabs(x->arrival_s - y->arrival_s) > SAME_S ||
		     x->utility_max != y->utility_max || g_strcmp0(x->type, y->type) != 0))
			return false;
		common += x->task == y->task;
		i += x->task <= y->task;
		j += y->task <= x->task;
	}
	return common > 0;
}

/* Whether every cell that both ran has a simulated run with the measured seed. */
static bool have_all_runs(const struct summary *measured, const struct summary *simulated)
{
	for (guint i = 0; i < measured->cells_count; i++) {
		const struct summary_cell *cell = &measured->cells[i];

		if (cell->runs && summary_cell(simulated, cell->policy, cell->limit) &&
		    !arrivals_run(measured, simulated, cell->policy, cell->limit))
			return false;
	}
	return true;
}

/* The runs of both of the first policy and limit that both have on the arrivals of `first`. */
static bool first_common(const struct summary *first, const struct summary *second,
			 const struct store_run *ret_runs[2])
{
	for (guint i = 0; i < first->cells_count; i++) {
		const struct summary_cell *cell = &first->cells[i];

		ret_runs[0] = arrivals_run(first, first, cell->policy, cell->limit);
		ret_runs[1] = arrivals_run(first, second, cell->policy, cell->limit);
		if (ret_runs[0] && ret_runs[1])
			return true;
	}
	return false;
}

/*
 * Whether a directory has users who react, whose tasks arrive otherwise in every run, and whether
 * both have the same ones.
 */
static bool have_users(const struct summary *a, const struct summary *b, bool *ret_same)
{
	g_autofree char *digest_a = store_get_meta(a->store, "users_sha256");
	g_autofree char *digest_b = store_get_meta(b->store, "users_sha256");

	*ret_same = g_strcmp0(digest_a, digest_b) == 0;
	return digest_a || digest_b;
}

bool arrivals_are_same(const struct summary *first, const struct summary *second)
{
	const struct store_run *runs[2];
	g_autoptr(GPtrArray) a = NULL;
	g_autoptr(GPtrArray) b = NULL;
	bool same;

	if (!first_common(first, second, runs))
		return false;
	if (have_users(first, second, &same))
		return same &&
		       (first->measured == second->measured || have_all_runs(first, second));
	a = store_tasks(first->store, runs[0]->run, NULL);
	b = store_tasks(second->store, runs[1]->run, NULL);
	return a && b && same_tasks(a, b) &&
	       (first->measured == second->measured || have_all_runs(first, second));
}
