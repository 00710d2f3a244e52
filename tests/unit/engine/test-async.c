/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A policy that decides on a thread of its own, while people act, and plans that are carried out in
 * parts.
 */
#include <glib.h>

#include "tests/unit/engine/async_stage.h"
#include "tests/unit/engine/drive.h"

static const struct async_scene scenes[] = {
	{
		.name = "what it decides is done",
		.policy = "max-upr",
		.rows = {NARROW + 1, NARROW + 1, WIDE + 1},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n25 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "what came meanwhile is for the next decision",
		.policy = "max-upr",
		.rows = {NARROW + 1},
		.deeds = {{SUBMIT, NARROW}},
		.log = "10 start 0.1 c0 0\n11 start 1.1 c0 1\n",
		.completed = 2,
	},
	{
		.name = "a task that is held meanwhile does not start",
		.policy = "max-upr",
		.rows = {NARROW + 1, NARROW + 1},
		.deeds = {{HOLD, 0}},
		.log = "10 start 1.1 c0 1\n",
		.overtaken = "0 ",
		.completed = 1,
	},
	{
		.name = "a task that is cancelled meanwhile does not start",
		.policy = "max-upr",
		.rows = {NARROW + 1, NARROW + 1, NARROW + 1},
		.deeds = {{CANCEL, 1}},
		.log = "10 start 0.1 c0 0\n11 start 2.1 c0 1\n",
		.overtaken = "1 ",
		.completed = 2,
	},
	{
		.name = "on a node that is drained meanwhile nothing starts",
		.policy = "max-upr",
		.rows = {NARROW + 1, NARROW + 1},
		.deeds = {{DRAIN, 0}},
		.log = "10 start 1.1 c0 1\n25 start 0.1 c0 1\n",
		.overtaken = "0 ",
		.completed = 2,
	},
	{
		.name = "a policy that takes over decides, and the decision of the other one is dropped",
		.policy = "max-upr",
		.rows = {NARROW + 1, WIDE + 1},
		.deeds = {{FCFS, 0}},
		.log = "11 start 0.1 c0 0\n26 start 1.1 c0 0,1\n",
		.deciders = "fcfs ",
		.completed = 2,
	},
	{
		.name = "that a fallback made a decision which is dropped is on record",
		.policy = "exec:mine",
		.rows = {NARROW + 1, WIDE + 1},
		.deeds = {{FCFS, 0}},
		.log = "11 start 0.1 c0 0\n26 start 1.1 c0 0,1\n",
		.deciders = "fcfs ",
		.completed = 2,
		.fallbacks = 1,
	},
	{
		.name = "a policy that asks for what never could be is at fault",
		.policy = "max-upr",
		.rows = {NARROW + 1},
		.deeds = {{SPOIL, 0}},
		.log = "",
		.aborts =
			"the plan of policy \"max-upr\" is not legal: start task 0: it needs another "
			"number of nodes",
	},
	{
		.name = "no task is suspended for a task that is cancelled meanwhile",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = {NARROW + 1, NARROW + 1},
		.deeds = {{SUBMIT, URGENT}, {CANCEL, 2}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n",
		.overtaken = "0 2 ",
		.completed = 2,
	},
	{
		.name = "for a task that comes one gives way, whatever else happened",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.rows = {NARROW + 1, NARROW + 1},
		.deeds = {{SUBMIT, URGENT}, {SUBMIT, NARROW}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n11 start 2.1 c0 0\n"
		       "25 resume 0.1 #1 c0 1\n26 start 3.1 c0 0\n",
		.completed = 4,
	},
	{
		.name = "waiting tasks are decided at the next event",
		.policy = "max-upr",
		.rows = {NARROW + 1},
		.deeds = {{LOOK, 0}},
		.log = "10 start 0.1 c0 0\n",
		.completed = 1,
	},
	{
		.name = "a task that is promised nodes and is held meanwhile gets none",
		.policy = "conservative",
		.rows = {WIDE + 1, WIDE + 1, WIDE + 1},
		.deeds = {{HOLD, 1}},
		.log = "10 start 0.1 c0 0,1\n40 start 2.1 c0 0,1\n",
		.overtaken = "1 ",
		.completed = 2,
	},
	{
		.name = "a node that is drained meanwhile is promised to no task by easy",
		.policy = "easy",
		.rows = {NARROW + 1, NARROW + 1, NARROW + 1},
		.deeds = {{DRAIN, 0}},
		.log = "10 start 1.1 c0 1\n25 start 0.1 c0 1\n40 start 2.1 c0 1\n",
		.overtaken = "0 2 ",
		.completed = 3,
	},
	{
		.name = "a node that is drained meanwhile is promised to no task by conservative",
		.policy = "conservative",
		.rows = {NARROW + 1, NARROW + 1, NARROW + 1},
		.deeds = {{DRAIN, 0}},
		.log = "10 start 1.1 c0 1\n25 start 0.1 c0 1\n40 start 2.1 c0 1\n",
		.overtaken = "0 2 ",
		.completed = 3,
	},
	{
		.name = "a plan that is carried out in parts is done as a whole",
		.policy = "easy",
		.at_once = 1,
		.rows = {NARROW + 1, NARROW + 1, WIDE + 1},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n25 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "promises of the parts before stand",
		.policy = "conservative",
		.at_once = 1,
		.rows = {WIDE + 1, WIDE + 1, WIDE + 1},
		.between = {LOOK_PROMISED, 1},
		.log = "10 start 0.1 c0 0,1\n25 start 1.1 c0 0,1\n40 start 2.1 c0 0,1\n",
		.completed = 3,
	},
	{
		.name = "a task that is cancelled between the parts does not start",
		.policy = "max-upr",
		.at_once = 1,
		.rows = {NARROW + 1, NARROW + 1},
		.between = {CANCEL, 1},
		.log = "10 start 0.1 c0 0\n",
		.overtaken = "1 ",
		.completed = 1,
	},
	{
		.name = "on a node that is drained between the parts nothing starts",
		.policy = "max-upr",
		.at_once = 1,
		.rows = {NARROW + 1, NARROW + 1},
		.between = {DRAIN, 1},
		.log = "10 start 0.1 c0 0\n25 start 1.1 c0 0\n",
		.overtaken = "1 ",
		.completed = 2,
	},
	{
		.name = "what comes between the parts is for the next decision",
		.policy = "max-upr",
		.at_once = 1,
		.rows = {NARROW + 1, NARROW + 1},
		.between = {SUBMIT, NARROW},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n25 start 2.1 c0 0\n",
		.completed = 3,
	},
	{
		.name = "a policy that takes over between the parts decides on the rest",
		.policy = "max-upr",
		.at_once = 1,
		.rows = {NARROW + 1, NARROW + 1},
		.between = {FCFS, 0},
		.log = "10 start 0.1 c0 0\n11 start 1.1 c0 1\n",
		.deciders = "max-upr fcfs ",
		.completed = 2,
	},
	{
		.name = "a suspension and the starts that it makes room for are applied together",
		.policy = "max-util-preempt-greedy",
		.preempts = true,
		.at_once = 1,
		.rows = {NARROW + 1, NARROW + 1},
		.deeds = {{SUBMIT, URGENT}, {SUBMIT, NARROW}},
		.log = "10 start 0.1 c0 0\n10 start 1.1 c0 1\n11 suspend 0.1 #1\n11 start 2.1 c0 0\n"
		       "25 resume 0.1 #1 c0 1\n26 start 3.1 c0 0\n",
		.completed = 4,
	},
};

static bool no_thread; /* can be had, the next time */

/* Stands before GLib's own. */
GThread *g_thread_try_new(const gchar *name, GThreadFunc run, gpointer data, GError **error)
{
	if (!no_thread)
		return g_thread_new(name, run, data);
	no_thread = false;
	g_set_error_literal(error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN, "too many of them");
	return NULL;
}

/* The engine is not there any more when the answer comes. */
static void test_leaves(void)
{
	struct async_stage stage;

	async_stage_init(&stage, &scenes[0]);
	stage.leaves = true;
	drive(stage.engine, stage.backend, async_stage_wait, &stage.result);
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==, "");
	async_stage_finish(&stage);
}

/* No request comes meanwhile; the same comes of it. */
static void test_no_thread(void)
{
	struct async_stage stage;

	async_stage_init(&stage, &scenes[0]);
	async_stage_open_gate(&stage);
	no_thread = true;
	g_test_expect_message(NULL, G_LOG_LEVEL_WARNING,
			      "cannot start a thread \"policy\": too many of them; *");
	drive(stage.engine, stage.backend, async_stage_wait, &stage.result);
	g_test_assert_expected_messages();
	g_assert_cmpint(stage.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpstr(scripted_backend_log(stage.backend), ==, stage.scene->log);
	g_assert_cmpuint(stage.result.tasks_completed, ==, stage.scene->completed);
	async_stage_finish(&stage);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	async_stage_add(scenes, G_N_ELEMENTS(scenes));
	g_test_add_func("/engine/async/it may leave while it is decided", test_leaves);
	g_test_add_func("/engine/async/where no thread can be had it decides at once",
			test_no_thread);
	return g_test_run();
}
