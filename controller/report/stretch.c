/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/stretch.h"

#include <jansson.h>
#include <math.h>

#include "controller/workload/dfrs.h"

/* The execution time of a type alone on the only cluster; NAN: unknown. */
static double dedicated_s(const GPtrArray *estimates, const char *type)
{
	for (guint i = 0; i < estimates->len; i++) {
		const struct config_estimate *estimate = estimates->pdata[i];

		if (g_strcmp0(estimate->type, type) == 0)
			return estimate->etc_s;
	}
	return (double)NAN;
}

static struct stretch_task of_task(const struct store_task *task, double end_s, double alone_s)
{
	const bool completed = g_strcmp0(task->state, "completed") == 0 && isfinite(task->ended_s);

	return (struct stretch_task){
		.task = task->task,
		.completed = completed,
		.bounded = completed
				   ? dfrs_bounded_stretch(task->ended_s - task->arrival_s, alone_s)
				   : dfrs_stretch_at_least(end_s - task->arrival_s, alone_s),
	};
}

GArray *stretch_tasks(struct store *store, const struct store_run *run, GError **error)
{
	g_autoptr(GPtrArray) estimates = store_estimates(store, error);
	g_autoptr(GPtrArray) tasks = estimates ? store_tasks(store, run->run, error) : NULL;
	g_autoptr(GArray) stretches = g_array_new(FALSE, FALSE, sizeof(struct stretch_task));

	if (!tasks)
		return NULL;
	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];
		const double alone_s = dedicated_s(estimates, task->type);
		const struct stretch_task one = of_task(task, run->ended_s, alone_s);

		if (!isfinite(alone_s)) {
			g_array_set_size(stretches, 0);
			break;
		}
		if (task->arrival_s < run->ended_s)
			g_array_append_val(stretches, one);
	}
	return g_steal_pointer(&stretches);
}

/* Reads the event "stretch" of a simulated run without recorded tasks. */
static bool read_event(struct store *store, const struct store_run *run,
		       struct stretch *ret_stretch, GError **error)
{
	g_autoptr(GPtrArray) events = store_events(store, run->run, error);

	for (guint i = 0; events && i < events->len; i++) {
		const struct store_event *event = events->pdata[i];
		json_t *detail;

		if (g_strcmp0(event->kind, "stretch") != 0 || !event->detail)
			continue;
		detail = json_loads(event->detail, 0, NULL);
		if (json_is_number(json_object_get(detail, "mean")))
			ret_stretch->mean = json_number_value(json_object_get(detail, "mean"));
		if (json_is_number(json_object_get(detail, "max")))
			ret_stretch->max = json_number_value(json_object_get(detail, "max"));
		json_decref(detail);
		ret_stretch->unfinished = run->tasks_arrived - run->tasks_completed;
	}
	return events != NULL;
}

bool stretch_of_run(struct store *store, const struct store_run *run, struct stretch *ret_stretch,
		    GError **error)
{
	g_autoptr(GArray) tasks = stretch_tasks(store, run, error);
	double sum = 0;

	*ret_stretch = (struct stretch){.mean = (double)NAN, .max = (double)NAN};
	if (!tasks)
		return false;
	if (tasks->len == 0)
		return read_event(store, run, ret_stretch, error);
	for (guint i = 0; i < tasks->len; i++) {
		const struct stretch_task *one = &g_array_index(tasks, struct stretch_task, i);

		ret_stretch->unfinished += !one->completed;
		ret_stretch->max = fmax(ret_stretch->max, one->bounded);
		sum += one->bounded;
	}
	ret_stretch->tasks = tasks->len;
	ret_stretch->mean = sum / tasks->len;
	return true;
}
