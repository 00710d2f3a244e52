/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/sched/model.h"

/*
 * A second, plain implementation of the policies that share hosts, written from Stillwell 2010 and
 * without a thought for speed: tasks are packed one at a time, every sum is computed again, every
 * job is looked at in every round.
 */

/* Where a job is after the event. */
struct oracle_job {
	const struct sched_task *task;
	double flow_s;
	double virtual_s;
	bool waited;    /* it was waiting before */
	bool ran;       /* it was placed before */
	uint32_t tries; /* deferrals so far */
	double until_s; /* deferred until then; 0: not */
	bool placed;
	uint32_t *hosts; /* one per VM */
	double yield;
	double put_off_s; /* by this event; 0: not */
};

/* The state of a shared system. */
struct oracle_state {
	uint32_t hosts_count;
	bool *down;
	uint32_t jobs_count;
	struct oracle_job *jobs; /* by id */
};

/* The state before the event. The caller frees it. */
struct oracle_state *oracle_state_new(const struct sched_snapshot *snapshot);
void oracle_state_free(struct oracle_state *state);

/* Makes it the state after a plan of the snapshot, which is legal (sched/plan_rules.h). */
void oracle_carry_out(struct oracle_state *state, const struct sched_plan *plan);

/* Whether the oracle has the policy of that name. */
bool oracle_shares(const char *policy);

/* Makes it the state after the event under the policy of that name, which it has. */
void oracle_share(struct oracle_state *state, const struct sched_snapshot *snapshot,
		  const char *policy);

/*
 * The largest yield that all jobs can have at once, found by trying every placement; 0 if memory
 * allows for none. For a handful of VMs.
 */
double oracle_best_yield(const struct oracle_state *state);

/* The largest load of a host, and the largest promise of memory. */
double oracle_load(const struct oracle_state *state);
double oracle_memory(const struct oracle_state *state);
