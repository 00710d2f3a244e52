/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/workload/variates.h"

/*
 * The workload model of Lublin and Feitelson ("The workload on parallel supercomputers: modeling
 * the characteristics of rigid jobs", JPDC 63(11), 2003) for 128 nodes, with its two kinds of jobs,
 * interactive and batch, and the published constants of the model. Stillwell 2010, IV.C, only names
 * "the Lublin model"; a thousand jobs of both kinds span the 4 to 6 days that it reports.
 *
 * - Size: serial with a fixed probability; else two to the power of a two-stage uniform variate,
 *   which is rounded for the share of jobs whose sizes are powers of two.
 * - Run time: e to the power of a hyper-gamma variate whose first part is the likelier the smaller
 *   the job is; at most e^12 s. Whole seconds, rounded down.
 * - Arrivals, of each kind separately: gaps of e to the power of a gamma variate, at most e^13, in
 *   units of which more pass per second in the busy half hours of the day. The weights of the 48
 *   half hours are those of another gamma distribution; the day begins at midnight.
 */
struct lublin_job {
	double arrival_s; /* since the midnight before the first day, > 0 */
	double run_s;     /* >= 1 */
	uint32_t nodes;   /* 1 to 128 */
};

/* Nodes of the system that the constants describe. */
#define LUBLIN_NODES 128

/* Fills in `count` jobs in order of arrival, drawn from `variates`. */
void lublin_draw(struct variates *variates, uint32_t count, struct lublin_job *ret_jobs);

/*
 * The offered load of jobs on `nodes` nodes: the node-seconds that they need over the node-seconds
 * until the last arrival, counted from the first. At least two jobs with different arrivals.
 */
double lublin_load(const struct lublin_job *jobs, uint32_t count, uint32_t nodes);

/* Multiplies the gaps between arrivals so that the load becomes `load` (> 0); the first stays. */
void lublin_scale(struct lublin_job *jobs, uint32_t count, uint32_t nodes, double load);
