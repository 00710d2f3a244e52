/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An interval is a time in which the task's VMs run, and stay on their hosts. It counts for the
 * deadline, and what is used in it is the task's.
 */
#include "common/clock.h"
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
		g_timeout_add((guint)(MAX(job->left_s, 0) * 1000), deadline_reached, job);
}

/* The counters. */

/* The parts for a new reading of the counters, with the hosts that VMs are migrated to. */
static GArray *usage_parts(const struct job *job)
{
	const struct task_migration *last = task_last_migration(job->task);
	const uint32_t count = job->task->nodes_count;
	g_autofree struct vm **vms = job_vms(job);
	GArray *parts;

	parts = usage_parts_new(job->settings.sources, job->settings.sources_count, vms, count);
	for (uint32_t i = 0; job_is_moving(job) && i < count; i++)
		usage_parts_expect(parts, job->settings.sources, job->settings.sources_count,
				   vms[i], last->vms[i].to_host);
	return parts;
}

static void open_interval(struct job *job, int64_t t_ns)
{
	job->interval_start_ns = t_ns;
	job->usage = job_usage_start(usage_parts(job), t_ns);
}

static void publish_usage(struct job *job)
{
	job->task->cpu_s = job->used.cpu_s;
	job->task->host_cpu_s = job->used.host_cpu_s;
	job->task->host_energy_uj = job->used.host_energy_uj;
	job->task->host_gap_ns = job->used.host_gap_ns;
	job->usage_known = true;
}

static void interval_read(const struct usage *usage, void *data)
{
	struct job *job = data;

	usage_add(&job->used, usage);
	job->usage_closing = false;
	g_clear_pointer(&job->usage, job_usage_free);
	if (job->phase == PHASE_SETTLING) {
		publish_usage(job);
		job_advance(job);
	} else if (job_is_held(job)) {
		suspension_proceed(job->suspension);
	} else {
		open_interval(job, job->interval_start_ns); /* the task has run since then */
	}
}

static void close_interval(struct job *job, int64_t t_ns)
{
	if (job->usage_closing)
		return;
	job->usage_closing = true;
	job_usage_finish(job->usage, t_ns, interval_read, job);
}

/* Intervals. */

void job_begin_interval(struct job *job, int64_t t_ns)
{
	if (!job->usage)
		open_interval(job, t_ns);
	else if (job->usage_closing)
		job->interval_start_ns = t_ns; /* for interval_read() */
	if (job->deadline_source == 0)
		start_deadline(job);
}

void job_end_interval(struct job *job, int64_t t_ns)
{
	job->left_s -= clock_elapsed_s(job->interval_start_ns, t_ns);
	g_clear_handle_id(&job->deadline_source, g_source_remove);
	close_interval(job, t_ns);
}

/* The next interval begins once the counters are read (interval_read()). */
void job_next_interval(struct job *job)
{
	int64_t now_ns = clock_now_ns();

	job->left_s -= clock_elapsed_s(job->interval_start_ns, now_ns);
	job->interval_start_ns = now_ns;
	close_interval(job, now_ns);
}

/* A task that ends while it is suspended has nothing to read. */
static gboolean publish_idle(gpointer data)
{
	struct job *job = data;

	job->publish_source = 0;
	publish_usage(job);
	job_advance(job);
	return G_SOURCE_REMOVE;
}

void job_finish_usage(struct job *job)
{
	if (job->usage)
		close_interval(job, job->task->ended_ns);
	else
		job->publish_source = g_idle_add(publish_idle, job);
}

bool job_uses(const struct job *job, const char *domain)
{
	for (uint32_t i = 0; job->usage && i < job->task->nodes_count; i++)
		if (!job->places[i].lost && g_str_equal(vm_domain(job->places[i].vm), domain))
			return !job_usage_is_over(job->usage, job->places[i].vm);
	return false;
}
