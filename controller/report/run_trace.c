/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/run_trace.h"

#include <math.h>
#include <string.h>

#include "common/json.h"

/* The idle watts of a host from a "baseline" event: {"hosts": [{"host": ., "idle_w": .}]}. */
static double idle_w(const json_t *baseline, const char *host)
{
	size_t i;
	json_t *one;

	json_array_foreach (json_object_get(baseline, "hosts"), i, one) {
		const char *name = json_string_value(json_object_get(one, "host"));

		if (g_strcmp0(name, host) == 0)
			return json_number_value(json_object_get(one, "idle_w"));
	}
	return NAN;
}

static json_t *find_baseline(const struct run_trace *trace)
{
	for (guint i = 0; i < trace->events->len; i++) {
		const struct store_event *event = trace->events->pdata[i];

		if (g_strcmp0(event->kind, "baseline") == 0 && event->detail)
			return json_parse(event->detail, strlen(event->detail), "baseline", NULL);
	}
	return NULL;
}

static void find_hosts(struct run_trace *trace)
{
	struct store_sample **samples = (struct store_sample **)trace->samples->pdata;
	g_autoptr(json_t) baseline = find_baseline(trace);
	guint first = 0;

	for (guint i = 1; i <= trace->samples->len; i++) {
		struct run_host host;

		if (i < trace->samples->len &&
		    g_strcmp0(samples[i]->host, samples[first]->host) == 0)
			continue;
		host = (struct run_host){.name = samples[first]->host,
					 .idle_w = idle_w(baseline, samples[first]->host),
					 .samples = samples + first,
					 .count = i - first};
		g_array_append_val(trace->hosts, host);
		first = i;
	}
}

struct run_trace *run_trace_load(const struct summary *summary, const struct store_run *run,
				 GError **error)
{
	g_autoptr(run_trace_t) trace = g_new0(struct run_trace, 1);

	trace->run = run;
	trace->measured = summary->measured;
	trace->hosts = g_array_new(FALSE, FALSE, sizeof(struct run_host));
	trace->tasks = store_tasks(summary->store, run->run, error);
	trace->samples = trace->tasks ? store_samples(summary->store, run->run, error) : NULL;
	trace->events = trace->samples ? store_events(summary->store, run->run, error) : NULL;
	if (!trace->events)
		return NULL;
	find_hosts(trace);
	return g_steal_pointer(&trace);
}

void run_trace_free(struct run_trace *trace)
{
	if (!trace)
		return;
	g_array_unref(trace->hosts);
	g_clear_pointer(&trace->tasks, g_ptr_array_unref);
	g_clear_pointer(&trace->samples, g_ptr_array_unref);
	g_clear_pointer(&trace->events, g_ptr_array_unref);
	g_free(trace);
}

double run_trace_task_end_s(const struct run_trace *trace, const struct store_task *task)
{
	double end_s = trace->run->ended_s;

	if (!isfinite(task->started_s) || task->started_s > end_s)
		return NAN;
	return isfinite(task->ended_s) ? fmin(task->ended_s, end_s) : end_s;
}

static void add_point(GArray *points, double time_s, double value)
{
	const struct run_point point = {time_s, value};

	g_array_append_val(points, point);
}

static GArray *points_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct run_point));
}

static gint by_time(gconstpointer a, gconstpointer b)
{
	const struct run_point *x = a;
	const struct run_point *y = b;

	return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* Turns the values added at each point, in any order, into running sums. */
static void accumulate(GArray *points)
{
	double sum = 0;

	g_array_sort(points, by_time);
	for (guint i = 0; i < points->len; i++) {
		struct run_point *point = &g_array_index(points, struct run_point, i);

		sum += point->value;
		point->value = sum;
	}
}

GArray *run_trace_utility(const struct run_trace *trace)
{
	GArray *points = points_new();

	if (trace->tasks->len == 0 || !isfinite(trace->run->ended_s))
		return points;
	add_point(points, 0, 0);
	for (guint i = 0; i < trace->tasks->len; i++) {
		const struct store_task *task = trace->tasks->pdata[i];

		if (task->utility > 0 && isfinite(task->ended_s))
			add_point(points, task->ended_s, task->utility);
	}
	add_point(points, trace->run->ended_s, 0);
	accumulate(points);
	return points;
}

/* Power is constant between the starts and ends of tasks: +W at each start, -W at each end. */
static GArray *energy_of_tasks(const struct run_trace *trace)
{
	g_autoptr(GArray) steps = points_new();
	GArray *points = points_new();
	double before_s = 0;
	double energy_j = 0;
	double watts = 0;

	for (guint i = 0; i < trace->tasks->len; i++) {
		const struct store_task *task = trace->tasks->pdata[i];
		double end_s = run_trace_task_end_s(trace, task);
		double energy = isfinite(task->energy_j) ? task->energy_j : task->eec_j;
		double exec_s = isfinite(task->exec_s) ? task->exec_s : task->etc_s;

		if (!isfinite(end_s) || !isfinite(energy) || !(exec_s > 0))
			continue;
		add_point(steps, task->started_s, energy / exec_s);
		add_point(steps, end_s, -energy / exec_s);
	}
	g_array_sort(steps, by_time);
	add_point(points, 0, 0);
	for (guint i = 0; i < steps->len; i++) {
		const struct run_point *step = &g_array_index(steps, struct run_point, i);

		energy_j += watts * (step->time_s - before_s);
		if (step->time_s > before_s)
			add_point(points, step->time_s, energy_j);
		watts += step->value;
		before_s = step->time_s;
	}
	if (before_s < trace->run->ended_s)
		add_point(points, trace->run->ended_s, energy_j);
	return points;
}

/* Returns a value of a sample. */
typedef double (*sample_value_f)(const struct store_sample *sample);

static double sample_uj(const struct store_sample *sample)
{
	return (double)sample->energy_uj;
}

static double sample_w(const struct store_sample *sample)
{
	return (double)sample->mw * 1e-3;
}

/*
 * The value at a time, linear between samples; *cursor only moves forward from call to call.
 * Outside of the samples the nearest value holds.
 */
static double value_at(const struct run_host *host, double time_s, guint *cursor,
		       sample_value_f value)
{
	const struct store_sample *from;
	const struct store_sample *to;

	while (*cursor + 1 < host->count && host->samples[*cursor + 1]->time_s <= time_s)
		(*cursor)++;
	from = host->samples[*cursor];
	to = host->samples[MIN(*cursor + 1, host->count - 1)];
	if (time_s <= from->time_s || !(to->time_s > from->time_s))
		return value(from);
	return value(from) +
	       (value(to) - value(from)) * (time_s - from->time_s) / (to->time_s - from->time_s);
}

/*
 * The counter of a host at a time. After the last sample it rises with that sample's watts, as in
 * the store's check.
 */
static double counter_uj(const struct run_host *host, double time_s, guint *cursor)
{
	const struct store_sample *first = host->samples[0];
	const struct store_sample *last = host->samples[host->count - 1];

	if (time_s > last->time_s)
		return sample_uj(last) + sample_w(last) * (time_s - last->time_s) * 1e6;
	if (time_s < first->time_s)
		return sample_uj(first) - sample_w(first) * (first->time_s - time_s) * 1e6;
	return value_at(host, time_s, cursor, sample_uj);
}

/* The times of all samples within the run, its start and its end, without duplicates. */
static GArray *sample_times(const struct run_trace *trace)
{
	GArray *points = points_new();
	guint kept = 1;

	add_point(points, 0, 0);
	for (guint i = 0; i < trace->samples->len; i++) {
		const struct store_sample *sample = trace->samples->pdata[i];

		if (sample->time_s > 0 && sample->time_s < trace->run->ended_s)
			add_point(points, sample->time_s, 0);
	}
	add_point(points, trace->run->ended_s, 0);
	g_array_sort(points, by_time);
	for (guint i = 1; i < points->len; i++) {
		const struct run_point *point = &g_array_index(points, struct run_point, i);

		if (point->time_s > g_array_index(points, struct run_point, kept - 1).time_s)
			g_array_index(points, struct run_point, kept++) = *point;
	}
	g_array_set_size(points, kept);
	return points;
}

static GArray *energy_of_samples(const struct run_trace *trace)
{
	GArray *points = sample_times(trace);

	for (guint i = 0; i < trace->hosts->len; i++) {
		const struct run_host *host = &g_array_index(trace->hosts, struct run_host, i);
		guint cursor = 0;
		double start_uj = counter_uj(host, 0, &cursor);

		for (guint j = 0; j < points->len; j++) {
			struct run_point *point = &g_array_index(points, struct run_point, j);

			point->value +=
				(counter_uj(host, point->time_s, &cursor) - start_uj) * 1e-6;
		}
	}
	for (guint j = 0; j < points->len; j++) {
		struct run_point *point = &g_array_index(points, struct run_point, j);

		point->value -= trace->run->idle_w * point->time_s;
	}
	return points;
}

GArray *run_trace_energy(const struct run_trace *trace)
{
	if (!isfinite(trace->run->ended_s))
		return points_new();
	if (trace->hosts->len)
		return energy_of_samples(trace);
	if (trace->measured || trace->tasks->len == 0)
		return points_new();
	return energy_of_tasks(trace);
}

GArray *run_trace_watts(const struct run_trace *trace)
{
	GArray *points;

	if (trace->hosts->len == 0 || !isfinite(trace->run->ended_s))
		return points_new();
	points = sample_times(trace);
	for (guint i = 0; i < trace->hosts->len; i++) {
		const struct run_host *host = &g_array_index(trace->hosts, struct run_host, i);
		guint cursor = 0;

		for (guint j = 0; j < points->len; j++) {
			struct run_point *point = &g_array_index(points, struct run_point, j);

			point->value += value_at(host, point->time_s, &cursor, sample_w);
		}
	}
	return points;
}
