/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/hypervisor/vm_state.h"

/* Lives of a vm: a start, events, and where they lead. */
static const struct {
	const char *name;
	enum vm_state start;
	enum vm_event events[16];
	int count;
	enum vm_state end;
} lives[] = {
	{"boots",
	 VM_DETACHED,
	 {VM_EVENT_DIED, VM_EVENT_RETRY, VM_EVENT_TURN, VM_EVENT_DONE, VM_EVENT_AGENT,
	  VM_EVENT_DONE, VM_EVENT_DONE, VM_EVENT_DONE, VM_EVENT_DONE},
	 9,
	 VM_READY},
	{"is-adopted",
	 VM_DETACHED,
	 {VM_EVENT_ADOPT, VM_EVENT_DONE, VM_EVENT_DONE, VM_EVENT_DONE, VM_EVENT_DONE},
	 5,
	 VM_READY},
	{"removes-a-foreign-vm", VM_DETACHED, {VM_EVENT_FOREIGN, VM_EVENT_DONE}, 2, VM_DOWN},
	{"is-booted-anew-for-another-user",
	 VM_READY,
	 {VM_EVENT_RENEW, VM_EVENT_DONE, VM_EVENT_RETRY},
	 3,
	 VM_QUEUED},
	{"is-not-taken-from-a-task", VM_BUSY, {VM_EVENT_RENEW}, 1, VM_BUSY},
	{"serves-a-task", VM_READY, {VM_EVENT_ASSIGN, VM_EVENT_RELEASE}, 2, VM_READY},
	{"is-swept-after-a-kill",
	 VM_READY,
	 {VM_EVENT_ASSIGN, VM_EVENT_SWEEP, VM_EVENT_DONE, VM_EVENT_DONE, VM_EVENT_DONE},
	 5,
	 VM_READY},
	{"dies-while-it-is-created", VM_CREATING, {VM_EVENT_DIED}, 1, VM_DOWN},
	{"loses-a-task-to-a-foreign-vm",
	 VM_BUSY,
	 {VM_EVENT_FOREIGN, VM_EVENT_DONE, VM_EVENT_RETRY},
	 3,
	 VM_QUEUED},
	{"dies-while-busy", VM_BUSY, {VM_EVENT_DIED}, 1, VM_DOWN},
	{"stays-busy-without-its-host", VM_BUSY, {VM_EVENT_DETACH}, 1, VM_BUSY},
	{"late-events-mean-nothing",
	 VM_DOWN,
	 {VM_EVENT_DIED, VM_EVENT_DONE, VM_EVENT_AGENT, VM_EVENT_RELEASE, VM_EVENT_ADOPT,
	  VM_EVENT_UNWIRED},
	 6,
	 VM_DOWN},
	{"a-ready-machine-does-not-boot", VM_READY, {VM_EVENT_RETRY, VM_EVENT_TURN}, 2, VM_READY},
	{"a-spare-is-parked-and-taken",
	 VM_SWEEPING,
	 {VM_EVENT_PARK, VM_EVENT_DONE, VM_EVENT_UNPARK, VM_EVENT_DONE, VM_EVENT_DONE,
	  VM_EVENT_DONE, VM_EVENT_DONE, VM_EVENT_DONE},
	 8,
	 VM_READY},
	{"a-spare-outlives-its-libvirtd",
	 VM_STANDBY,
	 {VM_EVENT_DETACH, VM_EVENT_PARK},
	 2,
	 VM_STANDBY},
	{"is-held-while-its-task-is-suspended",
	 VM_BUSY,
	 {VM_EVENT_HOLD, VM_EVENT_DETACH, VM_EVENT_LET_GO},
	 3,
	 VM_BUSY},
	{"is-removed-when-its-task-ends-while-it-is-held",
	 VM_BUSY,
	 {VM_EVENT_HOLD, VM_EVENT_SWEEP, VM_EVENT_DONE},
	 3,
	 VM_DOWN},
	{"dies-while-it-is-held", VM_HELD, {VM_EVENT_DIED}, 1, VM_DOWN},
	{"goes-when-nobody-wants-it", VM_STANDBY, {VM_EVENT_DISMISS, VM_EVENT_DONE}, 2, VM_DOWN},
	{"rewires", VM_READY, {VM_EVENT_UNWIRED, VM_EVENT_DONE}, 2, VM_READY},
};

static void test_lives(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lives); i++) {
		enum vm_state state = lives[i].start;

		g_test_message("%s", lives[i].name);
		for (int e = 0; e < lives[i].count; e++)
			vm_state_next(state, lives[i].events[e], &state);
		g_assert_cmpstr(vm_state_name(state), ==, vm_state_name(lives[i].end));
	}
}

/* Wherever a vm is while it boots, a failure ends its VM and a lost host detaches it. */
static void test_failures(void)
{
	for (int state = VM_CREATING; state <= VM_READY; state++) {
		enum vm_state next;

		g_assert_true(vm_state_next((enum vm_state)state, VM_EVENT_FAIL, &next));
		g_assert_cmpint(next, ==, VM_REMOVING);
		g_assert_true(vm_state_next((enum vm_state)state, VM_EVENT_DETACH, &next));
		g_assert_cmpint(next, ==, VM_DETACHED);
	}
}

static void test_names(void)
{
	static const char *const public_names[] = {"down", "booting", "ready", "busy", NULL};

	for (int state = 0; state < VM_STATES; state++) {
		g_assert_nonnull(vm_state_name((enum vm_state)state));
		g_assert_true(
			g_strv_contains(public_names, vm_state_public_name((enum vm_state)state)));
	}
	for (int event = 0; event < VM_EVENTS; event++)
		g_assert_nonnull(vm_event_name((enum vm_event)event));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machine-state/lives-end-where-they-should", test_lives);
	g_test_add_func("/machine-state/failures-end-the-vm", test_failures);
	g_test_add_func("/machine-state/all-states-and-events-have-names", test_names);
	return g_test_run();
}
