/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/machine_state.h"

#include <stddef.h>
#include <stdint.h>

static const struct {
	const char *name;
	const char *public_name;
} states[MACHINE_STATES] = {
	[MACHINE_DOWN] = {"down", "down"},
	[MACHINE_QUEUED] = {"queued", "booting"},
	[MACHINE_CREATING] = {"creating", "booting"},
	[MACHINE_AWAITING] = {"awaiting", "booting"},
	[MACHINE_UNPARKING] = {"unparking", "booting"},
	[MACHINE_GREETING] = {"greeting", "booting"},
	[MACHINE_SWEEPING] = {"sweeping", "booting"},
	[MACHINE_CAPPING] = {"capping", "booting"},
	[MACHINE_WIRING] = {"wiring", "booting"},
	[MACHINE_PARKING] = {"parking", "booting"},
	[MACHINE_READY] = {"ready", "ready"},
	[MACHINE_BUSY] = {"busy", "busy"},
	[MACHINE_HELD] = {"held", "busy"},
	[MACHINE_PARKED] = {"parked", "booting"},
	[MACHINE_REMOVING] = {"removing", "down"},
	[MACHINE_DETACHED] = {"detached", "down"},
};

static const char *const event_names[MACHINE_EVENTS] = {
	[MACHINE_EVENT_RETRY] = "retry",     [MACHINE_EVENT_TURN] = "turn",
	[MACHINE_EVENT_DONE] = "done",       [MACHINE_EVENT_AGENT] = "agent",
	[MACHINE_EVENT_ASSIGN] = "assign",   [MACHINE_EVENT_RELEASE] = "release",
	[MACHINE_EVENT_SWEEP] = "sweep",     [MACHINE_EVENT_HOLD] = "hold",
	[MACHINE_EVENT_LET_GO] = "let-go",   [MACHINE_EVENT_PARK] = "park",
	[MACHINE_EVENT_UNPARK] = "unpark",   [MACHINE_EVENT_DISMISS] = "dismiss",
	[MACHINE_EVENT_FAIL] = "fail",       [MACHINE_EVENT_DIED] = "died",
	[MACHINE_EVENT_DETACH] = "detach",   [MACHINE_EVENT_ADOPT] = "adopt",
	[MACHINE_EVENT_FOREIGN] = "foreign", [MACHINE_EVENT_UNWIRED] = "unwired",
	[MACHINE_EVENT_RENEW] = "renew",
};

/* Sets of states. */
#define IN(state) (UINT32_C(1) << (state))
#define BOOT \
	(IN(MACHINE_CREATING) | IN(MACHINE_AWAITING) | IN(MACHINE_UNPARKING) | \
	 IN(MACHINE_GREETING) | IN(MACHINE_SWEEPING) | IN(MACHINE_CAPPING) | \
	 IN(MACHINE_WIRING) | IN(MACHINE_PARKING))
#define SERVES (IN(MACHINE_READY) | IN(MACHINE_BUSY) | IN(MACHINE_HELD))

/* The first row that fits is taken. */
static const struct {
	uint32_t from;
	enum machine_event event;
	enum machine_state to;
} transitions[] = {
	{IN(MACHINE_DOWN), MACHINE_EVENT_RETRY, MACHINE_QUEUED},
	{IN(MACHINE_QUEUED), MACHINE_EVENT_TURN, MACHINE_CREATING},
	{IN(MACHINE_CREATING), MACHINE_EVENT_DONE, MACHINE_AWAITING},
	{IN(MACHINE_AWAITING), MACHINE_EVENT_AGENT, MACHINE_GREETING},
	{IN(MACHINE_GREETING), MACHINE_EVENT_DONE, MACHINE_SWEEPING},
	{IN(MACHINE_SWEEPING), MACHINE_EVENT_DONE, MACHINE_CAPPING},
	{IN(MACHINE_CAPPING), MACHINE_EVENT_DONE, MACHINE_WIRING},
	{IN(MACHINE_WIRING), MACHINE_EVENT_DONE, MACHINE_READY},
	{IN(MACHINE_READY), MACHINE_EVENT_ASSIGN, MACHINE_BUSY},
	{IN(MACHINE_BUSY), MACHINE_EVENT_RELEASE, MACHINE_READY},
	{IN(MACHINE_BUSY), MACHINE_EVENT_SWEEP, MACHINE_SWEEPING},

	{IN(MACHINE_BUSY), MACHINE_EVENT_HOLD, MACHINE_HELD},
	{IN(MACHINE_HELD), MACHINE_EVENT_LET_GO, MACHINE_BUSY},
	/* Ranks of a VM that does not run cannot be swept. */
	{IN(MACHINE_HELD), MACHINE_EVENT_RELEASE, MACHINE_REMOVING},
	{IN(MACHINE_HELD), MACHINE_EVENT_SWEEP, MACHINE_REMOVING},

	{IN(MACHINE_SWEEPING) | IN(MACHINE_CAPPING) | IN(MACHINE_WIRING) | IN(MACHINE_READY),
	 MACHINE_EVENT_PARK, MACHINE_PARKING},
	{IN(MACHINE_DETACHED), MACHINE_EVENT_PARK, MACHINE_PARKED},
	{IN(MACHINE_PARKING), MACHINE_EVENT_DONE, MACHINE_PARKED},
	{IN(MACHINE_PARKED), MACHINE_EVENT_UNPARK, MACHINE_UNPARKING},
	{IN(MACHINE_UNPARKING), MACHINE_EVENT_DONE, MACHINE_GREETING},

	{IN(MACHINE_QUEUED), MACHINE_EVENT_DISMISS, MACHINE_DOWN},
	{BOOT | IN(MACHINE_READY) | IN(MACHINE_PARKED), MACHINE_EVENT_DISMISS, MACHINE_REMOVING},

	{IN(MACHINE_REMOVING), MACHINE_EVENT_DONE, MACHINE_DOWN},
	/* A host that does not even destroy: try again later, creating begins with it. */
	{IN(MACHINE_REMOVING), MACHINE_EVENT_FAIL, MACHINE_DOWN},
	{IN(MACHINE_REMOVING), MACHINE_EVENT_DIED, MACHINE_DOWN},

	{BOOT | SERVES | IN(MACHINE_PARKED), MACHINE_EVENT_FAIL, MACHINE_REMOVING},
	{IN(MACHINE_READY), MACHINE_EVENT_RENEW, MACHINE_REMOVING},
	{IN(MACHINE_READY), MACHINE_EVENT_UNWIRED, MACHINE_WIRING},

	{BOOT | SERVES | IN(MACHINE_PARKED) | IN(MACHINE_DETACHED), MACHINE_EVENT_DIED,
	 MACHINE_DOWN},

	/*
	 * Busy stays busy, and held held: the task may live on in VMs that outlive their libvirtd.
	 */
	{IN(MACHINE_DOWN) | IN(MACHINE_QUEUED) | BOOT | IN(MACHINE_READY) | IN(MACHINE_PARKED) |
		 IN(MACHINE_REMOVING) | IN(MACHINE_DETACHED) /* for another reason */,
	 MACHINE_EVENT_DETACH, MACHINE_DETACHED},

	{IN(MACHINE_DETACHED), MACHINE_EVENT_ADOPT, MACHINE_GREETING},
	{IN(MACHINE_DETACHED) | IN(MACHINE_BUSY) | IN(MACHINE_HELD), MACHINE_EVENT_FOREIGN,
	 MACHINE_REMOVING},
};

bool machine_state_next(enum machine_state state, enum machine_event event,
			enum machine_state *ret_next)
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

const char *machine_state_name(enum machine_state state)
{
	return states[state].name;
}

const char *machine_event_name(enum machine_event event)
{
	return event_names[event];
}

const char *machine_state_public_name(enum machine_state state)
{
	return states[state].public_name;
}
