/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/pool.h"
#include "local-sched/launch/suspension_step.h"
#include "local-sched/launch/task.h"
#include "local-sched/launch/vm_steps.h"

/*
 * Suspends and resumes all VMs of a task together, repeatedly. The steps and their rollback are in
 * suspension_step.h. VMs keep their identity: names, addresses and PMI ports go with them from node
 * to node. Main loop only.
 */
struct suspension;

/*
 * Creates a suspension for the running VMs of `task`, at the nodes where the task was placed last.
 * `vms` has a VM for each of its nodes, in the same order, all busy with the task; the array is
 * copied. `pool`, the VMs, `events` and `data` are borrowed until the suspension is freed, `task`
 * is only read.
 */
struct suspension *suspension_new(const struct task *task, struct pool *pool, struct vm *const *vms,
				  const struct vm_steps_events *events, void *data);

/* Frees it, also while calls are under way, without an event. NULL is allowed. */
void suspension_free(struct suspension *suspension);

/*
 * Suspends running VMs. Writes times and decisions to `record`, which is borrowed until the
 * resumption has ended or the suspension has failed.
 */
void suspension_suspend(struct suspension *suspension, struct task_suspension *record);

/*
 * Resumes suspended VMs at the nodes in the record, which must be ready. Brings the VMs to their
 * hosts.
 */
void suspension_resume(struct suspension *suspension);

/* Like pool_match(), for VMs that are at no nodes. */
bool suspension_match_nodes(const struct suspension *suspension, uint32_t *nodes, GError **error);

/*
 * Continues if what the suspension waits for has happened. To be called when no request to a guest
 * is under way any more, when the task's usage until `held` was read, and when a node is settled.
 */
void suspension_proceed(struct suspension *suspension);

/* A VM's ports are open, or `error` says why not. */
void suspension_wired(struct suspension *suspension, struct vm *vm, const GError *error);

/* The task ends while its VMs run. The suspension stops without an event. */
void suspension_abort(struct suspension *suspension);

/* The task ends while its VMs stand still. Ends with `cancelled`, perhaps before this returns. */
void suspension_cancel(struct suspension *suspension);

/* The current step. */
enum suspension_step suspension_step(const struct suspension *suspension);
