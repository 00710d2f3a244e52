/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/sched/model.h"

/* Random snapshots of each model of a system, behind one interface. */

/* A snapshot with what it points to. */
struct model_snapshot {
	const struct sched_snapshot *snapshot;
	void *made;
	void (*free)(void *made);
};

/* A model. */
struct snapshot_model {
	const char *name; /* as in docs/reference/policy-protocol.md */
	struct model_snapshot (*make)(uint64_t seed, uint32_t number);
};

/* Ended by a row without a name. */
extern const struct snapshot_model snapshot_models[];

/* Snapshot `number` of a seed; the same two numbers give the same. */
struct model_snapshot model_snapshot_make(const struct snapshot_model *model, uint64_t seed,
					  uint32_t number);

void model_snapshot_clear(struct model_snapshot *snapshot);
