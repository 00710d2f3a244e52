/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An energy limit per window of time, for runs that do not end with it: the energy left, and the
 * starts that are refused for lack of it. Policies do not know the limit. Measured and simulated
 * runs use this code alike: the engine shows policies only tasks that could get nodes, refuses
 * further starts of a plan, and when the energy is used up all the same (estimates err), suspends
 * the running tasks until the next window (window_turn.c).
 *
 * Dynamic energy counts, as with the limit of a run. The energy left is the limit, less the energy
 * used in the window, less the energy that running tasks will still use: EEC x max(0, 1 - executed
 * / ETC) each, but for a task longer than a window no more than it uses in a window's length. So
 * the tasks that run when a window ends fit into the next one, too. Meters report a moment only
 * after it has passed: the energy used is taken as of the last moment that all meters which still
 * report have reported (a silent one is taken to draw its last power), and from there on estimates
 * count, also of tasks that have left their nodes since then.
 */
#include <jansson.h>
#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/state_json.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window.h"
#include "controller/engine/window_private.h"
#include "controller/sched/rank_key.h"

void engine_window_init(struct engine *engine, uint32_t count)
{
	struct window *window = engine->window = g_new0(struct window, 1);

	window->tails = g_array_new(FALSE, FALSE, sizeof(struct window_tail));
	window->past = g_array_new(FALSE, FALSE, sizeof(struct window_span));
	window->refused_j = g_new(double, count);
	window->affordable = g_new(const struct sched_task *, count);
	window->resumable = g_new(struct sched_allocation, count);
}

void engine_window_finish(struct engine *engine)
{
	g_array_unref(engine->window->tails);
	g_array_unref(engine->window->past);
	g_free(engine->window->refused_j);
	g_free(engine->window->affordable);
	g_free(engine->window->resumable);
	g_free(engine->window);
}

void engine_window_init_task(struct engine *engine, uint32_t task)
{
	engine->window->refused_j[task] = NAN;
}

bool engine_window_is_set(const struct engine *engine)
{
	return window_is_set(engine->window);
}

double engine_window_sampled_j(const struct engine *engine)
{
	const double until_s = engine_window_watermark(engine).until_s;

	return fmax(0, engine_window_energy_at_j(engine, until_s) - engine->window->now.base_j);
}

double engine_window_spent_j(const struct engine *engine)
{
	return fmax(0, backend_energy_j(engine->backend) - engine->window->now.base_j);
}

/*
 * The energy that a task which has executed for executed_s will still use within the next
 * `length_s`, at its mean power.
 */
static double need_j(const struct sched_option *option, double executed_s, double length_s)
{
	const double rest = fmax(0, 1 - executed_s / option->etc_s);

	return option->eec_j * fmin(rest, fmax(0, length_s) / option->etc_s);
}

void engine_window_note_end(struct engine *engine, uint32_t task, double time_s)
{
	const struct sched_allocation *running;
	const struct sched_option *option;
	double until_s;

	if (!engine_window_is_set(engine))
		return;
	running = running_list_find(&engine->running, task);
	option = running ? sched_system_option(engine->setup.system, running->task->row,
					       running->cluster, running->pstate)
			 : NULL;
	until_s = engine_window_watermark(engine).until_s;
	for (guint i = engine->window->tails->len; i > 0; i--)
		if (g_array_index(engine->window->tails, struct window_tail, i - 1).to_s <= until_s)
			g_array_remove_index_fast(engine->window->tails, i - 1);
	if (option && time_s > until_s) {
		const struct window_tail tail = {running->start_s, time_s,
						 option->eec_j / option->etc_s};

		g_array_append_val(engine->window->tails, tail);
	}
}

static double tails_j(const struct engine *engine, double until_s)
{
	double sum_j = 0;

	for (guint i = 0; i < engine->window->tails->len; i++) {
		const struct window_tail *tail =
			&g_array_index(engine->window->tails, struct window_tail, i);

		sum_j += tail->w * fmax(0, tail->to_s - fmax(tail->from_s, until_s));
	}
	return sum_j;
}

/*
 * The unsampled energy of tasks, and the energy that running tasks will use within `length_s` after
 * the last moment that samples show.
 */
static double upcoming_j(const struct engine *engine, double length_s)
{
	const double time_s = engine_window_watermark(engine).until_s;
	double sum_j = tails_j(engine, time_s);

	/* The list is not settled: there are holes. */
	for (uint32_t i = 0; i < engine->running.listed; i++) {
		const struct sched_allocation *running = &engine->running.entries[i];
		const struct sched_option *option =
			running->task
				? sched_system_option(engine->setup.system, running->task->row,
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
	return upcoming_j(engine, engine->window->setup.length_s);
}

double engine_window_left_j(const struct engine *engine)
{
	return engine->window->setup.limit_j - engine_window_sampled_j(engine) -
	       committed_j(engine);
}

struct engine_window_state engine_window_now(const struct engine *engine)
{
	struct engine_window_state state = {.limit_j = NAN};
	struct window_measure measured;

	if (!engine_window_is_set(engine))
		return state;
	measured = engine_window_measured(engine);
	state = (struct engine_window_state){
		.limit_j = engine->window->setup.limit_j,
		.begin_s = engine->window->begin_s,
		.end_s = engine->window->end_s,
		.spent_j = engine_window_sampled_j(engine),
		.exhausted = engine->window->state == WINDOW_EXHAUSTED,
		.refusals = engine->window->refusals,
		.reaction_s = measured.reaction_s,
		.overshoot_j = measured.overshoot_j,
		.unknown = measured.unknown,
	};
	state.committed_j = committed_j(engine);
	state.forecast_j =
		state.spent_j +
		upcoming_j(engine, engine->window->end_s - engine_window_watermark(engine).until_s);
	return state;
}

/* Refusals. */

/*
 * Records the refusal of `count` tasks that need the same energy, the first of which is `task`. Not
 * while the limit is used up, which is recorded once.
 */
static void record_refusals(struct engine *engine, uint32_t task, uint32_t count, double estimate_j,
			    double left_j)
{
	const double spent_j = engine_window_sampled_j(engine);

	if (engine->window->state == WINDOW_EXHAUSTED)
		return;
	engine_record_object(engine, engine_now_s(engine), ENGINE_EVENT_REFUSED,
			     json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "task",
				       (int)task, "tasks", (int)count, "estimate_j", estimate_j,
				       "limit_j", engine->window->setup.limit_j, "spent_j", spent_j,
				       "committed_j",
				       engine->window->setup.limit_j - spent_j - left_j, "left_j",
				       left_j, "window_end_s", engine->window->end_s));
}

/*
 * Notes a refusal. Returns whether it is new: a refusal is recorded once until the task could start
 * again.
 */
static bool note_refusal(struct engine *engine, uint32_t task, double estimate_j)
{
	const bool is_new = isnan(engine->window->refused_j[task]);

	engine->window->refused_j[task] = estimate_j;
	engine->window->refusals += is_new;
	return is_new;
}

/*
 * Whether a task fits. left_j may be a small difference, so the total is compared with the whole
 * limit, up to rounding.
 */
static bool fits_left(const struct engine *engine, double needs_j, double left_j)
{
	const double limit_j = engine->window->setup.limit_j;

	return engine->window->state != WINDOW_EXHAUSTED &&
	       !rank_key_above(limit_j - left_j + needs_j, limit_j);
}

void engine_window_clear_refusals(struct engine *engine)
{
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++)
		engine->window->refused_j[i] = NAN;
	engine->window->refusals = 0;
}

bool engine_window_refuses_of(struct engine *engine, uint32_t task,
			      const struct sched_option *option, double *left_j)
{
	const bool resumes =
		engine_task_state_in(engine->tasks[task].state,
				     ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED);
	const double needs_j = need_j(option, resumes ? engine->tasks[task].executed_s : 0,
				      engine->window->setup.length_s);

	if (fits_left(engine, needs_j, *left_j)) {
		engine->window->refused_j[task] = NAN;
		*left_j -= needs_j;
		return false;
	}
	if (note_refusal(engine, task, needs_j))
		record_refusals(engine, task, 1, needs_j, *left_j);
	return true;
}

/* The option of a task at its placement. */
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

/* The tasks that policies see. */

/* The least energy that tasks of a row need in any option, in a window's length. */
static double least_j(const struct engine *engine, uint32_t row)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(engine->setup.system, row, &count);
	double least = INFINITY;

	for (uint32_t i = 0; i < count; i++)
		least = fmin(least, need_j(&options[i], 0, engine->window->setup.length_s));
	return count > 0 ? least : 0;
}

/* Refused tasks of one type are one record: queues are long. */
struct refused_row {
	double least_j;
	uint32_t first, count;
};

/* Lists the waiting tasks that could be started somewhere with the energy left. */
static uint32_t list_affordable(struct engine *engine, const struct sched_task **ret_tasks)
{
	const uint32_t rows_count = engine->setup.system->rows_count;
	g_autofree struct refused_row *rows = g_new0(struct refused_row, rows_count);
	const double left_j = engine_window_left_j(engine);
	uint32_t waiting_count;
	const struct sched_task *const *waiting = engine_list_waiting(engine, &waiting_count);
	uint32_t count = 0;

	for (uint32_t row = 0; row < rows_count; row++)
		rows[row].least_j = least_j(engine, row);
	for (uint32_t i = 0; i < waiting_count; i++) {
		const struct sched_task *task = waiting[i];
		struct refused_row *row = &rows[task->row];

		if (fits_left(engine, row->least_j, left_j)) {
			engine->window->refused_j[task->id] = NAN;
			ret_tasks[count++] = task;
		} else if (note_refusal(engine, task->id, row->least_j)) {
			row->first = row->count++ ? row->first : task->id;
		}
	}
	for (uint32_t row = 0; row < rows_count; row++)
		if (rows[row].count > 0)
			record_refusals(engine, rows[row].first, rows[row].count, rows[row].least_j,
					left_j);
	return count;
}

/* Lists the suspended tasks that could be resumed with the energy left. */
static uint32_t list_resumable(struct engine *engine, struct sched_allocation *ret_suspended)
{
	const double all_j = engine_window_left_j(engine);
	uint32_t suspended_count;
	const struct sched_allocation *suspended = engine_list_suspended(engine, &suspended_count);
	uint32_t count = 0;

	for (uint32_t i = 0; i < suspended_count; i++) {
		const uint32_t task = suspended[i].task->id;
		double left_j = all_j; /* each task alone: the policy chooses among them */

		if (!engine_window_refuses_of(engine, task, option_of(engine, task), &left_j))
			ret_suspended[count++] = suspended[i];
	}
	return count;
}

void engine_window_filter(struct engine *engine, struct sched_snapshot *snapshot)
{
	struct window *window = engine->window;

	if (!engine_window_is_set(engine))
		return;
	snapshot->waiting_count = list_affordable(engine, window->affordable);
	snapshot->waiting = window->affordable;
	snapshot->suspended_count = list_resumable(engine, window->resumable);
	snapshot->suspended = window->resumable;
}

/* 0 for what rounding leaves of 0, so that no "-0.0" is shown. */
static double without_negative_zero(double joules)
{
	return fabs(joules) < 0.05 ? 0 : joules;
}

const char *engine_window_because(const struct engine *engine, uint32_t task, char *text,
				  size_t size)
{
	const double limit_j = engine->window->setup.limit_j;
	const double needs_j = engine->window->refused_j[task];
	const double in_s = engine->window->end_s - engine_now_s(engine);
	double spent_j;

	if (!engine_window_is_set(engine) ||
	    (isnan(needs_j) && engine->window->state != WINDOW_EXHAUSTED))
		return NULL;
	spent_j = without_negative_zero(engine_window_sampled_j(engine));
	if (rank_key_above(needs_j, limit_j))
		g_snprintf(text, size,
			   "energy: needs %.1f J in a window, more than its limit of %.1f J: "
			   "not before that is raised",
			   needs_j, limit_j);
	else if (engine->window->state == WINDOW_EXHAUSTED)
		g_snprintf(text, size,
			   "energy: the limit of %.1f J is used up (%.1f spent), for another "
			   "%.0f s",
			   limit_j, spent_j, in_s);
	else
		g_snprintf(text, size,
			   "energy: needs %.1f J, %.1f J left of %.1f J (%.1f spent, %.1f "
			   "committed), for another %.0f s",
			   needs_j, fmax(0, engine_window_left_j(engine)), limit_j, spent_j,
			   without_negative_zero(committed_j(engine)), in_s);
	return text;
}

/* Full states. */

static const struct state_field window_fields[] = {
	STATE_FIELD(window, state, U32),           STATE_FIELD(window, setup.limit_j, SUM),
	STATE_FIELD(window, setup.length_s, SUM),  STATE_FIELD(window, setup.begin_s, SUM),
	STATE_FIELD(window, setup.spent_j, SUM),   STATE_FIELD(window, begin_s, SUM),
	STATE_FIELD(window, end_s, SUM),           STATE_FIELD(window, refusals, U32),
	STATE_FIELD(window, most.reaction_s, SUM), STATE_FIELD(window, most.overshoot_j, SUM),
	STATE_FIELD(window, most.unknown, U32),    {NULL},
};

static const struct state_field span_fields[] = {
	STATE_FIELD(window_span, from_s, SUM),
	STATE_FIELD(window_span, to_s, FAR),
	STATE_FIELD(window_span, begun_j, TIME),
	STATE_FIELD(window_span, base_j, SUM),
	STATE_FIELD(window_span, allowed_j, SUM),
	STATE_FIELD(window_span, exhausted_s, TIME),
	STATE_FIELD(window_span, ran_s, SUM),
	STATE_FIELD(window_span, judged, BOOL),
	{NULL},
};

static const struct state_field tail_fields[] = {
	STATE_FIELD(window_tail, from_s, SUM),
	STATE_FIELD(window_tail, to_s, SUM),
	STATE_FIELD(window_tail, w, SUM),
	{NULL},
};

static json_t *write_all(const struct state_field *fields, const GArray *array)
{
	const size_t size = g_array_get_element_size((GArray *)array);
	json_t *list = json_array();

	for (guint i = 0; i < array->len; i++)
		json_array_append_new(list, state_write(fields, array->data + i * size));
	return list;
}

static bool read_all(const struct state_field *fields, const json_t *list, GArray *array)
{
	const size_t size = g_array_get_element_size(array);

	g_array_set_size(array, (guint)json_array_size(list));
	for (guint i = 0; i < array->len; i++)
		if (!state_read(fields, json_array_get(list, i), array->data + i * size))
			return false;
	return true;
}

json_t *engine_save_window(const struct engine *engine)
{
	const struct window *window = engine->window;
	json_t *state = state_write(window_fields, window);

	if (engine_window_is_set(engine))
		state_put(state, "now", state_write(span_fields, &window->now));
	state_put(state, "past", write_all(span_fields, window->past));
	state_put(state, "tails", write_all(tail_fields, window->tails));
	return state;
}

bool engine_load_window(struct engine *engine, const json_t *state)
{
	struct window *window = engine->window;

	return state_read(window_fields, state, window) && window->state < WINDOW_STATES &&
	       (!engine_window_is_set(engine) ||
		(window->setup.limit_j > 0 && state_is_period(window->setup.length_s))) &&
	       state_read(span_fields, json_object_get(state, "now"), &window->now) &&
	       read_all(span_fields, json_object_get(state, "past"), window->past) &&
	       read_all(tail_fields, json_object_get(state, "tails"), window->tails);
}

double engine_window_refused_j(const struct engine *engine, uint32_t task)
{
	return engine->window->refused_j[task];
}

void engine_window_set_refused_j(struct engine *engine, uint32_t task, double refused_j)
{
	engine->window->refused_j[task] = refused_j;
}
