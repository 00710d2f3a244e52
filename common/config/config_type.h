/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_cluster.h"

/* A task type: what runs, how wide, and its share of the workload. */
struct config_type {
	char *name;
	char *benchmark; /* one of common/benchmark.h */
	char *class_;    /* problem class: S W A B C; key `class`; of no meaning to scripts */
	uint32_t cores;  /* cores asked for, equal to the MPI ranks; 0: `nodes` says it */
	/* of scripts, instead of cores: whole nodes, whatever their cores; 0: not said */
	uint32_t nodes;
	/* it stood for one type of each number of nodes up to this; 0 once that is done */
	uint32_t nodes_max;
	uint32_t repetitions; /* of the timed section; default 1 */
	uint64_t memory_mib;  /* least memory (RAM + swap) over all nodes of the task */
	double share;         /* fraction of arrivals, 0..1; shares sum to 1 */
	/*
	 * Benchmark "script" only: the longest that its tasks, what people bring along, may run,
	 * and what is expected of them; > 0.
	 */
	double time_s;
	/* Preemption (Machovec 2017, section II), both false unless given: */
	bool may_preempt; /* its tasks may take the nodes of preemptible ones */
	bool preemptible; /* its tasks may be suspended for others */
	/* The utility of its tasks, where it is not the workload's; 0: the workload's. */
	uint32_t utility_max;
	double constant_until; /* equal to zero_at: a step */
	double zero_at;
	double cpu_need; /* of each VM on shared hosts, share of a host, (0, 1]; default 1 */
};

/* The rows of the structures above. */
extern const struct config_section config_type_section;

/* Nodes that `type` occupies in `cluster`: its own, or cores / cores-per-node, rounded up. */
uint32_t config_type_nodes(const struct config_type *type, const struct config_cluster *cluster);

/* Cores that `type` asks for in `cluster`: its own, or all of its nodes. */
uint32_t config_type_cores(const struct config_type *type, const struct config_cluster *cluster);

/*
 * Whether `type` can run in `cluster` at all: it is wide enough, and RAM plus swap of the nodes
 * that the type occupies hold its memory (Machovec 2018, section 6.1: why MG.8 is n.a. on clusters
 * 3 and 4). Where hosts are shared, also whether they have the CPU that all of its VMs need at
 * once.
 */
bool config_type_fits(const struct config_type *type, const struct config_cluster *cluster);

/* Whether tasks of the type are scripts that people bring along. */
bool config_type_is_script(const struct config_type *type);
