/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long tasks of an open workload wait, over all of their attempts, and how often a policy is
 * asked and recorded meanwhile.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/engine/lifecycle.h"
#include "tests/unit/engine/open_bed.h"

/* A queue in which nothing moves is not recorded again and again. */
struct still {
	struct engine_recorder recorder;
	uint32_t decisions;
	double last_s;
};

static bool count_decision(struct engine_recorder *recorder, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct still *still = (struct still *)recorder;

	still->decisions++;
	still->last_s = snapshot->now_s;
	return true;
}

static void drain_all(struct open_bed *bed)
{
	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t n = 0; n < bed->system->clusters[c].nodes; n++)
			g_assert_false(engine_request_drain(bed->engine, c, n, NULL));
}

/* Nodes are closed, tasks come, which wait; then one node opens. */
static void call_still(void *data)
{
	const struct sched_task task = {.row = 0, .utility = utility_testbed(1, 1e5, 2e5)};
	struct open_bed *bed = data;

	if (bed->caller.called == 1)
		drain_all(bed);
	else if (bed->caller.called < bed->caller.calls_count)
		engine_submit(bed->engine, &task, false);
	else
		g_assert_false(engine_request_undrain(bed->engine, 0, 0));
}

static void check_still(const char *policy, uint32_t recorded)
{
	struct still still = {.recorder = {.decision = count_decision}};
	struct open_bed bed;

	open_bed_init(&bed, policy, false, 1);
	bed.setup.recorder = &still.recorder;
	bed.setup.record_changes = true;
	bed.setup.moments = POLICY_AT_BOTH;
	bed.caller.call = call_still;
	bed.caller.calls_count = 6;
	for (uint32_t i = 0; i < 6; i++)
		bed.caller.calls_s[i] = i < 5 ? 10 + i : 3010;
	open_bed_run(&bed);
	g_assert_cmpuint(bed.result.decisions, >, 60);
	g_assert_cmpuint(still.decisions, ==, recorded);
	g_assert_cmpfloat(still.last_s, >, 3010);
	open_bed_finish(&bed);
}

/*
 * Tasks wait from 11 s on; one starts at 3010 s, when places are promised to the others, one by
 * one.
 */
static void test_still(void)
{
	check_still("fcfs", 5);
	check_still("max-util", 5);
}

static void call_apart(void *data)
{
	const struct sched_task task = {.row = 0, .utility = utility_testbed(1, 1e5, 2e5)};
	struct open_bed *bed = data;

	engine_submit(bed->engine, &task, false);
}

/*
 * A task that arrives alone is considered at once; tasks that arrive close behind it, together a
 * second later.
 */
static void test_apart(void)
{
	static const double calls_s[] = {10, 10.25, 10.5, 10.75, 13, 13.5};
	static const double starts_s[] = {10, 11, 11, 11, 13, 14};
	struct open_bed bed;

	open_bed_init(&bed, "fcfs", false, 1);
	bed.setup.moments = POLICY_AT_BOTH;
	bed.setup.changes_apart_s = 1;
	bed.caller.call = call_apart;
	bed.caller.calls_count = G_N_ELEMENTS(calls_s);
	memcpy(bed.caller.calls_s, calls_s, sizeof(calls_s));
	open_bed_run(&bed);
	g_assert_cmpuint(bed.result.tasks_completed, ==, G_N_ELEMENTS(calls_s));
	for (uint32_t i = 0; i < G_N_ELEMENTS(calls_s); i++)
		g_assert_cmpfloat(engine_task_at(bed.engine, i)->started_s, ==, starts_s[i]);
	g_assert_cmpuint(bed.result.decisions, ==, 4);
	open_bed_finish(&bed);
}

/* The task that runs is lost now. */
static void call_loss(void *data)
{
	struct open_bed *bed = data;

	g_assert_true(
		engine_task_state_in(engine_task_at(bed->engine, 0)->state, ENGINE_TASK_UNDER_WAY));
	backend_kill(bed->caller.sim, 0, engine_task_at(bed->engine, 0)->attempts);
}

static void losing_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	open_caller_wait(backend, until_s, ret_event);
	if (ret_event->kind == BACKEND_EVENT_ENDED)
		ret_event->outcome = BACKEND_OUTCOME_LOST;
}

/* It was started `before` times before the run was resumed, and is lost three times more. */
static void check_losses(uint32_t before)
{
	const struct engine_task waiting = {
		.state = ENGINE_TASK_WAITING,
		.attempts = before,
		.planned_start_s = (double)NAN,
		.started_s = (double)NAN,
		.ended_s = (double)NAN,
	};
	struct open_bed bed;

	open_bed_init(&bed, "fcfs", false, 1);
	bed.wait = losing_wait;
	bed.setup.moments = POLICY_AT_BOTH;
	bed.workload->tasks[0] = (struct sched_task){.utility = utility_testbed(1, 1e5, 2e5)};
	bed.workload->tasks_count = 1;
	bed.caller.call = call_loss;
	bed.caller.calls_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		bed.caller.calls_s[i] = 70 + 20 * i;
	bed.engine = engine_new(&bed.setup, &bed.caller.base);
	g_assert_true(engine_restore_task(bed.engine, 0, &waiting));
	drive(bed.engine, &bed.caller.base, bed.wait, &bed.result);
	g_assert_cmpuint(engine_task_at(bed.engine, 0)->attempts, ==, before + 3);
	g_assert_cmpint(engine_task_at(bed.engine, 0)->state, ==, ENGINE_TASK_FAILED);
	open_bed_finish(&bed);
}

static void test_losses(void)
{
	check_losses(0);
	check_losses(2);
	check_losses(7);
}

/* The attempts that were lost, as they are recorded. */
struct losses {
	struct engine_recorder recorder; /* first: callbacks cast back */
	struct {
		uint32_t attempt;
		double started_s, ended_s;
	} rows[3];
	uint32_t count;
};

static bool note_lost(struct engine_recorder *base, const struct engine_task *task, double ended_s,
		      const char *reason)
{
	struct losses *losses = (struct losses *)base;

	g_assert_cmpuint(losses->count, <, G_N_ELEMENTS(losses->rows));
	g_assert_cmpuint(task->nodes_count, >, 0);
	losses->rows[losses->count].attempt = task->attempts;
	losses->rows[losses->count].started_s = task->started_s;
	losses->rows[losses->count].ended_s = ended_s;
	losses->count++;
	return true;
}

/* Put back from what is on record of it, it has waited as long. */
static void assert_restored(const struct open_bed *bed, const struct losses *losses)
{
	const struct engine_task *was = engine_task_at(bed->engine, 0);
	struct engine *engine = engine_new(&bed->setup, (struct backend *)&bed->caller.base);
	const struct engine_task *task;

	g_assert_true(engine_restore_task(engine, 0, was));
	for (uint32_t i = losses->count; i-- > 0;)
		engine_restore_lost(engine, 0, losses->rows[i].attempt, losses->rows[i].started_s,
				    losses->rows[i].ended_s);
	task = engine_task_at(engine, 0);
	g_assert_cmpfloat_with_epsilon(task->waited_s, was->waited_s, 1e-9);
	g_assert_true(isnan(task->waits_since_s));
	engine_free(engine);
}

/*
 * What a task waits is that before all of its attempts, and none of the time that one of them took.
 */
static void test_waiting(void)
{
	struct losses losses = {.recorder.lost = note_lost};
	double out_s = 0;
	const struct engine_task *task;
	struct open_bed bed;

	open_bed_init(&bed, "fcfs", false, 1);
	bed.wait = losing_wait;
	bed.setup.recorder = &losses.recorder;
	bed.setup.moments = POLICY_AT_PERIODS;
	bed.workload->tasks[0] =
		(struct sched_task){.arrival_s = 65, .utility = utility_testbed(1, 1e5, 2e5)};
	bed.workload->tasks_count = 1;
	bed.caller.call = call_loss;
	bed.caller.calls_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		bed.caller.calls_s[i] = 130 + 60 * i;
	open_bed_run(&bed);
	task = engine_task_at(bed.engine, 0);
	g_assert_cmpint(task->state, ==, ENGINE_TASK_FAILED);
	g_assert_cmpuint(losses.count, ==, 2); /* the last one is the task's own */
	for (uint32_t i = 0; i < 2; i++) {
		g_assert_cmpuint(losses.rows[i].attempt, ==, i + 1);
		g_assert_cmpfloat(losses.rows[i].ended_s, ==, bed.caller.calls_s[i]);
		out_s += losses.rows[i].ended_s - losses.rows[i].started_s;
	}
	g_assert_cmpfloat_with_epsilon(task->waited_s, task->started_s - 65 - out_s, 1e-9);
	g_assert_cmpfloat_with_epsilon(task->waited_s, (120 - 65) + (180 - 130) + (240 - 190),
				       1e-9);
	g_assert_true(isnan(task->waits_since_s));
	assert_restored(&bed, &losses);
	open_bed_finish(&bed);
}

static void call_impossible(void *data)
{
	const struct sched_task task = {.row = 0, .utility = utility_testbed(1, 1e5, 2e5)};
	struct open_bed *bed = data;

	engine_submit(bed->engine, &task, true);
	g_test_expect_message(NULL, G_LOG_LEVEL_CRITICAL, "*task 0 is waiting: 'release' is *");
	engine_move_task(bed->engine, 0, ENGINE_TASK_RELEASE);
	g_test_assert_expected_messages();
	g_assert_cmpint(engine_task_at(bed->engine, 0)->state, ==, ENGINE_TASK_WAITING);
}

/* An event that is impossible in a task's state is logged and counted, and the state stays. */
static void test_impossible(void)
{
	struct open_bed bed;

	open_bed_init(&bed, "fcfs", false, 1);
	bed.caller.call = call_impossible;
	bed.caller.calls_count = 1;
	bed.caller.calls_s[0] = 10;
	open_bed_run(&bed);
	g_assert_cmpuint(bed.result.impossible_events, ==, 1);
	open_bed_finish(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/open/many submissions are one change", test_apart);
	g_test_add_func("/engine/open/starts before the run was resumed do not count", test_losses);
	g_test_add_func("/engine/open/what a task waits is that of all attempts", test_waiting);
	g_test_add_func("/engine/open/a queue that stands still is recorded once", test_still);
	g_test_add_func("/engine/open/an impossible event is counted", test_impossible);
	return g_test_run();
}
