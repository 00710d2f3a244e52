/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a program's states, and docs/reference/program-states.md. */
#include <glib.h>

#include "controller/plugin/program_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of the program of a policy\n"
	"\n"
	"This page is for people who change `controller/plugin/`. It is generated from the table in\n"
	"`controller/plugin/program_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/plugin/test-program-fsm print >docs/reference/program-states.md\n"
	"\n"
	"A policy from outside is a program, which virtbed starts and asks at each mapping event\n"
	"(`policy-protocol.md`). `virtbed top` shows the state of that of a service. `hello`: it has\n"
	"answered the hello. `answer`: it has answered all that it was asked. `owe`: the event is over and\n"
	"it still owes an answer, since that is late; it is asked again all the same. `end`: its process\n"
	"was ended, since it died, wrote rubbish or did not read, since it owed an answer when the\n"
	"configuration was reloaded, or since another policy decides.\n"
	"`disable`: three events in a row went wrong; `enable`: the configuration was reloaded, or names\n"
	"another program. In `disabled` the fallback decides. A program that is `absent` is started at the\n"
	"next event.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, virtbed has a defect. The\n"
	"state then stays, and the event is logged. In unit tests it is fatal.\n";

static const struct fsm_page page = {
	.file = "program-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &program_fsm,
};

/* A program is asked after its hello, and not once it is disabled. */
static void test_asked(void)
{
	for (unsigned int state = 0; state < PROGRAM_STATES; state++)
		g_assert_cmpint(fsm_transition(&program_fsm, state, PROGRAM_ASK)->rule == FSM_MOVES,
				==, state == PROGRAM_READY || state == PROGRAM_BEHIND);
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/program-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/program-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/program-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/program-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/program-fsm/asked-after-its-hello", test_asked);
	return g_test_run();
}
