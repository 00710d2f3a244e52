/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An interval is a time in which the task's VMs run, and stay on their hosts. It counts for the
 * deadline, and what is used in it is the task's.
 */
#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/launch/job_private.h"

/* The deadline. */

static gboolean deadline_reached(gpointer data)
{
	struct job *job = data;
	g_autofree char *reason =
		g_strdup_printf("ran longer than its deadline of %g s", job->task->deadline_s);

	job->deadline_source = 0;
	job_kill(job, TASK_OUTCOME_DEADLINE, TASK_CAUSE_DEADLINE, reason);
	return G_SOURCE_REMOVE;
}

static void start_deadline(struct job *job)
{
	job->deadline_source =
		platform_after_ms(job->settings.platform, (guint)(MAX(job->left_s, 0) * 1000),
				  deadline_reached, job);
}

/* Intervals. */

void job_begin_interval(struct job *job, int64_t t_ns)
{
	if (!job->usage)
		job_open_usage(job, t_ns);
	else if (job->usage_closing)
		job->interval_start_ns = t_ns; /* the next reading begins there */
	if (job->deadline_source == 0)
		start_deadline(job);
}

void job_end_interval(struct job *job, int64_t t_ns)
{
	job->left_s -= clock_elapsed_s(job->interval_start_ns, t_ns);
	g_clear_handle_id(&job->deadline_source, g_source_remove);
	job_close_usage(job, t_ns);
}

/* The next interval begins once the counters are read. */
void job_next_interval(struct job *job)
{
	int64_t now_ns = platform_now_ns(job->settings.platform);

	job->left_s -= clock_elapsed_s(job->interval_start_ns, now_ns);
	job->interval_start_ns = now_ns;
	job_close_usage(job, now_ns);
}

bool job_uses(const struct job *job, const char *domain)
{
	for (uint32_t i = 0; job->usage && i < job->task->nodes_count; i++)
		if (!job->places[i].lost && g_str_equal(vm_domain(job->places[i].vm), domain))
			return !job_usage_is_over(job->usage, job->places[i].vm);
	return false;
}
