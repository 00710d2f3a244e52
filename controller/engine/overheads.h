/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "common/config/config.h"
#include "controller/backend/sim.h"

/*
 * What suspending and resuming took in measurements, by cluster, as simulations take it
 * (backend_sim_set_overheads()).
 */
struct overheads {
	uint32_t clusters_count;
	struct backend_overhead **samples; /* per cluster of the configuration */
	uint32_t *counts;
};

/* The overheads of a configuration; NULL where it has none. */
struct overheads *overheads_new(const struct config *config);

/* For a repeat, or a trial, of a seed; borrows from `overheads`, where NULL stands for none. */
struct backend_sim_overheads overheads_view(const struct overheads *overheads, uint64_t seed,
					    uint64_t stream);

/* NULL is allowed. */
void overheads_free(struct overheads *overheads);
typedef struct overheads overheads_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(overheads_t, overheads_free)
