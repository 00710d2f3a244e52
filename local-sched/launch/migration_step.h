/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/vm_step.h"

/*
 * The steps by which VMs of a running task are brought to other nodes, as data. Pure; migration.h
 * acts on it. A step is done when it is done for all VMs that move, and has failed when it failed
 * for a VM.
 *
 *   idle --start--> quieting --> moving --> wiring --> placing --> clocking --> leaving --> idle
 *                                moving --fail--> locating --> wiring
 *
 * VMs do not depend on one another: VMs whose move failed run where they were, the others where
 * they went. A VM that is nowhere, or is not usable where it is, loses the task.
 */
enum migration_step {
	MIGRATION_IDLE = 0,
	/* waits until no answer is on its way to or from a guest, where it would be lost */
	MIGRATION_QUIETING,
	MIGRATION_MOVING,   /* VMs are being moved to other hosts, side by side */
	MIGRATION_LOCATING, /* finds out where the VMs are whose move failed */
	MIGRATION_WIRING,   /* closed ports are opened */
	MIGRATION_PLACING,  /* cap and binding of the new nodes */
	/*
	 * The task's ranks communicate again, and the nodes that VMs left get other VMs. Meanwhile
	 * the guests' clocks are set, which stood still during the downtime.
	 */
	MIGRATION_CLOCKING,
	MIGRATION_LEAVING, /* waits until those nodes are ready */
	MIGRATION_LOST,    /* the VMs have to be removed */
	MIGRATION_STEPS,
};

enum migration_event {
	MIGRATION_EVENT_START = 0, /* a request */
	MIGRATION_EVENT_DONE,      /* the step succeeded for all VMs */
	MIGRATION_EVENT_FAIL,      /* the step failed for a VM */
	MIGRATION_EVENT_ABORT,     /* the task ends: no move begins any more */
	MIGRATION_EVENT_LIMIT,     /* the step exceeds its limit */
	MIGRATION_EVENTS,
};

/* The table, for its page and for tests. An event that is not listed for a step is ignored. */
extern const struct fsm migration_step_fsm;

/* The steps. */
extern const struct vm_step_table migration_steps;
