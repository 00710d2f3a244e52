/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/launch/suspension_step.h"

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
			vm_step_next(&suspension_steps, step, lives[i].events[e], &step);
		g_assert_cmpstr(suspension_steps.steps[step].name, ==,
				suspension_steps.steps[lives[i].end].name);
	}
}

/* From every step that does something a failure leads, step by step, to an end. */
static void test_failures(void)
{
	for (guint s = 0; s < SUSPENSION_STEPS; s++) {
		guint step = s;

		for (int i = 0;
		     i < SUSPENSION_STEPS && vm_step_next(&suspension_steps, step, FAIL, &step);
		     i++)
			;
		g_assert_true(step == SUSPENSION_RUNNING || step == SUSPENSION_SUSPENDED ||
			      step == SUSPENSION_LOST || step == SUSPENSION_LEAVING);
	}
}

/* What can hang has a limit, and the limit leads somewhere. */
static void test_limits(void)
{
	for (guint step = 0; step < SUSPENSION_STEPS; step++) {
		guint next;
		bool limited = vm_step_limit_s(&suspension_steps, step, 15) > 0;

		g_assert_cmpint(vm_step_next(&suspension_steps, step, SUSPENSION_EVENT_LIMIT,
					     &next),
				==, limited);
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

static void test_names(void)
{
	for (int step = 0; step < SUSPENSION_STEPS; step++)
		g_assert_nonnull(suspension_steps.steps[step].name);
	g_assert_false(suspension_steps.steps[SUSPENSION_RUNNING].holds);
	g_assert_false(suspension_steps.steps[SUSPENSION_CLOCKING].holds);
	g_assert_true(suspension_steps.steps[SUSPENSION_SUSPENDED].holds);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/suspension-step/requests-end-where-they-should", test_lives);
	g_test_add_func("/suspension-step/failures-come-to-an-end", test_failures);
	g_test_add_func("/suspension-step/what-can-hang-has-a-limit", test_limits);
	g_test_add_func("/suspension-step/slow-guests-have-longer", test_slow_guests);
	g_test_add_func("/suspension-step/all-steps-and-events-have-names", test_names);
	return g_test_run();
}
