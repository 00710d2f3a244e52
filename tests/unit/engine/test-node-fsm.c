/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a node's states, and docs/reference/node-states.md. */
#include <glib.h>

#include "controller/engine/node_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of a node\n"
	"\n"
	"This page is for people who change the engine. It is generated from the table in\n"
	"`controller/engine/node_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-engine-node-fsm print >docs/reference/node-states.md\n"
	"\n"
	"The state of a node says whether it takes tasks, and if not, why. On shared hosts, nodes are\n"
	"hosts. `fail` and `recover` are reports of the backend, `drain` and `undrain` requests of users.\n"
	"In `up` alone a node takes tasks. Which task has a node is no part of its state.\n";

static const char outro[] =
	"No pair of state and event is impossible. The test `engine-met-pairs` fails if no scene of the\n"
	"unit tests meets a pair.\n";

static const struct fsm_page page = {
	.file = "node-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &node_fsm,
};

/* What the backend reports and what users ask for are independent of each other. */
static void test_independent(void)
{
	for (unsigned int state = 0; state < NODE_STATES; state++) {
		for (unsigned int event = 0; event < NODE_EVENTS; event++) {
			const struct fsm_transition *pair = fsm_transition(&node_fsm, state, event);
			const unsigned int to = pair->rule == FSM_MOVES ? pair->to : state;
			const bool is_report = event == NODE_FAIL || event == NODE_RECOVER;

			g_assert_cmpint(pair->rule, !=, FSM_IMPOSSIBLE);
			g_assert_cmpint(node_state_is_down(to), ==,
					is_report ? event == NODE_FAIL : node_state_is_down(state));
			g_assert_cmpint(node_state_is_drained(to), ==,
					is_report ? node_state_is_drained(state)
						  : event == NODE_DRAIN);
		}
	}
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/node-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/node-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/node-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/node-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/node-fsm/reports-and-requests-are-independent", test_independent);
	return g_test_run();
}
