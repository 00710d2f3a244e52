/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How well a limit per window (window_turn.c) is kept: by how much it was exceeded, and how long that took. Meters
 * tell of a moment when it is over, so both are taken as of moments that they have told of, and of a window that
 * has ended once more when they have told of its end.
 *
 * The reaction is the time from when a limit was reached, by the samples around that moment, until a task that ran
 * then stood still or had ended, or the window was over. How late a sample was told, and who was slow to act on it,
 * is within. What is counted beyond the limit is counted from the one moment to the other, and in what meters that
 * look at it now and then smear over the interval that follows: no more than the largest power times the reaction,
 * the longest interval between two samples, and how old readings can be.
 */
#include <math.h>

#include "controller/engine/state.h"

/* Finer than any sample. */
#define EXACT_S 1e-4

static double energy_at_j(const struct engine *engine, double time_s)
{
	const struct backend_ops *ops = engine->backend->ops;

	return ops->energy_at_j ? ops->energy_at_j(engine->backend, time_s)
				: backend_energy_j(engine->backend);
}

double engine_window_reached_s(const struct engine *engine, double energy_j, double from_s,
			       double to_s)
{
	double low_s = fmax(from_s, to_s - ENGINE_WINDOW_SETTLED_S);
	double high_s = to_s;

	if (!engine->backend->ops->energy_at_j || energy_at_j(engine, to_s) < energy_j)
		return to_s;
	while (high_s - low_s > EXACT_S) {
		const double middle_s = low_s + (high_s - low_s) / 2;

		if (energy_at_j(engine, middle_s) < energy_j)
			low_s = middle_s;
		else
			high_s = middle_s;
	}
	return high_s;
}

static void note_over(struct engine *engine, double over_j)
{
	engine->window_overshoot_j = fmax(engine->window_overshoot_j, over_j);
}

static void note_reaction(struct engine *engine, double reaction_s)
{
	engine->window_reaction_s = fmax(engine->window_reaction_s, reaction_s);
}

/* What may be used of the window under way: what was used when the limit was set cannot be undone. */
static double level_j(const struct engine *engine)
{
	return engine->window_base_j + engine->window_allowed_j;
}

double engine_window_overshoot_j(const struct engine *engine)
{
	const double over_j = energy_at_j(engine, engine_window_told_until_s(engine)) - level_j(engine);

	return fmax(engine->window_overshoot_j, over_j);
}

void engine_window_note_off(struct engine *engine, uint32_t task, double off_s)
{
	const struct window_before *before = &engine->window_before;
	const bool leaves = engine->tasks[task].state == ENGINE_TASK_SUSPENDING;

	if (!engine_window_is_set(engine) || !(leaves || running_list_find(&engine->running, task)))
		return;
	engine->window_off_s = fmax(engine->window_off_s, off_s);
	if (engine->window_exhausted)
		note_reaction(engine, off_s - engine->window_exhausted_s);
	if (leaves && !isnan(before->exhausted_s) &&
	    engine->suspensions[task]->record.requested_s < before->turned_s)
		note_reaction(engine, fmin(off_s, before->turned_s) - before->exhausted_s);
}

void engine_window_note_exhausted(struct engine *engine)
{
	note_reaction(engine, engine->window_off_s - engine->window_exhausted_s);
}

void engine_window_note_turn(struct engine *engine, double time_s)
{
	note_over(engine, engine_window_overshoot_j(engine));
	engine->window_before = (struct window_before){
		.from_s = engine->window_from_s,
		.turned_s = time_s,
		.level_j = level_j(engine),
		.exhausted_s = engine->window_exhausted ? engine->window_exhausted_s : NAN,
	};
	/* Those that could not be suspended; of those that are being so it is known later. */
	if (engine->window_exhausted && engine->running.count > 0)
		note_reaction(engine, time_s - engine->window_exhausted_s);
}

void engine_window_note_told(struct engine *engine)
{
	struct window_before *before = &engine->window_before;
	double over_j;

	if (!engine->backend->ops->energy_at_j || isnan(before->level_j) ||
	    engine_window_told_until_s(engine) < before->turned_s)
		return;
	over_j = energy_at_j(engine, before->turned_s) - before->level_j;
	note_over(engine, over_j);
	/* Nobody knew it in time. */
	if (over_j > 0 && isnan(before->exhausted_s))
		note_reaction(engine, before->turned_s -
					      engine_window_reached_s(engine, before->level_j,
								      before->from_s,
								      before->turned_s));
	before->level_j = NAN;
}
