/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/arrivals.h"

#include <math.h>

/* Arrivals closer than this are equal: the store keeps them exactly, older files may not. */
#define SAME_S 1e-6

const struct store_run *arrivals_run(const struct summary *measured,
				     const struct summary *simulated, const char *policy,
				     double limit)
{
	const struct store_run *first = measured->runs->pdata[0];

	for (guint i = 0; i < simulated->runs->len; i++) {
		const struct store_run *run = simulated->runs->pdata[i];

		if (run->repeat == 1 && run->seed == first->seed &&
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

/*
 * The first measured run of a cell that was also simulated; all measured runs have the same
 * workload.
 */
static const struct store_run *first_common(const struct summary *measured,
					    const struct summary *simulated,
					    const struct store_run **ret_simulated)
{
	for (guint i = 0; i < measured->runs->len; i++) {
		const struct store_run *run = measured->runs->pdata[i];

		*ret_simulated = arrivals_run(measured, simulated, run->policy, run->limit);
		if (*ret_simulated)
			return run;
	}
	return NULL;
}

bool arrivals_are_same(const struct summary *measured, const struct summary *simulated)
{
	const struct store_run *b_run;
	const struct store_run *a_run = first_common(measured, simulated, &b_run);
	g_autoptr(GPtrArray) a = a_run ? store_tasks(measured->store, a_run->run, NULL) : NULL;
	g_autoptr(GPtrArray) b = a ? store_tasks(simulated->store, b_run->run, NULL) : NULL;

	return b && same_tasks(a, b) && have_all_runs(measured, simulated);
}
