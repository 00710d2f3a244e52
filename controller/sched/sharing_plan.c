/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of an event on shared hosts: the plan is the difference between the placements before and
 * after. First the jobs that leave, then those that move, then those that come, then the yields of
 * those that stay, then the deferred ones; each by id.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "controller/sched/sharing.h"

/*
 * Yields that differ by less are equal: sums of shares are not exact to the last bit. The excess
 * that many VMs of a host keep by this must stay far below SCHED_SHARE_SLACK.
 */
#define SAME_YIELD (1e-3 * SCHED_SHARE_SLACK)

/* Whether the hosts of a job that ran have changed, in any order. */
static bool has_moved(struct sharing *sharing, const struct sharing_job *job)
{
	bool moved = false;

	if (memcmp(job->before, job->hosts, job->vms * sizeof(*job->hosts)) == 0)
		return false;
	for (uint32_t i = 0; i < job->vms; i++)
		sharing->counts[job->hosts[i]]++;
	for (uint32_t i = 0; i < job->vms; i++)
		if (sharing->counts[job->before[i]] > 0)
			sharing->counts[job->before[i]]--;
		else
			moved = true;
	for (uint32_t i = 0; i < job->vms; i++)
		sharing->counts[job->hosts[i]] = 0;
	return moved;
}

/* Assigns the hosts to VMs so that VMs that need not move stay. */
static void assign_hosts(struct sharing *sharing, const struct sharing_job *job,
			 uint32_t *ret_hosts)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < job->vms; i++)
		sharing->counts[job->hosts[i]]++;
	for (uint32_t i = 0; i < job->vms; i++) {
		ret_hosts[i] = UINT32_MAX;
		if (sharing->counts[job->before[i]] == 0)
			continue;
		sharing->counts[job->before[i]]--;
		ret_hosts[i] = job->before[i];
	}
	for (uint32_t i = 0; i < job->vms; i++) {
		if (ret_hosts[i] != UINT32_MAX)
			continue;
		while (sharing->counts[job->hosts[next]] == 0)
			next++;
		sharing->counts[job->hosts[next]]--;
		ret_hosts[i] = job->hosts[next];
	}
}

/* The kind of the action for a job; SCHED_ACTION_NONE: no action. */
static enum sched_action_kind action_kind(struct sharing *sharing, const struct sharing_job *job)
{
	if (!job->placed) {
		if (job->origin == SHARING_RAN)
			return SCHED_ACTION_PAUSE;
		return isnan(job->put_off_s) ? SCHED_ACTION_NONE : SCHED_ACTION_DEFER;
	}
	switch (job->origin) {
	case SHARING_WAITING:
		return SCHED_ACTION_PLACE;
	case SHARING_PAUSED:
		return SCHED_ACTION_RESUME;
	case SHARING_RAN:
		break;
	}
	if (has_moved(sharing, job))
		return SCHED_ACTION_MIGRATE;
	return fabs(job->yield - job->yield_before) > SAME_YIELD ? SCHED_ACTION_SHARE
								 : SCHED_ACTION_NONE;
}

/* Fills in an action; the hosts come from *pool. */
static struct sched_action make_action(struct sharing *sharing, uint32_t index,
				       enum sched_action_kind kind, uint32_t **pool)
{
	const struct sharing_job *job = &sharing->jobs[index];
	const double now_s = sharing->snapshot->now_s;
	struct sched_action action = {
		.kind = kind,
		.task = job->task->id,
		.start_s = now_s,
		.end_s = NAN,
		.objective = job->priority,
		.reason = job->reason,
	};

	if (kind == SCHED_ACTION_DEFER)
		action.start_s = job->put_off_s;
	if (kind == SCHED_ACTION_PAUSE || kind == SCHED_ACTION_DEFER)
		return action;
	if (kind == SCHED_ACTION_SHARE) {
		action.nodes = job->before;
		action.reason = SCHED_REASON_YIELD;
	} else {
		action.nodes = *pool;
		if (kind == SCHED_ACTION_MIGRATE)
			assign_hosts(sharing, job, *pool);
		else
			memcpy(*pool, job->hosts, job->vms * sizeof(**pool));
		*pool += job->vms;
	}
	action.nodes_count = job->vms;
	action.yield = job->yield;
	return action;
}

/* Notes the outcome of every job for --explain. Returns 0, or -ENOMEM. */
static int explain(const struct sharing *sharing, const uint32_t *action_of,
		   struct sched_plan *plan)
{
	struct sched_considered *considered =
		arena_array(sharing->arena, sharing->jobs_count, sizeof(*considered));

	if (!considered)
		return -ENOMEM;
	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		const struct sharing_job *job = &sharing->jobs[i];

		considered[i] = (struct sched_considered){
			.task = job->task->id,
			.action = action_of[i],
			.start_s = job->placed ? sharing->snapshot->now_s : (double)NAN,
			.end_s = NAN,
			.utility = job->placed ? job->yield : 0,
			.objective = job->priority,
			.refusal = job->placed ? SCHED_REFUSAL_TAKEN : job->refusal,
		};
	}
	plan->considered = considered;
	plan->considered_count = sharing->jobs_count;
	return 0;
}

int sharing_end(struct sharing *sharing, struct sched_plan *ret_plan)
{
	static const enum sched_action_kind kinds[] = {
		SCHED_ACTION_PAUSE, SCHED_ACTION_MIGRATE, SCHED_ACTION_RESUME,
		SCHED_ACTION_PLACE, SCHED_ACTION_SHARE,   SCHED_ACTION_DEFER,
	};
	const uint32_t count = sharing->jobs_count;
	enum sched_action_kind *judged = arena_array(sharing->arena, count, sizeof(*judged));
	struct sched_action *actions = arena_array(sharing->arena, count, sizeof(*actions));
	uint32_t *action_of = arena_array(sharing->arena, count, sizeof(*action_of));
	uint32_t actions_count = 0;
	size_t vms = 0;

	for (uint32_t i = 0; i < count; i++)
		vms += sharing->jobs[i].vms;

	uint32_t *pool = arena_array(sharing->arena, vms, sizeof(*pool));

	if (!judged || !actions || !action_of || !pool)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		judged[i] = action_kind(sharing, &sharing->jobs[i]);
		action_of[i] = UINT32_MAX;
	}
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (uint32_t i = 0; i < count; i++) {
			if (judged[i] != kinds[k])
				continue;
			action_of[i] = actions_count;
			actions[actions_count++] = make_action(sharing, i, kinds[k], &pool);
		}
	}
	*ret_plan = (struct sched_plan){.actions_count = actions_count, .actions = actions};
	return sharing->flags & POLICY_EXPLAIN ? explain(sharing, action_of, ret_plan) : 0;
}
