/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/sched/model.h"

/*
 * Sums of 64 bits over what a decision is made of, so that two decisions can be compared without
 * their texts: equal values have equal sums on every machine, and different values have different
 * sums but for chance. The store keeps them (docs/reference/store.md, `input`): other values in a
 * sum need a new version of the schema. All NANs count as one value.
 */

/*
 * All that a policy may know of a snapshot but for the system, and of tasks but for their
 * utilities, which sched_system_sum() and sched_tasks_sum() cover. O(its tasks and their nodes).
 */
uint64_t sched_snapshot_sum(const struct sched_snapshot *snapshot);

/* The actions of a plan with their nodes, and its note. */
uint64_t sched_plan_sum(const struct sched_plan *plan);

/* Clusters, rows, estimates and, with queues, probabilities of execution times. */
uint64_t sched_system_sum(const struct sched_system *system);

/* Tasks with their utilities and demands, in order. */
uint64_t sched_tasks_sum(const struct sched_task *tasks, uint32_t count);

/* The sum of two decisions, one after the other. */
uint64_t sched_sums_join(uint64_t first, uint64_t second);
