/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a migration's states, and docs/reference/migration-states.md. */
#include <glib.h>

#include "controller/engine/migration_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of a migration\n"
	"\n"
	"This page is for people who change the engine. It is generated from the table in\n"
	"`controller/engine/migration_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-engine-migration-fsm print >docs/reference/migration-states.md\n"
	"\n"
	"A migration of a running task begins with the request and ends when the backend has reported where\n"
	"the VMs are. While it is under way its task is `migrating` (`task-states.md`). `migrate-failed`:\n"
	"not all VMs are where they were to go; the event `unmoved` in the store (`store.md`). `end`: the\n"
	"task has ended, or its attempt is lost.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the engine has a defect. The\n"
	"state then stays, and the event is logged and counted in `virtbed_impossible_events_total`\n"
	"(`metrics.md`). In unit tests it is fatal. The test `engine-met-pairs` fails if no scene of the\n"
	"unit tests meets a pair that is a move or ignored.\n";

static const struct fsm_page page = {
	.file = "migration-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &migration_fsm,
};

/* A migration begins when no other is under way. */
static void test_one_at_a_time(void)
{
	for (unsigned int state = 0; state < MIGRATION_STATES; state++)
		g_assert_cmpint(fsm_transition(&migration_fsm, state, MIGRATION_MIGRATE)->rule ==
					FSM_MOVES,
				==, state != MIGRATION_MIGRATING);
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/migration-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/migration-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/migration-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/migration-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/migration-fsm/one-at-a-time", test_one_at_a_time);
	return g_test_run();
}
