/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a resumption's states, and docs/reference/resumption-states.md. */
#include <glib.h>

#include "controller/engine/resumption_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# What resumes a suspended task\n"
	"\n"
	"This page is for people who change the engine. It is generated from the table in\n"
	"`controller/engine/resumption_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-engine-resumption-fsm print >docs/reference/resumption-states.md\n"
	"\n"
	"A suspended task is resumed by the policy, unless a user or the limit of a window suspended it, or\n"
	"a user or a new window wants it resumed. In `user-holds` and `window-holds` the policy does not\n"
	"see the task. In `user-wants` and `window-wants` it is resumed before the policy is asked, as soon\n"
	"as there are nodes and energy for it. `../explanation/suspend.md` has the rule.\n"
	"\n"
	"`hold`: a user suspends or cancels the task. `exhaust`: it is suspended because the window has no\n"
	"energy left. `want`: a user resumes it. `turn`: the window has energy, since the next one begins,\n"
	"the limit is changed or removed, or what was used is corrected. `settle`: it runs again.\n"
	"\n"
	"Column `held` of table `suspension` (`store.md`) is 1 in `user-holds`, `window-holds` and\n"
	"`window-wants`; `by_person` tells the first from the others. The next controller has a task that\n"
	"was in `window-holds` or `window-wants` in `window-holds`, or in `window-wants` if it was being\n"
	"resumed: the window that it finds, or the next one, resumes the task.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the engine has a defect. The\n"
	"state then stays, and the event is logged and counted in `virtbed_impossible_events_total`\n"
	"(`metrics.md`). In unit tests it is fatal. The test `engine-met-pairs` fails if no scene of the\n"
	"unit tests meets a pair that is a move or ignored.\n";

static const struct fsm_page page = {
	.file = "resumption-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &resumption_fsm,
};

/* Whatever holds or wants a task: a user's request replaces it. */
static void test_users(void)
{
	for (unsigned int state = 0; state < RESUMPTION_STATES; state++) {
		const struct fsm_transition *hold =
			fsm_transition(&resumption_fsm, state, RESUMPTION_HOLD);
		const struct fsm_transition *want =
			fsm_transition(&resumption_fsm, state, RESUMPTION_WANT);

		g_assert_cmpint(hold->rule == FSM_MOVES ? hold->to : state, ==,
				RESUMPTION_USER_HOLDS);
		g_assert_cmpint(want->rule, ==, FSM_MOVES);
		g_assert_cmpint(want->to, ==, RESUMPTION_USER_WANTS);
		g_assert_false(resumption_state_is_held(state) &&
			       resumption_state_is_wanted(state));
	}
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/resumption-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/resumption-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/resumption-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/resumption-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/resumption-fsm/users-go-first", test_users);
	return g_test_run();
}
