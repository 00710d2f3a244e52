/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "controller/workload/environment.h"
#include "controller/workload/lublin.h"

/*
 * Workloads of Stillwell 2010: jobs of equal tasks (VMs), each with a CPU need and a memory
 * requirement, on a cluster of equal hosts. Policies that share hosts in time see these and no
 * execution times; policies that allocate whole hosts (FCFS, EASY) see perfect estimates.
 */

/* A job. */
struct dfrs_job {
	double arrival_s; /* >= 0 */
	double run_s;     /* alone on the cluster, > 0 */
	struct sched_demand demand;
};

/*
 * Jobs of the Lublin model with the annotations of section IV.C for quad-core hosts: a one-task job
 * needs a quarter of a host's CPU, the tasks of other jobs all of it; 10 % of the memory with
 * probability 0.55, else 10 x %, x uniform in 2 to `tenths_max` (2 to 10; 10 in the paper). `load`
 * > 0 scales the arrivals to that offered load on LUBLIN_NODES hosts (lublin_scale()); 0 leaves
 * them unscaled, so that different loads have the same jobs. Trial from 1. The caller frees the
 * `count` jobs.
 */
struct dfrs_job *dfrs_lublin_new(uint64_t seed, uint32_t trial, uint32_t count, double load,
				 uint32_t tenths_max);

/* Hosts of HPC2N: 2 processors and 2 GB each. */
#define DFRS_HPC2N_HOSTS 120

/* Weeks that a trace spans: from its time 0 to the last submission. */
uint32_t dfrs_trace_weeks(const struct swf_trace *trace);

/*
 * The jobs that were submitted in a week (from 0) of HPC2N's trace, converted as in section IV.C:
 *
 * - A processor's memory is the larger of requested and used memory, as a part of 2 GB, and 10 % at
 *   least, also if neither is known.
 * - A job with an even number of processors, each with less than 50 % of the memory, has half as
 *   many tasks with a CPU need of 100 % and twice that memory; any other job has a task per
 *   processor with a CPU need of 50 %.
 * - Jobs that need more than `hosts` whole hosts are left out: none of HPC2N's on DFRS_HPC2N_HOSTS.
 *
 * Times count from the beginning of the week. The caller frees the *ret_count jobs.
 */
struct dfrs_job *dfrs_hpc2n_new(const struct swf_trace *trace, uint32_t week, uint32_t hosts,
				uint32_t *ret_count);

/*
 * The fewest whole hosts on which all VMs of a job have their memory and all of their CPU needs:
 * the size of the job without sharing. A job that needs more hosts than the cluster has could not
 * run alone.
 */
uint32_t dfrs_whole_hosts(const struct sched_demand *demand);

/*
 * Makes a trial of jobs in order of arrival, each of which could run alone on `hosts` hosts
 * (dfrs_whole_hosts()): a task per job with row = id, whose utility is 1 whenever it ends, the
 * hosts for policies that share them, and a row per job with its time and hosts for others.
 */
struct environment_trial *dfrs_trial_new(const struct dfrs_job *jobs, uint32_t count,
					 uint32_t hosts);

/*
 * The bounded stretch of a job (section II.B): max(turn-around, 30 s) / max(run time alone, 30 s).
 */
double dfrs_bounded_stretch(double turnaround_s, double run_s);

/*
 * The least stretch of a job that had not completed when its run ended, so_far_s after its arrival:
 * it would have taken its run time alone, or longer than so_far_s.
 */
double dfrs_stretch_at_least(double so_far_s, double run_s);
