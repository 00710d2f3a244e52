/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/node_machine.h"

#include <stddef.h>

static const char *const state_names[NODE_STATES] = {
	[NODE_DOWN] = "down",         [NODE_QUEUED] = "queued",     [NODE_CREATING] = "creating",
	[NODE_AWAITING] = "awaiting", [NODE_GREETING] = "greeting", [NODE_SWEEPING] = "sweeping",
	[NODE_CAPPING] = "capping",   [NODE_WIRING] = "wiring",     [NODE_READY] = "ready",
	[NODE_BUSY] = "busy",         [NODE_REMOVING] = "removing", [NODE_DETACHED] = "detached",
};

static const char *const public_names[NODE_STATES] = {
	[NODE_DOWN] = "down",        [NODE_QUEUED] = "booting",   [NODE_CREATING] = "booting",
	[NODE_AWAITING] = "booting", [NODE_GREETING] = "booting", [NODE_SWEEPING] = "booting",
	[NODE_CAPPING] = "booting",  [NODE_WIRING] = "booting",   [NODE_READY] = "ready",
	[NODE_BUSY] = "busy",        [NODE_REMOVING] = "down",    [NODE_DETACHED] = "down",
};

static const char *const event_names[NODE_EVENTS] = {
	[NODE_EVENT_RETRY] = "retry",     [NODE_EVENT_TURN] = "turn",
	[NODE_EVENT_DONE] = "done",       [NODE_EVENT_AGENT] = "agent",
	[NODE_EVENT_ASSIGN] = "assign",   [NODE_EVENT_RELEASE] = "release",
	[NODE_EVENT_SWEEP] = "sweep",     [NODE_EVENT_FAIL] = "fail",
	[NODE_EVENT_DIED] = "died",       [NODE_EVENT_DETACH] = "detach",
	[NODE_EVENT_ADOPT] = "adopt",     [NODE_EVENT_FOREIGN] = "foreign",
	[NODE_EVENT_UNWIRED] = "unwired",
};

/* The first row that fits is taken. */
static const struct {
	enum node_state from;
	enum node_event event;
	enum node_state to;
} transitions[] = {
	{NODE_DOWN, NODE_EVENT_RETRY, NODE_QUEUED},
	{NODE_QUEUED, NODE_EVENT_TURN, NODE_CREATING},
	{NODE_CREATING, NODE_EVENT_DONE, NODE_AWAITING},
	{NODE_AWAITING, NODE_EVENT_AGENT, NODE_GREETING},
	{NODE_GREETING, NODE_EVENT_DONE, NODE_SWEEPING},
	{NODE_SWEEPING, NODE_EVENT_DONE, NODE_CAPPING},
	{NODE_CAPPING, NODE_EVENT_DONE, NODE_WIRING},
	{NODE_WIRING, NODE_EVENT_DONE, NODE_READY},
	{NODE_READY, NODE_EVENT_ASSIGN, NODE_BUSY},
	{NODE_BUSY, NODE_EVENT_RELEASE, NODE_READY},
	{NODE_BUSY, NODE_EVENT_SWEEP, NODE_SWEEPING},
	{NODE_REMOVING, NODE_EVENT_DONE, NODE_DOWN},
	/* A host that does not even destroy: try again later, creating begins with it. */
	{NODE_REMOVING, NODE_EVENT_FAIL, NODE_DOWN},
	{NODE_REMOVING, NODE_EVENT_DIED, NODE_DOWN},

	{NODE_CREATING, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_AWAITING, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_GREETING, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_SWEEPING, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_CAPPING, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_WIRING, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_READY, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_BUSY, NODE_EVENT_FAIL, NODE_REMOVING},
	{NODE_READY, NODE_EVENT_UNWIRED, NODE_WIRING},

	{NODE_CREATING, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_AWAITING, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_GREETING, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_SWEEPING, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_CAPPING, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_WIRING, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_READY, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_BUSY, NODE_EVENT_DIED, NODE_DOWN},
	{NODE_DETACHED, NODE_EVENT_DIED, NODE_DOWN},

	/* Busy stays busy: the task may live on in VMs that outlive their libvirtd. */
	{NODE_DOWN, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_QUEUED, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_CREATING, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_AWAITING, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_GREETING, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_SWEEPING, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_CAPPING, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_WIRING, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_READY, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_REMOVING, NODE_EVENT_DETACH, NODE_DETACHED},
	{NODE_DETACHED, NODE_EVENT_DETACH, NODE_DETACHED}, /* for another reason */

	{NODE_DETACHED, NODE_EVENT_ADOPT, NODE_GREETING},
	{NODE_DETACHED, NODE_EVENT_FOREIGN, NODE_REMOVING},
	{NODE_BUSY, NODE_EVENT_FOREIGN, NODE_REMOVING},
};

bool node_machine_next(enum node_state state, enum node_event event, enum node_state *ret_next)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		if (transitions[i].from == state && transitions[i].event == event) {
			*ret_next = transitions[i].to;
			return true;
		}
	}
	*ret_next = state;
	return false;
}

const char *node_state_name(enum node_state state)
{
	return state_names[state];
}

const char *node_event_name(enum node_event event)
{
	return event_names[event];
}

const char *node_state_public_name(enum node_state state)
{
	return public_names[state];
}
