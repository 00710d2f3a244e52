/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/sched/model.h"

/*
 * A snapshot with many waiting tasks, to see how long a policy takes: four clusters of 64 nodes,
 * three quarters of which are taken, eight types of tasks.
 */
struct large_snapshot {
	struct sched_snapshot snapshot; /* points into the rest */
	struct sched_system *system;
	struct sched_task *tasks;
	const struct sched_task **waiting;
	struct sched_allocation *running;
	uint32_t *nodes; /* what the running tasks have */
};

/* The same arguments give the same snapshot. The caller frees it. */
struct large_snapshot *large_snapshot_new(uint64_t seed, uint32_t waiting, bool immediate);
void large_snapshot_free(struct large_snapshot *large);
