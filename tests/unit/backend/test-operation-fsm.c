/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of an operation's states, and docs/reference/operation-states.md. */
#include <glib.h>

#include "controller/backend/operation_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of an operation on an attempt\n"
	"\n"
	"This page is for people who change the backend of local schedulers. It is generated from\n"
	"the table in `controller/backend/operation_fsm.c`; a test compares them:\n"
	"\n"
	"    cd build/tests/unit/backend\n"
	"    ./test-backend-operation-fsm print >../../../../docs/reference/operation-states.md\n"
	"\n"
	"An operation is what the controller requests for an attempt (`attempt-states.md`): its\n"
	"start, a suspension, a resumption, a migration, its share of the CPU, its kill. An arrow is\n"
	"an event. `call`: the engine's call; of a share, that the VMs have another than the wanted.\n"
	"`send`: its request is handed to the link, which repeats it until it is answered. `answer`:\n"
	"the local scheduler has it, or nothing usable was answered and a check has to settle it.\n"
	"`fail`: a failure was reported before the answer, or the request of a kill was given up.\n"
	"`retry`: it is to be sent once more, perhaps later. `end`: its result is known.\n"
	"\n"
	"| operation | `answered` ends by | after a failure |\n"
	"|---|---|---|\n"
	"| start | it remains: the local scheduler has it | 409: `retry`; else its end |\n"
	"| suspension, resumption | its event, or a check | 409: `retry`; else `end` |\n"
	"| migration | its event, or a check | 409: `retry`; else `end` |\n"
	"| share | the answer is its result: `end` | `retry`, at growing intervals |\n"
	"| kill | it remains until the attempt's end | `retry`, if the attempt turns up again |\n"
	"\n"
	"A share has a new number whenever it is sent. If it could not be set, an event of the local\n"
	"scheduler says so (`task-share-failed`), before the answer (`fail`) or after it: then there\n"
	"is another `call`. A share that changes while a request is under way is sent after the\n"
	"answer.\n"
	"\n"
	"For the local scheduler each of these is an operation too, a row of `kinds[]` in\n"
	"`local-sched/core/scheduler_requests.c`: numbered, stored before it is carried out, and\n"
	"without effect if it is repeated. Steps change the task's state there; a share does not: only\n"
	"a running task is given one, and its record says how far it is. `share.n` is its number (0:\n"
	"none was requested), and `set_ns` when all VMs had it (0: it is being set, or could not be).\n"
	"A later share replaces the share that is being set (`launch/job_share.c`), and both have one\n"
	"event: `task-shared` or `task-share-failed`.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the backend has a defect. The\n"
	"state then stays, and the event is logged. In unit tests it is fatal. The test `backend-met-pairs`\n"
	"fails if no scene of the unit tests meets a pair that is a move or ignored.\n";

static const struct fsm_page page = {
	.file = "operation-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &operation_fsm,
};

static enum operation_state after(enum operation_state state, enum operation_event event)
{
	operation_move(&state, event, "x-1-0-1");
	return state;
}

/* No request is sent unless it waits, and none is called while one is under way. */
static void test_one_request(void)
{
	for (unsigned int state = 0; state < OPERATION_STATES; state++) {
		g_assert_cmpint(fsm_transition(&operation_fsm, state, OPERATION_SEND)->rule, ==,
				state == OPERATION_WAITING ? FSM_MOVES : FSM_IMPOSSIBLE);
		g_assert_cmpint(fsm_transition(&operation_fsm, state, OPERATION_CALL)->rule, ==,
				state == OPERATION_NONE ? FSM_MOVES : FSM_IMPOSSIBLE);
	}
}

/* A share that fails, before its answer and after it, is sent again. */
static void test_share(void)
{
	enum operation_state state = after(OPERATION_NONE, OPERATION_CALL);

	state = after(state, OPERATION_SEND);
	state = after(state, OPERATION_FAIL);
	g_assert_cmpint(state, ==, OPERATION_FAILED);
	state = after(state, OPERATION_RETRY);
	g_assert_cmpint(state, ==, OPERATION_WAITING);
	state = after(state, OPERATION_SEND);
	state = after(state, OPERATION_END);
	g_assert_cmpint(state, ==, OPERATION_NONE);
	g_assert_cmpint(after(state, OPERATION_CALL), ==, OPERATION_WAITING);
}

static void test_impossible(void)
{
	enum operation_state state = OPERATION_NONE;

	g_test_expect_message(NULL, G_LOG_LEVEL_CRITICAL,
			      "operation on attempt 'x-1-0-1' is none: 'send' is impossible");
	g_assert_false(operation_move(&state, OPERATION_SEND, "x-1-0-1"));
	g_test_assert_expected_messages();
	g_assert_cmpint(state, ==, OPERATION_NONE);
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/operation-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/operation-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/operation-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/operation-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/operation-fsm/one-request-at-a-time", test_one_request);
	g_test_add_func("/operation-fsm/a-share-that-fails-is-sent-again", test_share);
	g_test_add_func("/operation-fsm/an-impossible-event-is-logged", test_impossible);
	return g_test_run();
}
