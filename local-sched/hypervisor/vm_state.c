/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/vm_state.h"

#include <stddef.h>
#include <stdint.h>

static const struct {
	const char *name;
	const char *public_name;
} states[VM_STATES] = {
	[VM_DOWN] = {"down", "down"},
	[VM_QUEUED] = {"queued", "booting"},
	[VM_CREATING] = {"creating", "booting"},
	[VM_AWAITING] = {"awaiting", "booting"},
	[VM_WAKING] = {"unparking", "booting"},
	[VM_AGENT_SYNC] = {"greeting", "booting"},
	[VM_SWEEPING] = {"sweeping", "booting"},
	[VM_CAPPING] = {"capping", "booting"},
	[VM_WIRING] = {"wiring", "booting"},
	[VM_PARKING] = {"parking", "booting"},
	[VM_READY] = {"ready", "ready"},
	[VM_BUSY] = {"busy", "busy"},
	[VM_HELD] = {"held", "busy"},
	[VM_STANDBY] = {"parked", "booting"},
	[VM_REMOVING] = {"removing", "down"},
	[VM_DETACHED] = {"detached", "down"},
};

static const char *const event_names[VM_EVENTS] = {
	[VM_EVENT_RETRY] = "retry", [VM_EVENT_TURN] = "turn",       [VM_EVENT_DONE] = "done",
	[VM_EVENT_AGENT] = "agent", [VM_EVENT_ASSIGN] = "assign",   [VM_EVENT_RELEASE] = "release",
	[VM_EVENT_SWEEP] = "sweep", [VM_EVENT_HOLD] = "hold",       [VM_EVENT_LET_GO] = "let-go",
	[VM_EVENT_PARK] = "park",   [VM_EVENT_UNPARK] = "unpark",   [VM_EVENT_DISMISS] = "dismiss",
	[VM_EVENT_FAIL] = "fail",   [VM_EVENT_DIED] = "died",       [VM_EVENT_DETACH] = "detach",
	[VM_EVENT_ADOPT] = "adopt", [VM_EVENT_FOREIGN] = "foreign", [VM_EVENT_UNWIRED] = "unwired",
	[VM_EVENT_RENEW] = "renew",
};

/* Sets of states. */
#define IN(state) (UINT32_C(1) << (state))
#define BOOT                                                                                       \
	(IN(VM_CREATING) | IN(VM_AWAITING) | IN(VM_WAKING) | IN(VM_AGENT_SYNC) | IN(VM_SWEEPING) | \
	 IN(VM_CAPPING) | IN(VM_WIRING) | IN(VM_PARKING))
#define SERVES (IN(VM_READY) | IN(VM_BUSY) | IN(VM_HELD))

/* The first matching row counts. */
static const struct {
	uint32_t from;
	enum vm_event event;
	enum vm_state to;
} transitions[] = {
	{IN(VM_DOWN), VM_EVENT_RETRY, VM_QUEUED},
	{IN(VM_QUEUED), VM_EVENT_TURN, VM_CREATING},
	{IN(VM_CREATING), VM_EVENT_DONE, VM_AWAITING},
	{IN(VM_AWAITING), VM_EVENT_AGENT, VM_AGENT_SYNC},
	{IN(VM_AGENT_SYNC), VM_EVENT_DONE, VM_SWEEPING},
	{IN(VM_SWEEPING), VM_EVENT_DONE, VM_CAPPING},
	{IN(VM_CAPPING), VM_EVENT_DONE, VM_WIRING},
	{IN(VM_WIRING), VM_EVENT_DONE, VM_READY},
	{IN(VM_READY), VM_EVENT_ASSIGN, VM_BUSY},
	{IN(VM_BUSY), VM_EVENT_RELEASE, VM_READY},
	{IN(VM_BUSY), VM_EVENT_SWEEP, VM_SWEEPING},

	{IN(VM_BUSY), VM_EVENT_HOLD, VM_HELD},
	{IN(VM_HELD), VM_EVENT_LET_GO, VM_BUSY},
	/* Ranks of a VM that does not run cannot be swept. */
	{IN(VM_HELD), VM_EVENT_RELEASE, VM_REMOVING},
	{IN(VM_HELD), VM_EVENT_SWEEP, VM_REMOVING},

	{IN(VM_SWEEPING) | IN(VM_CAPPING) | IN(VM_WIRING) | IN(VM_READY), VM_EVENT_PARK,
	 VM_PARKING},
	{IN(VM_DETACHED), VM_EVENT_PARK, VM_STANDBY},
	{IN(VM_PARKING), VM_EVENT_DONE, VM_STANDBY},
	{IN(VM_STANDBY), VM_EVENT_UNPARK, VM_WAKING},
	{IN(VM_WAKING), VM_EVENT_DONE, VM_AGENT_SYNC},

	{IN(VM_QUEUED), VM_EVENT_DISMISS, VM_DOWN},
	{BOOT | IN(VM_READY) | IN(VM_STANDBY), VM_EVENT_DISMISS, VM_REMOVING},

	{IN(VM_REMOVING), VM_EVENT_DONE, VM_DOWN},
	/* A host that cannot even destroy the VM: try again later, creating begins with it. */
	{IN(VM_REMOVING), VM_EVENT_FAIL, VM_DOWN},
	{IN(VM_REMOVING), VM_EVENT_DIED, VM_DOWN},

	{BOOT | SERVES | IN(VM_STANDBY), VM_EVENT_FAIL, VM_REMOVING},
	{IN(VM_READY), VM_EVENT_RENEW, VM_REMOVING},
	{IN(VM_READY), VM_EVENT_UNWIRED, VM_WIRING},

	{BOOT | SERVES | IN(VM_STANDBY) | IN(VM_DETACHED), VM_EVENT_DIED, VM_DOWN},

	/*
	 * Busy VMs stay busy, and held VMs held: the task may live on in VMs that outlive their
	 * libvirtd.
	 */
	{IN(VM_DOWN) | IN(VM_QUEUED) | BOOT | IN(VM_READY) | IN(VM_STANDBY) | IN(VM_REMOVING) |
		 IN(VM_DETACHED) /* for another reason */,
	 VM_EVENT_DETACH, VM_DETACHED},

	{IN(VM_DETACHED), VM_EVENT_ADOPT, VM_AGENT_SYNC},
	{IN(VM_DETACHED) | IN(VM_BUSY) | IN(VM_HELD), VM_EVENT_FOREIGN, VM_REMOVING},
};

bool vm_state_next(enum vm_state state, enum vm_event event, enum vm_state *ret_next)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		if ((transitions[i].from & IN(state)) && transitions[i].event == event) {
			*ret_next = transitions[i].to;
			return true;
		}
	}
	*ret_next = state;
	return false;
}

const char *vm_state_name(enum vm_state state)
{
	return states[state].name;
}

const char *vm_event_name(enum vm_event event)
{
	return event_names[event];
}

const char *vm_state_public_name(enum vm_state state)
{
	return states[state].public_name;
}
