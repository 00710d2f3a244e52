/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a job: its calls to hosts, its VMs and its ranks. */
#include "local-sched/launch/job_private.h"

#include "common/platform.h"

/* Calls to hosts. */

void job_free_if_idle(struct job *job)
{
	if (job->calls > 0)
		return;
	g_free(job->share_failure);
	g_free(job->given);
	g_free(job->ranks);
	g_free(job->places);
	g_free(job);
}

void job_call_begins(struct job *job)
{
	job->calls++;
}

bool job_call_ended(struct job *job)
{
	job->calls--;
	if (job->events)
		return true;
	job_free_if_idle(job);
	return false;
}

bool job_is_quiet(const struct job *job)
{
	for (uint32_t i = 0; i < job->processes; i++)
		if (job->ranks[i].grace_source != 0)
			return false;
	return job->calls == 0;
}

/* Its VMs and ranks. */

struct vm **job_vms(const struct job *job)
{
	struct vm **vms = g_new0(struct vm *, job->task->nodes_count);

	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		vms[i] = job->places[i].vm;
	return vms;
}

void job_rank_ended(struct rank *rank, int status)
{
	struct job *job = rank->place->job;

	if (rank->exited)
		return;
	rank->exited = true;
	rank->status = status;
	g_clear_handle_id(&rank->grace_source, g_source_remove);
	job->task->ended_ns = platform_now_ns(job->settings.platform);
}

/* Suspension and migration. */

bool job_is_held(const struct job *job)
{
	return job->suspension && !job->vms_removed &&
	       suspension_steps.steps[suspension_step(job->suspension)].holds;
}

bool job_is_moving(const struct job *job)
{
	return job->migration && !job->vms_removed &&
	       migration_steps.steps[migration_step(job->migration)].holds;
}

bool job_is_at_rest(const struct job *job)
{
	enum migration_step step = job->migration ? migration_step(job->migration) : MIGRATION_IDLE;

	if (job->suspension && suspension_step(job->suspension) != SUSPENSION_RUNNING)
		return false;
	return step == MIGRATION_IDLE || step == MIGRATION_LEAVING;
}

void job_stop_moving(struct job *job)
{
	if (job->migration)
		migration_abort(job->migration);
}
