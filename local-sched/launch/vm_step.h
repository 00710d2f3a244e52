/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The steps of a suspension or a migration as data: what each step allows, and which step follows
 * it. Steps and events are the owner's enumerations; step 0 is the one without a request. Pure;
 * vm_steps.h acts on it.
 */

/* A step. */
struct vm_step {
	const char *name; /* for logs, reasons and tests: "quieting", ... */
	/* the VMs do not run, or move: nothing may be asked of their guests or sent to them */
	bool holds;
	/* it rolls back a failed step; it is repeated while the host is out of reach */
	bool is_rollback;
	unsigned limit_s; /* its limit; 0: none */
	/* the limit of a wait for guests, in times that an agent may take to answer; 0: none */
	unsigned patiences;
};

/* The step that an event leads to. */
struct vm_transition {
	guint from;
	guint event;
	guint to;
};

/* The steps of an owner, and what leads from step to step. */
struct vm_step_table {
	const char *name; /* "suspension", for logs */
	guint done;       /* event: the step succeeded for all VMs */
	guint fail;       /* event: the step failed for a VM */
	guint limit;      /* event: the step exceeded its limit */
	/*
	 * The step that follows, where no transition says otherwise, a rollback that fails and a
	 * step that exceeds its `limit_s`; 0: none does.
	 */
	guint lost;
	const struct vm_step *steps;
	const struct vm_transition *transitions;
	guint transitions_count;
};

/*
 * The step that `event` leads to from `step`. False, and *ret_next is `step`, where the event means
 * nothing.
 */
bool vm_step_next(const struct vm_step_table *table, guint step, guint event, guint *ret_next);

/*
 * The limit of a step in seconds, where guests' agents may take `patience_s` to answer; 0: no
 * limit.
 */
unsigned vm_step_limit_s(const struct vm_step_table *table, guint step, double patience_s);
