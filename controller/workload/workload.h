/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/config/config.h"
#include "controller/sched/model.h"

/*
 * A workload: the tasks of a run in order of arrival. It depends on the configuration, the seed and
 * the trial alone, so every policy, limit and repeat meets the same arrivals, measured or
 * simulated.
 */
struct workload {
	uint64_t seed;
	uint32_t trial;           /* from 1; `run` uses trial 1 */
	uint32_t tasks_count;
	struct sched_task *tasks; /* in order of arrival; id = index */
	uint32_t tasks_max;       /* room, where tasks are added (engine_submit()); 0: no more */
};

#define WORKLOAD_ERROR (workload_error_quark())
GQuark workload_error_quark(void);

/* Codes of WORKLOAD_ERROR; both are bad input. */
enum workload_error {
	WORKLOAD_ERROR_SYSTEM = 1, /* the estimates do not make a system; the message says where */
	WORKLOAD_ERROR_TASK,       /* a task that makes no sense */
};

/*
 * The clusters and estimates of a configuration as the model that policies see: rows are the
 * configured types and columns the clusters, both in configured order. Types keep to the clusters
 * for which config_type_fits() holds; such a pair without an estimate is an error, but for a hole
 * (config_is_hole()), which can run nothing. A type with a share needs one pair. The names are
 * borrowed from `config`. Returns a new system, or NULL with `error` set.
 */
struct sched_system *workload_system_new(const struct config *config, GError **error);

/*
 * Of a configuration whose cluster is shared: the system that policies see who share its hosts, in
 * which nobody knows how long a task takes. That of workload_system_new() then has whole hosts for
 * nodes. Its name is borrowed.
 */
struct sched_system *workload_shared_system_new(const struct config *config);

/*
 * The nodes that policies see of a cluster, and how many of them a task of a type occupies: of a shared
 * cluster the hosts, and as many whole ones as hold all that it needs.
 */
uint32_t workload_cluster_nodes(const struct config_cluster *cluster);
uint32_t workload_nodes(const struct config_type *type, const struct config_cluster *cluster);

/* What a task of a type asks for of the hosts of a shared cluster: a VM takes one place for VMs. */
struct sched_demand workload_demand(const struct config_type *type,
				    const struct config_cluster *cluster);

/*
 * The testbed's workload (Machovec 2018, section 6.2): exponential gaps, types by their shares, maxima
 * drawn uniformly from workload.utility_max, full utility until constant_until x the type's least
 * ETC after arrival, then linear to 0 at zero_at x. `seed` 0 stands for the configured one; `trial`
 * counts from 1. `system` must come from the same configuration. Returns a new workload, or NULL
 * with `error` set.
 */
struct workload *workload_testbed_new(const struct config *config,
				      const struct sched_system *system, uint64_t seed,
				      uint32_t trial, GError **error);

/*
 * Verifies a workload from anywhere: arrivals finite, not negative and in order, ids equal to
 * indices, rows known, utilities well formed. Returns true, or false with `error` naming the task.
 */
gboolean workload_check(const struct workload *workload, const struct sched_system *system,
			GError **error);

/* For how many tasks there is room; what is kept per task is made for so many. */
static inline uint32_t workload_room(const struct workload *workload)
{
	return MAX(workload->tasks_max, workload->tasks_count);
}

/*
 * A new workload without tasks, with room for tasks_max (> 0) that come at any time; room that is not
 * used costs no memory. Of one that goes on the caller puts back the tasks that came before.
 */
struct workload *workload_open_new(uint32_t tasks_max);

/* NULL is allowed. */
void workload_free(struct workload *workload);
typedef struct workload workload_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(workload_t, workload_free)
