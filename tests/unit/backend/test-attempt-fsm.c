/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of an attempt's states, and docs/reference/attempt-states.md. */
#include <glib.h>

#include "controller/backend/attempt_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of an attempt\n"
	"\n"
	"This page is for people who change the backend of local schedulers. It is generated from the\n"
	"table in `controller/backend/attempt_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/backend/test-backend-attempt-fsm print >docs/reference/attempt-states.md\n"
	"\n"
	"An attempt is one execution of a task (`task-states.md`). Its states follow what its local\n"
	"scheduler has reported. An arrow is an event. `start` and `enqueue` are calls of the engine;\n"
	"`reattach` is that of a restarted controller, and `describe` the first description after it.\n"
	"`begin`: the turn of an enqueued attempt has come. `end`: its end was reported, or follows from\n"
	"an answer. `abandon`: it was given up, because its local scheduler is away or does not report\n"
	"its state; it is killed if it turns up again. What is requested of an attempt is an operation\n"
	"with states of its own (`operation-states.md`).\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the backend has a defect. The\n"
	"state then stays, and the event is logged. In unit tests it is fatal. The test `backend-met-pairs`\n"
	"fails if no scene of the unit tests meets a pair that is a move or ignored.\n";

static enum fsm_rule rule_of(int state, enum attempt_event event)
{
	return fsm_transition(&attempt_fsm, (unsigned int)state, event)->rule;
}

static const struct fsm_page page = {
	.file = "attempt-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &attempt_fsm,
	.ends = ATTEMPT_OVER,
};

/* An attempt that was requested can end, and be abandoned, in each state. */
static void test_ends(void)
{
	for (int state = ATTEMPT_NEW + 1; state < ATTEMPT_STATES; state++) {
		g_assert_cmpint(rule_of(state, ATTEMPT_END) == FSM_MOVES, ==,
				!(ATTEMPT_OVER & ATTEMPT_SET(state)));
		g_assert_cmpint(rule_of(state, ATTEMPT_ABANDON) == FSM_MOVES, ==,
				state != ATTEMPT_ABANDONED);
	}
}

/*
 * What local schedulers describe is possible in each state in which a description is looked at,
 * whatever it says: impossible events are defects of this program. A resumption is looked at only
 * after a suspension.
 */
static void test_descriptions(void)
{
	static const enum attempt_event told[] = {ATTEMPT_DESCRIBE, ATTEMPT_BEGIN, ATTEMPT_STARTED,
						  ATTEMPT_SUSPEND_DONE, ATTEMPT_RESUME_DONE};

	for (int state = ATTEMPT_NEW + 1; state < ATTEMPT_STATES; state++)
		for (size_t i = 0; i < G_N_ELEMENTS(told); i++) {
			const uint32_t never = told[i] == ATTEMPT_RESUME_DONE
						       ? ATTEMPT_OVER | ATTEMPT_UNSTARTED
						       : ATTEMPT_OVER;

			g_assert_cmpint(rule_of(state, told[i]) == FSM_IMPOSSIBLE, ==,
					(never & ATTEMPT_SET(state)) != 0);
		}
}

/* An attempt is as it would be in the controller that requested it once it is described. */
static void test_reattached(void)
{
	static const struct {
		enum attempt_state reattached, described;
	} pairs[] = {
		{ATTEMPT_REATTACHED, ATTEMPT_STARTING},
		{ATTEMPT_REATTACHED_RUNNING, ATTEMPT_RUNNING},
		{ATTEMPT_REATTACHED_SUSPENDED, ATTEMPT_SUSPENDED},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
		enum attempt_state state = pairs[i].reattached;

		g_assert_true(ATTEMPT_ANY_REATTACHED & ATTEMPT_SET(state));
		g_assert_true(attempt_move(&state, ATTEMPT_DESCRIBE, "x-1-0-1"));
		g_assert_cmpint(state, ==, pairs[i].described);
	}
}

static void test_moves(void)
{
	enum attempt_state state = ATTEMPT_NEW;

	g_assert_true(attempt_move(&state, ATTEMPT_ENQUEUE, "x-1-0-1"));
	g_assert_cmpint(state, ==, ATTEMPT_QUEUED);
	g_assert_false(attempt_move(&state, ATTEMPT_SUSPEND_DONE, "x-1-0-1"));
	g_assert_cmpint(state, ==, ATTEMPT_QUEUED);
	g_assert_true(attempt_move(&state, ATTEMPT_BEGIN, "x-1-0-1"));
	g_assert_true(attempt_move(&state, ATTEMPT_STARTED, "x-1-0-1"));
	g_assert_cmpint(state, ==, ATTEMPT_RUNNING);
}

static void test_impossible(void)
{
	enum attempt_state state = ATTEMPT_ENDED;

	g_test_expect_message(NULL, G_LOG_LEVEL_CRITICAL,
			      "attempt 'x-1-0-1' is ended: 'started' is impossible");
	g_assert_false(attempt_move(&state, ATTEMPT_STARTED, "x-1-0-1"));
	g_test_assert_expected_messages();
	g_assert_cmpint(state, ==, ATTEMPT_ENDED);
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/attempt-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/attempt-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/attempt-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/attempt-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/attempt-fsm/ends", test_ends);
	g_test_add_func("/attempt-fsm/no-description-is-impossible", test_descriptions);
	g_test_add_func("/attempt-fsm/a-description-ends-the-reattachment", test_reattached);
	g_test_add_func("/attempt-fsm/only-a-move-changes-the-state", test_moves);
	g_test_add_func("/attempt-fsm/an-impossible-event-is-logged", test_impossible);
	return g_test_run();
}
