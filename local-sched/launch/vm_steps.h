/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"
#include "local-sched/hypervisor/vm.h"
#include "local-sched/launch/vm_step.h"

/*
 * Steps that are done for several VMs side by side, one step after the other: the common part of
 * suspension and migration. A step is done when it is done for all VMs, and has failed when it
 * failed for a VM. The owner's table says which step follows. Calls to hosts are answered late: an
 * answer counts only during its step, and only while its VM was not dropped. Steps and events are
 * the owner's enumerations, VMs have numbers from 0. Main loop only.
 */
struct vm_steps;

/* A kind of owner: a constant table. All but `good`, `is_patient` and `left` are required. */
struct vm_steps_kind {
	const struct vm_step_table *table; /* suspension_step.h, migration_step.h */
	/* Starts the current step for a VM; false: there is nothing to do. */
	bool (*start)(void *owner, uint32_t vm);
	/*
	 * Whether to repeat the step for a VM after a while: its host, or agent, has not done it
	 * yet.
	 */
	bool (*is_to_be_repeated)(void *owner, uint32_t vm, const GError *error);
	/* The step succeeded for a VM, so long after its start. */
	void (*good)(void *owner, uint32_t vm, int64_t took_ns);
	/* Whether the current step may last for another limit after it has reached its limit. */
	bool (*is_patient)(void *owner);
	/* The current step ends, with any result. The owner stops its timers for the step. */
	void (*left)(void *owner);
	/* The current step begins; `event` led to it from `previous`. */
	void (*enter)(void *owner, guint previous, guint event);
};

/*
 * The events and queries of a suspension or a migration. All are required, the last two by a
 * suspension alone.
 */
struct vm_steps_events {
	/*
	 * Whether no request to a guest is under way, and, for a migration, no rank waits for a
	 * message. A migration calls it until it is true; a suspension waits for
	 * suspension_proceed().
	 */
	bool (*is_quiet)(void *data);
	/* A suspension's VMs stand still since `t_ns`; a migration's begin to move. */
	void (*held)(int64_t t_ns, void *data);
	/*
	 * The guests can be reached again, and execute since `t_ns` if they stood still. A rollback
	 * may come without `held`.
	 */
	void (*released)(int64_t t_ns, void *data);
	/* The end of a request. `reason` is NULL where it succeeded, and says why it did not. */
	void (*ended)(const char *reason, void *data);
	/* The rollback failed, or a VM is gone or not usable: the task has to be ended. */
	void (*lost)(const char *reason, void *data);
	/* When something was sent to a PMI port last, platform_now_ns(). */
	int64_t (*last_sent_ns)(void *data);
	/* The end of suspension_cancel(): the VMs may be removed. */
	void (*cancelled)(void *data);
};

/*
 * Creates the steps for `count` VMs of `task` (copied), at step 0, whose agents may take
 * `patience_s` to answer. `kind` and `owner` are borrowed.
 */
struct vm_steps *vm_steps_new(const struct platform *platform, const struct vm_steps_kind *kind,
			      const char *task, uint32_t count, double patience_s, void *owner);

/* Frees them, also while calls are under way; the owner gets no more calls. NULL is allowed. */
void vm_steps_free(struct vm_steps *steps);

/* The current step, and its limit in seconds; 0: none. */
guint vm_steps_current(const struct vm_steps *steps);
unsigned vm_steps_limit_s(const struct vm_steps *steps);

/* The first failure, or that none is known. The caller takes and frees the text. */
char *vm_steps_take_reason(struct vm_steps *steps);

/*
 * Applies `event`, which may lead to another step. `reason` (NULL: none) is kept if it is the
 * first.
 */
void vm_steps_fire(struct vm_steps *steps, guint event, const char *reason);

/* Sets the current step without a call of `enter`. */
void vm_steps_jump(struct vm_steps *steps, guint step);

/* Limits the rest of the current step to so many seconds. */
void vm_steps_set_limit(struct vm_steps *steps, unsigned limit_s);

/* Starts the current step for all VMs. */
void vm_steps_run(struct vm_steps *steps);

/* Ends the current step for a VM, by success or by `error`. With the last VM the step ends. */
void vm_steps_done(struct vm_steps *steps, uint32_t vm, const GError *error);

/* Starts the current step again for a VM after a while. */
void vm_steps_repeat(struct vm_steps *steps, uint32_t vm);

/*
 * Ends the step for a VM whose channels were opened (vm_rewire()), or repeats it where they were
 * not.
 */
void vm_steps_wired(struct vm_steps *steps, uint32_t vm, const GError *error);

/* Drops a VM that is gone: no step does anything for it or waits for it. */
void vm_steps_drop(struct vm_steps *steps, uint32_t vm);

/* Whether the VM was not dropped. */
bool vm_steps_has(const struct vm_steps *steps, uint32_t vm);

/* Whether the current step waits for a VM. */
bool vm_steps_awaits(const struct vm_steps *steps, uint32_t vm);

/*
 * The data for a call to a host about a VM. The call's `done` is vm_steps_answer(), or passes the
 * data to vm_steps_answered().
 */
gpointer vm_steps_call(struct vm_steps *steps, uint32_t vm);

/*
 * A host_done_f for calls whose result is a text, or none. It ends or repeats the step for the VM.
 */
void vm_steps_answer(gpointer result, const GError *error, gpointer call);

/*
 * Takes an answer that the caller handles by itself. Returns the owner, or NULL where the answer is
 * not wanted any more.
 */
void *vm_steps_answered(gpointer call, uint32_t *ret_vm);

/*
 * The following are common to both owners: each starts a call for a VM that vm_steps_answer() ends.
 */

/* Applies the cap and the binding of the VM's place. */
void vm_steps_place(struct vm_steps *steps, uint32_t index, struct vm *vm);

/*
 * Sets the guest's clock to the time of the request. Where the agent was slow,
 * vm_steps_is_clock_late() is true and the clock has to be set again, a few times at most in a
 * step.
 */
void vm_steps_set_clock(struct vm_steps *steps, uint32_t index, struct vm *vm);
bool vm_steps_is_clock_late(const struct vm_steps *steps, uint32_t vm);
