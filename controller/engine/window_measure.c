/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures how well a limit per window (window_turn.c) is kept: the overshoot, by how much it was
 * exceeded, and the reaction, how long that took. Meters report a moment only after it has passed,
 * so both are taken as of moments that all meters which still report have reported. A span that has
 * ended is kept until all meters, silent ones included, have reported its end, and until no task
 * that ran in it is being suspended any more. Until then both values are what is known so far: a
 * silent meter is taken to draw its last power, and a task that is being suspended is taken to run.
 *
 * The reaction is the time from when the limit was reached, by the samples around that moment,
 * until the last task that ran then was suspended or had ended, or the window was over. It includes
 * the delay of samples and of every part that acts on them. The overshoot is the energy between
 * these two moments, plus what meters with rare samples spread over the interval that follows: at
 * most the largest power times the sum of the reaction, the longest interval between two samples,
 * and the age of readings.
 *
 * Both are maxima since the engine began and never fall. They need not come from the same window.
 */
#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window_private.h"

/* Precision of the moment at which a limit was reached, in seconds; finer than any sample. */
#define EXACT_S 1e-4

/* The most ended spans that wait for meters to report their end; of older ones it stays unknown. */
#define PAST_MAX 64

struct backend_watermark engine_window_watermark(const struct engine *engine)
{
	const struct backend_ops *ops = engine->backend->ops;
	const double now_s = backend_now_s(engine->backend);
	struct backend_watermark watermark = {-INFINITY, now_s, now_s};

	if (ops->watermark)
		watermark = ops->watermark(engine->backend);
	watermark.until_s = fmin(watermark.until_s, now_s);
	return watermark;
}

double engine_window_energy_at_j(const struct engine *engine, double time_s)
{
	const struct backend_ops *ops = engine->backend->ops;

	return ops->energy_at_j ? ops->energy_at_j(engine->backend, time_s)
				: backend_energy_j(engine->backend);
}

/* By how much the energy at the span's begin, as known now, differs from the value in base_j. */
static double shift_j(const struct engine *engine, const struct window_span *span)
{
	if (isnan(span->begun_j) || span->from_s < engine_window_watermark(engine).from_s)
		return 0;
	return engine_window_energy_at_j(engine, span->from_s) - span->begun_j;
}

/*
 * The meter reading at which the span's limit is reached. Energy that was used before the limit was
 * set does not count as exceeding it.
 */
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

	if (!engine->backend->ops->energy_at_j || engine_window_energy_at_j(engine, to_s) < limit_j)
		return to_s;
	while (high_s - low_s > EXACT_S) {
		const double middle_s = low_s + (high_s - low_s) / 2;

		if (engine_window_energy_at_j(engine, middle_s) < limit_j)
			low_s = middle_s;
		else
			high_s = middle_s;
	}
	return high_s;
}

/*
 * The joules by which a span exceeded its limit, as known now (<= 0: not), and when it was reached
 * (NAN: it was not).
 */
static double overshoot_of(const struct engine *engine, const struct window_span *span,
			   double *ret_reached_s)
{
	const struct backend_watermark watermark = engine_window_watermark(engine);
	const double to_s = fmin(span->to_s, watermark.until_s);
	double over_j;

	*ret_reached_s = span->exhausted_s;
	if (span->judged || to_s < watermark.from_s)
		return 0;
	over_j = engine_window_energy_at_j(engine, to_s) - level_j(engine, span);
	if (over_j > 0)
		*ret_reached_s =
			fmin(engine_window_reached_s(engine, span, to_s), span->exhausted_s);
	return over_j;
}

/*
 * Whether a task that ran in the span is being suspended or, if the span has not ended, still runs.
 */
static bool has_tasks(const struct engine *engine, const struct window_span *span)
{
	return (isinf(span->to_s) && engine->running.count > 0) ||
	       engine_is_leaving_since(engine, span->to_s);
}

/* The measure of a span as known now. */
static struct window_measure measure_span(const struct engine *engine,
					  const struct window_span *span)
{
	struct window_measure measured = {0};
	double reached_s;
	double ran_s = span->ran_s;

	measured.overshoot_j = overshoot_of(engine, span, &reached_s);
	if (has_tasks(engine, span))
		ran_s = fmin(backend_now_s(engine->backend), span->to_s);
	measured.reaction_s = isnan(reached_s) ? 0 : ran_s - reached_s;
	return measured;
}

static void raise_maxima(struct window_measure *most, const struct window_measure *measured)
{
	most->overshoot_j = fmax(most->overshoot_j, measured->overshoot_j);
	most->reaction_s = fmax(most->reaction_s, measured->reaction_s);
}

static struct window_span *past_at(const struct engine *engine, guint i)
{
	return &g_array_index(engine->window->past, struct window_span, i);
}

struct window_measure engine_window_measured(const struct engine *engine)
{
	const struct backend_watermark watermark = engine_window_watermark(engine);
	struct window_measure most = engine->window->most;
	struct window_measure measured = measure_span(engine, &engine->window->now);

	raise_maxima(&most, &measured);
	for (guint i = 0; i < engine->window->past->len; i++) {
		const struct window_span *span = past_at(engine, i);

		measured = measure_span(engine, span);
		raise_maxima(&most, &measured);
		/* Some meters have reported that moment, others have not. */
		most.unknown += !span->judged && watermark.all_s < span->to_s &&
				span->to_s <= watermark.until_s;
	}
	return most;
}

/* Changes. */

void engine_window_note_ran(struct engine *engine, uint32_t task, double until_s)
{
	const bool leaves =
		engine_task_state_in(engine->tasks[task].state, ENGINE_TASK_ANY_SUSPENDING);
	struct window_span *now = &engine->window->now;

	if (!window_is_set(engine->window) ||
	    !(leaves || running_list_find(&engine->running, task)))
		return;
	now->ran_s = fmax(now->ran_s, until_s);
	for (guint i = 0; leaves && i < engine->window->past->len; i++) {
		struct window_span *span = past_at(engine, i);

		if (engine_suspension_at(engine, task)->requested_s < span->to_s)
			span->ran_s = fmax(span->ran_s, fmin(until_s, span->to_s));
	}
}

void engine_window_begin_span(struct engine *engine, double from_s, double spent_j, bool turned)
{
	const double energy_j = engine_window_energy_at_j(engine, from_s);

	engine->window->now = (struct window_span){
		.from_s = from_s,
		.to_s = INFINITY,
		.begun_j = turned && engine->backend->ops->energy_at_j ? energy_j : NAN,
		.base_j = energy_j - spent_j,
		.allowed_j = fmax(engine->window->setup.limit_j, spent_j),
		.exhausted_s = NAN,
		.ran_s = -INFINITY,
	};
}

void engine_window_end_span(struct engine *engine, double time_s)
{
	struct window_span *span = &engine->window->now;

	span->to_s = time_s;
	/*
	 * Tasks that could not be suspended still run. The ends of suspensions under way are known
	 * later.
	 */
	if (engine->running.count > 0)
		span->ran_s = time_s;
	g_array_append_val(engine->window->past, *span);
	engine_window_update_past(engine);
}

/* Updates base_j from what is known of the span's begin; when that is final, for the last time. */
static void update_base(const struct engine *engine, struct window_span *span)
{
	const struct backend_watermark watermark = engine_window_watermark(engine);
	const double by_j = shift_j(engine, span);

	span->base_j += by_j;
	span->begun_j = span->from_s <= fmax(watermark.all_s, watermark.from_s)
				? NAN
				: span->begun_j + by_j;
}

/* Adds an ended span to the maxima once its energy is final. */
static void finish_span(struct engine *engine, struct window_span *span, bool is_last_time)
{
	const struct backend_watermark watermark = engine_window_watermark(engine);
	const bool lost = span->to_s < watermark.from_s;
	const bool unknown = lost || watermark.all_s < span->to_s;
	struct window_measure measured = {0}; /* without the reaction, which may be known later */

	if (span->judged || (unknown && !lost && !is_last_time))
		return;
	measured.overshoot_j = overshoot_of(engine, span, &span->exhausted_s);
	span->judged = true;
	raise_maxima(&engine->window->most, &measured);
	engine->window->most.unknown += unknown;
}

void engine_window_update_past(struct engine *engine)
{
	update_base(engine, &engine->window->now);
	for (guint i = 0; i < engine->window->past->len;) {
		struct window_span *span = past_at(engine, i);
		const bool is_last_time = engine->window->past->len - i > PAST_MAX;
		struct window_measure measured;

		update_base(engine, span);
		finish_span(engine, span, is_last_time);
		if (!is_last_time && (!span->judged || has_tasks(engine, span))) {
			i++;
			continue;
		}
		measured = measure_span(engine, span);
		raise_maxima(&engine->window->most, &measured);
		g_array_remove_index(engine->window->past, i);
	}
}

void engine_window_rebase(struct engine *engine, double by_j)
{
	struct window_span *now = &engine->window->now;
	const struct window_measure measured = measure_span(engine, now);

	raise_maxima(&engine->window->most, &measured);
	now->base_j += by_j;
}

void engine_window_forget_spans(struct engine *engine)
{
	struct window_span *now = &engine->window->now;
	struct window_measure measured;

	g_array_append_val(engine->window->past, *now);
	for (guint i = 0; i < engine->window->past->len; i++) {
		past_at(engine, i)->judged = true;
		measured = measure_span(engine, past_at(engine, i));
		raise_maxima(&engine->window->most, &measured);
	}
	g_array_set_size(engine->window->past, 0);
}
