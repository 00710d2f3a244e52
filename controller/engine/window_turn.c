/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Windows of an energy limit (window.c) begin and end at fixed times, not after every use. When the
 * limit is used up, all running tasks are suspended, preemptible or not: that a type's tasks yield
 * to no others does not let them exceed the limit. The window holds them (resumption_fsm.h). The
 * next window has them resumed before the policy is asked; so has this one where a correction shows
 * that it has used less than the limit. They are recorded as held until they have resumed: after a
 * restart the window that is found, or the next one, resumes them.
 */
#include <jansson.h>
#include <math.h>

#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/suspension.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window_fsm.h"
#include "controller/engine/window_private.h"

bool engine_window_suspended(const struct engine *engine, uint32_t task)
{
	return engine_resumption_state(engine, task) == RESUMPTION_WINDOW_HOLDS;
}

/* Exhaustion. */

/*
 * Whether a task is to be suspended. After too many failures it keeps running: it is not tried for
 * ever.
 */
static bool may_suspend(const struct engine *engine, uint32_t index)
{
	return engine->tasks[index].state == ENGINE_TASK_RUNNING &&
	       engine->tasks[index].request != REQUEST_CANCELLED &&
	       !engine_suspension_retries_exhausted(engine, index);
}

static void suspend_for_budget(struct engine *engine, uint32_t index)
{
	engine_begin_suspend(engine, index, false);
	engine_move_resumption(engine, index, RESUMPTION_EXHAUST);
	engine->tasks[index].reason = "the energy limit of the window is used up";
	engine_record_suspension(engine, index);
	engine_record_task(engine, index);
	engine->tasks[index].reason = NULL;
}

void engine_window_enforce(struct engine *engine)
{
	g_autoptr(GArray) ids = NULL;

	if (engine->window->state != WINDOW_EXHAUSTED || engine->ended)
		return;
	ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++)
		if (may_suspend(engine, engine->running.entries[i].task->id))
			g_array_append_val(ids, engine->running.entries[i].task->id);
	for (guint i = 0; i < ids->len; i++)
		suspend_for_budget(engine, g_array_index(ids, uint32_t, i));
	if (ids->len > 0)
		engine_flush(engine);
	for (guint i = 0; i < ids->len && !engine->ended; i++)
		engine_launch_suspend(engine, g_array_index(ids, uint32_t, i));
}

/* Cancels all claims. */
static void cancel_claims(struct engine *engine)
{
	g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++)
		if (engine_has_claim(engine, engine->running.entries[i].task->id))
			g_array_append_val(ids, engine->running.entries[i].task->id);
	for (guint i = 0; i < ids->len; i++)
		engine_unclaim(engine, g_array_index(ids, uint32_t, i));
	if (ids->len > 0)
		engine_flush(engine);
}

/* Tolerance, as a part of the limit, for joules that were summed up in another order. */
#define ROUNDING 1e-9

/* Moves the window on; the only writer of its state. Returns whether it is a move. */
static bool move(struct engine *engine, enum window_event event)
{
	struct window *window = engine->window;

	if (fsm_transition(&window_fsm, window->state, event)->rule == FSM_IMPOSSIBLE)
		engine_count_impossible(engine);
	return fsm_move(&window_fsm, &window->state, event, "per window");
}

/* Has the backend report when the window under way has used its limit. */
static void set_backend_limit(struct engine *engine)
{
	backend_set_limit(engine->backend,
			  engine->window->now.base_j + engine->window->setup.limit_j);
}

static void exhaust_window(struct engine *engine, double time_s)
{
	if (!move(engine, WINDOW_REACH))
		return;
	backend_set_limit(engine->backend, 0);
	engine->window->now.exhausted_s = time_s;
	engine_record_object(engine, time_s, ENGINE_EVENT_EXHAUSTED,
			     json_pack("{s:f, s:f, s:f}", "limit_j", engine->window->setup.limit_j,
				       "spent_j", engine_window_spent_j(engine), "window_end_s",
				       engine->window->end_s));
	cancel_claims(engine);
}

/*
 * Hosts that draw less than their baseline earn no energy for later
 * (controller/energy/ledger.h).
 */
void engine_window_settle(struct engine *engine)
{
	struct window_span *now = &engine->window->now;
	const double base_j = now->base_j;

	if (!engine_window_is_set(engine))
		return;

	g_auto(engine_noting) noting = engine_note(engine, ENGINE_INPUT_SETTLE, NULL);

	engine_window_update_past(engine);
	now->base_j = fmin(now->base_j, backend_energy_j(engine->backend));
	if (now->base_j != base_j && engine->window->state == WINDOW_OPEN)
		set_backend_limit(engine);
}

/*
 * The window has used spent_j, less than its limit: if it was exhausted it is open again, and
 * resumes the tasks that it holds. Returns whether it was.
 */
static bool recover_window(struct engine *engine, double spent_j)
{
	if (!move(engine, WINDOW_RECOVER))
		return false;
	engine->window->now.exhausted_s = NAN;
	engine_record_object(engine, engine_now_s(engine), ENGINE_EVENT_RECOVERED,
			     json_pack("{s:f, s:f, s:f}", "limit_j", engine->window->setup.limit_j,
				       "spent_j", spent_j, "window_end_s", engine->window->end_s));
	set_backend_limit(engine);
	engine_turn_suspensions(engine);
	engine_want_mapping(engine);
	engine_stir(engine);
	return true;
}

void engine_window_correct(struct engine *engine, double time_s, double spent_j)
{
	const double off_j = ENGINE_WINDOW_OFF * engine->window->setup.limit_j;
	double by_j;

	if (!engine_window_is_set(engine))
		return;

	g_auto(engine_noting) noting = engine_note_at(engine, ENGINE_INPUT_CORRECT, time_s,
						      json_pack("{s:f}", "spent_j", spent_j));

	by_j = engine_window_energy_at_j(engine, time_s) - spent_j - engine->window->now.base_j;
	if (fabs(by_j) > off_j)
		engine_window_rebase(engine, by_j);
	if (spent_j < engine->window->setup.limit_j - off_j && recover_window(engine, spent_j))
		return;
	if (engine->window->state != WINDOW_OPEN)
		return;
	/*
	 * What no sample shows yet is an estimate, which exhausts no window. The backend may have
	 * counted less than the window has spent: it cannot report that.
	 */
	if (engine_window_sampled_j(engine) < engine->window->setup.limit_j * (1 - ROUNDING)) {
		if (fabs(by_j) > off_j)
			set_backend_limit(engine);
		return;
	}
	exhaust_window(engine, engine_now_s(engine));
	engine_want_mapping(engine);
	engine_stir(engine);
}

double engine_window_begin_s(const struct engine *engine)
{
	return engine->window->begin_s;
}

void engine_window_reach(struct engine *engine, double time_s)
{
	const struct window *window = engine->window;

	if (window->state == WINDOW_OPEN) {
		engine_window_settle(engine);
		/* The report is about the window before, or a limit that was raised meanwhile. */
		if (time_s < window->begin_s ||
		    engine_window_spent_j(engine) < window->setup.limit_j * (1 - ROUNDING)) {
			set_backend_limit(engine);
			return;
		}
	}
	exhaust_window(engine, engine_window_reached_s(engine, &window->now, time_s));
}

/* Windows. */

/*
 * The end of the window that contains time_s; a rest of less than half a window belongs to the next
 * one.
 */
static double window_end_s(const struct engine *engine, double time_s)
{
	const struct engine_window *window = &engine->window->setup;
	const double past = (time_s + window->length_s / 2 - window->begin_s) / window->length_s;

	return window->begin_s + ceil(past) * window->length_s;
}

/* Begins a window of which spent_j were used before its limit was set. */
static void begin_window(struct engine *engine, double spent_j)
{
	if (spent_j >= engine->window->setup.limit_j) {
		exhaust_window(engine, engine_now_s(engine));
	} else {
		set_backend_limit(engine);
		engine_turn_suspensions(engine);
	}
}

void engine_set_window(struct engine *engine, const struct engine_window *window)
{
	g_auto(engine_noting) noting =
		engine_note(engine, ENGINE_INPUT_WINDOW,
			    json_pack("{s:f, s:f, s:f, s:f}", "limit_j", window->limit_j,
				      "length_s", window->length_s, "begin_s", window->begin_s,
				      "spent_j", window->spent_j));
	double past;

	if (engine_window_is_set(engine))
		engine_window_forget_spans(engine);
	engine->window->setup = *window;
	engine_window_clear_refusals(engine);
	if (window->limit_j > 0) {
		move(engine, WINDOW_LIMIT);
		past = floor((engine_now_s(engine) - window->begin_s) / window->length_s);
		engine->window->begin_s = window->begin_s + past * window->length_s;
		engine->window->end_s = engine->window->begin_s + window->length_s;
		engine_window_begin_span(engine, engine_now_s(engine), window->spent_j, false);
		begin_window(engine, window->spent_j);
	} else {
		move(engine, WINDOW_UNLIMIT);
		backend_set_limit(engine->backend, 0);
		engine_turn_suspensions(engine);
	}
	engine_want_mapping(engine);
	engine_stir(engine);
}

void engine_shift_window(struct engine *engine, double begin_s)
{
	g_auto(engine_noting) noting =
		engine_note(engine, ENGINE_INPUT_SHIFT, json_pack("{s:f}", "begin_s", begin_s));

	engine->window->setup.begin_s = begin_s;
}

double engine_window_next_s(const struct engine *engine)
{
	return engine_window_is_set(engine) ? engine->window->end_s : INFINITY;
}

void engine_window_begin_next(struct engine *engine, double time_s)
{
	engine_window_settle(engine);
	engine_record_object(engine, time_s, ENGINE_EVENT_WINDOW,
			     json_pack("{s:f, s:f, s:i}", "limit_j", engine->window->setup.limit_j,
				       "spent_j", engine_window_spent_j(engine), "refusals",
				       (int)engine->window->refusals));
	engine_window_clear_refusals(engine);
	engine->window->begin_s = time_s;
	engine->window->end_s = window_end_s(engine, time_s);
	engine_window_end_span(engine, time_s);
	engine_window_begin_span(engine, time_s, 0, true);
	move(engine, WINDOW_TURN);
	begin_window(engine, 0);
	engine_want_mapping(engine);
}
