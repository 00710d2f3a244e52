/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * The states of a VM and what moves it between them, as data. Pure; vm.h acts on it.
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
enum vm_state {
	VM_DOWN = 0,  /* no VM; waits to try again, or for somebody to want one */
	VM_QUEUED,    /* waits for its turn to boot */
	VM_CREATING,  /* the VM is being started */
	VM_AWAITING,  /* the guest boots */
	VM_WAKING, /* the VM is being set going again */
	VM_AGENT_SYNC,  /* its agent answered the port; is asked to answer us */
	VM_SWEEPING,  /* ranks that may be left over are killed */
	VM_CAPPING,   /* the CPU cap is set: after the boot, which would take ten times as long */
	VM_WIRING,    /* the PMI ports are opened */
	VM_PARKING,   /* the VM is being paused */
	VM_READY,     /* takes a task */
	VM_BUSY,      /* has a task */
	VM_HELD,      /* has a task that is suspended, or on the way there or back */
	VM_STANDBY,    /* a spare VM: booted and paused */
	VM_REMOVING,  /* the VM is being destroyed */
	VM_DETACHED,  /* the host cannot be reached; the VM may live */
	VM_STATES,
};

enum vm_event {
	VM_EVENT_RETRY = 0, /* the back-off is over */
	VM_EVENT_TURN,      /* may boot now */
	VM_EVENT_DONE,      /* the state's action succeeded */
	VM_EVENT_AGENT,     /* the agent opened its port */
	VM_EVENT_ASSIGN,    /* given to a task */
	VM_EVENT_RELEASE,   /* the task is over, all its ranks ended as they should */
	VM_EVENT_SWEEP,     /* the task is over, remains are possible */
	VM_EVENT_HOLD,      /* the task is to be suspended */
	VM_EVENT_LET_GO,    /* the task goes on */
	VM_EVENT_PARK,      /* no node holds it */
	VM_EVENT_UNPARK,    /* a node holds it */
	VM_EVENT_DISMISS,   /* nobody wants it any more */
	VM_EVENT_FAIL,      /* the state's action failed or took too long */
	VM_EVENT_DIED,      /* the VM is gone */
	VM_EVENT_DETACH,    /* the host is out of reach */
	VM_EVENT_ADOPT,     /* the host is back and the VM is the one we started */
	VM_EVENT_FOREIGN,   /* ... a VM of this name that is not */
	VM_EVENT_UNWIRED,   /* a port broke although the host is there */
	VM_EVENT_RENEW,     /* the next task is another user's */
	VM_EVENTS,
};

/*
 * The state that `event` leads to from `state`; *ret_next is `state` itself where the event means
 * nothing (a late answer, say): then false is returned and nothing is to be done.
 */
bool vm_state_next(enum vm_state state, enum vm_event event,
			enum vm_state *ret_next);

/* "down", "queued", ... and "retry", "turn", ...: for logs and tests. */
const char *vm_state_name(enum vm_state state);
/* The name of an event, for logs. */
const char *vm_event_name(enum vm_event event);

/* What the API calls a node with a VM in this state: "down", "booting", "ready" or "busy". */
const char *vm_state_public_name(enum vm_state state);
