/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a user's request about a task, and docs/reference/request-states.md. */
#include <glib.h>

#include "controller/engine/request_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of a user's request about a task\n"
	"\n"
	"This page is for people who change the engine. It is generated from the table in\n"
	"`controller/engine/request_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-engine-request-fsm print >docs/reference/request-states.md\n"
	"\n"
	"Beside its own state (`task-states.md`) a task has that of what a user has requested of it.\n"
	"`held`: it is `coming` or `waiting`, and policies do not get it until it is released.\n"
	"`cancelled`: it is `killed` at once if it waits. If it is under way the backend is requested to\n"
	"kill it; meanwhile it is suspended by no policy and no window, and does not resume, and if its\n"
	"attempt is lost it is killed instead of waiting again. A request about a suspended task is a\n"
	"state of its resumption (`resumption-states.md`).\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the engine has a defect. The\n"
	"state then stays, and the event is logged and counted in `virtbed_impossible_events_total`\n"
	"(`metrics.md`). In unit tests it is fatal. The test `engine-met-pairs` fails if no scene of the\n"
	"unit tests meets a pair that is a move or ignored.\n";

static const struct fsm_page page = {
	.file = "request-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &request_fsm,
	.ends = UINT32_C(1) << REQUEST_CANCELLED,
};

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/request-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/request-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/request-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/request-fsm/names-differ", &page, fsm_page_test_names);
	return g_test_run();
}
