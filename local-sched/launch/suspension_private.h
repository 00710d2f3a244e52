/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/suspension.h"

/*
 * What suspension.c (the sequence of steps), suspension_vm.c (a step for a VM) and
 * suspension_save.c (where suspended VMs are kept) share. The last two name no functions of
 * suspension.c.
 */

struct suspended_vm {
	struct suspension *suspension;
	uint32_t index;
	struct vm *vm;
	struct node *node;              /* its node, or its last one */
	const struct vm_place *settled; /* the place for which its cap and cores are set */
	bool saved;                     /* it is on disk, and not in memory */
	bool image;                     /* a volume of it may exist */
	bool moving; /* it is on its way to the host of `node`, or perhaps has arrived */
};

struct suspension {
	struct pool *pool;
	uint32_t count;
	char *task;
	const struct vm_steps_events *events;
	void *data;
	struct vm_steps *steps;
	struct suspended_vm *vms; /* count of them */
	struct task_suspension *record;
	bool cancelling;
	bool counted;
	uint32_t hosts_asked; /* hosts whose free memory is being read */
	bool scarce;          /* a host has too little memory for the VMs that follow */
	guint still_source;
};

/* Starts the current step for a VM; false: there is nothing to do. `owner` is the suspension. */
bool suspension_vm_start(void *owner, uint32_t suspended);
/* The step has succeeded for a VM. */
void suspension_vm_good(void *owner, uint32_t suspended, int64_t took_ns);
/* Whether to repeat the step for a VM after `error`, or after success (NULL). */
bool suspension_vm_repeats(void *owner, uint32_t suspended, const GError *error);
/* Whether a VM is not on the host of its node. */
bool suspension_vm_is_elsewhere(const struct suspended_vm *suspended);

/*
 * Waits until no message is on its way to the VMs, then saves them or lets them leave their host.
 */
void suspension_when_still(struct suspension *suspension);

/* Decides where the VMs are kept, and ends the step. */
void suspension_decide(struct suspension *suspension);
