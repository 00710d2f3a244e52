/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GREEDY, GREEDY-PMTN and GREEDY-PMTN-MIGR (Stillwell 2010, III.A): jobs are placed one by one
 * where the CPU load is lowest; the last two pause jobs of low priority so that a new job can
 * always start.
 *
 * What the paper leaves open: jobs that arrive at one instant are taken by id; new jobs come before
 * paused ones, since their priority is infinite; a new job that does not fit even if all other jobs
 * were paused (hosts are down, or the others are busy) pauses no job and is deferred. A job that is
 * placed and then lifted for another new job in the same event was never started; it waits, and
 * from then on counts as paused.
 *
 * Cost: hosts x VMs for each job that is placed, jobs x hosts for each job for which others are
 * paused.
 */
#include <errno.h>
#include <math.h>

#include "controller/sched/policies/registry.h"
#include "controller/sched/sharing.h"
#include "controller/sched/sharing_yield.h"

/* policy_ops.variant. */
enum { VARIANT_GREEDY, VARIANT_PMTN, VARIANT_MIGR };

/* Bounded exponential backoff: 2 s after the first failure, 4 s after the second, ... */
static void postpone(struct sharing *sharing, uint32_t index)
{
	struct sharing_job *job = &sharing->jobs[index];
	const uint32_t count = job->deferrals < 12 ? job->deferrals + 1 : 12;

	job->refusal = SCHED_REFUSAL_MEMORY;
	job->reason = SCHED_REASON_NO_MEMORY;
	sharing_defer(sharing, index, sharing->snapshot->now_s + ldexp(1, (int)count));
}

/* Takes placed jobs off their hosts, lowest priority first, until `index` fits. */
static bool lift_until_fits(struct sharing *sharing, uint32_t index, const uint32_t *order,
			    uint32_t *marked, uint32_t *ret_count)
{
	uint32_t count = 0;

	for (uint32_t i = sharing->jobs_count; i-- > 0 && !sharing_fits(sharing, index);) {
		if (!sharing->jobs[order[i]].placed || sharing->jobs[order[i]].busy)
			continue;
		sharing_lift(sharing, order[i], SCHED_REASON_GIVES_WAY, SCHED_REFUSAL_MEMORY);
		marked[count++] = order[i];
	}
	*ret_count = count;
	return sharing_fits(sharing, index);
}

/*
 * Makes room for a new job and places it: lifts jobs by increasing priority until the new job fits,
 * then puts jobs back where they were, by decreasing priority, if the new job fits beside them.
 */
static bool force(struct sharing *sharing, uint32_t index, const uint32_t *order, uint32_t *marked)
{
	uint32_t count;
	const bool fits = lift_until_fits(sharing, index, order, marked, &count);

	while (count-- > 0) {
		sharing_put_back(sharing, marked[count]);
		if (fits && !sharing_fits(sharing, index))
			sharing_lift(sharing, marked[count], SCHED_REASON_GIVES_WAY,
				     SCHED_REFUSAL_MEMORY);
	}
	return fits && sharing_place_greedily(sharing, index, SCHED_REASON_LEAST_LOADED);
}

/*
 * Whether a job is new: a waiting job whose time has come; with preemption a deferred job counts as
 * paused instead.
 */
static bool is_new(const struct sharing *sharing, const struct sharing_job *job)
{
	if (job->origin != SHARING_WAITING)
		return false;
	if (sharing->policy->ops->variant == VARIANT_GREEDY)
		return job->deferred_s <= sharing->snapshot->now_s;
	return job->deferrals == 0;
}

static void start_new(struct sharing *sharing, const uint32_t *order, uint32_t *marked)
{
	const bool forces = sharing->policy->ops->variant != VARIANT_GREEDY;

	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		struct sharing_job *job = &sharing->jobs[i];

		job->refusal = SCHED_REFUSAL_DEFERRED;
		if (!is_new(sharing, job) ||
		    sharing_place_greedily(sharing, i, SCHED_REASON_LEAST_LOADED))
			continue;
		if (!forces || !force(sharing, i, order, marked))
			postpone(sharing, i);
	}
}

/* Whether a job that has no hosts may be resumed in this event. */
static bool may_resume(const struct sharing *sharing, const struct sharing_job *job)
{
	if (job->placed)
		return false;
	switch (job->origin) {
	case SHARING_RAN:
		return sharing->policy->ops->variant == VARIANT_MIGR;
	case SHARING_PAUSED:
		return true;
	case SHARING_WAITING:
		break;
	}
	return sharing->policy->ops->variant != VARIANT_GREEDY;
}

static void resume(struct sharing *sharing, const uint32_t *order)
{
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		struct sharing_job *job = &sharing->jobs[order[i]];

		if (!may_resume(sharing, job))
			continue;
		if (!sharing_place_greedily(sharing, order[i], SCHED_REASON_LEAST_LOADED)) {
			job->refusal = SCHED_REFUSAL_MEMORY;
			/* It was lifted for another new job: note that it was considered. */
			if (job->origin == SHARING_WAITING && isnan(job->put_off_s) &&
			    job->deferrals == 0)
				sharing_defer(sharing, order[i], sharing->snapshot->now_s);
		}
	}
}

static int decide(struct sharing *sharing)
{
	const uint32_t *order = sharing_by_priority(sharing);
	uint32_t *marked = arena_array(sharing->arena, sharing->jobs_count, sizeof(*marked));

	if (!order || !marked)
		return -ENOMEM;
	start_new(sharing, order, marked);
	resume(sharing, order);
	return sharing_yield_evenly(sharing);
}

static const struct policy_sharing at_changes = {
	.moments = POLICY_AT_CHANGES,
	.decide = decide,
};

#define POLICY(title, kind, does)                                                                  \
	{                                                                                          \
		.name = title, .section = "Stillwell 2010, III.A", .summary = does,                \
		.variant = kind, .sharing = &at_changes,                                           \
	}

const struct policy_ops policies_dfrs_greedy[] = {
	POLICY("greedy", VARIANT_GREEDY,
	       "GREEDY: VMs on the least loaded hosts with memory, else try again later"),
	POLICY("greedy-pmtn", VARIANT_PMTN,
	       "GREEDY-PMTN: pauses jobs of low priority so that new ones start"),
	POLICY("greedy-pmtn-migr", VARIANT_MIGR,
	       "GREEDY-PMTN-MIGR: the same, and paused jobs may resume on other hosts at once"),
};
