/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/workload/pruning.h"

/*
 * A system of the machines and types of the settings' matrix (settings and names are borrowed),
 * with its mean execution times. The caller frees the system before the settings.
 */
struct sched_system *pruning_system_of(const struct sched_queueing *settings,
				       const struct sched_cluster *machines,
				       const char *const *types);

/* A system of the eight machines and twelve types of Gentry 2019; as above. */
struct sched_system *pruning_system_new(const struct sched_queueing *settings);
