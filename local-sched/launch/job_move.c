/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_private.h"

#include "common/platform.h"

#define LOOK_MS 200
/*
 * As before VMs are saved: messages that were sent are then in the guest's memory
 * (suspension_save.c).
 */
#define STILL_NS INT64_C(500000000)

/* Queries and events of the migration. */

static bool is_quiet(void *data)
{
	const struct job *job = data;

	return job_is_quiet(job) && !job->usage_closing &&
	       (job->task->script_summary || pmi_server_is_calm(job->pmi)) &&
	       platform_now_ns(job->settings.platform) - job->sent_ns >= STILL_NS;
}

static gboolean check_migration(gpointer data)
{
	struct job *job = data;

	if (job->usage && !job->usage_closing)
		job_usage_look(job->usage);
	return G_SOURCE_CONTINUE;
}

static void on_held(int64_t t_ns G_GNUC_UNUSED, void *data)
{
	struct job *job = data;

	job->given_n = 0; /* not a whole interval with the share */
	job_next_interval(job);
	job->look_source = platform_after_ms(job->settings.platform, LOOK_MS, check_migration, job);
}

/* Handles events that came meanwhile. */
static void on_released(int64_t t_ns G_GNUC_UNUSED, void *data)
{
	struct job *job = data;

	g_clear_handle_id(&job->look_source, g_source_remove);
	if (job->usage && !job->usage_closing)
		job_next_interval(job);
	if (job->phase == PHASE_KILLING) {
		job_kill_ranks(job);
		return;
	}
	job_send_answers(job);
	job_advance(job);
}

static void on_ended(const char *reason, void *data)
{
	struct job *job = data;

	job->events->moved(job->task, reason, job->data);
}

static void on_lost(const char *reason, void *data)
{
	struct job *job = data;
	g_autofree char *text = g_strdup_printf("could not be moved to another host: %s", reason);

	g_clear_handle_id(&job->look_source, g_source_remove);
	job_kill(job, TASK_OUTCOME_LOST, TASK_CAUSE_VM, text);
	job_give_up(job);
}

static const struct vm_steps_events migration_events = {
	.is_quiet = is_quiet,
	.held = on_held,
	.released = on_released,
	.ended = on_ended,
	.lost = on_lost,
};

/* Requests. */

bool job_match_targets(const struct job *job, uint32_t *nodes, GError **error)
{
	g_autofree struct vm **vms = job_vms(job);

	return pool_match(job->settings.pool, vms, task_placed(job->task), job->task->nodes_count,
			  nodes, error);
}

void job_migrate(struct job *job)
{
	g_autofree struct vm **vms = job_vms(job);

	/* The suspension has recorded where the VMs were. */
	g_clear_pointer(&job->suspension, suspension_free);
	if (!job->migration)
		job->migration =
			migration_new(job->task, job->settings.pool, vms, &migration_events, job);
	migration_start(job->migration, task_last_migration(job->task));
}
