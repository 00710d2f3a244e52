/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/suspension.h"
#include "local-sched/launch/vm_steps.h"

/*
 * What suspension.c (from step to step), suspension_vm.c (what a step does for a VM) and
 * suspension_save.c (where suspended VMs go) have in common.
 */

struct suspended_vm {
	struct suspension *suspension;
	uint32_t index;
	struct vm *vm;
	struct node *node; /* where it is, or was last */
	const struct vm_place *settled; /* the place that its cap and cores were set for */
	bool saved;  /* it is on disk, and not on its host */
	bool image;  /* there may be a volume of it */
	bool moving; /* it is on its way to the host of `node`, or perhaps there */
};

struct suspension {
	struct pool *pool;
	uint32_t count;
	char *task;
	const struct suspension_events *events;
	void *data;
	struct vm_steps *steps;
	struct suspended_vm *vms; /* count of them */
	struct task_suspension *record;
	bool dooming;
	bool counted;
	uint32_t hosts_asked; /* for their memory */
	bool scarce;          /* a host has too little of it for the VMs that follow */
	guint still_source;
};

/* What the current step does for a VM; false: nothing. `owner` is the suspension. */
bool suspension_vm_start(void *owner, uint32_t suspended);
/* It succeeded. */
void suspension_vm_good(void *owner, uint32_t suspended, int64_t took_ns);
/* Whether it is to be tried again after `error`, or none. */
bool suspension_vm_repeats(void *owner, uint32_t suspended, const GError *error);
/* Whether a VM is not on the host of its node. */
bool suspension_vm_is_elsewhere(const struct suspended_vm *suspended);

/* Goes on when nothing is on its way to the VMs any more: they are saved, or leave their host. */
void suspension_when_still(struct suspension *suspension);

/* Decides where the VMs are kept, which ends the step. */
void suspension_decide(struct suspension *suspension);
