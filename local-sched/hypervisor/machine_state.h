/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * The states of a VM and what moves it between them, as data. Pure; machine.h acts on it.
 *
 *   down --retry--> queued --turn--> creating --created--> awaiting --agent--> greeting
 *        greeting --done--> sweeping --done--> capping --done--> wiring --done--> ready <-> busy
 *
 * From busy a VM that may hold remains of a task goes back through sweeping. A failure on the way
 * ends the VM (removing); a VM that died leads to down at once. When the host cannot be reached, a
 * VM is detached until it can, and then either adopted (greeting) or down.
 *
 * A VM that no node holds is paused once it is booted, and greeted again when a node gets it:
 *
 *   sweeping, ready --park--> parking --done--> parked --unpark--> unparking --done--> greeting
 *
 * A busy VM is held while its task is suspended: launch/suspension.h then says what is done with
 * it, and nothing is done here but to notice its death.
 */
enum machine_state {
	MACHINE_DOWN = 0,  /* no VM; waits to try again, or for somebody to want one */
	MACHINE_QUEUED,    /* waits for its turn to boot */
	MACHINE_CREATING,  /* the VM is being started */
	MACHINE_AWAITING,  /* the guest boots */
	MACHINE_UNPARKING, /* the VM is being set going again */
	MACHINE_GREETING,  /* its agent answered the port; is asked to answer us */
	MACHINE_SWEEPING,  /* ranks that may be left over are killed */
	MACHINE_CAPPING,   /* the CPU cap is set: after the boot, which would take ten times as long */
	MACHINE_WIRING,    /* the PMI ports are opened */
	MACHINE_PARKING,   /* the VM is being paused */
	MACHINE_READY,     /* takes a task */
	MACHINE_BUSY,      /* has a task */
	MACHINE_HELD,      /* has a task that is suspended, or on the way there or back */
	MACHINE_PARKED,    /* a spare VM: booted and paused */
	MACHINE_REMOVING,  /* the VM is being destroyed */
	MACHINE_DETACHED,  /* the host cannot be reached; the VM may live */
	MACHINE_STATES,
};

enum machine_event {
	MACHINE_EVENT_RETRY = 0, /* the back-off is over */
	MACHINE_EVENT_TURN,      /* may boot now */
	MACHINE_EVENT_DONE,      /* the state's action succeeded */
	MACHINE_EVENT_AGENT,     /* the agent opened its port */
	MACHINE_EVENT_ASSIGN,    /* given to a task */
	MACHINE_EVENT_RELEASE,   /* the task is over, all its ranks ended as they should */
	MACHINE_EVENT_SWEEP,     /* the task is over, remains are possible */
	MACHINE_EVENT_HOLD,      /* the task is to be suspended */
	MACHINE_EVENT_LET_GO,    /* the task goes on */
	MACHINE_EVENT_PARK,      /* no node holds it */
	MACHINE_EVENT_UNPARK,    /* a node holds it */
	MACHINE_EVENT_DISMISS,   /* nobody wants it any more */
	MACHINE_EVENT_FAIL,      /* the state's action failed or took too long */
	MACHINE_EVENT_DIED,      /* the VM is gone */
	MACHINE_EVENT_DETACH,    /* the host is out of reach */
	MACHINE_EVENT_ADOPT,     /* the host is back and the VM is the one we started */
	MACHINE_EVENT_FOREIGN,   /* ... a VM of this name that is not */
	MACHINE_EVENT_UNWIRED,   /* a port broke although the host is there */
	MACHINE_EVENT_RENEW,     /* the next task is another user's */
	MACHINE_EVENTS,
};

/*
 * The state that `event` leads to from `state`; *ret_next is `state` itself where the event means
 * nothing (a late answer, say): then false is returned and nothing is to be done.
 */
bool machine_state_next(enum machine_state state, enum machine_event event,
			enum machine_state *ret_next);

/* "down", "queued", ... and "retry", "turn", ...: for logs and tests. */
const char *machine_state_name(enum machine_state state);
/* The name of an event, for logs. */
const char *machine_event_name(enum machine_event event);

/* What the API calls a node with a VM in this state: "down", "booting", "ready" or "busy". */
const char *machine_state_public_name(enum machine_state state);
