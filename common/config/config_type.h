/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_cluster.h"
#include "common/config/config_key.h"

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

/* One entry of the ETC and EEC matrices (Machovec 2018, Tables 5 and 6), with its spread. */
struct config_estimate {
	char *type;
	char *cluster;
	double etc_s;    /* mean execution time, > 0 */
	double etc_sd_s; /* its standard deviation over `count` measurements */
	double eec_j;    /* mean dynamic energy, >= 0 */
	double eec_sd_j;
	uint32_t count; /* measurements behind the entry; 0: given */
};

/*
 * A pair of type and cluster that was to be measured and could not be: no task of the type is
 * placed there.
 */
struct config_unmeasured {
	char *type;
	char *cluster;
	char *reason; /* in words, for headings */
};

/*
 * What one suspension of a task took, seconds of elapsed time, each step after the one before: all
 * of its VMs frozen, off the nodes, back on nodes, running again (controller/backend/backend.h).
 * Simulations draw from these; without any, suspending takes no time (Machovec 2017, section II).
 */
struct config_overhead {
	char *cluster;
	double freeze_s; /* >= 0, as the others */
	double save_s;
	double restore_s;
	double resume_s;
	char *keep;    /* where its VMs were meanwhile: "memory" or "disk"; NULL: not said */
	double skew_s; /* between the first and the last VM frozen, part of freeze_s */
};

/* What a profile measured: the lists of a configuration of the same names. */
struct config_measured {
	struct config_estimate *estimates;
	uint32_t estimates_count;
	struct config_overhead *overheads;
	uint32_t overheads_count;
	struct config_unmeasured *unmeasured;
	uint32_t unmeasured_count;
};

/* The rows of the structures above. */
extern const struct config_section config_estimate_section;
extern const struct config_section config_unmeasured_section;
extern const struct config_section config_overhead_section;
extern const struct config_section config_measured_section;
