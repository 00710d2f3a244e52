/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DYNMCB8 and its periodic variants (Stillwell 2010, III.B): the allocation of all jobs is
 * recomputed, by packing (sharing_pack.h), at every event or at every periodic event.
 *
 * Between periods no job moves. When jobs have ended, or DYNMCB8-ASAP-PER has placed a new job, the
 * yields are recomputed for the present placement; DYNMCB8-STRETCH-PER keeps them. A new job that
 * DYNMCB8-ASAP-PER cannot place at its first event waits for the next period.
 *
 * Cost: sharing_pack.h; between periods that of the yields (sharing_yield.h).
 */
#include "controller/sched/policies/registry.h"
#include "controller/sched/sharing.h"
#include "controller/sched/sharing_pack.h"
#include "controller/sched/sharing_yield.h"

static int decide_always(struct sharing *sharing)
{
	return sharing_pack_yield(sharing);
}

/* Jobs without hosts wait for the next period. */
static void wait_for_period(struct sharing *sharing)
{
	for (uint32_t i = 0; i < sharing->jobs_count; i++)
		sharing->jobs[i].refusal = SCHED_REFUSAL_PERIOD;
}

static int decide_periodic(struct sharing *sharing)
{
	if (!sharing->snapshot->between)
		return sharing_pack_yield(sharing);
	wait_for_period(sharing);
	return sharing_yield_evenly(sharing);
}

static int decide_asap(struct sharing *sharing)
{
	if (!sharing->snapshot->between)
		return sharing_pack_yield(sharing);
	wait_for_period(sharing);
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		struct sharing_job *job = &sharing->jobs[i];

		if (job->origin != SHARING_WAITING || job->deferrals > 0 ||
		    sharing_place_greedily(sharing, i, SCHED_REASON_LEAST_LOADED))
			continue;
		job->refusal = SCHED_REFUSAL_MEMORY;
		job->reason = SCHED_REASON_NO_MEMORY;
		sharing_defer(sharing, i, sharing->snapshot->next_event_s);
	}
	return sharing_yield_evenly(sharing);
}

static int decide_stretch(struct sharing *sharing)
{
	const struct sched_snapshot *snapshot = sharing->snapshot;

	if (!snapshot->between)
		return sharing_pack_stretch(sharing, snapshot->next_event_s - snapshot->now_s);
	wait_for_period(sharing);
	return 0;
}

static const struct policy_sharing always = {
	.moments = POLICY_AT_CHANGES,
	.decide = decide_always,
};
static const struct policy_sharing periodic = {
	.moments = POLICY_AT_BOTH,
	.decide = decide_periodic,
};
static const struct policy_sharing asap = {
	.moments = POLICY_AT_BOTH,
	.decide = decide_asap,
};
static const struct policy_sharing stretch = {
	.moments = POLICY_AT_PERIODS,
	.decide = decide_stretch,
};

#define POLICY(title, table, does)                                                                 \
	{                                                                                          \
		.name = title, .section = "Stillwell 2010, III.B", .summary = does,                \
		.sharing = table,                                                                  \
	}

const struct policy_ops policies_dfrs_dynmcb8[] = {
	POLICY("dynmcb8", &always,
	       "DYNMCB8: packs all jobs for the largest yield, at every change"),
	POLICY("dynmcb8-per", &periodic, "DYNMCB8-PER: the same once per period"),
	POLICY("dynmcb8-asap-per", &asap,
	       "DYNMCB8-ASAP-PER: the same, and new jobs start at once where there is memory"),
	POLICY("dynmcb8-stretch-per", &stretch,
	       "DYNMCB8-STRETCH-PER: packs once per period for the smallest estimated stretch"),
};
