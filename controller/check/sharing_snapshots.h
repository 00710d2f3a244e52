/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/model.h"

/*
 * Random snapshots of shared systems that are possible. Needs, requirements and times come from
 * small sets half of the time, so that ties are frequent.
 */
struct sharing_snapshot {
	struct sched_snapshot snapshot; /* points into the rest */
	struct sched_system *system;
	struct sched_task *tasks;
	const struct sched_task **waiting;
	struct sched_allocation *suspended;
	struct sched_allocation *running;
	struct sched_allocation *deferred;
	struct sched_node *down;
	uint32_t *hosts; /* what the running point to */
};

/* How large they may be. */
struct sharing_size {
	uint32_t hosts; /* > 0 */
	uint32_t jobs;
	uint32_t vms; /* of a job, > 0 */
};

/* The same seed and size give the same snapshot. The caller frees it. */
struct sharing_snapshot *sharing_snapshot_new(uint64_t seed, const struct sharing_size *most);
void sharing_snapshot_free(struct sharing_snapshot *random);
