/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * The states of a node and what moves it between them, as data. Pure; node.h acts on it.
 *
 *   down --retry--> queued --turn--> creating --created--> awaiting --agent--> greeting
 *        greeting --done--> sweeping --done--> capping --done--> wiring --done--> ready <-> busy
 *
 * From busy a node that may hold remains of a task goes back through sweeping. A failure on the way
 * ends the VM (removing); a VM that died leads to down at once. When the host cannot be reached, a
 * node is detached until it can, and then either adopted (greeting) or down.
 */
enum node_state {
	NODE_DOWN = 0, /* no VM; waits to try again */
	NODE_QUEUED,   /* waits for its turn to boot */
	NODE_CREATING, /* the VM is being started */
	NODE_AWAITING, /* the guest boots */
	NODE_GREETING, /* its agent answered the port; is asked to answer us */
	NODE_SWEEPING, /* ranks that may be left over are killed */
	NODE_CAPPING,  /* the CPU cap is set: after the boot, which would take ten times as long */
	NODE_WIRING,   /* the PMI ports are opened */
	NODE_READY,    /* takes a task */
	NODE_BUSY,     /* has a task */
	NODE_REMOVING, /* the VM is being destroyed */
	NODE_DETACHED, /* the host cannot be reached; the VM may live */
	NODE_STATES,
};

enum node_event {
	NODE_EVENT_RETRY = 0, /* the back-off is over */
	NODE_EVENT_TURN,      /* may boot now */
	NODE_EVENT_DONE,      /* the state's action succeeded */
	NODE_EVENT_AGENT,     /* the agent opened its port */
	NODE_EVENT_ASSIGN,    /* given to a task */
	NODE_EVENT_RELEASE,   /* the task is over, all its ranks ended as they should */
	NODE_EVENT_SWEEP,     /* the task is over, remains are possible */
	NODE_EVENT_FAIL,      /* the state's action failed or took too long */
	NODE_EVENT_DIED,      /* the VM is gone */
	NODE_EVENT_DETACH,    /* the host is out of reach */
	NODE_EVENT_ADOPT,     /* the host is back and the VM is the one we started */
	NODE_EVENT_FOREIGN,   /* ... a VM of this name that is not */
	NODE_EVENT_UNWIRED,   /* a port broke although the host is there */
	NODE_EVENTS,
};

/*
 * The state that `event` leads to from `state`; *ret_next is `state` itself where the event means
 * nothing (a late answer, say): then false is returned and nothing is to be done.
 */
bool node_machine_next(enum node_state state, enum node_event event, enum node_state *ret_next);

/* "down", "queued", ... and "retry", "turn", ...: for logs and tests. */
const char *node_state_name(enum node_state state);
/* The name of an event, for logs. */
const char *node_event_name(enum node_event event);

/* What the API calls it: "down", "booting", "ready" or "busy". */
const char *node_state_public_name(enum node_state state);
