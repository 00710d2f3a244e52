/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/* A job that a configuration lists: equal VMs, their needs as shares of a host. */
struct config_job {
	double arrival_s; /* >= 0, in order */
	double run_s;     /* alone on the cluster, > 0 */
	uint32_t vms;
	double cpu;    /* need of each VM, (0, 1] */
	double memory; /* requirement of each, (0, 1] */
};

/*
 * Jobs on the hosts of one cluster, its nodes, that policies may share in time (Stillwell 2010):
 * those of the Lublin model; or of a week of environment.trace, by the rules for HPC2N; or listed
 * ones.
 */
struct config_sharing {
	uint32_t jobs;    /* of the model, in a trial; default 1000 */
	double load;      /* the offered load that they are scaled to; default 0: as drawn */
	double penalty_s; /* of rescheduling (IV.A), >= 0; default 300 */
	/* virtual time runs during the penalty, though there is no progress; default false */
	bool virtual_time_in_penalty;
	/* of a host's: the most that a task of the model needs, 2 to 10; default 10 */
	uint32_t memory_tenths;
	uint32_t week;           /* of the trace, from 1, that trial 1 runs; default 1 */
	struct config_job *list; /* list_count jobs, the same in all trials; none: the others */
	uint32_t list_count;
};

/* The rows of the structures above. */
extern const struct config_section config_sharing_section;

/* Whether its jobs on shared hosts make sense: NULL, or "KEY.PATH: ..." (the caller frees). */
char *config_sharing_check(const struct config *config);
