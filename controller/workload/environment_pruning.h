/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/workload/environment.h"
#include "controller/workload/pruning.h"

/*
 * Tasks with hard deadlines on clusters with queues (Gentry 2019, pruning.h), by
 * config_environment(config)->pruning. Execution times are those of its entries, or of the matrix
 * of its seed; rows are the configured types, or the types in the order in which entries first name
 * them.
 */

/* The execution times and settings that the system of a trial borrows. */
struct environment_machines {
	struct pet *pet;
	struct sched_queueing settings;
};

/* NULL is allowed. */
void environment_machines_free(struct environment_machines *machines);

/*
 * Fills in the whole trial. Returns true, or false with `error` (WORKLOAD_ERROR) set: execution
 * times that do not make PMFs.
 */
bool environment_pruning_draw(struct environment_trial *trial, const struct config *config,
			      uint64_t seed, uint32_t number, GError **error);
