/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/hypervisor/vm_state.h"
#include "tests/unit/fsm_page.h"

static const char intro[] =
	"# States of a VM\n"
	"\n"
	"This page is for people who change a local scheduler. It is generated from the table in\n"
	"`local-sched/hypervisor/vm_state.c`; a test compares them:\n"
	"\n"
	"    cd build/tests/unit/hypervisor\n"
	"    ./test-hypervisor-vm-state print >../../../../docs/reference/vm-states.md\n"
	"\n"
	"`vm_fire()` (`local-sched/hypervisor/vm_actions.c`) moves a VM on by an event and begins what the\n"
	"new state does; `done` and `fail` are its results. A VM is `detached` first: it is not known yet\n"
	"what its host has. A *spare* is a booted VM without a node; it is `parked`. In the API a node is\n"
	"`down`, `booting`, `ready` or `busy` (`api.md`): `held` is busy, and `removing` and `detached`\n"
	"are down.\n";

static const struct fsm_page page = {
	.file = "vm-states.md",
	.intro = intro,
	.fsm = &vm_fsm,
};

static enum vm_state next_of(enum vm_state state, enum vm_event event)
{
	fsm_move(&vm_fsm, &state, event, "test");
	return state;
}

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
			state = next_of(state, lives[i].events[e]);
		g_assert_cmpstr(vm_state_name(state), ==, vm_state_name(lives[i].end));
	}
}

/* Wherever a vm is while it boots, a failure ends its VM and a lost host detaches it. */
static void test_failures(void)
{
	for (int state = VM_CREATING; state <= VM_READY; state++) {
		g_assert_cmpint(next_of((enum vm_state)state, VM_EVENT_FAIL), ==, VM_REMOVING);
		g_assert_cmpint(next_of((enum vm_state)state, VM_EVENT_DETACH), ==, VM_DETACHED);
	}
}

static void test_public_names(void)
{
	static const char *const public_names[] = {"down", "booting", "ready", "busy", NULL};

	for (int state = 0; state < VM_STATES; state++)
		g_assert_true(
			g_strv_contains(public_names, vm_state_public_name((enum vm_state)state)));
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/machine-state/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/machine-state/states-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/machine-state/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/machine-state/names-differ", &page, fsm_page_test_names);
	g_test_add_func("/machine-state/lives-end-where-they-should", test_lives);
	g_test_add_func("/machine-state/failures-end-the-vm", test_failures);
	g_test_add_func("/machine-state/all-states-have-a-name-in-the-api", test_public_names);
	return g_test_run();
}
