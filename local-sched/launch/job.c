/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_private.h"

#include "common/clock.h"

/* Calls to hosts. */

static void really_free(struct job *job);

void job_call_begins(struct job *job)
{
	job->calls++;
}

bool job_call_ended(struct job *job)
{
	job->calls--;
	if (job->events)
		return true;
	if (job->calls == 0)
		really_free(job);
	return false;
}

/* The VMs. */

struct vm **job_vms(const struct job *job)
{
	struct vm **vms = g_new0(struct vm *, job->task->nodes_count);

	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		vms[i] = job->places[i].vm;
	return vms;
}

bool job_is_held(const struct job *job)
{
	return job->suspension && !job->vms_removed &&
	       suspension_steps.steps[suspension_step(job->suspension)].holds;
}

bool job_is_quiet(const struct job *job)
{
	for (uint32_t i = 0; i < job->processes; i++)
		if (job->ranks[i].grace_source != 0)
			return false;
	return job->calls == 0;
}

/* Phases. */

void job_rank_ended(struct rank *rank, int status)
{
	struct job *job = rank->place->job;

	if (rank->exited)
		return;
	rank->exited = true;
	rank->status = status;
	g_clear_handle_id(&rank->grace_source, g_source_remove);
	job->task->ended_ns = clock_now_ns();
}

static bool all_ranks(const struct job *job, bool (*holds)(const struct rank *rank))
{
	for (uint32_t i = 0; i < job->processes; i++)
		if (!holds(&job->ranks[i]))
			return false;
	return true;
}

static bool has_exited(const struct rank *rank)
{
	return rank->exited;
}

static bool is_collected(const struct rank *rank)
{
	return rank->collected || rank->lost_output;
}

static bool all_settled(const struct job *job)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		if (!job->places[i].settled)
			return false;
	return true;
}

static bool is_quieting(const struct job *job)
{
	return job->suspension && suspension_step(job->suspension) == SUSPENSION_QUIETING;
}

void job_advance(struct job *job)
{
	bool active = job->phase == PHASE_RUNNING || job->phase == PHASE_KILLING;

	if (job_is_held(job) || job_is_moving(job))
		return;
	if (active && job->execs_pending == 0 && all_ranks(job, has_exited))
		job_collect(job);
	/* A share that is still being set would hold for the next task as well. */
	if (job->phase == PHASE_COLLECTING && all_ranks(job, is_collected) &&
	    job->share_pending == 0) {
		if (!job_test_network(job))
			job_settle(job);
		return; /* job_settle() may have ended the job */
	}
	if (job->phase == PHASE_SETTLING && job->usage_known && all_settled(job))
		job_end(job);
	else if (is_quieting(job))
		suspension_proceed(job->suspension);
}

/* Life. */

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

static void really_free(struct job *job)
{
	g_free(job->share_failure);
	g_free(job->given);
	g_free(job->ranks);
	g_free(job->places);
	g_free(job);
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
	if (job->calls == 0)
		really_free(job);
}
