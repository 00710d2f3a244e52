/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/vm.h"

/*
 * Steps that are done for several VMs side by side, one after the other: what suspending and
 * migrating the VMs of a task have in common. A step is done when it is done for all VMs, and has
 * failed when it failed for one; which step follows is the owner's table to say. Calls to hosts are
 * answered late: an answer counts only while its step lasts, and not once its VM was dropped.
 * Steps and events are the owner's enumerations, VMs have numbers from 0. Main loop only.
 */
struct vm_steps;

/* One kind of owner: a constant table. All but `good`, `is_patient` and `left` are required. */
struct vm_steps_kind {
	const char *name; /* "suspension", for logs */
	guint done;       /* events: the step succeeded for all VMs, ... */
	guint fail;       /* ... failed for one, ... */
	guint limit;      /* ... took longer than its limit */
	/* The owner's tables (suspension_step.h, migration_step.h). */
	bool (*next)(guint step, guint event, guint *ret_next);
	const char *(*step_name)(guint step);
	unsigned (*limit_s)(const void *owner, guint step);
	/* Starts the current step for a VM; false: nothing is to be done for this one. */
	bool (*start)(void *owner, uint32_t vm);
	/* Whether to start it again after a while: its host, or agent, did not do it yet. */
	bool (*is_to_be_repeated)(void *owner, uint32_t vm, const GError *error);
	/* It succeeded for a VM, so long after it was started. */
	void (*good)(void *owner, uint32_t vm, int64_t took_ns);
	/* Whether the current step may go on for as long again, although its limit is reached. */
	bool (*is_patient)(void *owner);
	/* The current step ends, in whatever way: what the owner has set a timer for is over. */
	void (*left)(void *owner);
	/* `previous` has led to the current step by `event`. */
	void (*enter)(void *owner, guint previous, guint event);
};

/* Steps of `count` VMs of `task` (copied), at step 0; `kind` and `owner` are borrowed. */
struct vm_steps *vm_steps_new(const struct vm_steps_kind *kind, const char *task, uint32_t count,
			      void *owner);

/* Frees them, also while calls are under way: the owner is not told any more. NULL is allowed. */
void vm_steps_free(struct vm_steps *steps);

/* The current one. */
guint vm_steps_current(const struct vm_steps *steps);

/* The first thing that went wrong, or NULL; vm_steps_take_reason() gives it away and forgets it. */
char *vm_steps_take_reason(struct vm_steps *steps);

/* Goes where `event` leads, if anywhere; `reason` (NULL: none) is kept if it is the first. */
void vm_steps_fire(struct vm_steps *steps, guint event, const char *reason);

/* Is at `step` from now on, which is not entered. */
void vm_steps_jump(struct vm_steps *steps, guint step);

/* The current step takes at most so many seconds from now on. */
void vm_steps_set_limit(struct vm_steps *steps, unsigned limit_s);

/* Does the current step for all VMs. */
void vm_steps_run(struct vm_steps *steps);

/* For one VM it is done, or has failed with `error`; with the last VM the step ends. */
void vm_steps_done(struct vm_steps *steps, uint32_t vm, const GError *error);

/* It is started again for one VM after a while. */
void vm_steps_repeat(struct vm_steps *steps, uint32_t vm);

/* Its channels were opened again, or not (vm_rewire()): it is done, or is to be repeated. */
void vm_steps_wired(struct vm_steps *steps, uint32_t vm, const GError *error);

/* A VM is gone: nothing more is done for it, and nothing waits for it. */
void vm_steps_drop(struct vm_steps *steps, uint32_t vm);

/* Whether it is not: nothing has dropped it. */
bool vm_steps_has(const struct vm_steps *steps, uint32_t vm);

/* Whether something waits for it in the current step. */
bool vm_steps_awaits(const struct vm_steps *steps, uint32_t vm);

/* The data of a call to a host for one VM, whose answer goes to vm_steps_answer(), ... */
gpointer vm_steps_call(struct vm_steps *steps, uint32_t vm);

/* ... a host_done_f for calls whose result is text, or none; it ends or repeats the step, ... */
void vm_steps_answer(gpointer result, const GError *error, gpointer call);

/*
 * ... or to the caller, who takes it in with this: the owner, or NULL where nobody wants it any
 * more.
 */
void *vm_steps_answered(gpointer call, uint32_t *ret_vm);

/* What both owners do for a VM: each starts a call that vm_steps_answer() ends. */

/* The cap and the binding of the place where it is. */
void vm_steps_place(struct vm_steps *steps, uint32_t index, struct vm *vm);

/*
 * Its guest's clock. A clock is set to the time of the request: where the agent took long, it is to
 * be set again (vm_steps_is_clock_late(), when it was set), a few times at most in a step.
 */
void vm_steps_set_clock(struct vm_steps *steps, uint32_t index, struct vm *vm);
bool vm_steps_is_clock_late(const struct vm_steps *steps, uint32_t vm);
