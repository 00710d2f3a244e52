/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of an operation's states, and docs/reference/operation-states.md. */
#include <glib.h>

#include "controller/backend/operation_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of an operation on an attempt\n"
	"\n"
	"This page is for people who change the backend of local schedulers. It is generated from the\n"
	"table in `controller/backend/operation_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/backend/test-backend-operation-fsm print >docs/reference/operation-states.md\n"
	"\n"
	"An operation is what the controller requests for an attempt (`attempt-states.md`): its start, a\n"
	"suspension, a resumption, a migration, its share of the CPU, its kill. An arrow is an event.\n"
	"`call`: the engine's call, or that the wanted share is not the one that the VMs have. `send`: its\n"
	"request is handed to the link, which repeats it until it is answered. `answer`: the local\n"
	"scheduler has it, or nothing usable was answered and a check has to settle it. `fail`: a failure\n"
	"was reported before the answer, or the request of a kill was given up. `retry`: it is to be sent\n"
	"once more, perhaps later. `end`: its result is known.\n"
	"\n"
	"| operation | `answered` ends by | after a failure |\n"
	"|---|---|---|\n"
	"| start | it remains: the local scheduler has the task | 409: `retry`, else the attempt ends |\n"
	"| suspension, resumption | its event, or a check that finds it undone | 409: `retry`, else `end` |\n"
	"| migration | its event, or a check that finds it undone | 409: `retry`, else `end` |\n"
	"| share | the answer itself: `end` | `retry`, at growing intervals |\n"
	"| kill | it remains: the end of the attempt is reported | `retry` while it turns up again |\n"
	"\n"
	"A share has a new number whenever it is sent. A failure of its setting is an event of the local\n"
	"scheduler (`task-share-failed`), which comes before the answer (`fail`) or after it: then there\n"
	"is another `call`. A share that changes while one is under way is sent after the answer.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the backend has a defect. The\n"
	"state then stays, and the event is logged. In unit tests it is fatal.\n";

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
