/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/robustness.h"

#include <math.h>

/* A task with the time at which it left. */
struct leaver {
	double left_s; /* INFINITY: it has not left */
	uint32_t task;
};

static int compare_leavers(gconstpointer left, gconstpointer right, gpointer data)
{
	const struct leaver *a = left;
	const struct leaver *b = right;

	if (a->left_s != b->left_s)
		return a->left_s < b->left_s ? -1 : 1;
	return (a->task > b->task) - (a->task < b->task);
}

/* All tasks, in the order in which they left; the caller frees. */
static struct leaver *list_leavers(const struct engine *engine)
{
	const uint32_t count = engine_tasks_count(engine);
	struct leaver *departing = g_new(struct leaver, count);

	for (uint32_t i = 0; i < count; i++) {
		const struct engine_task *task = engine_task_at(engine, i);
		const bool left = engine_task_over(task) && isfinite(task->ended_s);

		departing[i] = (struct leaver){left ? task->ended_s : (double)INFINITY, i};
	}
	g_qsort_with_data(departing, (gint)count, sizeof(*departing), compare_leavers, NULL);
	return departing;
}

static double variance(const double *on_time, const double *counted, uint32_t types)
{
	double sum = 0, squares = 0, count = 0;

	for (uint32_t type = 0; type < types; type++) {
		const double share = counted[type] > 0 ? on_time[type] / counted[type] : 0;

		sum += share;
		squares += share * share;
		count += counted[type] > 0;
	}
	return count > 0 ? fmax(0, squares / count - pow(sum / count, 2)) : 0;
}

/* Adds the time that a task was on its cluster, and its cost. */
static void add_use(const struct engine_task *task, const double *prices,
		    struct robustness *robustness)
{
	if (!isfinite(task->exec_s))
		return;
	robustness->busy_s += task->exec_s;
	robustness->cost += task->exec_s / 3600 * (prices ? prices[task->cluster] : 1);
}

void robustness_of(const struct engine *engine, uint32_t types, uint32_t left_out,
		   const double *prices, struct robustness *ret_robustness)
{
	const uint32_t tasks = engine_tasks_count(engine);
	g_autofree struct leaver *departing = list_leavers(engine);
	g_autofree double *on_time = g_new0(double, types);
	g_autofree double *counted = g_new0(double, types);
	struct robustness made = {.counted = tasks - 2 * left_out};

	g_assert(tasks > 2 * left_out);
	for (uint32_t i = left_out; i < tasks - left_out; i++) {
		const struct engine_task *task = engine_task_at(engine, departing[i].task);
		const bool success = engine_on_time(engine, departing[i].task);

		counted[task->task->row]++;
		on_time[task->task->row] += success;
		made.on_time += success;
		add_use(task, prices, &made);
	}
	made.share = (double)made.on_time / made.counted;
	made.type_variance = variance(on_time, counted, types);
	*ret_robustness = made;
}
