/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/sched/model.h"
#include "controller/sched/policy.h"

/*
 * The policies once more, as plainly as the paper describes them: lists of busy intervals per node,
 * every candidate start tried, every option of every task rescanned after every placement. Shares
 * no code with the library but the utility functions and the random numbers.
 */

/* A stretch of time during which a node is taken. */
struct oracle_interval {
	double start_s;
	double end_s;
};

/* A cluster: a GArray of struct oracle_interval per node. */
struct oracle_cluster {
	uint32_t nodes;
	GArray **busy;
};

/* The clusters of a snapshot with what runs, is reserved and is down. */
struct oracle_cluster *oracle_clusters_new(const struct sched_snapshot *snapshot);
void oracle_clusters_free(struct oracle_cluster *clusters, const struct sched_system *system);

/* Takes nodes; a test that wants to see overlaps gets them: true if all were free. */
bool oracle_take(struct oracle_cluster *cluster, const uint32_t *nodes, uint32_t count,
		 double start_s, double end_s);

/* Earliest start of `width` nodes for `duration_s`, INFINITY if never, with the nodes chosen. */
double oracle_earliest(const struct oracle_cluster *cluster, double now_s, uint32_t width,
		       double duration_s, uint32_t *ret_nodes);

/* Whether the oracle has the policy. Of others there is nothing to compare with. */
bool oracle_knows(const struct policy_ops *ops);

/*
 * The actions of a policy that it knows: a GArray of struct sched_action whose nodes are
 * g_malloc()ed.
 */
GArray *oracle_decide(const struct policy *policy, const struct sched_snapshot *snapshot);
