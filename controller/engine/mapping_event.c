/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <math.h>

#include "controller/engine/async_decider.h"
#include "controller/engine/control_running.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/reservations.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/users.h"
#include "controller/engine/window.h"

/* A plan that is being carried out in parts. */
struct applying {
	struct async_answer answer;
	uint32_t next;   /* the next action; those before it were carried out */
	uint32_t most;   /* actions per part */
	bool is_further; /* a part was carried out; more follow after other work */
};

struct decider {
	struct async_decider *async; /* NULL: the policy decides on the engine's thread */
	struct arena *arena;         /* of decisions on the engine's thread */
	struct applying applying;
};

static void answer_is_there(void *data)
{
	engine_stir(data);
}

void engine_decider_init(struct engine *engine)
{
	struct decider *decider = g_new0(struct decider, 1);

	decider->arena = arena_new();
	if (!decider->arena)
		g_error("out of memory");
	engine->decider = decider;
	if (engine_decides_apart(engine))
		decider->async = async_decider_new(engine->setup.platform, answer_is_there,
						   engine_prepare_entry, engine);
}

void engine_decider_finish(struct engine *engine)
{
	async_decider_free(engine->decider->async);
	arena_free(engine->decider->arena);
	g_free(engine->decider);
}

enum engine_decision engine_decision(const struct engine *engine)
{
	if (engine->decider->applying.is_further)
		return ENGINE_DECISION_APPLYING;
	return engine->decider->async && async_decider_is_busy(engine->decider->async)
		       ? ENGINE_DECISION_ASKED
		       : ENGINE_DECISION_NONE;
}

bool engine_is_deciding(const struct engine *engine)
{
	return engine_decision(engine) != ENGINE_DECISION_NONE;
}

/* Deciding. */

static double wall_s(const struct engine *engine)
{
	return engine->setup.platform ? (double)platform_now_ns(engine->setup.platform) * 1e-9 : 0;
}

static double processor_s(const struct engine *engine)
{
	return engine->setup.platform ? (double)platform_thread_ns(engine->setup.platform) * 1e-9
				      : 0;
}

/*
 * Whether a plan only starts tasks or plans starts. Only such plans are carried out in parts: a
 * SUSPEND must be applied in the same part as the START that it makes room for.
 */
static bool only_starts(const struct sched_plan *plan)
{
	for (uint32_t i = 0; i < plan->actions_count; i++)
		if (plan->actions[i].kind != SCHED_ACTION_START &&
		    plan->actions[i].kind != SCHED_ACTION_PLACEHOLDER &&
		    plan->actions[i].kind != SCHED_ACTION_RESERVE)
			return false;
	return true;
}

static uint32_t most_at_once(const struct engine *engine, const struct sched_plan *plan)
{
	return engine->decider->async && engine->setup.at_once > 0 && only_starts(plan)
		       ? engine->setup.at_once
		       : UINT32_MAX;
}

/* Ends the carrying out of a plan, whatever is left of it. */
static void finish_plan(struct engine *engine)
{
	struct applying *applying = &engine->decider->applying;

	applying->is_further = false;
	if (engine->setup.platform)
		engine_count_mapping(engine, wall_s(engine) - applying->answer.asked_s);
}

/*
 * Carries out the next part of a plan; requests of clients have a turn between parts, since the
 * engine is called again for each. The requests of all parts are sent after the last one
 * (run_loop.h).
 */
static void apply_next_part(struct engine *engine)
{
	struct applying *applying = &engine->decider->applying;
	const struct sched_plan *plan = applying->answer.plan;
	const uint32_t from = applying->next;
	struct sched_plan part = *plan;

	if (from > 0)
		part.actions += from; /* a plan without actions has no array */
	part.actions_count = MIN(plan->actions_count - from, applying->most);
	applying->next += part.actions_count;
	if (!engine->ended)
		engine_apply_plan(engine, &part, from > 0);
	applying->is_further = applying->next < plan->actions_count && !engine->ended;
	if (applying->is_further)
		engine_stir(engine);
	else
		finish_plan(engine);
}

/* Records that the policy from outside did not decide. */
static void record_fallback(struct engine *engine, const struct async_answer *answer)
{
	json_t *detail =
		json_pack("{s:s, s:s, s:I, s:f, s:s}", "policy", answer->policy->name, "fallback",
			  answer->plan->fallback, "number", (json_int_t)answer->snapshot->event,
			  "time_s", answer->snapshot->now_s, "reason",
			  answer->plan->fallback_reason);

	engine_count_fallback(engine);
	engine_record_object(engine, backend_now_s(engine->backend), ENGINE_EVENT_FALLBACK, detail);
}

/* Records a decision and carries it out. */
static void take_decision(struct engine *engine, const struct async_answer *answer)
{
	const struct sched_plan *plan = answer->plan;

	if (answer->problem) {
		engine_abort(engine, "%s", answer->problem);
		return;
	}
	engine_count_decision(engine, answer->decide_s);
	if (plan->fallback)
		record_fallback(engine, answer);
	engine->placement->note_decision(engine, plan, answer->snapshot);
	engine_record_decision(engine, answer->policy, answer->snapshot, plan);
	engine->decider->applying = (struct applying){*answer, .most = most_at_once(engine, plan)};
	apply_next_part(engine);
}

/* Asking. */

/*
 * The time of the next periodic event after now_s, also for a change at the very time of an event.
 */
static double next_event_s(const struct engine *engine, double now_s, bool between)
{
	const uint64_t event = engine_next_event(engine) + !between;
	const double event_s = engine_event_s(engine, event);

	return event_s > now_s ? event_s : engine_event_s(engine, event + 1);
}

/*
 * The snapshot of the system at `now_s`, for a periodic event or one `between` them. It borrows
 * from the engine and is valid until the engine changes.
 */
static struct sched_snapshot take_snapshot(struct engine *engine, double now_s, bool between)
{
	struct sched_snapshot snapshot;

	const struct engine_setup *setup = &engine->setup;
	const bool lead = setup->lead_s > 0 && !engine_day_begun(engine);
	const double limit_j = lead ? setup->lead_limit_j : setup->limit_j;

	running_list_settle(&engine->running);
	snapshot = (struct sched_snapshot){
		.system = setup->system,
		.seed = setup->seed,
		.event = engine_next_event(engine),
		.now_s = now_s,
		.next_event_s = next_event_s(engine, now_s, between),
		.between = between,
		.day_start_s = lead ? 0 : setup->lead_s,
		.end_s = lead ? setup->lead_s : setup->duration_s,
		.consumed_j = engine_consumed_j(engine),
		.budget_j = limit_j > 0 ? limit_j : INFINITY,
		.gate = setup->gate,
		.completed_count = engine_counts(engine)->tasks_completed,
		.completed_j = engine_completed_j(engine),
		.completed_resources = engine_completed_resources(engine),
		.running_count = engine->running.count,
		.running = engine->running.entries,
	};
	snapshot.waiting = engine_list_waiting(engine, &snapshot.waiting_count);
	snapshot.suspended = engine_list_suspended(engine, &snapshot.suspended_count);
	snapshot.reservations = engine_reservations(engine, &snapshot.reservations_count);
	snapshot.placeholders = engine_placeholders(engine, &snapshot.placeholders_count);
	snapshot.down = engine_closed_nodes(engine, &snapshot.down_count);
	engine->placement->fill_snapshot(engine, &snapshot);
	engine_window_filter(engine, &snapshot);
	return snapshot;
}

static void ask_policy(struct engine *engine, double now_s, bool between)
{
	const struct sched_snapshot snapshot = take_snapshot(engine, now_s, between);
	struct policy_context context = {
		.arena = engine->decider->arena,
		.flags = engine->setup.trim ? POLICY_TRIM : POLICY_PLAIN,
		.memory = engine->placement->policy_memory(engine),
		.outside = engine->setup.outside,
	};
	struct sched_plan plan = {0};
	const double asked_s = wall_s(engine);
	const double begun_s = processor_s(engine);

	if (engine_window_is_set(engine) && snapshot.waiting_count + snapshot.suspended_count == 0)
		return;
	if (between)
		engine_note_asked(engine, now_s);
	if (engine->decider->async) {
		engine_renew_plan(engine);
		async_decider_ask(engine->decider->async, &engine->setup.policy, context.outside,
				  context.flags, &snapshot);
		return;
	}

	const int result = policy_decide(&engine->setup.policy, &snapshot, &context, &plan);

	if (result < 0 && result != -EIO)
		g_error("out of memory");
	take_decision(engine, &(struct async_answer){
				      .policy = &engine->setup.policy,
				      .snapshot = &snapshot,
				      .plan = &plan,
				      .problem = result < 0 ? context.outside->problem : NULL,
				      .decide_s = processor_s(engine) - begun_s,
				      .asked_s = asked_s,
			      });
}

void engine_stop_applying(struct engine *engine)
{
	if (engine->decider->applying.is_further)
		finish_plan(engine);
}

/*
 * Drops the answer of a policy that was replaced meanwhile, or the rest of its plan; the new policy
 * is asked. The answer and its fallback are recorded: no other input has them.
 */
static void drop_answer(struct engine *engine, const struct async_answer *answer, bool is_further)
{
	if (!is_further && answer->plan->fallback)
		record_fallback(engine, answer);
	if (!is_further)
		engine_note_decided(engine, answer->policy, answer->snapshot, answer->plan);
	engine_clear_entry(engine);
	engine_stop_applying(engine);
	engine_want_mapping(engine);
}

void engine_take_answer(struct engine *engine)
{
	struct decider *decider = engine->decider;
	const bool is_further = decider->applying.is_further;
	struct async_answer answer = decider->applying.answer;

	if (!is_further && (!decider->async || !async_decider_take(decider->async, &answer)))
		return;
	if (!g_str_equal(answer.policy->name, engine->setup.policy.name))
		drop_answer(engine, &answer, is_further);
	else if (is_further)
		apply_next_part(engine);
	else
		take_decision(engine, &answer);
	/* Planned starts whose time came during the decision were not tried yet. */
	if (!engine->ended && !engine->decider->applying.is_further)
		engine_retry_late(engine, backend_now_s(engine->backend));
}

/* Events. */

static void hold_event(struct engine *engine, double now_s, bool between)
{
	engine_arrive(engine, now_s);
	engine_window_settle(engine);
	engine_extend_overruns(engine, now_s,
			       engine_event_s(engine, engine_next_event(engine) + !between));
	engine_slide_reservations(engine, now_s);
	engine_start_due(engine, now_s);
	engine_resume_wanted(engine);
	engine_note_considered(engine, now_s);
	/* If the policy is deciding already, it is asked again later. */
	if (engine_is_deciding(engine))
		engine_want_mapping(engine);
	if (!engine->ended && !engine_mapping_wanted(engine))
		engine_take_back_reservations(engine, now_s);
	if (engine->placement->has_to_decide(engine) && !engine->ended &&
	    !engine_mapping_wanted(engine))
		ask_policy(engine, now_s, between);
}

void engine_map(struct engine *engine, double now_s)
{
	const bool periodic = engine->setup.moments != POLICY_AT_CHANGES;

	if (!engine_day_begun(engine) && engine->setup.lead_s > 0 && now_s >= engine->setup.lead_s)
		engine_begin_day(engine);
	if (periodic)
		hold_event(engine, now_s, false);
	else if (engine_next_change_s(engine, now_s) <= now_s)
		engine_map_change(engine, now_s);
	engine_set_next_event(engine, engine_next_event(engine) + 1);
}

void engine_map_change(struct engine *engine, double now_s)
{
	hold_event(engine, now_s, true);
}

double engine_next_change_s(const struct engine *engine, double now_s)
{
	const struct workload *workload = engine->setup.workload;
	double next_s;

	if (engine->setup.moments == POLICY_AT_PERIODS || engine_is_deciding(engine))
		return INFINITY;
	if (engine_mapping_wanted(engine) && engine->setup.changes_apart_s <= 0)
		return now_s;
	next_s = engine->placement->next_s(engine, engine_considered_s(engine));
	if (engine->arrivals_next < workload->tasks_count)
		next_s = fmin(next_s, workload->tasks[engine->arrivals_next].arrival_s);
	next_s = fmin(next_s, engine_users_next_s(engine));
	if (engine_mapping_wanted(engine))
		next_s = fmin(next_s, engine_asked_s(engine) + engine->setup.changes_apart_s);
	return fmax(next_s, now_s);
}
