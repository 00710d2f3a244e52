/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/launch/suspension_step.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# Steps of a suspension\n"
	"\n"
	"This page is for people who change a local scheduler. It is generated from the table in\n"
	"`local-sched/launch/suspension_step.c`; a test compares them:\n"
	"\n"
	"    cd build/tests/unit/launch\n"
	"    ./test-launch-suspension-step print >../../../../docs/reference/suspension-steps.md\n"
	"\n"
	"These are the steps by which all VMs of a task are suspended and resumed; what each does is in\n"
	"`suspension_step.h`. `done` and `fail`: the step has succeeded for all VMs, or failed for one.\n"
	"`save`: the VMs are to be kept on disk. `abort`: the task ends before it is frozen. `limit`: the\n"
	"step exceeds its limit. In `lost` the VMs have to be removed.\n";

static const struct fsm_page page = {
	.file = "suspension-steps.md",
	.intro = intro,
	.fsm = &suspension_step_fsm,
	.ends = UINT32_C(1) << SUSPENSION_LOST,
};

/* Moves a step on. Returns whether it is a move. */
static bool move(guint *step, enum suspension_event event)
{
	return fsm_move(&suspension_step_fsm, step, event, "test");
}

#define DONE SUSPENSION_EVENT_DONE
#define FAIL SUSPENSION_EVENT_FAIL

/* What may come of a request: a start, events, and where they lead. */
static const struct {
	const char *name;
	enum suspension_step start;
	enum suspension_event events[12];
	int count;
	enum suspension_step end;
} lives[] = {
	{"is-kept-in-memory",
	 SUSPENSION_RUNNING,
	 {SUSPENSION_EVENT_SUSPEND, DONE, DONE, DONE, DONE},
	 5,
	 SUSPENSION_SUSPENDED},
	{"is-saved",
	 SUSPENSION_RUNNING,
	 {SUSPENSION_EVENT_SUSPEND, DONE, DONE, SUSPENSION_EVENT_SAVE, DONE, DONE},
	 6,
	 SUSPENSION_SUSPENDED},
	{"is-resumed",
	 SUSPENSION_SUSPENDED,
	 {SUSPENSION_EVENT_RESUME, DONE, DONE, DONE, DONE, DONE, DONE},
	 7,
	 SUSPENSION_RUNNING},
	{"a-freeze-that-fails-is-rolled-back",
	 SUSPENSION_RUNNING,
	 {SUSPENSION_EVENT_SUSPEND, DONE, FAIL, DONE},
	 4,
	 SUSPENSION_RUNNING},
	{"so-is-a-save", SUSPENSION_SAVING, {FAIL, DONE, DONE, DONE}, 4, SUSPENSION_RUNNING},
	{"a-restore-that-fails-leaves-it-suspended",
	 SUSPENSION_SUSPENDED,
	 {SUSPENSION_EVENT_RESUME, DONE, FAIL, DONE},
	 4,
	 SUSPENSION_SUSPENDED},
	{"so-does-a-move",
	 SUSPENSION_SUSPENDED,
	 {SUSPENSION_EVENT_RESUME, FAIL, DONE, DONE},
	 4,
	 SUSPENSION_SUSPENDED},
	{"a-vm-that-is-nowhere-loses-the-task",
	 SUSPENSION_MOVING,
	 {FAIL, FAIL},
	 2,
	 SUSPENSION_LOST},
	{"vms-that-go-on-alone-are-frozen-again",
	 SUSPENSION_CONTINUING,
	 {FAIL, DONE, DONE},
	 3,
	 SUSPENSION_SUSPENDED},
	{"a-late-clock-does-not-matter", SUSPENSION_CLOCKING, {FAIL}, 1, SUSPENSION_RUNNING},
	{"a-rollback-that-fails-loses-the-task", SUSPENSION_THAWING, {FAIL}, 1, SUSPENSION_LOST},
	{"a-hang-loses-the-task",
	 SUSPENSION_FREEZING,
	 {SUSPENSION_EVENT_LIMIT},
	 1,
	 SUSPENSION_LOST},
	{"a-task-may-end-before-it-is-frozen",
	 SUSPENSION_QUIETING,
	 {SUSPENSION_EVENT_ABORT},
	 1,
	 SUSPENSION_RUNNING},
	{"late-events-mean-nothing",
	 SUSPENSION_SUSPENDED,
	 {DONE, FAIL, SUSPENSION_EVENT_SUSPEND, SUSPENSION_EVENT_SAVE, SUSPENSION_EVENT_ABORT,
	  SUSPENSION_EVENT_LIMIT},
	 6,
	 SUSPENSION_SUSPENDED},
	{"a-frozen-task-does-not-end-by-itself",
	 SUSPENSION_FREEZING,
	 {SUSPENSION_EVENT_ABORT, SUSPENSION_EVENT_RESUME},
	 2,
	 SUSPENSION_FREEZING},
};

static void test_lives(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lives); i++) {
		guint step = lives[i].start;

		g_test_message("%s", lives[i].name);
		for (int e = 0; e < lives[i].count; e++)
			move(&step, lives[i].events[e]);
		g_assert_cmpstr(suspension_step_fsm.state_names[step], ==,
				suspension_step_fsm.state_names[lives[i].end]);
	}
}

/* From every step that does something a failure leads, step by step, to an end. */
static void test_failures(void)
{
	for (guint s = 0; s < SUSPENSION_STEPS; s++) {
		guint step = s;

		for (int i = 0; i < SUSPENSION_STEPS && move(&step, FAIL); i++)
			;
		g_assert_true(step == SUSPENSION_RUNNING || step == SUSPENSION_SUSPENDED ||
			      step == SUSPENSION_LOST || step == SUSPENSION_LEAVING);
	}
}

/* What can hang has a limit, and the limit leads somewhere; a failed rollback loses the task. */
static void test_limits(void)
{
	for (guint step = 0; step < SUSPENSION_STEPS; step++) {
		const bool limited = vm_step_limit_s(&suspension_steps, step, 15) > 0;
		guint next = step;

		g_assert_cmpint(move(&next, SUSPENSION_EVENT_LIMIT), ==, limited);
		g_assert_true(!suspension_steps.steps[step].is_rollback ||
			      fsm_transition(&suspension_step_fsm, step, FAIL)->to ==
				      SUSPENSION_LOST);
	}
}

/* What waits for guests gives them twice as long as their agents have for an answer. */
static void test_slow_guests(void)
{
	static const enum suspension_step steps[] = {SUSPENSION_QUIETING, SUSPENSION_CLOCKING};

	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		g_assert_cmpuint(vm_step_limit_s(&suspension_steps, steps[i], 15), ==, 30);
		g_assert_cmpuint(vm_step_limit_s(&suspension_steps, steps[i], 75), ==, 150);
	}
	g_assert_cmpuint(vm_step_limit_s(&suspension_steps, SUSPENSION_FREEZING, 75), ==, 60);
}

static void test_holds(void)
{
	g_assert_false(suspension_steps.steps[SUSPENSION_RUNNING].holds);
	g_assert_false(suspension_steps.steps[SUSPENSION_CLOCKING].holds);
	g_assert_true(suspension_steps.steps[SUSPENSION_SUSPENDED].holds);
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/suspension-step/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/suspension-step/steps-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/suspension-step/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/suspension-step/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/suspension-step/requests-end-where-they-should", test_lives);
	g_test_add_func("/suspension-step/failures-come-to-an-end", test_failures);
	g_test_add_func("/suspension-step/what-can-hang-has-a-limit", test_limits);
	g_test_add_func("/suspension-step/slow-guests-have-longer", test_slow_guests);
	g_test_add_func("/suspension-step/some-steps-hold-the-vms", test_holds);
	return g_test_run();
}
