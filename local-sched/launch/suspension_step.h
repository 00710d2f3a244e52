/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * The steps by which all VMs of a task are suspended and resumed, as data. Pure; suspension.h acts
 * on it. A step is done when it is done for all VMs, and has failed when it failed for one.
 *
 *   running --suspend--> quieting --> freezing --> counting --> leaving --> suspended
 *                                                 counting --save--> saving --> leaving
 *   suspended --resume--> moving --> restoring --> placing --> wiring --> continuing --> clocking
 *             --> running
 *
 * What fails is rolled back: before the VMs have left their nodes they are restored where they were
 * saved, wired and thawed, and the task runs on; afterwards they leave the new nodes and stay
 * suspended, on whatever host of the cluster each of them then is. Where that fails as well the
 * task is lost, and so is one whose step takes longer than its limit.
 */
enum suspension_step {
	SUSPENSION_RUNNING = 0,
	SUSPENSION_QUIETING,   /* waits until no question to a guest is under way: its answer would be lost */
	SUSPENSION_FREEZING,   /* all VMs are being frozen, side by side */
	SUSPENSION_COUNTING,   /* what the task used is read; where the VMs go is decided */
	SUSPENSION_SAVING,
	SUSPENSION_LEAVING,    /* the nodes get other VMs */
	SUSPENSION_SUSPENDED,
	SUSPENSION_MOVING,     /* those that shall go on at another host are brought there */
	SUSPENSION_RESTORING,  /* saved VMs are restored, frozen */
	SUSPENSION_PLACING,    /* cap and binding of the new nodes */
	SUSPENSION_WIRING,     /* ports that are closed are opened: a guest that sees none reads an end */
	SUSPENSION_CONTINUING, /* all VMs are set going, side by side */
	SUSPENSION_CLOCKING,   /* their clocks are set; the task runs */
	SUSPENSION_UNSAVING,   /* rollback: what was saved is restored */
	SUSPENSION_REWIRING,   /* rollback */
	SUSPENSION_THAWING,    /* rollback: all are set going */
	SUSPENSION_LOCATING,   /* rollback: where are those that were on their way? */
	SUSPENSION_REFREEZING, /* rollback: those that go are frozen */
	SUSPENSION_RETREATING, /* rollback: the new nodes get other VMs */
	SUSPENSION_LOST,       /* the VMs are to be removed */
	SUSPENSION_STEPS,
};

enum suspension_event {
	SUSPENSION_EVENT_SUSPEND = 0, /* asked for */
	SUSPENSION_EVENT_RESUME,
	SUSPENSION_EVENT_DONE,        /* the step succeeded for all VMs */
	SUSPENSION_EVENT_SAVE,        /* the VMs go to disk */
	SUSPENSION_EVENT_FAIL,        /* the step failed for a VM */
	SUSPENSION_EVENT_ABORT,       /* the task ends by itself before it is frozen */
	SUSPENSION_EVENT_LIMIT,       /* the step takes too long */
	SUSPENSION_EVENTS,
};

/*
 * The step that `event` leads to from `step`; false, and *ret_next is `step` itself, where it means
 * nothing.
 */
bool suspension_step_next(enum suspension_step step, enum suspension_event event,
			  enum suspension_step *ret_next);

/* Whether the VMs do not run in a step, so that nothing is to be asked of their guests. */
bool suspension_step_holds(enum suspension_step step);

/* Whether a step undoes one that failed: it is tried again while the host is out of reach. */
bool suspension_step_is_rollback(enum suspension_step step);

/* How long a step may take, seconds, where guests' agents have `patience_s` for an answer; 0: as long as it likes. */
unsigned suspension_step_limit_s(enum suspension_step step, double patience_s);

/* "running", "quieting", ... and "suspend", "resume", ...: for logs and tests. */
const char *suspension_step_name(enum suspension_step step);
/* The name of an event, for logs. */
const char *suspension_event_name(enum suspension_event event);
