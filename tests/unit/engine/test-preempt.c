/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tasks that leave their nodes and resume: what the engine makes of plans that suspend and resume,
 * and of what the backend says to it. The policy of all cases plays out a script of its own.
 */
#include <glib.h>
#include <math.h>

#include "tests/unit/engine/drive.h"
#include "tests/unit/engine/preempt_stage.h"

static const struct preempt_scene scenes[] = {
	{
		.name = "a task gives way, keeps its progress and resumes elsewhere",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			   RESUME(20, 0, ON(1))},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n10 start 1.1 c0 0\n"
		       "20 resume 0.1 #1 c0 1\n",
		.seen = "run 1@c0:0 10+0 to 25 P, suspended 0@c0 10",
		.seen_s = 20,
		.completed = 2,
	},
	{
		.name = "the task that takes its nodes starts when they are free",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			   RESUME(40, 0, ON(0))},
		.steps = {{0, 1, false, SCRIPT_DONE, 12, 0}, {0, 1, true, SCRIPT_DONE, 12, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n22 start 1.1 c0 0\n"
		       "40 resume 0.1 #1 c0 0\n",
		/* Meanwhile it holds them, and no other task may take them. */
		.seen = "run 1@c0:0 10+0 to 25",
		.seen_s = 20,
		.completed = 2,
	},
	{
		.name = "nodes that are being left for no other task are down until they are free",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(30, 1, ON(0))},
		.steps = {{0, 1, false, SCRIPT_DONE, 12, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n30 start 1.1 c0 0\n100 kill 0.1\n",
		.seen = "down c0:0",
		.seen_s = 20,
		.completed = 1,
	},
	{
		.name = "a task that is being resumed is not asked to give way",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1))},
		.steps = {{0, 1, true, SCRIPT_DONE, 15, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n",
		.seen = "run 0@c0:1 20+10 to 40", /* not at 25 s, then */
		.seen_s = 30,
		.completed = 1,
	},
	{
		.name = "where suspending fails the task runs on and the other one waits again",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			   START(20, 1, ON(0))},
		.steps = {{0, 1, false, SCRIPT_STAYED, 3, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 start 1.1 c0 0\n",
		.story = "13 stayed\n",
		.completed = 2,
	},
	{
		.name = "the same suspension is tried again",
		.tasks_count = 3,
		.attempts = {{0, 1, 50, BACKEND_OUTCOME_COMPLETED, false}},
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)), SUSPEND(20, 0),
			   START(20, 1, ON(0)), RESUME(40, 0, ON(0))},
		.steps = {{0, 1, false, SCRIPT_STAYED, 3, 1}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 suspend 0.1 #1\n20 start 1.1 c0 0\n"
		       "40 resume 0.1 #1 c0 0\n",
		.story = "13 stayed\n20 late\n",
		.seen = "run 0@c0:0 0+0 to 30 P",
		.seen_s = 20,
		.completed = 2,
	},
	{
		.name = "a task that cannot be suspended is spared after three failures",
		.tasks_count = 2,
		.attempts = {{0, 1, 55, BACKEND_OUTCOME_COMPLETED, false}},
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), SUSPEND(20, 0), SUSPEND(30, 0)},
		.steps = {{0, 1, false, SCRIPT_STAYED, 1, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 suspend 0.1 #1\n"
		       "30 suspend 0.1 #1\n",
		.story = "11 stayed\n20 late\n21 stayed\n31 stayed\n",
		.seen = "run 0@c0:0 0+0 to 50",
		.seen_s = 40,
		.completed = 1,
	},
	{
		.name = "a wide task waits for all of its nodes",
		.tasks_count = 4,
		.rows = {NARROW, NARROW, WIDE},
		.orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			   START(10, 2, ON_BOTH), RESUME(30, 0, ON(0)), RESUME(30, 1, ON(1))},
		.steps = {{0, 1, false, SCRIPT_DONE, 3, 0}, {1, 1, false, SCRIPT_DONE, 1, 0}},
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "13 start 2.1 c0 0,1\n30 resume 0.1 #1 c0 0\n30 resume 1.1 #1 c0 1\n",
		.completed = 3,
	},
	{
		.name = "a wide task waits again where one of its nodes is not left",
		.tasks_count = 4,
		.rows = {NARROW, NARROW, WIDE},
		.attempts = {{1, 1, 25, BACKEND_OUTCOME_COMPLETED, false}},
		.orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			   START(10, 2, ON_BOTH), RESUME(20, 0, ON(0)), START(30, 2, ON_BOTH)},
		.steps = {{0, 1, false, SCRIPT_DONE, 3, 0}, {1, 1, false, SCRIPT_STAYED, 1, 0}},
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "20 resume 0.1 #1 c0 0\n30 start 2.1 c0 0,1\n",
		.story = "11 stayed\n20 late\n",
		.completed = 3,
	},
	{
		.name = "a task gives way and resumes elsewhere in one event",
		.tasks_count = 4,
		.orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0),
			   START(10, 2, ON(0)), SUSPEND(10, 1), RESUME(10, 0, ON(1)),
			   RESUME(30, 1, ON(0))},
		.steps = {{0, 1, false, SCRIPT_DONE, 3, 0}, {1, 1, false, SCRIPT_DONE, 1, 0}},
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "13 start 2.1 c0 0\n13 resume 0.1 #1 c0 1\n30 resume 1.1 #1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "two tasks change places",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			   RESUME(10, 0, ON(1)), RESUME(10, 1, ON(0))},
		.steps = {{0, 1, false, SCRIPT_DONE, 3, 0}, {1, 1, false, SCRIPT_DONE, 5, 0}},
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "15 resume 0.1 #1 c0 1\n15 resume 1.1 #1 c0 0\n",
		.completed = 2,
	},
	{
		.name = "where one of the two stays both are where they were",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), START(0, 1, ON(1)), SUSPEND(10, 0), SUSPEND(10, 1),
			   RESUME(10, 0, ON(1)), RESUME(10, 1, ON(0)), RESUME(20, 0, ON(0))},
		.steps = {{0, 1, false, SCRIPT_DONE, 3, 0}, {1, 1, false, SCRIPT_STAYED, 1, 0}},
		.log = "0 start 0.1 c0 0\n0 start 1.1 c0 1\n10 suspend 0.1 #1\n10 suspend 1.1 #1\n"
		       "20 resume 0.1 #1 c0 0\n",
		.story = "11 stayed\n",
		.completed = 2,
	},
	{
		.name = "a task that ends while it is being suspended leaves its nodes all the same",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0))},
		.steps = {{0, 1, false, SCRIPT_SILENT, 0, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n15 start 1.1 c0 0\n",
		.completed = 2,
	},
	{
		.name = "a task that is lost while it is being suspended starts again",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			   START(20, 0, ON(1)), SUSPEND(30, 0), RESUME(40, 0, ON(0))},
		.steps = {{0, 1, false, SCRIPT_LOST, 2, 1}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n12 start 1.1 c0 0\n"
		       "20 start 0.2 c0 1\n30 suspend 0.2 #1\n40 resume 0.2 #1 c0 0\n",
		.story = "12 lost\n",
		.completed = 2,
	},
	{
		.name = "a task that is lost while it is being resumed starts again",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1)),
			   START(30, 0, ON(1))},
		.steps = {{0, 1, true, SCRIPT_LOST, 2, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n"
		       "30 start 0.2 c0 1\n",
		.story = "22 lost\n",
		.completed = 1,
	},
	{
		.name = "a task that cannot be resumed is suspended still, and tried again",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1)),
			   RESUME(30, 0, ON(0))},
		.steps = {{0, 1, true, SCRIPT_STAYED, 2, 1}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n"
		       "30 resume 0.1 #1 c0 0\n",
		.story = "22 stayed\n",
		.seen = "suspended 0@c0 10",
		.seen_s = 30,
		.completed = 1,
	},
	{
		.name = "a task that cannot be resumed three times is lost",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), RESUME(20, 0, ON(1)),
			   RESUME(30, 0, ON(1)), RESUME(40, 0, ON(1)), START(50, 0, ON(1))},
		.steps = {{0, 1, true, SCRIPT_STAYED, 2, 0}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 resume 0.1 #1 c0 1\n"
		       "30 resume 0.1 #1 c0 1\n40 resume 0.1 #1 c0 1\n42 kill 0.1\n"
		       "50 start 0.2 c0 1\n",
		.story = "22 stayed\n32 stayed\n42 stayed\n42 lost\n",
		.completed = 1,
	},
	{
		.name = "a node that goes down before it is left takes the claim with it",
		.tasks_count = 4,
		.rows = {NARROW, WIDE, NARROW},
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON_BOTH),
			   START(20, 2, ON(0)), RESUME(40, 0, ON(0)), START(50, 1, ON_BOTH)},
		.steps = {{0, 1, false, SCRIPT_DONE, 3, 0}},
		.events = {{12, BACKEND_EVENT_NODE_DOWN, 0, 1, "no answer"},
			   {41, BACKEND_EVENT_NODE_UP, 0, 1, NULL}},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 start 2.1 c0 0\n"
		       "40 resume 0.1 #1 c0 0\n50 start 1.1 c0 0,1\n",
		.story = "12 node-down\n41 node-up\n",
		.completed = 3,
	},
	{
		.name = "a suspended task can leave",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), DROP(20, 0)},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n20 kill 0.1\n",
		.dropped = 1,
	},
	{
		.name = "the run ends with tasks in every state",
		.tasks_count = 5,
		.attempts = {{1, 1, 200, BACKEND_OUTCOME_COMPLETED, false}},
		.orders = {START(70, 0, ON(0)), SUSPEND(80, 0), START(80, 1, ON(0)), SUSPEND(90, 1),
			   START(90, 2, ON(0)), RESUME(90, 0, ON(1))},
		.steps = {{1, 1, false, SCRIPT_DONE, 30, 0}, {0, 1, true, SCRIPT_DONE, 30, 0}},
		.log = "70 start 0.1 c0 0\n80 suspend 0.1 #1\n80 start 1.1 c0 0\n"
		       "90 suspend 1.1 #1\n90 resume 0.1 #1 c0 1\n100 kill 0.1\n100 kill 1.1\n",
	},
	{
		.name = "what is said twice counts once",
		.tasks_count = 3,
		.twice = true,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			   RESUME(20, 0, ON(1))},
		.log = "0 start 0.1 c0 0\n10 suspend 0.1 #1\n10 start 1.1 c0 0\n"
		       "20 resume 0.1 #1 c0 1\n",
		.completed = 2,
	},
};

/* Plans that no policy may make, and what the run says of them. */
static const struct preempt_scene illegal[] = {
	{
		.name = "a task that is not preemptible",
		.tasks_count = 2,
		.stubborn = true,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0)},
		.story = "suspend task 0: it is not preemptible",
	},
	{
		.name = "a task that does not run",
		.tasks_count = 2,
		.orders = {SUSPEND(10, 0)},
		.story = "suspend task 0: it does not run",
	},
	{
		.name = "nodes that are taken",
		.tasks_count = 3,
		.orders = {START(0, 0, ON(0)), START(10, 1, ON(0))},
		.story = "start task 1: its nodes are not free",
	},
	{
		.name = "nodes that another task has a claim to",
		.tasks_count = 4,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(10, 1, ON(0)),
			   START(10, 2, ON(0))},
		.story = "start task 2: its nodes are not free",
	},
	{
		.name = "a suspended task started again",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)), SUSPEND(10, 0), START(20, 0, ON(0))},
		.story = "start task 0: it is not waiting",
	},
	{
		.name = "a task that resumes in another cluster",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)),
			   SUSPEND(10, 0),
			   {20, SCHED_ACTION_RESUME, 0, 1, ON(0)}},
		.story = "resume task 0: it can only resume in its own cluster",
	},
	{
		.name = "a task that resumes without having been suspended",
		.tasks_count = 2,
		.orders = {RESUME(20, 0, ON(0))},
		.story = "resume task 0: it is not suspended",
	},
	{
		.name = "too few nodes",
		.tasks_count = 2,
		.rows = {WIDE},
		.orders = {START(0, 0, ON_BOTH), SUSPEND(10, 0), RESUME(20, 0, ON(0))},
		.story = "resume task 0: it needs another number of nodes",
	},
	{
		.name = "a node that there is not",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(2))},
		.story = "start task 0: its nodes are not nodes of the cluster in ascending order",
	},
	{
		.name = "a running task dropped",
		.tasks_count = 2,
		.orders = {START(0, 0, ON(0)), DROP(10, 0)},
		.story = "drop task 0: it is neither waiting nor suspended",
	},
	{
		.name = "a task that does not exist",
		.tasks_count = 2,
		.orders = {START(0, 7, ON(0))},
		.story = "start task 7: there is no such task",
	},
};

static void test_scene(const void *data)
{
	const struct preempt_scene *scene = data;
	struct preempt_stage stage;

	preempt_stage_init(&stage, scene);
	preempt_stage_run(&stage);
	preempt_stage_check_log(&stage, scene->log);
	g_assert_cmpstr(stage.memory.story->str, ==, scene->story ? scene->story : "");
	if (scene->seen)
		g_assert_cmpstr(stage.seen->str, ==, scene->seen);
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpuint(stage.result.tasks_completed, ==, scene->completed);
	g_assert_cmpuint(stage.result.tasks_failed, ==, scene->failed);
	g_assert_cmpuint(stage.result.tasks_dropped, ==, scene->dropped);
	g_assert_cmpfloat(stage.result.utility, ==, 4 * scene->completed);
	preempt_stage_finish(&stage);
}

static void test_illegal(const void *data)
{
	const struct preempt_scene *scene = data;
	struct preempt_stage stage;
	g_autofree char *reason =
		g_strconcat("the plan of policy \"play\" is not legal: ", scene->story, NULL);

	preempt_stage_init(&stage, scene);
	preempt_stage_run(&stage);
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_cmpstr(engine_reason(stage.engine), ==, reason);
	preempt_stage_finish(&stage);
}

/* The first scene but one, in its record. */
static void test_record(void)
{
	struct preempt_stage stage;
	const struct engine_task *task;

	preempt_stage_init(&stage, &scenes[1]);
	preempt_stage_run(&stage);
	g_assert_cmpstr(stage.memory.suspensions->str, ==,
			"0.1 #1 from 0: 10, nan after nan; nan, nan\n"
			"0.1 #1 from 0: 10, 22 after 10; nan, nan\n"
			"0.1 #1 from 0: 10, 22 after 10; 40, nan\n"
			"0.1 #1 from 0: 10, 22 after 10; 40, 52\n");
	task = engine_task_at(stage.engine, 0);
	g_assert_cmpfloat(task->started_s, ==, 0);
	g_assert_cmpfloat(task->since_s, ==, 52);
	g_assert_cmpfloat(task->executed_s, ==, 10);
	g_assert_cmpfloat(task->exec_s, ==, 15);
	g_assert_cmpfloat(task->ended_s, ==, 57);
	g_assert_cmpuint(task->suspensions, ==, 1);
	task = engine_task_at(stage.engine, 1);
	g_assert_cmpfloat(task->planned_start_s, ==, 10);
	g_assert_cmpfloat(task->started_s, ==, 22);
	g_assert_cmpfloat(task->exec_s, ==, 15);
	preempt_stage_finish(&stage);
}

/*
 * A task executes 10 s before the day and 5 s in it, another 5 s in it and the rest after it: what
 * they earn counts pro rata, and the time in which they were suspended not at all.
 */
static void test_day(void)
{
	static const struct preempt_scene scene = {
		.tasks_count = 4,
		.attempts = {{2, 1, 30, BACKEND_OUTCOME_COMPLETED, false}},
		.orders = {START(10, 0, ON(0)), SUSPEND(20, 0), RESUME(50, 0, ON(0)),
			   START(20, 1, ON(1)), SUSPEND(30, 1), RESUME(90, 1, ON(1)),
			   START(60, 2, ON(0)), SUSPEND(70, 2), RESUME(90, 2, ON(0))},
	};
	struct preempt_stage stage;

	preempt_stage_init(&stage, &scene);
	stage.setup.lead_s = 30;
	stage.setup.gate = true;
	preempt_stage_run(&stage);
	/* 4 x (5/15 of task 0 + 5/15 of task 1). Of task 2 10 s and 5 s of 15 s are expected. */
	g_assert_cmpuint(stage.result.tasks_completed, ==, 2);
	g_assert_cmpfloat_with_epsilon(stage.result.utility, 4 * (5 / 15.0 + 5 / 15.0 + 1), 1e-12);
	preempt_stage_finish(&stage);
}

/*
 * Task 0 was leaving node 0 for task 1 when the run was cut off: that claim is a reservation now.
 */
static void restore_claim(struct preempt_stage *stage)
{
	static const uint32_t node = 0;
	const struct engine_task leaving = {.state = ENGINE_TASK_SUSPENDING,
					    .nodes_count = 1,
					    .nodes = &node,
					    .attempts = 1,
					    .started_s = 0};
	const struct engine_task claims = {.state = ENGINE_TASK_CLAIMED,
					   .nodes_count = 1,
					   .nodes = &node,
					   .reservation = true,
					   .planned_start_s = 10,
					   .started_s = NAN};
	const struct engine_suspension suspension = {
		.task = 0,
		.attempt = 1,
		.n = 1,
		.nodes_count = 1,
		.nodes = &node,
		.requested_s = 10,
		.suspended_s = NAN,
		.exec_s = NAN,
		.resume_requested_s = NAN,
		.resumed_s = NAN,
		.since_s = NAN,
	};
	const struct sched_allocation placed = {
		.task = &(struct sched_task){.id = 0, .row = NARROW},
		.nodes_count = 1,
		.nodes = &node,
	};

	g_assert_true(engine_restore_task(stage->engine, 0, &leaving));
	g_assert_true(engine_restore_task(stage->engine, 1, &claims));
	g_assert_true(engine_restore_suspension(stage->engine, &suspension));
	for (uint32_t i = 0; i < engine_tasks_count(stage->engine); i++)
		g_assert_true(engine_restore_is_complete(stage->engine, i));
	scripted_backend_adopt(stage->backend, &placed, 1, 0);
}

static void test_restored_claim(void)
{
	static const struct preempt_scene scene = {
		.tasks_count = 3,
		.attempts = {{0, 1, 60, BACKEND_OUTCOME_COMPLETED, false}},
		.steps = {{0, 1, false, SCRIPT_STAYED, 3, 0}},
		.orders = {START(20, 1, ON(1))},
	};
	struct preempt_stage stage;

	preempt_stage_init(&stage, &scene);
	stage.script.now_s = 12;
	stage.backend = scripted_backend_new(&stage.script);
	stage.engine = engine_new(&stage.setup, stage.backend);
	restore_claim(&stage);
	drive(stage.engine, stage.backend, scripted_backend_wait, &stage.result);
	preempt_stage_check_log(&stage, "12 suspend 0.1 #1\n20 start 1.1 c0 1\n");
	g_assert_cmpuint(stage.result.tasks_completed, ==, 2);
	preempt_stage_finish(&stage);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf("/preempt/%s", scenes[i].name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(illegal); i++) {
		g_autofree char *path = g_strdup_printf("/illegal/%s", illegal[i].name);

		g_test_add_data_func(path, &illegal[i], test_illegal);
	}
	g_test_add_func("/preempt/the record tells each step", test_record);
	g_test_add_func("/preempt/a claim that was restored does not wait for a task that stays",
			test_restored_claim);
	g_test_add_func("/day/what is earned counts by execution time", test_day);
	return g_test_run();
}
