/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How well a limit per window (window_turn.c) is kept: by how much it was exceeded, and how long that took. Meters
 * tell of a moment when it is over, so both are taken as of moments that they have told of. A window that has ended
 * is looked at until all meters have told of its end, those that were silent meanwhile too, and until nothing is
 * being suspended any more that ran in it. Until then both are what is known so far: of a meter that is silent its
 * last watts are taken to go on, and a task that is being suspended is taken to run.
 *
 * The reaction is the time from when a limit was reached, by the samples around that moment, until a task that ran
 * then stood still or had ended, or the window was over. How late a sample was told, and who was slow to act on it,
 * is within. What is counted beyond the limit is counted from the one moment to the other, and in what meters that
 * look at it now and then smear over the interval that follows: no more than the largest power times the reaction,
 * the longest interval between two samples, and how old readings can be.
 *
 * Each of these is the largest since the engine began, and none of them falls: the overshoot that they explain is
 * the largest since then, too, and the window of one need not be that of another.
 */
#include <math.h>

#include "controller/engine/state.h"
#include "controller/engine/window.h"

/* Finer than any sample. */
#define EXACT_S 1e-4

/* So many windows that ended wait for meters to tell of that: of older ones it is not known. */
#define PAST_MAX 64

struct backend_watermark engine_window_watermark(const struct engine *engine)
{
	const struct backend_ops *ops = engine->backend->ops;
	const double now_s = backend_now_s(engine->backend);
	struct backend_watermark told = {-INFINITY, now_s, now_s};

	if (ops->watermark)
		told = ops->watermark(engine->backend);
	told.until_s = fmin(told.until_s, now_s);
	return told;
}

static double energy_at_j(const struct engine *engine, double time_s)
{
	const struct backend_ops *ops = engine->backend->ops;

	return ops->energy_at_j ? ops->energy_at_j(engine->backend, time_s)
				: backend_energy_j(engine->backend);
}

/* By how much energy when it began differs by now from what base_j was taken with. */
static double shift_j(const struct engine *engine, const struct window_span *span)
{
	if (isnan(span->begun_j) || span->from_s < engine_window_watermark(engine).from_s)
		return 0;
	return energy_at_j(engine, span->from_s) - span->begun_j;
}

/* What may be used of a window: what was used when the limit was set cannot be undone. */
static double level_j(const struct engine *engine, const struct window_span *span)
{
	return span->base_j + shift_j(engine, span) + span->allowed_j;
}

double engine_window_reached_s(const struct engine *engine, const struct window_span *span,
			       double to_s)
{
	const double limit_j = level_j(engine, span);
	double low_s = fmax(span->from_s, engine_window_watermark(engine).from_s);
	double high_s = to_s;

	if (!engine->backend->ops->energy_at_j || energy_at_j(engine, to_s) < limit_j)
		return to_s;
	while (high_s - low_s > EXACT_S) {
		const double middle_s = low_s + (high_s - low_s) / 2;

		if (energy_at_j(engine, middle_s) < limit_j)
			low_s = middle_s;
		else
			high_s = middle_s;
	}
	return high_s;
}

/* By how much it exceeded the limit, and when that was reached (NAN: it was not), as it is known now. */
static double look_at_level(const struct engine *engine, const struct window_span *span,
			    double *ret_reached_s)
{
	const struct backend_watermark told = engine_window_watermark(engine);
	const double to_s = fmin(span->to_s, told.until_s);
	double over_j;

	*ret_reached_s = span->exhausted_s;
	if (span->judged || to_s < told.from_s)
		return 0;
	over_j = energy_at_j(engine, to_s) - level_j(engine, span);
	if (over_j > 0)
		*ret_reached_s = fmin(engine_window_reached_s(engine, span, to_s), span->exhausted_s);
	return over_j;
}

/* Whether a task that ran in it is being suspended; of one that did not end yet, runs. */
static bool is_used(const struct engine *engine, const struct window_span *span)
{
	if (isinf(span->to_s) && engine->running.count > 0)
		return true;
	for (uint32_t i = 0; i < engine->leaving.listed; i++) { /* not settled: some are there no more */
		const uint32_t task = engine->leaving.ids[i];

		if (engine->tasks[task].state == ENGINE_TASK_SUSPENDING &&
		    engine->suspensions[task]->record.requested_s < span->to_s)
			return true;
	}
	return false;
}

/* As it is known now. */
static struct window_measure measure(const struct engine *engine, const struct window_span *span)
{
	struct window_measure measured = {0};
	double reached_s;
	double ran_s = span->ran_s;

	measured.overshoot_j = look_at_level(engine, span, &reached_s);
	if (is_used(engine, span))
		ran_s = fmin(backend_now_s(engine->backend), span->to_s);
	measured.reaction_s = isnan(reached_s) ? 0 : ran_s - reached_s;
	return measured;
}

static void add(struct window_measure *most, const struct window_measure *measured)
{
	most->overshoot_j = fmax(most->overshoot_j, measured->overshoot_j);
	most->reaction_s = fmax(most->reaction_s, measured->reaction_s);
}

static struct window_span *past_at(const struct engine *engine, guint i)
{
	return &g_array_index(engine->window_past, struct window_span, i);
}

struct window_measure engine_window_measured(const struct engine *engine)
{
	const struct backend_watermark told = engine_window_watermark(engine);
	struct window_measure most = engine->window_most;
	struct window_measure measured = measure(engine, &engine->window_now);

	add(&most, &measured);
	for (guint i = 0; i < engine->window_past->len; i++) {
		const struct window_span *span = past_at(engine, i);

		measured = measure(engine, span);
		add(&most, &measured);
		/* Those that answer have told, others have not. */
		most.unknown += !span->judged && told.all_s < span->to_s &&
				span->to_s <= told.until_s;
	}
	return most;
}

/* What happens. */

void engine_window_note_ran(struct engine *engine, uint32_t task, double until_s)
{
	const bool leaves = engine->tasks[task].state == ENGINE_TASK_SUSPENDING;
	struct window_span *now = &engine->window_now;

	if (!engine_window_is_set(engine) || !(leaves || running_list_find(&engine->running, task)))
		return;
	now->ran_s = fmax(now->ran_s, until_s);
	for (guint i = 0; leaves && i < engine->window_past->len; i++) {
		struct window_span *span = past_at(engine, i);

		if (engine->suspensions[task]->record.requested_s < span->to_s)
			span->ran_s = fmax(span->ran_s, fmin(until_s, span->to_s));
	}
}

void engine_window_begin_span(struct engine *engine, double from_s, double spent_j, bool turned)
{
	const double energy_j = energy_at_j(engine, from_s);

	engine->window_now = (struct window_span){
		.from_s = from_s,
		.to_s = INFINITY,
		.begun_j = turned && engine->backend->ops->energy_at_j ? energy_j : NAN,
		.base_j = energy_j - spent_j,
		.allowed_j = fmax(engine->window.limit_j, spent_j),
		.exhausted_s = NAN,
		.ran_s = -INFINITY,
	};
}

void engine_window_end_span(struct engine *engine, double time_s)
{
	struct window_span *span = &engine->window_now;

	span->to_s = time_s;
	/* Those that could not be suspended; of those that are being so it is known later. */
	if (engine->running.count > 0)
		span->ran_s = time_s;
	g_array_append_val(engine->window_past, *span);
	engine_window_look_back(engine);
}

/* Takes what is known by now of when it began; once no more will be, for good. */
static void look_at_base(const struct engine *engine, struct window_span *span)
{
	const struct backend_watermark told = engine_window_watermark(engine);
	const double by_j = shift_j(engine, span);

	span->base_j += by_j;
	span->begun_j = span->from_s <= fmax(told.all_s, told.from_s) ? NAN : span->begun_j + by_j;
}

/* Takes what is known by now of one that ended, once no more will be. */
static void judge(struct engine *engine, struct window_span *span, bool is_last_time)
{
	const struct backend_watermark told = engine_window_watermark(engine);
	const bool lost = span->to_s < told.from_s;
	const bool unknown = lost || told.all_s < span->to_s;
	struct window_measure measured = {0}; /* of the reaction more may be known later */

	if (span->judged || (unknown && !lost && !is_last_time))
		return;
	measured.overshoot_j = look_at_level(engine, span, &span->exhausted_s);
	span->judged = true;
	add(&engine->window_most, &measured);
	engine->window_most.unknown += unknown;
}

void engine_window_look_back(struct engine *engine)
{
	look_at_base(engine, &engine->window_now);
	for (guint i = 0; i < engine->window_past->len;) {
		struct window_span *span = past_at(engine, i);
		const bool is_last_time = engine->window_past->len - i > PAST_MAX;
		struct window_measure measured;

		look_at_base(engine, span);
		judge(engine, span, is_last_time);
		if (!is_last_time && (!span->judged || is_used(engine, span))) {
			i++;
			continue;
		}
		measured = measure(engine, span);
		add(&engine->window_most, &measured);
		g_array_remove_index(engine->window_past, i);
	}
}

void engine_window_forget_spans(struct engine *engine)
{
	struct window_span *now = &engine->window_now;
	struct window_measure measured;

	g_array_append_val(engine->window_past, *now);
	for (guint i = 0; i < engine->window_past->len; i++) {
		past_at(engine, i)->judged = true;
		measured = measure(engine, past_at(engine, i));
		add(&engine->window_most, &measured);
	}
	g_array_set_size(engine->window_past, 0);
}
