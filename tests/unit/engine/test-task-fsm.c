/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of a task's states. `test-task-fsm print` writes docs/reference/task-states.md, which a
 * test compares with the table.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "controller/engine/task_fsm.h"

static const char intro[] =
	"# States of a task\n"
	"\n"
	"This page is for people who change the engine, or read its logs. It is generated from the\n"
	"table in `controller/engine/task_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-task-fsm print >docs/reference/task-states.md\n"
	"\n"
	"States have the names that the store, the API and `virtbed queue` have. An arrow is an event.\n"
	"Plans, users' requests, the time and the backend's reports cause events. Only reports of the\n"
	"backend cause `started`, `complete`, `fail`, `lose`, and events that end in -done or -failed.\n"
	"`lose`: the attempt was lost, and another one follows.\n"
	"\n"
	"```mermaid\n"
	"stateDiagram-v2\n"
	"    [*] --> coming\n";

static const char ignored[] = "```\n"
			      "\n"
			      "## Ignored events\n"
			      "\n"
			      "A report can be late or repeated. These change nothing:\n"
			      "\n"
			      "| event | in the states | because |\n"
			      "|---|---|---|\n";

static const char outro[] =
	"\n"
	"Every other pair of state and event is impossible: if it happens, the engine has a defect. The\n"
	"state then stays, and the event is logged and counted in `virtbed_impossible_events_total`\n"
	"(`metrics.md`). In unit tests it is fatal.\n";

static const struct engine_task_transition *pair(int state, int event)
{
	return engine_task_transition((enum engine_task_state)state, (enum engine_task_event)event);
}

static const char *state_name(int state)
{
	return engine_task_state_name((enum engine_task_state)state);
}

static const char *event_name(int event)
{
	return engine_task_event_name((enum engine_task_event)event);
}

static bool has_moves(int state)
{
	for (int event = 0; event < ENGINE_TASK_EVENTS; event++)
		if (pair(state, event)->rule == ENGINE_TASK_MOVES)
			return true;
	return false;
}

static void append_moves(GString *page)
{
	for (int state = 0; state < ENGINE_TASK_STATES; state++) {
		for (int event = 0; event < ENGINE_TASK_EVENTS; event++)
			if (pair(state, event)->rule == ENGINE_TASK_MOVES)
				g_string_append_printf(page, "    %s --> %s: %s\n",
						       state_name(state),
						       state_name((int)pair(state, event)->to),
						       event_name(event));
		if (!has_moves(state))
			g_string_append_printf(page, "    %s --> [*]\n", state_name(state));
	}
}

static void append_ignored(GString *page)
{
	for (int event = 0; event < ENGINE_TASK_EVENTS; event++) {
		const char *because = NULL;
		GString *states = g_string_new(NULL);

		for (int state = 0; state < ENGINE_TASK_STATES; state++) {
			if (pair(state, event)->rule != ENGINE_TASK_IGNORES)
				continue;
			because = pair(state, event)->because;
			g_string_append_printf(states, "%s%s", states->len ? ", " : "",
					       state_name(state));
		}
		if (because)
			g_string_append_printf(page, "| %s | %s | %s |\n", event_name(event),
					       states->str, because);
		g_string_free(states, TRUE);
	}
}

/* The page; the caller frees. */
static char *write_page(void)
{
	GString *page = g_string_new(intro);

	append_moves(page);
	g_string_append(page, ignored);
	append_ignored(page);
	g_string_append(page, outro);
	return g_string_free(page, FALSE);
}

static void test_page(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "docs",
						      "reference", "task-states.md", NULL);
	g_autofree char *page = write_page();
	g_autofree char *stored = NULL;

	g_assert_true(g_file_get_contents(path, &stored, NULL, NULL));
	g_assert_cmpstr(stored, ==, page);
}

/* Follows the table from COMING; each state that it reaches gets a bit. */
static uint32_t find_reachable(void)
{
	uint32_t reached = ENGINE_TASK_SET(ENGINE_TASK_COMING);
	uint32_t before;

	do {
		before = reached;
		for (int state = 0; state < ENGINE_TASK_STATES; state++)
			for (int event = 0; event < ENGINE_TASK_EVENTS; event++)
				if ((reached & ENGINE_TASK_SET(state)) &&
				    pair(state, event)->rule == ENGINE_TASK_MOVES)
					reached |= ENGINE_TASK_SET(pair(state, event)->to);
	} while (reached != before);
	return reached;
}

static void test_reachable(void)
{
	g_assert_cmpuint(find_reachable(), ==, ENGINE_TASK_SET(ENGINE_TASK_STATES) - 1);
	for (int state = 0; state < ENGINE_TASK_STATES; state++)
		g_assert_cmpint(has_moves(state), ==,
				!engine_task_state_in((enum engine_task_state)state,
						      ENGINE_TASK_OVER));
}

/* An event is used, a move leads somewhere, and what is ignored has one reason per event. */
static void test_rules(void)
{
	for (int event = 0; event < ENGINE_TASK_EVENTS; event++) {
		const char *because = NULL;
		int moves = 0;

		for (int state = 0; state < ENGINE_TASK_STATES; state++) {
			const struct engine_task_transition *rule = pair(state, event);

			moves += rule->rule == ENGINE_TASK_MOVES;
			if (rule->rule != ENGINE_TASK_IGNORES)
				continue;
			g_assert_nonnull(rule->because);
			g_assert_true(!because || because == rule->because);
			because = rule->because;
		}
		g_assert_cmpint(moves, >, 0);
	}
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

static void test_names(void)
{
	for (int state = 0; state < ENGINE_TASK_STATES; state++)
		g_assert_cmpint(engine_task_state_parse(state_name(state)), ==, state);
	for (int event = 0; event < ENGINE_TASK_EVENTS; event++)
		g_assert_nonnull(event_name(event));
	g_assert_cmpint(engine_task_state_parse("asleep"), ==, -1);
	g_assert_null(engine_task_state_name((enum engine_task_state)99));
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "print") == 0) {
		g_autofree char *page = write_page();

		return fputs(page, stdout) < 0;
	}
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task-fsm/page-is-the-table", test_page);
	g_test_add_func("/task-fsm/states-are-reachable-and-have-a-way-out", test_reachable);
	g_test_add_func("/task-fsm/rules-are-complete", test_rules);
	g_test_add_func("/task-fsm/ends", test_ends);
	g_test_add_func("/task-fsm/only-a-move-changes-the-state", test_moves);
	g_test_add_func("/task-fsm/claims-are-part-of-states", test_claims);
	g_test_add_func("/task-fsm/records-restore-a-state-once", test_restores);
	g_test_add_func("/task-fsm/names", test_names);
	return g_test_run();
}
