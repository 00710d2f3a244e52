/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine as one source of the main loop among others: what ends a run, when an event is
 * handled, and that other sources have a turn between two events. The cluster is a local scheduler
 * in this process (fixture.h).
 */
#include <glib.h>
#include <math.h>

#include "common/clock.h"
#include "common/platform.h"
#include "controller/sched/mapping.h"
#include "controller/session/run_loop.h"
#include "tests/unit/backend/fixture.h"
#include "tests/unit/common/wait_for.h"

#define NODES 3

/* The id of the only attempt of task 0. */
#define ATTEMPT "test-1-0-1"

/* What the engine recorded. */
struct note {
	double time_s;  /* of the event */
	double noted_s; /* when it was handled */
	char *kind;     /* of the event, or "decision" */
	guint turns;    /* that the other source had had by then */
	bool more;      /* the next event had arrived already */
};

struct stage {
	struct engine_recorder recorder;
	struct fixture fixture;
	struct sched_system *system;
	struct sched_task task;
	struct workload workload;
	struct engine_setup setup;
	struct engine *engine;
	struct engine_result result;
	GArray *notes; /* of struct note */
	bool full;     /* the record takes no more */
	guint turns;   /* of a source at the priority of the engine's */
	/* planned starts that were recorded, the turns meanwhile, and requests that had arrived */
	guint planned, planned_turns;
	uint32_t early;
};

static void add_note(struct stage *stage, double time_s, const char *kind)
{
	const struct note note = {
		.time_s = time_s,
		.noted_s = backend_now_s(stage->fixture.backend),
		.kind = g_strdup(kind),
		.turns = stage->turns,
		.more = !remote_backend_is_drained(stage->fixture.backend),
	};

	g_array_append_val(stage->notes, note);
}

static bool note_event(struct engine_recorder *recorder, double time_s, const char *kind,
		       const char *detail)
{
	add_note((struct stage *)recorder, time_s, kind);
	return true;
}

static bool note_decision(struct engine_recorder *recorder, const struct policy *policy,
			  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	add_note((struct stage *)recorder, snapshot->now_s, "decision");
	return true;
}

static bool flush(struct engine_recorder *recorder)
{
	return !((struct stage *)recorder)->full;
}

/* A policy that lets all tasks wait, so that it is asked at each mapping event. */
static int wait_on(struct mapping *mapping)
{
	mapping->actions_count = 0;
	return 0;
}

static const struct policy_planning planning = {.decide = wait_on};
static const struct policy_ops wait_on_ops = {.name = "wait-on", .planning = &planning};

static struct sched_system *make_system(void)
{
	const struct sched_cluster cluster = {.name = "c1",
					      .nodes = NODES,
					      .cores = 1,
					      .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, 1);

	system->row_names[0] = "IS";
	system->etc_s[0] = 1000;
	system->eec_j[0] = 1000;
	system->nodes[0] = 1;
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

/* A run with one task, which `policy` starts; NULL: it waits. Settings may be changed before it. */
static void stage_init(struct stage *stage, const char *policy)
{
	char message[256];

	*stage = (struct stage){
		.recorder = {.event = note_event, .decision = note_decision, .flush = flush},
		.system = make_system(),
		.task = {.utility = utility_testbed(1, 1e6, 2e6)},
		.notes = g_array_new(FALSE, FALSE, sizeof(struct note)),
	};
	stage->workload = (struct workload){.trial = 1, .tasks_count = 1, .tasks = &stage->task};
	stage->setup = (struct engine_setup){
		.system = stage->system,
		.workload = &stage->workload,
		.policy = {.ops = &wait_on_ops, .name = "wait-on"},
		.mapping_interval_s = 1e6,
		.duration_s = 1e6,
		.recorder = &stage->recorder,
		.platform = &platform_machine,
	};
	if (policy)
		g_assert_cmpint(policy_parse(policy, &stage->setup.policy, message,
					     sizeof(message)),
				==, 0);
	fixture_set_up(&stage->fixture, NULL);
	fixture_start_accounts(&stage->fixture, 0);
}

/* Runs to the end, which comes within 20 s, or the test fails. */
static void stage_run(struct stage *stage)
{
	const guint alarm_id = g_timeout_add_seconds(20, wait_for_alarm, (char *)"the end");

	stage->engine = engine_new(&stage->setup, stage->fixture.backend);
	run_loop(&platform_machine, stage->engine, stage->fixture.backend, &stage->result);
	g_source_remove(alarm_id);
	g_assert_true(engine_has_ended(stage->engine));
}

static void stage_finish(struct stage *stage)
{
	for (guint i = 0; i < stage->notes->len; i++)
		g_free(g_array_index(stage->notes, struct note, i).kind);
	g_array_unref(stage->notes);
	engine_free(stage->engine);
	fixture_tear_down(&stage->fixture, NULL);
	sched_system_free(stage->system);
}

static const struct note *note_at(const struct stage *stage, guint i)
{
	g_assert_cmpuint(i, <, stage->notes->len);
	return &g_array_index(stage->notes, struct note, i);
}

/* The task was under way when the run was aborted. */
static void assert_aborted(const struct stage *stage, const char *reason)
{
	g_assert_cmpint(stage->result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_cmpstr(engine_reason(stage->engine), ==, reason);
	g_assert_cmpfloat(stage->result.ended_s, >, 0);
	g_assert_cmpfloat(stage->result.ended_s, <=, backend_now_s(stage->fixture.backend));
	g_assert_cmpuint(stage->result.tasks_arrived, ==, 1);
	g_assert_cmpuint(stage->result.tasks_completed, ==, 0);
	g_assert_cmpint(engine_task_at(stage->engine, 0)->state, ==, ENGINE_TASK_UNFINISHED);
	WAIT_FOR(!scripted_scheduler_runs(stage->fixture.scheduler, ATTEMPT));
}

/* What ends a run. */

/* As a signal's source does. */
static gboolean stop(gpointer data)
{
	const struct stage *stage = data;

	if (!scripted_scheduler_runs(stage->fixture.scheduler, ATTEMPT))
		return G_SOURCE_CONTINUE;
	remote_fleet_stop(stage->fixture.fleet, "the test stops it");
	return G_SOURCE_REMOVE;
}

static void test_stopped(void)
{
	struct stage stage;

	stage_init(&stage, "fcfs");
	g_timeout_add(5, stop, &stage);
	stage_run(&stage);
	assert_aborted(&stage, "the test stops it");
	stage_finish(&stage);
}

/* As a client's request does; what it changes cannot be recorded any more. */
static gboolean drain(gpointer data)
{
	struct stage *stage = data;

	if (!scripted_scheduler_runs(stage->fixture.scheduler, ATTEMPT))
		return G_SOURCE_CONTINUE;
	stage->full = true;
	engine_request_drain(stage->engine, 0, 2, NULL);
	g_assert_true(engine_has_ended(stage->engine));
	return G_SOURCE_REMOVE;
}

/* No event of the backend and no time wakes the loop after it. */
static void test_aborted_by_a_request(void)
{
	struct stage stage;

	stage_init(&stage, "fcfs");
	g_timeout_add(5, drain, &stage);
	stage_run(&stage);
	assert_aborted(&stage, "the record could not be written");
	stage_finish(&stage);
}

/* The task ends while the run lasts; its local scheduler reports that after the kill. */
static gboolean hold_end(gpointer data)
{
	const struct stage *stage = data;

	if (!scripted_scheduler_runs(stage->fixture.scheduler, ATTEMPT))
		return G_SOURCE_CONTINUE;
	scripted_scheduler_hold_end(stage->fixture.scheduler, ATTEMPT);
	return G_SOURCE_REMOVE;
}

static void test_late_end(void)
{
	struct stage stage;

	stage_init(&stage, "fcfs");
	stage.setup.duration_s = 1;
	g_timeout_add(5, hold_end, &stage);
	stage_run(&stage);
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpuint(stage.result.tasks_completed, ==, 1);
	g_assert_cmpint(engine_task_at(stage.engine, 0)->state, ==, ENGINE_TASK_COMPLETED);
	stage_finish(&stage);
}

/* When an event is handled. */

/* A node goes down, by the clock of its local scheduler 750 ms after the run's begin. */
static gboolean go_down(gpointer data)
{
	struct stage *stage = data;
	const int64_t begin_ns =
		clock_now_ns() - (int64_t)(backend_now_s(stage->fixture.backend) * 1e9);

	scripted_scheduler_spoil_event(stage->fixture.scheduler, "t_ns",
				       json_integer(begin_ns + 750000000));
	scripted_scheduler_set_node(stage->fixture.scheduler, 1, false);
	return G_SOURCE_REMOVE;
}

/*
 * Mapping events are 500 ms apart. The event of 750 ms is reported before the one of 500 ms is due,
 * and handled after it.
 */
static void test_times(void)
{
	static const struct {
		double time_s;
		const char *kind;
		bool at_its_time; /* rather than when all before it has been handled */
	} expected[] = {
		{0, "decision", true},
		{0.5, "decision", true},
		{0.75, "node-down", false},
		{1, "decision", true},
	};
	struct stage stage;

	stage_init(&stage, NULL);
	stage.setup.mapping_interval_s = 0.5;
	stage.setup.duration_s = 1.2;
	g_idle_add(go_down, &stage);
	stage_run(&stage);
	g_assert_cmpuint(stage.notes->len, ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < stage.notes->len; i++) {
		const struct note *note = note_at(&stage, i);

		g_assert_cmpstr(note->kind, ==, expected[i].kind);
		g_assert_cmpfloat_with_epsilon(note->time_s, expected[i].time_s, 0.1);
		if (expected[i].at_its_time)
			g_assert_cmpfloat(note->noted_s, >=, note->time_s);
	}
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpfloat(stage.result.ended_s, ==, 1.2);
	g_assert_cmpfloat(backend_now_s(stage.fixture.backend), >=, 1.2);
	stage_finish(&stage);
}

/* The turns of others. */

#define BURST 60

static gboolean take_turn(gpointer data)
{
	((struct stage *)data)->turns++;
	return G_SOURCE_CONTINUE;
}

/* Stops the run when the burst has been handled. */
static gboolean stop_after_burst(gpointer data)
{
	const struct stage *stage = data;

	if (stage->notes->len < BURST)
		return G_SOURCE_CONTINUE;
	remote_fleet_stop(stage->fixture.fleet, "the test stops it");
	return G_SOURCE_REMOVE;
}

static void test_burst(void)
{
	struct stage stage;
	guint burst = 0, turns_id;

	stage_init(&stage, NULL);
	stage.recorder.decision = NULL;
	for (uint32_t i = 0; i < BURST; i++)
		scripted_scheduler_set_node(stage.fixture.scheduler, 0, i % 2 == 1);
	WAIT_FOR(!remote_backend_is_drained(stage.fixture.backend));
	turns_id = g_idle_add_full(G_PRIORITY_DEFAULT, take_turn, &stage, NULL);
	g_timeout_add(5, stop_after_burst, &stage);
	stage_run(&stage);
	g_source_remove(turns_id);
	for (guint i = 1; i < BURST; i++) {
		g_assert_cmpuint(note_at(&stage, i)->turns, >, note_at(&stage, i - 1)->turns);
		burst += note_at(&stage, i - 1)->more;
	}
	/* Nearly all arrived together. */
	g_assert_cmpuint(burst, >=, BURST / 2);
	stage_finish(&stage);
}

/* The requests of a plan in parts. */

#define TASKS 40

static bool note_planned(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct stage *stage = (struct stage *)recorder;

	if (task->state != ENGINE_TASK_PLANNED)
		return true;
	if (stage->planned++ == 0)
		stage->turns = 0;
	stage->planned_turns = stage->turns;
	stage->early = scripted_scheduler_task_requests(stage->fixture.scheduler);
	return true;
}

static gboolean stop_when_full(gpointer data)
{
	const struct stage *stage = data;

	if (scripted_scheduler_starts(stage->fixture.scheduler) < NODES)
		return G_SOURCE_CONTINUE;
	remote_fleet_stop(stage->fixture.fleet, "the test stops it");
	return G_SOURCE_REMOVE;
}

/*
 * Each action of the plan is a part: the first ones are starts, and by far the most reservations,
 * so that a start that is not held would arrive before the last part.
 */
static void test_parts(void)
{
	struct sched_task tasks[TASKS];
	struct stage stage;
	guint turns_id;

	stage_init(&stage, "conservative");
	for (uint32_t i = 0; i < TASKS; i++) {
		tasks[i] = stage.task;
		tasks[i].id = i;
	}
	stage.workload.tasks = tasks;
	stage.workload.tasks_count = TASKS;
	stage.setup.apart = true;
	stage.setup.at_once = 1;
	stage.recorder.task = note_planned;
	turns_id = g_idle_add_full(G_PRIORITY_DEFAULT, take_turn, &stage, NULL);
	g_timeout_add(5, stop_when_full, &stage);
	stage_run(&stage);
	g_source_remove(turns_id);
	g_assert_cmpuint(stage.planned, ==, TASKS - NODES);
	g_assert_cmpuint(stage.planned_turns, >=, TASKS - NODES - 1);
	g_assert_cmpuint(stage.early, ==, 0);
	g_assert_cmpuint(scripted_scheduler_starts(stage.fixture.scheduler), ==, NODES);
	stage_finish(&stage);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run-loop/a stop request ends the run", test_stopped);
	g_test_add_func("/run-loop/a request that aborts the run ends it",
			test_aborted_by_a_request);
	g_test_add_func("/run-loop/what ended before the run did counts although it is told after",
			test_late_end);
	g_test_add_func("/run-loop/nothing is handled before its time", test_times);
	g_test_add_func("/run-loop/other sources have a turn between two events", test_burst);
	g_test_add_func("/run-loop/the requests of a plan in parts are sent after the last part",
			test_parts);
	return g_test_run();
}
