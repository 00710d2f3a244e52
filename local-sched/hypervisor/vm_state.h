/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * The states of a VM and the transitions between them, as data. Pure; vm.h acts on it.
 *
 *   down --retry--> queued --turn--> creating --created--> awaiting --agent--> greeting
 *        greeting --done--> sweeping --done--> capping --done--> wiring --done--> ready <-> busy
 *
 * A busy VM that may hold remains of a task returns through sweeping. A failure on the way ends the
 * VM (removing); a VM that died is down at once. While its host is out of reach a VM is detached,
 * and then either adopted (greeting) or down.
 *
 * A VM without a node is paused once it is booted, and greeted again when it gets a node:
 *
 *   sweeping, ready --park--> parking --done--> parked --unpark--> unparking --done--> greeting
 *
 * A busy VM is held while its task is suspended. launch/suspension.h then acts on it, and here only
 * its death is noticed.
 */
enum vm_state {
	VM_DOWN = 0,   /* no VM; waits to try again, or to be wanted */
	VM_QUEUED,     /* waits for its turn to boot */
	VM_CREATING,   /* the VM is being started */
	VM_AWAITING,   /* the guest boots */
	VM_WAKING,     /* the paused VM is being started again */
	VM_AGENT_SYNC, /* the agent opened its port; a reply to guest-sync is awaited */
	VM_SWEEPING,   /* ranks that may be left over are being killed */
	/* the CPU cap is being set; a boot under the cap would take ten times as long */
	VM_CAPPING,
	VM_WIRING,   /* the PMI ports are being opened */
	VM_PARKING,  /* the VM is being paused */
	VM_READY,    /* takes a task */
	VM_BUSY,     /* has a task */
	VM_HELD,     /* has a task that is suspended, suspending or resuming */
	VM_STANDBY,  /* a spare VM: booted and paused */
	VM_REMOVING, /* the VM is being destroyed */
	VM_DETACHED, /* the host cannot be reached; the VM may live */
	VM_STATES,
};

enum vm_event {
	VM_EVENT_RETRY = 0, /* the back-off has ended */
	VM_EVENT_TURN,      /* may boot now */
	VM_EVENT_DONE,      /* the state's action succeeded */
	VM_EVENT_AGENT,     /* the agent opened its port */
	VM_EVENT_ASSIGN,    /* given to a task */
	VM_EVENT_RELEASE,   /* the task has ended, and all its ranks ended by themselves */
	VM_EVENT_SWEEP,     /* the task has ended, and may have left ranks behind */
	VM_EVENT_HOLD,      /* the task is to be suspended */
	VM_EVENT_LET_GO,    /* the task runs on */
	VM_EVENT_PARK,      /* no node has it */
	VM_EVENT_UNPARK,    /* a node has it */
	VM_EVENT_DISMISS,   /* it is not wanted any more */
	VM_EVENT_FAIL,      /* the state's action failed or took too long */
	VM_EVENT_DIED,      /* the VM is gone */
	VM_EVENT_DETACH,    /* the host is out of reach */
	/* the host is back, with the VM that this local scheduler started */
	VM_EVENT_ADOPT,
	VM_EVENT_FOREIGN, /* the host is back, and a VM of this name has another owner */
	VM_EVENT_UNWIRED, /* a port broke although the host is there */
	VM_EVENT_RENEW,   /* the next task is another user's */
	VM_EVENTS,
};

/* The table. An event that is not listed for a state is ignored. */
extern const struct fsm vm_fsm;

/* The name of a state, for logs and tests: "down", "queued", ... */
const char *vm_state_name(enum vm_state state);

/* The name in the API for a node with a VM in this state: "down", "booting", "ready" or "busy". */
const char *vm_state_public_name(enum vm_state state);
