/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_private.h"

static void place_ranks(struct job *job, const struct pool *pool)
{
	const struct task *task = job->task;

	for (uint32_t i = 0; i < task->nodes_count; i++) {
		struct job_node *place = &job->places[i];

		place->job = job;
		place->vm = node_vm(pool_node(pool, task->nodes[i]));
		place->first_rank = i * job->per_node;
		if (place->first_rank < job->processes)
			place->ranks = MIN(job->per_node, job->processes - place->first_rank);
		for (uint32_t core = 0; core < place->ranks; core++) {
			struct rank *rank = &job->ranks[place->first_rank + core];

			rank->index = place->first_rank + core;
			rank->place = place;
			rank->core = core;
		}
	}
}

struct job *job_start(const struct job_settings *settings, const struct task_events *events,
		      void *data)
{
	struct job *job = g_new0(struct job, 1);
	struct task *task = settings->task;

	job->task = task;
	job->settings = *settings;
	job->per_node = task->script_summary ? 1 : settings->cores;
	job->events = events;
	job->data = data;
	job->places = g_new0(struct job_node, task->nodes_count);
	job->processes = task_processes(task);
	job->ranks = g_new0(struct rank, job->processes);
	job->pmi = pmi_server_new(job->processes, task->nodes_count,
				  MIN(job->per_node, job->processes));
	place_ranks(job, settings->pool);
	job_assign_vms(job);
	job_start_ranks(job);
	job->left_s = task->deadline_s;
	job_begin_interval(job, task->requested_ns);
	job_start_polling(job);
	return job;
}

struct task *job_task(const struct job *job)
{
	return job->task;
}

static void clear_sources(struct job *job)
{
	g_clear_handle_id(&job->deadline_source, g_source_remove);
	g_clear_handle_id(&job->poll_source, g_source_remove);
	g_clear_handle_id(&job->kill_source, g_source_remove);
	g_clear_handle_id(&job->publish_source, g_source_remove);
	g_clear_handle_id(&job->look_source, g_source_remove);
	g_clear_handle_id(&job->given_source, g_source_remove);
	g_clear_handle_id(&job->silence.source, g_source_remove);
	for (uint32_t i = 0; i < job->processes; i++) {
		g_clear_handle_id(&job->ranks[i].start_source, g_source_remove);
		g_clear_handle_id(&job->ranks[i].collect_source, g_source_remove);
		g_clear_handle_id(&job->ranks[i].grace_source, g_source_remove);
	}
}

void job_free(struct job *job)
{
	if (!job)
		return;
	clear_sources(job);
	for (uint32_t i = 0; i < job->processes; i++)
		job_output_clear(&job->ranks[i].output);
	if (job->live.text)
		g_string_free(job->live.text, TRUE);
	if (job->results)
		g_bytes_unref(job->results);
	job_free_network(job);
	pmi_server_free(job->pmi);
	job_usage_free(job->usage);
	suspension_free(job->suspension);
	migration_free(job->migration);
	job->events = NULL;
	job->task = NULL;
	job_free_if_idle(job);
}
