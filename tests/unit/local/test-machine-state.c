/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/hypervisor/machine_state.h"

/* Lives of a machine: a start, events, and where they lead. */
static const struct {
	const char *name;
	enum machine_state start;
	enum machine_event events[16];
	int count;
	enum machine_state end;
} lives[] = {
	{"boots",
	 MACHINE_DETACHED,
	 {MACHINE_EVENT_DIED, MACHINE_EVENT_RETRY, MACHINE_EVENT_TURN, MACHINE_EVENT_DONE, MACHINE_EVENT_AGENT,
	  MACHINE_EVENT_DONE, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE},
	 9,
	 MACHINE_READY},
	{"is-adopted",
	 MACHINE_DETACHED,
	 {MACHINE_EVENT_ADOPT, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE},
	 5,
	 MACHINE_READY},
	{"removes-a-foreign-vm", MACHINE_DETACHED, {MACHINE_EVENT_FOREIGN, MACHINE_EVENT_DONE}, 2, MACHINE_DOWN},
	{"is-booted-anew-for-another-user",
	 MACHINE_READY,
	 {MACHINE_EVENT_RENEW, MACHINE_EVENT_DONE, MACHINE_EVENT_RETRY},
	 3,
	 MACHINE_QUEUED},
	{"is-not-taken-from-a-task", MACHINE_BUSY, {MACHINE_EVENT_RENEW}, 1, MACHINE_BUSY},
	{"serves-a-task", MACHINE_READY, {MACHINE_EVENT_ASSIGN, MACHINE_EVENT_RELEASE}, 2, MACHINE_READY},
	{"is-swept-after-a-kill",
	 MACHINE_READY,
	 {MACHINE_EVENT_ASSIGN, MACHINE_EVENT_SWEEP, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE},
	 5,
	 MACHINE_READY},
	{"dies-while-it-is-created", MACHINE_CREATING, {MACHINE_EVENT_DIED}, 1, MACHINE_DOWN},
	{"loses-a-task-to-a-foreign-vm",
	 MACHINE_BUSY,
	 {MACHINE_EVENT_FOREIGN, MACHINE_EVENT_DONE, MACHINE_EVENT_RETRY},
	 3,
	 MACHINE_QUEUED},
	{"dies-while-busy", MACHINE_BUSY, {MACHINE_EVENT_DIED}, 1, MACHINE_DOWN},
	{"stays-busy-without-its-host", MACHINE_BUSY, {MACHINE_EVENT_DETACH}, 1, MACHINE_BUSY},
	{"late-events-mean-nothing",
	 MACHINE_DOWN,
	 {MACHINE_EVENT_DIED, MACHINE_EVENT_DONE, MACHINE_EVENT_AGENT, MACHINE_EVENT_RELEASE, MACHINE_EVENT_ADOPT,
	  MACHINE_EVENT_UNWIRED},
	 6,
	 MACHINE_DOWN},
	{"a-ready-machine-does-not-boot", MACHINE_READY, {MACHINE_EVENT_RETRY, MACHINE_EVENT_TURN}, 2,
	 MACHINE_READY},
	{"a-spare-is-parked-and-taken",
	 MACHINE_SWEEPING,
	 {MACHINE_EVENT_PARK, MACHINE_EVENT_DONE, MACHINE_EVENT_UNPARK, MACHINE_EVENT_DONE,
	  MACHINE_EVENT_DONE, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE, MACHINE_EVENT_DONE},
	 8,
	 MACHINE_READY},
	{"a-spare-outlives-its-libvirtd",
	 MACHINE_PARKED,
	 {MACHINE_EVENT_DETACH, MACHINE_EVENT_PARK},
	 2,
	 MACHINE_PARKED},
	{"is-held-while-its-task-is-suspended",
	 MACHINE_BUSY,
	 {MACHINE_EVENT_HOLD, MACHINE_EVENT_DETACH, MACHINE_EVENT_LET_GO},
	 3,
	 MACHINE_BUSY},
	{"is-removed-when-its-task-ends-while-it-is-held",
	 MACHINE_BUSY,
	 {MACHINE_EVENT_HOLD, MACHINE_EVENT_SWEEP, MACHINE_EVENT_DONE},
	 3,
	 MACHINE_DOWN},
	{"dies-while-it-is-held", MACHINE_HELD, {MACHINE_EVENT_DIED}, 1, MACHINE_DOWN},
	{"goes-when-nobody-wants-it",
	 MACHINE_PARKED,
	 {MACHINE_EVENT_DISMISS, MACHINE_EVENT_DONE},
	 2,
	 MACHINE_DOWN},
	{"rewires", MACHINE_READY, {MACHINE_EVENT_UNWIRED, MACHINE_EVENT_DONE}, 2, MACHINE_READY},
};

static void test_lives(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lives); i++) {
		enum machine_state state = lives[i].start;

		g_test_message("%s", lives[i].name);
		for (int e = 0; e < lives[i].count; e++)
			machine_state_next(state, lives[i].events[e], &state);
		g_assert_cmpstr(machine_state_name(state), ==, machine_state_name(lives[i].end));
	}
}

/* Wherever a machine is while it boots, a failure ends its VM and a lost host detaches it. */
static void test_failures(void)
{
	for (int state = MACHINE_CREATING; state <= MACHINE_READY; state++) {
		enum machine_state next;

		g_assert_true(
			machine_state_next((enum machine_state)state, MACHINE_EVENT_FAIL, &next));
		g_assert_cmpint(next, ==, MACHINE_REMOVING);
		g_assert_true(
			machine_state_next((enum machine_state)state, MACHINE_EVENT_DETACH, &next));
		g_assert_cmpint(next, ==, MACHINE_DETACHED);
	}
}

static void test_names(void)
{
	static const char *const public_names[] = {"down", "booting", "ready", "busy", NULL};

	for (int state = 0; state < MACHINE_STATES; state++) {
		g_assert_nonnull(machine_state_name((enum machine_state)state));
		g_assert_true(g_strv_contains(
			public_names, machine_state_public_name((enum machine_state)state)));
	}
	for (int event = 0; event < MACHINE_EVENTS; event++)
		g_assert_nonnull(machine_event_name((enum machine_event)event));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machine-state/lives-end-where-they-should", test_lives);
	g_test_add_func("/machine-state/failures-end-the-vm", test_failures);
	g_test_add_func("/machine-state/all-states-and-events-have-names", test_names);
	return g_test_run();
}
