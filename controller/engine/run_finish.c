/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a run: the tasks that still run, and ends that are reported late. */
#include <jansson.h>
#include <math.h>

#include "controller/engine/backend_events.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/placement.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"

/*
 * Adds the utility of tasks that run at the end of the day, for the part that lies in the day. A
 * suspended task earns nothing: when it would complete is not known.
 */
static void count_spanning(struct engine *engine)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const struct sched_allocation *running = &engine->running.entries[i];
		const uint32_t task = running->task->id;
		const double utility = sched_task_utility(running->task, running->end_s);

		if (engine_has_claim(engine, task))
			continue;
		engine_count_utility(engine,
				     utility * engine_day_share(engine, task, running->start_s,
								running->end_s));
	}
}

static void kill_running(struct engine *engine)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const uint32_t task = engine->running.entries[i].task->id;

		if (engine->tasks[task].state != ENGINE_TASK_CLAIMED)
			backend_kill(engine->backend, task, engine->tasks[task].attempts);
	}
	engine->placement->kill_queued(engine);
}

/*
 * Whether the event is the end of a task, by itself, that counts: before the run ended, or also
 * before it was killed, in a run that may be continued, which would execute it again.
 */
static bool ended_in_time(const struct engine *engine, const struct backend_event *event)
{
	return event->kind == BACKEND_EVENT_ENDED &&
	       (engine->setup.open || event->time_s <= engine_counts(engine)->ended_s) &&
	       (event->outcome == BACKEND_OUTCOME_COMPLETED ||
		event->outcome == BACKEND_OUTCOME_FAILED);
}

void engine_late_event(struct engine *engine, const struct backend_event *event)
{
	if (!ended_in_time(engine, event))
		return;

	g_auto(engine_noting) noting = engine_note_event(engine, ENGINE_INPUT_LATE, event);

	engine_handle(engine, event);
}

/* In a run that may be continued later, an unfinished task waits from now on. */
static void lose_attempt(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	if (!engine->setup.open || !isnan(task->waits_since_s))
		return;
	engine_record_lost(engine, index, engine_counts(engine)->ended_s,
			   "the service was stopped");
	task->waits_since_s = engine_counts(engine)->ended_s;
}

bool engine_stop_run(struct engine *engine)
{
	g_auto(engine_noting) noting = engine_note(engine, ENGINE_INPUT_STOP, NULL);

	engine_stop_applying(engine);
	engine_count_energy(engine);
	if (engine->reason)
		engine_record_object(engine, engine_counts(engine)->ended_s, ENGINE_EVENT_ABORTED,
				     json_pack("{s:s}", "reason", engine->reason));
	engine_arrive(engine, engine_counts(engine)->ended_s);
	kill_running(engine);
	engine_kill_suspended(engine);
	return engine_counts(engine)->ended_by != ENGINE_END_ABORTED;
}

void engine_finish_run(struct engine *engine, struct engine_result *ret_result)
{
	g_auto(engine_noting) noting = engine_note(engine, ENGINE_INPUT_FINISH, NULL);

	if (engine->setup.lead_s > 0)
		count_spanning(engine);
	for (uint32_t i = 0; i < engine->arrivals_next; i++) {
		struct engine_task *task = &engine->tasks[i];

		if (!engine_task_moves(task->state, ENGINE_TASK_FINISH))
			continue;
		lose_attempt(engine, i);
		engine_move_task(engine, i, ENGINE_TASK_FINISH);
		task->reason = "the run ended";
		engine_record_task(engine, i);
	}
	engine_flush(engine);
	*ret_result = *engine_finish_counting(engine);
}
