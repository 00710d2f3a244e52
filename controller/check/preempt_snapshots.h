/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/model.h"

/*
 * Random snapshots of systems in which tasks preempt one another: bursts of equal tasks, flags true
 * for none, half or all, idle to full clusters, steps and decays, suspended tasks, tasks that
 * outlived their estimate. Half of them draw their numbers from small sets, so that ties are
 * frequent.
 */
struct preempt_snapshot {
	struct sched_snapshot snapshot; /* points into the rest */
	struct sched_system *system;
	struct sched_task *tasks;
	const struct sched_task **waiting;
	struct sched_allocation *running;
	struct sched_allocation *suspended;
	struct sched_allocation *reservations;
	struct sched_node *down;
	uint32_t *nodes; /* what the places point to */
};

/*
 * The same seed gives the same snapshot. `serial`: every task takes one node, none is down or
 * promised. `flags`: the chance of either flag, in percent. The caller frees it.
 */
struct preempt_snapshot *preempt_snapshot_new(uint64_t seed, bool serial, uint32_t flags);
void preempt_snapshot_free(struct preempt_snapshot *made);
