/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "common/fsm.h"

/*
 * The steps of a suspension or a migration as data: what each step allows, and which step follows
 * it. Steps and events are the owner's enumerations; step 0 is the one without a request. Pure;
 * vm_steps.h acts on it.
 */

/* A step. */
struct vm_step {
	/* the VMs do not run, or move: nothing may be asked of their guests or sent to them */
	bool holds;
	/* it rolls back a failed step; it is repeated while the host is out of reach */
	bool is_rollback;
	unsigned limit_s; /* its limit; 0: none */
	/* the limit of a wait for guests, in times that an agent may take to answer; 0: none */
	unsigned patiences;
};

/* The steps of an owner, and what leads from step to step. */
struct vm_step_table {
	const struct fsm *fsm; /* its states are the steps */
	unsigned int done;     /* event: the step succeeded for all VMs */
	unsigned int fail;     /* event: the step failed for a VM */
	unsigned int limit;    /* event: the step exceeded its limit */
	const struct vm_step *steps;
};

/*
 * The limit of a step in seconds, where guests' agents may take `patience_s` to answer; 0: no
 * limit.
 */
static inline unsigned vm_step_limit_s(const struct vm_step_table *table, unsigned int step,
				       double patience_s)
{
	const struct vm_step *current = &table->steps[step];

	return current->patiences > 0 ? (unsigned)ceil(current->patiences * patience_s)
				      : current->limit_s;
}
