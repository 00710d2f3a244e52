/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/vm_state.h"

static const char *const state_names[VM_STATES] = {
	[VM_DOWN] = "down",         [VM_QUEUED] = "queued",    [VM_CREATING] = "creating",
	[VM_AWAITING] = "awaiting", [VM_WAKING] = "unparking", [VM_AGENT_SYNC] = "greeting",
	[VM_SWEEPING] = "sweeping", [VM_CAPPING] = "capping",  [VM_WIRING] = "wiring",
	[VM_PARKING] = "parking",   [VM_READY] = "ready",      [VM_BUSY] = "busy",
	[VM_HELD] = "held",         [VM_STANDBY] = "parked",   [VM_REMOVING] = "removing",
	[VM_DETACHED] = "detached",
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

#define TO(state) FSM_TO(VM_##state)

/* Wherever it boots. */
#define BOOTING_TO(state)                                                                          \
	[VM_CREATING] = TO(state), [VM_AWAITING] = TO(state), [VM_WAKING] = TO(state),             \
	[VM_AGENT_SYNC] = TO(state), [VM_SWEEPING] = TO(state), [VM_CAPPING] = TO(state),          \
	[VM_WIRING] = TO(state), [VM_PARKING] = TO(state)

static const struct fsm_transition transitions[VM_EVENTS][VM_STATES] = {
	[VM_EVENT_RETRY] = {[VM_DOWN] = TO(QUEUED)},
	[VM_EVENT_TURN] = {[VM_QUEUED] = TO(CREATING)},
	[VM_EVENT_DONE] = {[VM_CREATING] = TO(AWAITING),
			   [VM_AGENT_SYNC] = TO(SWEEPING),
			   [VM_SWEEPING] = TO(CAPPING),
			   [VM_CAPPING] = TO(WIRING),
			   [VM_WIRING] = TO(READY),
			   [VM_PARKING] = TO(STANDBY),
			   [VM_WAKING] = TO(AGENT_SYNC),
			   [VM_REMOVING] = TO(DOWN)},
	[VM_EVENT_AGENT] = {[VM_AWAITING] = TO(AGENT_SYNC)},
	[VM_EVENT_ASSIGN] = {[VM_READY] = TO(BUSY)},
	/* Ranks of a VM that does not run cannot be swept. */
	[VM_EVENT_RELEASE] = {[VM_BUSY] = TO(READY), [VM_HELD] = TO(REMOVING)},
	[VM_EVENT_SWEEP] = {[VM_BUSY] = TO(SWEEPING), [VM_HELD] = TO(REMOVING)},
	[VM_EVENT_HOLD] = {[VM_BUSY] = TO(HELD)},
	[VM_EVENT_LET_GO] = {[VM_HELD] = TO(BUSY)},
	[VM_EVENT_PARK] = {[VM_SWEEPING] = TO(PARKING),
			   [VM_CAPPING] = TO(PARKING),
			   [VM_WIRING] = TO(PARKING),
			   [VM_READY] = TO(PARKING),
			   [VM_DETACHED] = TO(STANDBY)},
	[VM_EVENT_UNPARK] = {[VM_STANDBY] = TO(WAKING)},
	[VM_EVENT_DISMISS] = {BOOTING_TO(REMOVING), [VM_QUEUED] = TO(DOWN),
			      [VM_READY] = TO(REMOVING), [VM_STANDBY] = TO(REMOVING)},
	/*
	 * REMOVING: a host that cannot even destroy the VM; it is tried again later, since creating
	 * begins with it.
	 */
	[VM_EVENT_FAIL] =
		{BOOTING_TO(REMOVING), [VM_READY] = TO(REMOVING), [VM_BUSY] = TO(REMOVING),
		 [VM_HELD] = TO(REMOVING), [VM_STANDBY] = TO(REMOVING), [VM_REMOVING] = TO(DOWN)},
	[VM_EVENT_DIED] = {BOOTING_TO(DOWN), [VM_READY] = TO(DOWN), [VM_BUSY] = TO(DOWN),
			   [VM_HELD] = TO(DOWN), [VM_STANDBY] = TO(DOWN), [VM_REMOVING] = TO(DOWN),
			   [VM_DETACHED] = TO(DOWN)},
	/*
	 * Busy VMs stay busy, and held VMs held: the task may live on in VMs that outlive their
	 * libvirtd. DETACHED: for another reason.
	 */
	[VM_EVENT_DETACH] =
		{BOOTING_TO(DETACHED), [VM_DOWN] = TO(DETACHED), [VM_QUEUED] = TO(DETACHED),
		 [VM_READY] = TO(DETACHED), [VM_STANDBY] = TO(DETACHED),
		 [VM_REMOVING] = TO(DETACHED), [VM_DETACHED] = TO(DETACHED)},
	[VM_EVENT_ADOPT] = {[VM_DETACHED] = TO(AGENT_SYNC)},
	[VM_EVENT_FOREIGN] =
		{[VM_DETACHED] = TO(REMOVING), [VM_BUSY] = TO(REMOVING), [VM_HELD] = TO(REMOVING)},
	[VM_EVENT_UNWIRED] = {[VM_READY] = TO(WIRING)},
	[VM_EVENT_RENEW] = {[VM_READY] = TO(REMOVING)},
};

const struct fsm vm_fsm = {
	.what = "VM",
	.states = VM_STATES,
	.events = VM_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
	.unlisted = "an answer comes late, or changes nothing in that state",
};

const char *vm_state_name(enum vm_state state)
{
	return state_names[state];
}

const char *vm_state_public_name(enum vm_state state)
{
	static const char *const public_names[VM_STATES] = {
		[VM_DOWN] = "down", [VM_READY] = "ready",   [VM_BUSY] = "busy",
		[VM_HELD] = "busy", [VM_REMOVING] = "down", [VM_DETACHED] = "down",
	};

	return public_names[state] ?: "booting";
}
