/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a suspension's states, and docs/reference/suspension-states.md. */
#include <glib.h>

#include "controller/engine/suspension_fsm.h"
#include "controller/engine/task_fsm.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of a suspension\n"
	"\n"
	"This page is for people who change the engine. It is generated from the table in\n"
	"`controller/engine/suspension_fsm.c`; a test compares them:\n"
	"\n"
	"    build/tests/unit/engine/test-engine-suspension-fsm print >docs/reference/suspension-states.md\n"
	"\n"
	"A suspension of a task begins with the request and is over when the task has resumed. The state\n"
	"says how far it has come; what resumes the task is in `resumption-states.md`. While a\n"
	"suspension is under way the task's own state has the same name (`task-states.md`). Table\n"
	"`suspension` of the store has the times of the moves (`store.md`); a rolled back suspension is\n"
	"there with the event `stayed`, and its number is used again.\n"
	"\n"
	"`fail`: the backend could not suspend the task, which runs on, or could not resume it, and it is\n"
	"suspended as before. `end`: the task has ended, or its attempt is lost.\n";

static const char outro[] =
	"Every other pair of state and event is impossible: if it happens, the engine has a defect. The\n"
	"state then stays, and the event is logged and counted in `virtbed_impossible_events_total`\n"
	"(`metrics.md`). In unit tests it is fatal. The test `engine-met-pairs` fails if no scene of the\n"
	"unit tests meets a pair that is a move or ignored.\n";

static const struct fsm_page page = {
	.file = "suspension-states.md",
	.intro = intro,
	.outro = outro,
	.fsm = &suspension_fsm,
};

/* While a suspension is under way its state and that of its task have one name. */
static void test_names_of_tasks(void)
{
	for (unsigned int state = SUSPENSION_SUSPENDING; state <= SUSPENSION_RESUMING; state++)
		g_assert_cmpint(engine_task_state_parse(suspension_fsm.state_names[state]), >=, 0);
}

/* Only carrying a claim out, giving it up and the end of the task leave the claimed states. */
static void test_claims(void)
{
	for (unsigned int state = 0; state < SUSPENSION_STATES; state++) {
		for (unsigned int event = 0; event < SUSPENSION_EVENTS; event++) {
			const struct fsm_transition *pair =
				fsm_transition(&suspension_fsm, state, event);

			if (suspension_state_is_claimed(state) && pair->rule == FSM_MOVES)
				g_assert_cmpint(suspension_state_is_claimed(pair->to), ==,
						event == SUSPENSION_SUSPEND_DONE);
			else if (pair->rule == FSM_MOVES)
				g_assert_cmpint(suspension_state_is_claimed(pair->to), ==,
						event == SUSPENSION_CLAIM);
		}
	}
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/suspension-fsm/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/suspension-fsm/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/suspension-fsm/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/suspension-fsm/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/suspension-fsm/names-are-those-of-tasks", test_names_of_tasks);
	g_test_add_func("/suspension-fsm/a-claim-stays-until-it-is-carried-out", test_claims);
	return g_test_run();
}
