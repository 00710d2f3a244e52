/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/vm_step.h"

/*
 * The steps by which all VMs of a task are suspended and resumed, as data. Pure; suspension.h acts
 * on it. A step is done when it is done for all VMs, and has failed when it failed for a VM.
 *
 *   running --suspend--> quieting --> freezing --> counting --> leaving --> suspended
 *                                                 counting --save--> saving --> leaving
 *   suspended --resume--> moving --> restoring --> placing --> wiring --> continuing --> clocking
 *             --> running
 *
 * Failures are rolled back. Before the VMs have left their nodes, saved VMs are restored, all VMs
 * are wired and thawed, and the task runs on. Afterwards the VMs leave the new nodes and stay
 * suspended, each on whatever host of the cluster it is then. The task is lost where the rollback
 * fails, or where a step exceeds its limit.
 */
enum suspension_step {
	SUSPENSION_RUNNING = 0,
	/* waits until no request to a guest is under way, whose answer would be lost */
	SUSPENSION_QUIETING,
	SUSPENSION_FREEZING, /* all VMs are being frozen, side by side */
	/* the task's usage is being read; then it is decided where the VMs are kept */
	SUSPENSION_COUNTING,
	SUSPENSION_SAVING,
	SUSPENSION_LEAVING, /* the nodes get other VMs */
	SUSPENSION_SUSPENDED,
	SUSPENSION_MOVING,    /* VMs that resume on another host are brought there */
	SUSPENSION_RESTORING, /* saved VMs are restored, frozen */
	SUSPENSION_PLACING,   /* cap and binding of the new nodes */
	/* closed ports are opened; a guest reads an end of file at a closed port */
	SUSPENSION_WIRING,
	SUSPENSION_CONTINUING, /* all VMs are being started again, side by side */
	SUSPENSION_CLOCKING,   /* the guests' clocks are being set; the task runs */
	SUSPENSION_UNSAVING,   /* rollback: saved VMs are restored */
	SUSPENSION_REWIRING,   /* rollback */
	SUSPENSION_THAWING,    /* rollback: all VMs are being started again */
	SUSPENSION_LOCATING,   /* rollback: finds out where the VMs are that were on their way */
	SUSPENSION_REFREEZING, /* rollback: running VMs are frozen */
	SUSPENSION_RETREATING, /* rollback: the new nodes get other VMs */
	SUSPENSION_LOST,       /* the VMs have to be removed */
	SUSPENSION_STEPS,
};

enum suspension_event {
	SUSPENSION_EVENT_SUSPEND = 0, /* a request */
	SUSPENSION_EVENT_RESUME,
	SUSPENSION_EVENT_DONE,  /* the step succeeded for all VMs */
	SUSPENSION_EVENT_SAVE,  /* the VMs are to be kept on disk */
	SUSPENSION_EVENT_FAIL,  /* the step failed for a VM */
	SUSPENSION_EVENT_ABORT, /* the task ends by itself before it is frozen */
	SUSPENSION_EVENT_LIMIT, /* the step exceeds its limit */
	SUSPENSION_EVENTS,
};

/* The table, for its page and for tests. An event that is not listed for a step is ignored. */
extern const struct fsm suspension_step_fsm;

/* The steps. */
extern const struct vm_step_table suspension_steps;
