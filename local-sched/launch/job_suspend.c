/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_private.h"

/* Queries and events of the suspension. */

static bool is_quiet(void *data)
{
	return job_is_quiet(data);
}

/* The deadline's clock stands still with the VMs. */
static void on_held(int64_t t_ns, void *data)
{
	struct job *job = data;

	job->given_n = 0; /* not a whole interval with the share */
	job_end_interval(job, t_ns);
}

/* A rollback may come before the VMs had stopped. */
static void on_released(int64_t t_ns, void *data)
{
	struct job *job = data;

	job_begin_interval(job, t_ns);
	job_send_answers(job);
	job_advance(job);
}

static int64_t last_sent_ns(void *data)
{
	return ((const struct job *)data)->sent_ns;
}

static void on_ended(const char *reason, void *data)
{
	struct job *job = data;

	job->events->changed(job->task, reason, job->data);
}

static void on_lost(const char *reason, void *data)
{
	struct job *job = data;
	g_autofree char *text = g_strdup_printf("could not be suspended or resumed: %s", reason);

	job_kill(job, TASK_OUTCOME_LOST, TASK_CAUSE_VM, text);
}

void job_give_up(struct job *job)
{
	job->dirty = job->vms_removed = true;
	for (uint32_t i = 0; i < job->processes; i++) {
		struct rank *rank = &job->ranks[i];

		job_rank_ended(rank, 255);
		rank->lost_output |= !rank->collected;
	}
	job_advance(job);
}

static void on_cancelled(void *data)
{
	job_give_up(data);
}

static const struct vm_steps_events suspension_events = {
	.is_quiet = is_quiet,
	.held = on_held,
	.released = on_released,
	.ended = on_ended,
	.lost = on_lost,
	.last_sent_ns = last_sent_ns,
	.cancelled = on_cancelled,
};

/* Requests. */

bool job_may_suspend(const struct job *job)
{
	return job->phase == PHASE_RUNNING;
}

static void create_suspension(struct job *job)
{
	g_autofree struct vm **vms = job_vms(job);

	job->suspension =
		suspension_new(job->task, job->settings.pool, vms, &suspension_events, job);
}

void job_suspend(struct job *job)
{
	if (!job->suspension)
		create_suspension(job);
	suspension_suspend(job->suspension, task_last_suspension(job->task));
}

bool job_match_nodes(const struct job *job, uint32_t *nodes, GError **error)
{
	return suspension_match_nodes(job->suspension, nodes, error);
}

void job_resume(struct job *job)
{
	suspension_resume(job->suspension);
}

void job_node_settled(struct job *job)
{
	if (job->suspension && (suspension_step(job->suspension) == SUSPENSION_LEAVING ||
				suspension_step(job->suspension) == SUSPENSION_RETREATING))
		suspension_proceed(job->suspension);
	if (job->migration)
		migration_proceed(job->migration);
}
