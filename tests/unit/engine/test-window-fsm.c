/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a window's states, and docs/reference/window-states.md. */
#include <glib.h>

#include "controller/engine/window_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of an energy limit per window\n"
	"\n"
	"This page is for people who change the engine. It is generated from the table in\n"
	"`controller/engine/window_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-engine-window-fsm print >docs/reference/window-states.md\n"
	"\n"
	"A service may have a limit of energy per window (`../how-to/service.md`). `limit`: a limit is\n"
	"set; where the window has used it already, `reach` follows at once. `recover`: the account of the\n"
	"service has less energy used in the window than the meters had shown when it was exhausted, and\n"
	"less than the limit; the tasks that the window holds are resumed. `turn`: the next window begins.\n"
	"In `exhausted` no task starts, and running tasks are suspended.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the engine has a defect. The\n"
	"state then stays, and the event is logged and counted in `virtbed_impossible_events_total`\n"
	"(`metrics.md`). In unit tests it is fatal. The test `engine-met-pairs` fails if no scene of the\n"
	"unit tests meets a pair that is a move or ignored.\n";

static const struct fsm_page page = {
	.file = "window-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &window_fsm,
};

/* Without a limit nothing but a limit leads on. */
static void test_unlimited(void)
{
	for (unsigned int event = 0; event < WINDOW_EVENTS; event++)
		g_assert_cmpint(fsm_transition(&window_fsm, WINDOW_UNLIMITED, event)->rule ==
					FSM_MOVES,
				==, event == WINDOW_LIMIT);
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/window-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/window-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/window-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/window-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/window-fsm/without-a-limit", test_unlimited);
	return g_test_run();
}
