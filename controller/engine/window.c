/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A limit of energy per window of time, for runs that do not end with it: what is left, and what is refused for
 * want of it. Policies know nothing of it, and the engine cannot tell by which backend it is run, so measured and
 * simulated runs share it: the engine shows policies only tasks that could go on a node, refuses what a plan asks
 * for beyond that, and when the energy is used up all the same (estimates err), takes what runs off its nodes
 * until the next window (window_turn.c).
 *
 * What counts is dynamic energy, as with the limit of a run. Left is the limit less what was spent in the
 * window, less what running tasks are still to use: EEC x max(0, 1 - executed / ETC) each, but of one that outlasts
 * windows no more than it uses in the length of one. So what runs when a window ends fits into the next one, too.
 * Meters tell of a moment when it is over: what was spent is taken as of the last one that they have told of, and
 * from there on estimates count, also of tasks that have left their nodes since then.
 */
#include <jansson.h>
#include <math.h>

#include "controller/engine/state.h"
#include "controller/engine/window.h"
#include "controller/sched/rank_key.h"

static double now_s(const struct engine *engine)
{
	return backend_now_s(engine->backend);
}

bool engine_window_is_set(const struct engine *engine)
{
	return engine->window.limit_j > 0;
}

static double told_j(const struct engine *engine)
{
	const struct backend_ops *ops = engine->backend->ops;
	const double energy_j =
		ops->energy_at_j ? ops->energy_at_j(engine->backend,
						    engine_window_watermark(engine).until_s)
				 : backend_energy_j(engine->backend);

	return fmax(0, energy_j - engine->window_now.base_j);
}

double engine_window_spent_j(const struct engine *engine)
{
	return fmax(0, backend_energy_j(engine->backend) - engine->window_now.base_j);
}

/* What is still to be used by a task that has executed so long, within the next `length_s` at its mean power. */
static double need_j(const struct sched_option *option, double executed_s, double length_s)
{
	const double rest = fmax(0, 1 - executed_s / option->etc_s);

	return option->eec_j * fmin(rest, fmax(0, length_s) / option->etc_s);
}

void engine_window_note_end(struct engine *engine, uint32_t task, double time_s)
{
	const struct sched_running *running;
	const struct sched_option *option;
	double until_s;

	if (!engine_window_is_set(engine) || engine->blocked[task] > 0)
		return;
	running = running_list_find(&engine->running, task);
	option = running ? sched_system_option(engine->setup.system, running->task->row,
					       running->cluster, running->pstate)
			 : NULL;
	until_s = engine_window_watermark(engine).until_s;
	for (guint i = engine->window_tails->len; i > 0; i--)
		if (g_array_index(engine->window_tails, struct window_tail, i - 1).to_s <= until_s)
			g_array_remove_index_fast(engine->window_tails, i - 1);
	if (option && time_s > until_s) {
		const struct window_tail tail = {running->start_s, time_s,
						 option->eec_j / option->etc_s};

		g_array_append_val(engine->window_tails, tail);
	}
}

static double tails_j(const struct engine *engine, double until_s)
{
	double sum_j = 0;

	for (guint i = 0; i < engine->window_tails->len; i++) {
		const struct window_tail *tail =
			&g_array_index(engine->window_tails, struct window_tail, i);

		sum_j += tail->w * fmax(0, tail->to_s - fmax(tail->from_s, until_s));
	}
	return sum_j;
}

/* What tasks used since the meters told last, and running ones are still to use within `length_s` from then on. */
static double coming_j(const struct engine *engine, double length_s)
{
	const double time_s = engine_window_watermark(engine).until_s;
	double sum_j = tails_j(engine, time_s);

	for (uint32_t i = 0; i < engine->running.listed; i++) { /* not settled: there are holes */
		const struct sched_running *running = &engine->running.entries[i];
		const struct sched_option *option =
			running->task ? sched_system_option(engine->setup.system, running->task->row,
							    running->cluster, running->pstate)
				      : NULL;

		if (option)
			sum_j += need_j(option,
					running->executed_s + fmax(0, time_s - running->start_s),
					length_s);
	}
	return sum_j;
}

static double committed_j(const struct engine *engine)
{
	return coming_j(engine, engine->window.length_s);
}

double engine_window_left_j(const struct engine *engine)
{
	return engine->window.limit_j - told_j(engine) - committed_j(engine);
}

struct engine_window_state engine_window(const struct engine *engine)
{
	struct engine_window_state state = {.limit_j = NAN};
	struct window_measure measured;

	if (!engine_window_is_set(engine))
		return state;
	measured = engine_window_measured(engine);
	state = (struct engine_window_state){
		.limit_j = engine->window.limit_j,
		.begin_s = engine->window_begin_s,
		.end_s = engine->window_end_s,
		.spent_j = told_j(engine),
		.exhausted = engine->window_exhausted,
		.refusals = engine->window_refusals,
		.reaction_s = measured.reaction_s,
		.overshoot_j = measured.overshoot_j,
		.unknown = measured.unknown,
	};
	state.committed_j = committed_j(engine);
	state.forecast_j = state.spent_j + coming_j(engine, engine->window_end_s -
								    engine_window_watermark(engine).until_s);
	return state;
}

/* Refusals. */

void engine_window_record(struct engine *engine, double time_s, const char *kind, json_t *object)
{
	struct engine_recorder *recorder = engine->setup.recorder;
	g_autofree char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	if (recorder && recorder->event && !recorder->event(recorder, time_s, kind, text))
		engine_abort(engine, "event \"%s\" could not be recorded", kind);
}

/* Tasks that need the same, with the numbers; the first one is `task`. That all is used up is on record once. */
static void record_refusals(struct engine *engine, uint32_t task, uint32_t count, double estimate_j,
			    double left_j)
{
	const double spent_j = told_j(engine);

	if (engine->window_exhausted)
		return;
	engine_window_record(engine, now_s(engine), "refused",
			     json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "task", (int)task,
				       "tasks", (int)count, "estimate_j", estimate_j, "limit_j",
				       engine->window.limit_j, "spent_j", spent_j, "committed_j",
				       engine->window.limit_j - spent_j - left_j, "left_j", left_j,
				       "window_end_s", engine->window_end_s));
}

/* Notes it; returns whether it was not known. Each is recorded once until the task could be started again. */
static bool note_refusal(struct engine *engine, uint32_t task, double estimate_j)
{
	const bool is_new = isnan(engine->refused_j[task]);

	engine->refused_j[task] = estimate_j;
	engine->window_refusals += is_new;
	return is_new;
}

/* What is left is a difference that may be small: what would be spent is compared with the whole limit, up to rounding. */
static bool fits(const struct engine *engine, double needs_j, double left_j)
{
	const double limit_j = engine->window.limit_j;

	return !engine->window_exhausted && !rank_key_above(limit_j - left_j + needs_j, limit_j);
}

void engine_window_forget(struct engine *engine)
{
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++)
		engine->refused_j[i] = NAN;
	engine->window_refusals = 0;
}

bool engine_window_refuses_of(struct engine *engine, uint32_t task, const struct sched_option *option,
			      double *left_j)
{
	const enum engine_task_state state = engine->tasks[task].state;
	const bool goes_on = state == ENGINE_TASK_SUSPENDED || state == ENGINE_TASK_SUSPENDING;
	const double needs_j = need_j(option, goes_on ? engine->tasks[task].executed_s : 0,
				      engine->window.length_s);

	if (fits(engine, needs_j, *left_j)) {
		engine->refused_j[task] = NAN;
		*left_j -= needs_j;
		return false;
	}
	if (note_refusal(engine, task, needs_j))
		record_refusals(engine, task, 1, needs_j, *left_j);
	return true;
}

/* At the place that it has. */
static const struct sched_option *option_of(const struct engine *engine, uint32_t task)
{
	return sched_system_option(engine->setup.system, engine->known[task].row,
				   engine->tasks[task].cluster, engine->tasks[task].pstate);
}

bool engine_window_refuses(struct engine *engine, uint32_t task)
{
	double left_j;

	if (!engine_window_is_set(engine))
		return false;
	left_j = engine_window_left_j(engine);
	return engine_window_refuses_of(engine, task, option_of(engine, task), &left_j);
}

/* What policies are shown. */

/* The least that tasks of a row need anywhere, in a window's length. */
static double least_j(const struct engine *engine, uint32_t row)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(engine->setup.system, row, &count);
	double least = INFINITY;

	for (uint32_t i = 0; i < count; i++)
		least = fmin(least, need_j(&options[i], 0, engine->window.length_s));
	return count > 0 ? least : 0;
}

/* Those of one type that are refused at a time are one record: queues are long. */
struct refused_row {
	double least_j;
	uint32_t first, count;
};

uint32_t engine_window_affordable(struct engine *engine, const struct sched_task **ret_tasks)
{
	const uint32_t rows_count = engine->setup.system->rows_count;
	g_autofree struct refused_row *rows = g_new0(struct refused_row, rows_count);
	const double left_j = engine_window_left_j(engine);
	uint32_t count = 0;

	for (uint32_t row = 0; row < rows_count; row++)
		rows[row].least_j = least_j(engine, row);
	for (uint32_t i = 0; i < engine->waiting.count; i++) {
		const struct sched_task *task = engine->waiting_tasks[i];
		struct refused_row *row = &rows[task->row];

		if (fits(engine, row->least_j, left_j)) {
			engine->refused_j[task->id] = NAN;
			ret_tasks[count++] = task;
		} else if (note_refusal(engine, task->id, row->least_j)) {
			row->first = row->count++ ? row->first : task->id;
		}
	}
	for (uint32_t row = 0; row < rows_count; row++)
		if (rows[row].count > 0)
			record_refusals(engine, rows[row].first, rows[row].count,
					rows[row].least_j, left_j);
	return count;
}

uint32_t engine_window_resumable(struct engine *engine, struct sched_suspended *ret_suspended)
{
	const double all_j = engine_window_left_j(engine);
	uint32_t count = 0;

	for (uint32_t i = 0; i < engine->suspended.count; i++) {
		const uint32_t task = engine->suspended.ids[i];
		double left_j = all_j; /* each by itself: the policy chooses */

		if (!engine_window_refuses_of(engine, task, option_of(engine, task), &left_j))
			ret_suspended[count++] = engine->suspended_tasks[i];
	}
	return count;
}

/* No "-0.0": what rounding leaves of nothing. */
static double tidy(double joules)
{
	return fabs(joules) < 0.05 ? 0 : joules;
}

const char *engine_window_because(const struct engine *engine, uint32_t task, char *text, size_t size)
{
	const double limit_j = engine->window.limit_j;
	const double needs_j = engine->refused_j[task];
	const double in_s = engine->window_end_s - now_s(engine);
	double spent_j;

	if (!engine_window_is_set(engine) || (isnan(needs_j) && !engine->window_exhausted))
		return NULL;
	spent_j = tidy(told_j(engine));
	if (rank_key_above(needs_j, limit_j))
		g_snprintf(text, size, "energy: needs %.1f J in a window, more than its limit of %.1f J: "
			   "not before that is raised", needs_j, limit_j);
	else if (engine->window_exhausted)
		g_snprintf(text, size, "energy: the limit of %.1f J is used up (%.1f spent), for another "
			   "%.0f s", limit_j, spent_j, in_s);
	else
		g_snprintf(text, size, "energy: needs %.1f J, %.1f J left of %.1f J (%.1f spent, %.1f "
			   "committed), for another %.0f s", needs_j, fmax(0, engine_window_left_j(engine)),
			   limit_j, spent_j, tidy(committed_j(engine)), in_s);
	return text;
}
