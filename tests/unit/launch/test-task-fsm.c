/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a task's states in a local scheduler. */
#include <glib.h>

#include "local-sched/launch/task.h"
#include "local-sched/launch/task_fsm.h"

/* The state that an event leads to from a state, or -1: it is impossible. */
static int next_of(int state, int event)
{
	enum task_state next;

	if (task_fsm_next((enum task_state)state, (enum task_fsm_event)event, &next))
		return (int)next;
	g_assert_cmpint(next, ==, state);
	return -1;
}

static void test_names(void)
{
	g_assert_cmpuint(g_strv_length((char **)task_state_names), ==, TASK_FSM_STATES);
	for (int event = 0; event < TASK_FSM_EVENTS; event++) {
		g_assert_nonnull(task_fsm_event_name((enum task_fsm_event)event));
		for (int other = 0; other < event; other++)
			g_assert_cmpstr(task_fsm_event_name((enum task_fsm_event)event), !=,
					task_fsm_event_name((enum task_fsm_event)other));
	}
}

/* Follows the table from the state of a new task; each state that it reaches gets a bit. */
static void test_reachable(void)
{
	uint32_t reached = 1 << TASK_STARTING;
	uint32_t before;

	do {
		before = reached;
		for (int state = 0; state < TASK_FSM_STATES; state++)
			for (int event = 0; event < TASK_FSM_EVENTS; event++)
				if ((reached & (1U << state)) && next_of(state, event) >= 0)
					reached |= 1U << next_of(state, event);
	} while (reached != before);
	g_assert_cmpuint(reached, ==, (1 << TASK_FSM_STATES) - 1);
}

/* Every event is one of some state, whatever has not ended can end, and nothing follows an end. */
static void test_ends(void)
{
	for (int event = 0; event < TASK_FSM_EVENTS; event++) {
		int moves = 0;

		for (int state = 0; state < TASK_FSM_STATES; state++)
			moves += next_of(state, event) >= 0;
		g_assert_cmpint(moves, >, 0);
		g_assert_cmpint(next_of(TASK_ENDED, event), ==, -1);
	}
	for (int state = 0; state < TASK_FSM_STATES; state++)
		if (state != TASK_ENDED)
			g_assert_cmpint(next_of(state, TASK_FSM_END), ==, TASK_ENDED);
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
	g_test_add_func("/task-fsm/every state and event has a name", test_names);
	g_test_add_func("/task-fsm/every state can be reached", test_reachable);
	g_test_add_func("/task-fsm/whatever is under way can end, once", test_ends);
	g_test_add_func("/task-fsm/a failed step leads back", test_steps);
	g_test_add_func("/task-fsm/what is impossible has no effect", test_moves);
	return g_test_run();
}
