/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/policy.h"
#include "controller/sched/arena.h"

/*
 * A mapping event on hosts that tasks share in time (Stillwell 2010, sections II and III): what policies
 * that decide who shares which host, and how much of it each gets, are written with. A task is called
 * a job here, as in the paper.
 *
 * It knows where every job was before the event and where it is now, and the memory and the CPU load
 * of every host as they are now. Policies lift jobs from their hosts, place them and set yields; at
 * the end the plan is the difference to what was before. So a job that is lifted and placed on the
 * same hosts stays there, VMs of a job that change places among themselves do not move, and one that
 * is placed and lifted in the same event was never started.
 *
 * Memory of a host is never promised twice, its CPU is: the load of a host is the sum of the CPU
 * needs of the VMs on it.
 *
 * Cost: to begin n log n for n jobs, plus their VMs and the hosts; to end the same. The rest is with
 * the functions.
 */

/* Whose jobs' flow times are shorter counts as this long: the bound of the bounded stretch (II.B). */
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
	double cpu;             /* need of each VM, share of a host */
	double memory;          /* requirement of each */
	double flow_s;          /* time since its submission, >= 0 */
	double virtual_s;
	double priority;        /* sharing_priority() */
	uint32_t deferrals;     /* so far */
	double deferred_s;      /* until then; -INFINITY: it is not put off */
	double put_off_s;       /* by this event, until then; NAN: not */
	const uint32_t *before; /* SHARING_RAN: the host of each VM before the event */
	double yield_before;    /* SHARING_RAN */
	bool busy;              /* SHARING_RAN, and on its way there: it must not be lifted (model.h) */
	bool placed;            /* now */
	uint32_t *hosts;        /* while it is placed: of each VM, in any order */
	double yield;           /* while it is placed, in (0, 1] */
	enum sched_reason reason;   /* of where it is now */
	enum sched_refusal refusal; /* while it is not placed: why */
};

/* A host. */
struct sharing_host {
	bool up;
	double memory;  /* that is promised */
	double load;    /* sum of the CPU needs of its VMs */
	uint32_t vms;   /* on it */
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
	uint32_t *counts; /* per host, all 0 between calls: VMs of one job there */
	double *room;     /* per host, working memory */
};

/*
 * The priority of a job (III.A): max(30, flow time) / virtual time squared, 1/s; infinite while the
 * virtual time is 0.
 */
double sharing_priority(double flow_s, double virtual_s);

/* Starts the mapping event of `snapshot`, whose system is shared. Returns 0, or -ENOMEM. */
int sharing_begin(struct sharing *sharing, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context);

/*
 * The jobs in the order in which they are resumed: by decreasing priority, then by id. Backwards it
 * is the order in which they are paused. Returns jobs_count indices from the arena, or NULL when
 * memory is short.
 */
uint32_t *sharing_by_priority(const struct sharing *sharing);

/* Whether the hosts have the memory for all VMs of a job that is not placed. Cost: the hosts. */
bool sharing_fits(const struct sharing *sharing, uint32_t job);

/*
 * Places a job by GREEDY (III.A) where it fits: VM by VM on the host with the lowest CPU load that
 * has the memory, ties to the lowest index; loads count what was placed before. Several VMs may
 * share a host. Returns whether it did. Cost: hosts x VMs.
 */
bool sharing_place_greedily(struct sharing *sharing, uint32_t job, enum sched_reason reason);

/* Places a job that is not placed on these hosts, one per VM; copied. They must have the memory. */
void sharing_place(struct sharing *sharing, uint32_t job, const uint32_t *hosts,
		   enum sched_reason reason);

/* Takes a placed job that is not busy off its hosts; it remembers them until it is placed again. */
void sharing_lift(struct sharing *sharing, uint32_t job, enum sched_reason reason,
		  enum sched_refusal refusal);

/*
 * Places a job on the hosts in its list: where sharing_lift() found it, or where the caller wrote. They
 * must have the memory.
 */
void sharing_put_back(struct sharing *sharing, uint32_t job);

/* Puts a waiting job off until `until_s`, which may be the present. */
void sharing_defer(struct sharing *sharing, uint32_t job, double until_s);

/* Hands out the plan. Returns 0, or -ENOMEM. */
int sharing_end(struct sharing *sharing, struct sched_plan *ret_plan);
