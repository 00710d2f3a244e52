/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of a task's states, and docs/reference/task-states.md.
 */
#include <glib.h>

#include "controller/engine/task_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of a task\n"
	"\n"
	"This page is for people who change the engine, or read its logs. It is generated from the\n"
	"table in `controller/engine/task_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-engine-task-fsm print >docs/reference/task-states.md\n"
	"\n"
	"The text around the table is in `tests/unit/engine/test-task-fsm.c`. `../architecture.md`, *A state\n"
	"of a task*, lists which other files know the states.\n"
	"\n"
	"States have the names that the store, the API and `virtbed queue` have. An arrow is an event.\n"
	"Plans, users' requests, the time and the backend's reports cause events. Only reports of the\n"
	"backend cause `started`, `complete`, `fail`, `lose`, and events that end in -done or -failed.\n"
	"`lose`: the attempt was lost, and another one follows.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the engine has a defect. The\n"
	"state then stays, and the event is logged and counted in `virtbed_impossible_events_total`\n"
	"(`metrics.md`). In unit tests it is fatal. The test `engine-met-pairs` fails if no scene of the\n"
	"unit tests meets a pair that is a move or ignored.\n";

static const struct fsm_page page = {
	.file = "task-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &engine_task_fsm,
	.ends = ENGINE_TASK_OVER,
};

/* A task that is over stays so. */
static void test_over(void)
{
	for (int state = 0; state < ENGINE_TASK_STATES; state++)
		for (int event = 0; event < ENGINE_TASK_EVENTS; event++)
			g_assert_false((ENGINE_TASK_OVER & ENGINE_TASK_SET(state)) &&
				       engine_task_moves((enum engine_task_state)state,
							 (enum engine_task_event)event));
}

/* Whatever is under way can end in each way, and all that has arrived ends with its run. */
static void test_ends(void)
{
	static const enum engine_task_event ends[] = {ENGINE_TASK_COMPLETE, ENGINE_TASK_FAIL,
						      ENGINE_TASK_LOSE, ENGINE_TASK_KILL};

	for (int i = 0; i < ENGINE_TASK_STATES; i++) {
		const enum engine_task_state state = (enum engine_task_state)i;

		for (size_t e = 0; e < G_N_ELEMENTS(ends); e++)
			g_assert_true(!engine_task_state_in(state, ENGINE_TASK_UNDER_WAY) ||
				      engine_task_moves(state, ends[e]));
		g_assert_cmpint(engine_task_moves(state, ENGINE_TASK_FINISH), ==,
				engine_task_state_in(state,
						     ENGINE_TASK_PENDING | ENGINE_TASK_UNDER_WAY));
	}
}

static void test_moves(void)
{
	enum engine_task_state state = ENGINE_TASK_RUNNING;

	g_assert_true(engine_task_move(&state, ENGINE_TASK_SUSPEND));
	g_assert_cmpint(state, ==, ENGINE_TASK_SUSPENDING);
	g_assert_false(engine_task_move(&state, ENGINE_TASK_STARTED));
	g_assert_false(engine_task_move(&state, ENGINE_TASK_RELEASE));
	g_assert_cmpint(state, ==, ENGINE_TASK_SUSPENDING);
	g_assert_true(engine_task_move(&state, ENGINE_TASK_SUSPENSION_FAILED));
	g_assert_cmpint(state, ==, ENGINE_TASK_RUNNING);
}

/* A claim is part of a state: giving it up leads to the state without it. */
static void test_claims(void)
{
	for (int i = 0; i < ENGINE_TASK_STATES; i++) {
		const enum engine_task_state state = (enum engine_task_state)i;
		const enum engine_task_state without = engine_task_without_claim(state);
		enum engine_task_state moved = state;

		g_assert_cmpint(state != without, ==,
				engine_task_state_in(state, ENGINE_TASK_WITH_CLAIM));
		if (state == without || without == ENGINE_TASK_PLANNED)
			continue;
		g_assert_true(engine_task_move(&moved, ENGINE_TASK_UNPLAN));
		g_assert_cmpint(moved, ==, without);
		g_assert_true(engine_task_move(&moved, ENGINE_TASK_CLAIM));
		g_assert_cmpint(moved, ==, state);
	}
}

/* A record gives a task its state once. */
static void test_restores(void)
{
	enum engine_task_state state = ENGINE_TASK_COMING;

	g_assert_true(engine_task_restore(&state, ENGINE_TASK_SUSPENDED));
	g_assert_true(engine_task_restore(&state, ENGINE_TASK_SUSPENDED));
	g_assert_false(engine_task_restore(&state, ENGINE_TASK_RUNNING));
	g_assert_cmpint(state, ==, ENGINE_TASK_SUSPENDED);
}

/* Only of a task that has ended with a result of its own. */
static void test_corrects(void)
{
	for (int i = 0; i < ENGINE_TASK_STATES; i++) {
		enum engine_task_state state = (enum engine_task_state)i;
		const bool settled = engine_task_state_in(state, ENGINE_TASK_SETTLED);

		g_assert_true(engine_task_correct_late(&state) == settled);
		g_assert_cmpint(state, ==, settled ? ENGINE_TASK_UNFINISHED : i);
	}
}

static void test_names(void)
{
	for (int state = 0; state < ENGINE_TASK_STATES; state++)
		g_assert_cmpint(engine_task_state_parse(engine_task_fsm.state_names[state]), ==,
				state);
	g_assert_cmpint(engine_task_state_parse("asleep"), ==, -1);
	g_assert_null(engine_task_state_name((enum engine_task_state)99));
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/task-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/task-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/task-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_func("/task-fsm/a-task-that-is-over-stays-so", test_over);
	g_test_add_func("/task-fsm/ends", test_ends);
	g_test_add_func("/task-fsm/only-a-move-changes-the-state", test_moves);
	g_test_add_func("/task-fsm/claims-are-part-of-states", test_claims);
	g_test_add_func("/task-fsm/records-restore-a-state-once", test_restores);
	g_test_add_func("/task-fsm/ends-after-the-run-are-corrected", test_corrects);
	g_test_add_data_func("/task-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/task-fsm/names", test_names);
	return g_test_run();
}
