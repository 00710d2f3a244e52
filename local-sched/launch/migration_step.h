/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * The steps by which VMs of a task that runs, and goes on running, are brought to other nodes, as
 * data. Pure; migration.h acts on it. A step is done when it is done for all VMs that go, and has
 * failed when it failed for one.
 *
 *   idle --start--> quieting --> moving --> wiring --> placing --> clocking --> leaving --> idle
 *                                moving --fail--> locating --> wiring
 *
 * VMs do not depend on one another: those whose move failed run on where they were, the others
 * where they went. A VM that is nowhere, or cannot be used where it is, loses the task.
 */
enum migration_step {
	MIGRATION_IDLE = 0,
	MIGRATION_QUIETING, /* until no answer is on its way to or from a guest: it would be lost */
	MIGRATION_MOVING,   /* those that go to other hosts are being brought there, side by side */
	MIGRATION_LOCATING, /* where are those whose move failed? */
	MIGRATION_WIRING,   /* ports that are not open are opened */
	MIGRATION_PLACING,  /* cap and binding of the new nodes */
	/*
	 * The task goes on, and the nodes that were left get other VMs; meanwhile clocks are set:
	 * they stood still while the VM was nowhere.
	 */
	MIGRATION_CLOCKING,
	MIGRATION_LEAVING, /* until those nodes are ready */
	MIGRATION_LOST,     /* the VMs are to be removed */
	MIGRATION_STEPS,
};

enum migration_event {
	MIGRATION_EVENT_START = 0, /* asked for */
	MIGRATION_EVENT_DONE,      /* the step succeeded for all VMs */
	MIGRATION_EVENT_FAIL,      /* the step failed for a VM */
	MIGRATION_EVENT_ABORT,     /* the task ends: nothing more is begun */
	MIGRATION_EVENT_LIMIT,     /* the step takes too long */
	MIGRATION_EVENTS,
};

/*
 * The step that `event` leads to from `step`; false, and *ret_next is `step`, where it means
 * nothing.
 */
bool migration_step_next(enum migration_step step, enum migration_event event,
			 enum migration_step *ret_next);

/* Whether nothing is to be asked of the guests, or sent to them, in a step. */
bool migration_step_holds(enum migration_step step);

/* How long a step may take, seconds, where guests' agents have `patience_s` for an answer; 0: as long as it likes. */
unsigned migration_step_limit_s(enum migration_step step, double patience_s);

/* "idle", "quieting", ...: for logs and reasons. */
const char *migration_step_name(enum migration_step step);
