/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/hypervisor/node_machine.h"

/* Lives of a node: a start, events, and where they lead. */
static const struct {
	const char *name;
	enum node_state start;
	enum node_event events[16];
	int count;
	enum node_state end;
} lives[] = {
	{"boots",
	 NODE_DETACHED,
	 {NODE_EVENT_DIED, NODE_EVENT_RETRY, NODE_EVENT_TURN, NODE_EVENT_DONE, NODE_EVENT_AGENT,
	  NODE_EVENT_DONE, NODE_EVENT_DONE, NODE_EVENT_DONE, NODE_EVENT_DONE},
	 9,
	 NODE_READY},
	{"is-adopted",
	 NODE_DETACHED,
	 {NODE_EVENT_ADOPT, NODE_EVENT_DONE, NODE_EVENT_DONE, NODE_EVENT_DONE, NODE_EVENT_DONE},
	 5,
	 NODE_READY},
	{"removes-a-foreign-vm", NODE_DETACHED, {NODE_EVENT_FOREIGN, NODE_EVENT_DONE}, 2, NODE_DOWN},
	{"serves-a-task", NODE_READY, {NODE_EVENT_ASSIGN, NODE_EVENT_RELEASE}, 2, NODE_READY},
	{"is-swept-after-a-kill",
	 NODE_READY,
	 {NODE_EVENT_ASSIGN, NODE_EVENT_SWEEP, NODE_EVENT_DONE, NODE_EVENT_DONE, NODE_EVENT_DONE},
	 5,
	 NODE_READY},
	{"dies-while-it-is-created", NODE_CREATING, {NODE_EVENT_DIED}, 1, NODE_DOWN},
	{"loses-a-task-to-a-foreign-vm",
	 NODE_BUSY,
	 {NODE_EVENT_FOREIGN, NODE_EVENT_DONE, NODE_EVENT_RETRY},
	 3,
	 NODE_QUEUED},
	{"dies-while-busy", NODE_BUSY, {NODE_EVENT_DIED}, 1, NODE_DOWN},
	{"stays-busy-without-its-host", NODE_BUSY, {NODE_EVENT_DETACH}, 1, NODE_BUSY},
	{"late-events-mean-nothing",
	 NODE_DOWN,
	 {NODE_EVENT_DIED, NODE_EVENT_DONE, NODE_EVENT_AGENT, NODE_EVENT_RELEASE, NODE_EVENT_ADOPT,
	  NODE_EVENT_UNWIRED},
	 6,
	 NODE_DOWN},
	{"a-ready-node-does-not-boot", NODE_READY, {NODE_EVENT_RETRY, NODE_EVENT_TURN}, 2,
	 NODE_READY},
	{"rewires", NODE_READY, {NODE_EVENT_UNWIRED, NODE_EVENT_DONE}, 2, NODE_READY},
};

static void test_lives(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lives); i++) {
		enum node_state state = lives[i].start;

		g_test_message("%s", lives[i].name);
		for (int e = 0; e < lives[i].count; e++)
			node_machine_next(state, lives[i].events[e], &state);
		g_assert_cmpstr(node_state_name(state), ==, node_state_name(lives[i].end));
	}
}

/* Wherever a node is while it boots, a failure ends its VM and a lost host detaches it. */
static void test_failures(void)
{
	for (int state = NODE_CREATING; state <= NODE_READY; state++) {
		enum node_state next;

		g_assert_true(
			node_machine_next((enum node_state)state, NODE_EVENT_FAIL, &next));
		g_assert_cmpint(next, ==, NODE_REMOVING);
		g_assert_true(
			node_machine_next((enum node_state)state, NODE_EVENT_DETACH, &next));
		g_assert_cmpint(next, ==, NODE_DETACHED);
	}
}

static void test_names(void)
{
	static const char *const public_names[] = {"down", "booting", "ready", "busy", NULL};

	for (int state = 0; state < NODE_STATES; state++) {
		g_assert_nonnull(node_state_name((enum node_state)state));
		g_assert_true(g_strv_contains(
			public_names, node_state_public_name((enum node_state)state)));
	}
	for (int event = 0; event < NODE_EVENTS; event++)
		g_assert_nonnull(node_event_name((enum node_event)event));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/node-machine/lives-end-where-they-should", test_lives);
	g_test_add_func("/node-machine/failures-end-the-vm", test_failures);
	g_test_add_func("/node-machine/all-states-and-events-have-names", test_names);
	return g_test_run();
}
