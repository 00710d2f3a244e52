/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/config/config.h"
#include "controller/sched/model.h"

/*
 * A workload: the tasks of a run in order of arrival. It depends only on the configuration, the
 * seed and the trial, so that every policy, limit and repeat meets the same arrivals, measured or
 * simulated.
 */
struct workload {
	uint64_t seed;
	uint32_t trial; /* from 1; `run` uses trial 1 */
	uint32_t tasks_count;
	struct sched_task *tasks; /* in order of arrival; id = index */
	/*
	 * Room for tasks that are added (engine_submit(), or by users who react); 0: none are added.
	 */
	uint32_t tasks_max;
	/* Users who react and submit further tasks (users.h), owned; NULL: none. */
	struct workload_users *users;
};

#define WORKLOAD_ERROR (workload_error_quark())
GQuark workload_error_quark(void);

/* Codes of WORKLOAD_ERROR; both are bad input. */
enum workload_error {
	WORKLOAD_ERROR_SYSTEM = 1, /* the estimates do not make a system; the message says where */
	WORKLOAD_ERROR_TASK,       /* an invalid task */
};

/*
 * The clusters and estimates of a configuration as policies see them: rows are the configured types
 * and columns the clusters, both in configured order. Types keep to the clusters for which
 * config_type_fits() holds; such a pair without an estimate is an error, unless it is a hole
 * (config_is_hole()), which can run no task. A type with an arrival fraction needs one pair. The
 * names are borrowed from `config`. Returns a new system, or NULL with `error` set.
 */
struct sched_system *workload_system_new(const struct config *config, GError **error);

/*
 * The system of a configuration with a shared cluster, for policies that share its hosts: execution
 * times are not known in it. The system of workload_system_new() then has whole hosts as nodes. The
 * name is borrowed.
 */
struct sched_system *workload_shared_system_new(const struct config *config);

/*
 * A new system of the configured clusters, each with `pstates` P-states, and of `rows_count` rows,
 * all without estimates; the names are borrowed. Never fails.
 */
struct sched_system *workload_clusters_system(const struct config *config, uint32_t pstates,
					      uint32_t rows_count);

/*
 * Finishes a system whose estimates are filled in. False with `error` (WORKLOAD_ERROR_SYSTEM),
 * which begins with `place`, such as "environment: ", and names the cluster or type.
 */
gboolean workload_finish_system(struct sched_system *system, const char *place, GError **error);

/*
 * The number of nodes of a cluster that policies see, and how many of them a task of a type
 * occupies: in a shared cluster hosts, and as many whole ones as hold all that the task needs.
 */
uint32_t workload_cluster_nodes(const struct config_cluster *cluster);
uint32_t workload_nodes(const struct config_type *type, const struct config_cluster *cluster);

/* The demand of a task of a type on the hosts of a shared cluster: a VM takes one slot for VMs. */
struct sched_demand workload_demand(const struct config_type *type,
				    const struct config_cluster *cluster);

/*
 * The testbed's workload (Machovec 2018, section 6.2): exponential gaps, types by their arrival
 * fractions, maxima drawn uniformly from workload.utility_max, full utility until constant_until x
 * the type's least ETC after arrival, then linear to 0 at zero_at x. `seed` 0: the configured one;
 * `trial` counts from 1. `system` must come from the same configuration. Where the configuration
 * lists tasks (workload.list), these are the tasks of every trial. Tasks of users who react are not
 * among the tasks, but with the workload's users. Returns a new workload, or NULL with `error` set.
 */
struct workload *workload_testbed_new(const struct config *config,
				      const struct sched_system *system, uint64_t seed,
				      uint32_t trial, GError **error);

/*
 * The workload of tasks (GArray of struct sched_task, taken over), sorted by arrival and numbered.
 */
struct workload *workload_of_tasks(GArray *tasks, uint64_t seed, uint32_t trial);

/*
 * Verifies a workload from anywhere: arrivals finite, not negative and in order, ids equal to
 * indices, rows known, utilities well formed. Returns true, or false with `error` naming the task.
 */
gboolean workload_check(const struct workload *workload, const struct sched_system *system,
			GError **error);

/* The number of tasks for which arrays per task are allocated. */
static inline uint32_t workload_room(const struct workload *workload)
{
	return MAX(workload->tasks_max, workload->tasks_count);
}

/*
 * A new workload without tasks, with room for tasks_max (> 0) tasks that are submitted at any time;
 * unused room costs no memory. For a run that is continued the caller restores the tasks that came
 * before.
 */
struct workload *workload_open_new(uint32_t tasks_max);

/* NULL is allowed. */
void workload_free(struct workload *workload);
typedef struct workload workload_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(workload_t, workload_free)
