/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/policy.h"
#include "controller/sched/arena.h"

/*
 * A mapping event on hosts that tasks share in time (Stillwell 2010, sections II and III): the
 * tools for policies that decide which tasks share a host, and which CPU share each gets. A task is
 * called a job here, as in the paper.
 *
 * The event holds where every job was before it and where it is now, and the memory and the CPU
 * load of every host as they are now. Policies lift jobs from their hosts, place them and set the
 * yields of all placed jobs (sharing_yield.h); at the end the plan is the difference to the
 * placement before. So a job that is lifted and placed on the same hosts stays there, VMs of a job
 * that swap hosts among themselves do not move, and a job that is placed and lifted in the same
 * event was never started.
 *
 * Memory of a host is never promised twice, its CPU may be: the load of a host is the sum of the
 * CPU needs of the VMs on it.
 *
 * Cost: to begin n log n for n jobs, plus their VMs and the hosts; to end the same. Other costs are
 * stated at the functions.
 */

/* Shorter flow times count as this long: the bound of the bounded stretch (II.B), seconds. */
#define SHARING_BOUND_S 30.0

/* Where a job was before the event. */
enum sharing_origin {
	SHARING_WAITING = 0,
	SHARING_PAUSED,
	SHARING_RAN,
};

/* A job. */
struct sharing_job {
	const struct sched_task *task;
	enum sharing_origin origin;
	uint32_t vms;
	double cpu;    /* CPU need of each VM, part of a host */
	double memory; /* memory of each VM, part of a host */
	double flow_s; /* time since its submission, >= 0 */
	double virtual_s;
	double priority;        /* sharing_priority() */
	uint32_t deferrals;     /* number of deferrals so far */
	double deferred_s;      /* deferred until then; -INFINITY: not deferred */
	double put_off_s;       /* deferred by this event until then; NAN: it was not */
	const uint32_t *before; /* SHARING_RAN: the host of each VM before the event */
	double yield_before;    /* SHARING_RAN */
	/* SHARING_RAN, and being started or migrated: it must not be lifted (model.h). */
	bool busy;
	bool placed;                /* it has hosts now */
	uint32_t *hosts;            /* while it is placed: host of each VM, in any order */
	double yield;               /* while it is placed, in (0, 1] */
	enum sched_reason reason;   /* why it is where it is now */
	enum sched_refusal refusal; /* while it is not placed: why */
};

/* A host. */
struct sharing_host {
	bool up;
	double memory; /* promised memory, part of the host */
	double load;   /* sum of the CPU needs of its VMs */
	uint32_t vms;  /* number of VMs on it */
};

/* The event. */
struct sharing {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	struct arena *arena;
	unsigned int flags; /* enum policy_flags */
	uint32_t jobs_count;
	struct sharing_job *jobs; /* by id */
	uint32_t hosts_count;
	struct sharing_host *hosts;
	uint32_t *counts; /* per host, all 0 between calls: number of VMs of one job on it */
	double *room;     /* per host, working memory */
};

/*
 * The priority of a job (III.A): max(30, flow time) / virtual time squared, 1/s; infinite while the
 * virtual time is 0.
 */
double sharing_priority(double flow_s, double virtual_s);

/* Begins the mapping event of `snapshot`, whose system is shared. Returns 0, or -ENOMEM. */
int sharing_begin(struct sharing *sharing, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context);

/*
 * The jobs in the order in which they are resumed: by decreasing priority, then by id. The reverse
 * is the order in which they are paused. Returns jobs_count indices from the arena, or NULL if
 * memory is short.
 */
uint32_t *sharing_by_priority(const struct sharing *sharing);

/* Whether the hosts have the memory for all VMs of a job that is not placed. Cost: the hosts. */
bool sharing_fits(const struct sharing *sharing, uint32_t job);

/*
 * Places a job by GREEDY (III.A) if it fits: VM by VM on the host with the lowest CPU load that has
 * the memory, ties to the lowest index; loads include the VMs placed before. Several VMs may share
 * a host. Returns whether the job was placed. Cost: hosts x VMs.
 */
bool sharing_place_greedily(struct sharing *sharing, uint32_t job, enum sched_reason reason);

/* Places a job that is not placed on these hosts, one per VM; copied. They must have the memory. */
void sharing_place(struct sharing *sharing, uint32_t job, const uint32_t *hosts,
		   enum sched_reason reason);

/*
 * Takes a placed job that is not busy off its hosts; the job keeps the list of them until it is
 * placed again.
 */
void sharing_lift(struct sharing *sharing, uint32_t job, enum sched_reason reason,
		  enum sched_refusal refusal);

/*
 * Places a job on the hosts in its list: those that it was lifted from, or those that the caller
 * wrote. They must have the memory.
 */
void sharing_put_back(struct sharing *sharing, uint32_t job);

/* Defers a waiting job until `until_s`, which may be the present. */
void sharing_defer(struct sharing *sharing, uint32_t job, double until_s);

/* Ends the event and returns the plan in *ret_plan. Returns 0, or -ENOMEM. */
int sharing_end(struct sharing *sharing, struct sched_plan *ret_plan);
