/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a task's states in a local scheduler. */
#include <glib.h>

#include "local-sched/launch/task.h"
#include "local-sched/launch/task_fsm.h"
#include "tests/unit/fsm_page.h"

static const struct fsm_page page = {
	.fsm = &task_fsm,
	.ends = UINT32_C(1) << TASK_ENDED,
};

/* The state that an event leads to from a state. */
static unsigned int next_of(unsigned int state, enum task_fsm_event event)
{
	const struct fsm_transition *pair = fsm_transition(&task_fsm, state, event);

	g_assert_cmpint(pair->rule, ==, FSM_MOVES);
	return pair->to;
}

/* Whatever has not ended can end, and nothing follows an end. */
static void test_ends(void)
{
	g_assert_cmpuint(g_strv_length((char **)task_state_names), ==, TASK_FSM_STATES);
	for (unsigned int state = 0; state < TASK_FSM_STATES; state++)
		if (state != TASK_ENDED)
			g_assert_cmpint(next_of(state, TASK_FSM_END), ==, TASK_ENDED);
	for (unsigned int event = 0; event < TASK_FSM_EVENTS; event++)
		g_assert_cmpint(fsm_transition(&task_fsm, TASK_ENDED, event)->rule, ==,
				FSM_IMPOSSIBLE);
}

/* A step that fails leads back to where it began. */
static void test_steps(void)
{
	g_assert_cmpint(next_of(next_of(TASK_RUNNING, TASK_FSM_SUSPEND), TASK_FSM_SUSPEND_FAILED),
			==, TASK_RUNNING);
	g_assert_cmpint(next_of(next_of(TASK_SUSPENDED, TASK_FSM_RESUME), TASK_FSM_RESUME_FAILED),
			==, TASK_SUSPENDED);
}

/* What is impossible is logged and does nothing. */
static void test_moves(void)
{
	struct task task = {.id = (char *)"t", .state = TASK_RUNNING};

	g_assert_true(task_fsm_move(&task, TASK_FSM_SUSPEND));
	g_assert_cmpint(task.state, ==, TASK_SUSPENDING);
	g_test_expect_message(NULL, G_LOG_LEVEL_CRITICAL,
			      "task 't' is suspending: 'started' is impossible");
	g_assert_false(task_fsm_move(&task, TASK_FSM_STARTED));
	g_test_assert_expected_messages();
	g_assert_cmpint(task.state, ==, TASK_SUSPENDING);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/task-fsm/states are reachable and have a way out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/task-fsm/every event moves on", &page, fsm_page_test_rules);
	g_test_add_data_func("/task-fsm/names differ", &page, fsm_page_test_names);
	g_test_add_func("/task-fsm/whatever is under way can end", test_ends);
	g_test_add_func("/task-fsm/a failed step leads back", test_steps);
	g_test_add_func("/task-fsm/what is impossible has no effect", test_moves);
	return g_test_run();
}
