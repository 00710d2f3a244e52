/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/random.h"
#include "controller/sched/model.h"

/*
 * Random snapshots that are possible: what runs and what is reserved never overlaps. Times,
 * energies and utilities come from small sets, so that ties are frequent; some clusters have more
 * than 64 nodes, some nodes are down.
 */
struct random_snapshot {
	struct sched_snapshot snapshot; /* points into the rest */
	struct sched_system *system;
	struct sched_task *tasks;
	const struct sched_task **waiting;
	struct sched_allocation *running;
	struct sched_allocation *reservations;
	struct sched_allocation *placeholders;
	struct sched_node *down;
	uint32_t *nodes; /* what the places point to */
};

/* The same seed gives the same snapshot. The caller frees it. */
struct random_snapshot *random_snapshot_new(uint64_t seed);
void random_snapshot_free(struct random_snapshot *random);
