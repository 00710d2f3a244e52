/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/window.h"
#include "controller/engine/window_fsm.h"

/*
 * The insides of window.h, for its files alone: window.c (the energy left, and refusals),
 * window_turn.c (windows begin and are exhausted) and window_measure.c (how well the limit is
 * kept).
 */

/* A window, or the part of it since its limit was set (window_measure.c). */
struct window_span {
	double from_s, to_s; /* to_s INFINITY: the span is under way */
	double begun_j;      /* energy at from_s as known so far; NAN: known for good */
	double base_j;       /* energy at from_s, less what the window had used by then */
	double allowed_j;    /* the limit, or what was used already when the limit was set */
	double exhausted_s;  /* when the limit was reached; NAN: it was not */
	double ran_s;        /* the last time at which a task is known to have run in it */
	bool judged;         /* it ended, and its energy is final */
};

/* How well a window's limit is kept: engine_window_state says what the fields mean. */
struct window_measure {
	double reaction_s, overshoot_j;
	uint32_t unknown; /* windows whose end no sample of some meter covers yet */
};

/* Unsampled energy of a task that left its nodes: `w` watts from from_s to to_s (window.c). */
struct window_tail {
	double from_s, to_s;
	double w;
};

/* An energy limit per window. Without a limit the fields after `setup` are unused. */
struct window {
	enum window_state state;
	struct engine_window setup; /* as set last */
	double begin_s, end_s;      /* of the window under way */
	GArray *tails;              /* struct window_tail: unsampled energy */
	uint32_t refusals;          /* in the window under way */
	struct window_span now;
	GArray *past;               /* struct window_span, by time: ended, but not final */
	struct window_measure most; /* over all final spans since the engine began */
	double *refused_j; /* per task: its estimate when it was last refused; NAN: never */
	/* The lists of engine_window_filter(). */
	const struct sched_task **affordable;
	struct sched_allocation *resumable;
};

/* Whether there is a limit per window. */
static inline bool window_is_set(const struct window *window)
{
	return window->state != WINDOW_UNLIMITED;
}

/* window.c */

/*
 * The joules used in the window under way: until now, where a meter draws its last watts since its
 * last sample; and as far as samples of all meters that still report show.
 */
double engine_window_spent_j(const struct engine *engine);
double engine_window_sampled_j(const struct engine *engine);

/* Forgets all refusals: another window has begun, or another limit was set. */
void engine_window_clear_refusals(struct engine *engine);

/* window_measure.c */

/* The dynamic energy used until time_s, by the samples received so far. */
double engine_window_energy_at_j(const struct engine *engine, double time_s);

/* What the samples of the meters cover; its until_s is now at the latest. */
struct backend_watermark engine_window_watermark(const struct engine *engine);

/*
 * When the limit was reached in a span up to to_s, as far as known; to_s if it was not, or if that
 * is not known. Looks back only as far as samples are kept.
 */
double engine_window_reached_s(const struct engine *engine, const struct window_span *span,
			       double to_s);

/*
 * The measure since the engine began, as known now, with the window and the suspensions under way.
 */
struct window_measure engine_window_measured(const struct engine *engine);

/*
 * Begin and end spans. `turned`: a window begins. Otherwise a limit is set in the window under way,
 * of which spent_j were used. engine_window_end_span() ends the span under way; another is to be
 * begun at once. engine_window_forget_spans() drops all ended spans after the limit was changed.
 */
void engine_window_begin_span(struct engine *engine, double from_s, double spent_j, bool turned);
void engine_window_end_span(struct engine *engine, double time_s);
void engine_window_forget_spans(struct engine *engine);

/*
 * Moves the energy at the beginning of the span under way by by_j. What was measured of it by then
 * stays.
 */
void engine_window_rebase(struct engine *engine, double by_j);

/* To be called when meters may have reported more about windows that began or ended. */
void engine_window_update_past(struct engine *engine);
