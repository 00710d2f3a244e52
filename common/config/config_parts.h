/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * Parts of config_check() that have a file each. All return NULL, or a line "KEY.PATH: what is
 * wrong; what to do" that the caller frees.
 */

/*
 * Fills in what rows alone cannot: of a simulated cluster a host and meters, of hosts their names
 * (config_cluster.c).
 */
void config_cluster_fill_in(struct config_cluster *cluster);

/* Whether a simulated cluster makes sense; the line begins with the key below the cluster's. */
char *config_cluster_check_simulated(const struct config_cluster *cluster);

/*
 * Whether each time of the workload and the experiment is there, in seconds or as a multiple that
 * the estimates make one of (config_times.c).
 */
char *config_times_check(const struct config *config);

/*
 * Works out the times that follow from the estimates, as far as these are there: called whenever
 * they change. A configuration that gives seconds keeps them.
 */
void config_times_derive(struct config *config);

/*
 * The key that the file gives and from which `key` ("experiment.mapping_interval_s") follows, or
 * `key` where the file gives it.
 */
const char *config_times_source(const struct config *config, const char *key);

/* Whether a host's URI and bridge can be right; the line begins with its key (config_host.c). */
char *config_host_check(const struct config_host *host);

/* Whether its service makes sense, but for the policy, of which nothing is known here. */
char *config_service_check(const struct config *config);

/* Those that a range stands for among them. */
#define CONFIG_TYPES_MAX 10000

/*
 * Puts types of nodes, nodes + 1 ... nodes_max nodes, NAME.1, NAME.2 ..., in the place of each type
 * with `nodes_max`: the first where it was, the others at the end. Leaves those alone that make no
 * sense, for config_check() to tell (config_type.c).
 */
void config_expand_types(struct config *config);

/* Whether what is asked for is of a size that a program can work through (config_size.c). */
char *config_size_check(const struct config *config);

/* Whether its workload makes sense; it has one (config_workload.c). */
char *config_workload_check(const struct config *config);

/* Whether its policies, limits and times make sense (config_experiment.c). */
char *config_experiment_check(const struct config_experiment *experiment);
