/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way of a job through its phases. When all ranks have ended, their status and output are
 * collected; then it is read what the task used, and the nodes are given back.
 */
#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_private.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

#define COLLECT_FIRST_MS 20
#define COLLECT_MAX_MS 500

/* What the task uses. */

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

void job_open_usage(struct job *job, int64_t t_ns)
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
		job_open_usage(job, job->interval_start_ns); /* the task has run since then */
	}
}

void job_close_usage(struct job *job, int64_t t_ns)
{
	if (job->usage_closing)
		return;
	job->usage_closing = true;
	job_usage_finish(job->usage, t_ns, interval_read, job);
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

/* Reads what was used in the last interval of a task that has ended, if it is open. */
static void finish_usage(struct job *job)
{
	if (job->usage)
		job_close_usage(job, job->task->ended_ns);
	else
		job->publish_source = platform_soon(job->settings.platform, G_PRIORITY_DEFAULT_IDLE,
						    publish_idle, job);
}

/* Collecting. */

static void collect_rank(struct rank *rank);

static gboolean collect_again(gpointer data)
{
	struct rank *rank = data;

	rank->collect_source = 0;
	collect_rank(rank);
	return G_SOURCE_REMOVE;
}

/*
 * Waits a moment: the wrapper writes its line just before it ends, and the agent may report the end
 * later.
 */
static void collect_later(struct rank *rank)
{
	struct job *job = rank->place->job;

	if (clock_elapsed_s(job->collect_start_ns, platform_now_ns(job->settings.platform)) >
	    vm_patience_s(rank->place->vm)) {
		rank->lost_output = true;
		return;
	}
	rank->collect_ms =
		rank->collect_ms ? MIN(rank->collect_ms * 2, COLLECT_MAX_MS) : COLLECT_FIRST_MS;
	rank->collect_source =
		platform_after_ms(job->settings.platform, rank->collect_ms, collect_again, rank);
}

static void collect_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;
	bool excused = job_rank_is_excused(data, error);
	struct job *job;
	struct rank *rank = job_rank_answered(data);

	if (!rank)
		return;
	job = rank->place->job;
	/* The deadline limits the wait. */
	if (excused && job->deadline_source)
		job->collect_start_ns = platform_now_ns(job->settings.platform);
	if (rank->collected) {
		/* A poll has got the status, which is reported once; this request came too late. */
	} else if (rank->place->lost) {
		rank->lost_output = true;
	} else if (!error && agent_parse_status(reply, &status, &wrong)) {
		if (status.exited)
			job_keep_status(rank, &status);
		else
			collect_later(rank);
		agent_status_clear(&status);
	} else if (excused || g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		collect_later(rank);
	} else {
		log_warning_of(LOG_LOCAL(job->task->id), "rank %u: output lost: %s", rank->index,
			       error ? error->message : wrong->message);
		rank->lost_output = true;
		/*
		 * Otherwise the other ranks would each wait for the same agent, and then the sweep
		 * too.
		 */
		if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_AGENT)) {
			vm_fail(rank->place->vm, "the guest agent hangs or answers rubbish");
			return; /* vm_lost() may have freed the job */
		}
	}
	job_advance(job);
}

static void collect_rank(struct rank *rank)
{
	g_autofree char *request = agent_status_request(rank->pid);

	job_ask_rank(rank, request, collect_answered);
}

static void closed(gpointer result, const GError *error, gpointer data)
{
	g_free(result);
	job_rank_answered(data);
}

/* Stops reading the output of rank 0 (job_look()). */
static void stop_looking(struct job *job)
{
	g_autofree char *request = NULL;

	if (!job->live.file || job->ranks[0].place->lost)
		return;
	request = agent_file_close_request(job->live.file);
	job->live.file = 0;
	job_ask_rank(&job->ranks[0], request, closed);
}

/* Fetches status and output of the ranks, which all have ended. */
static void collect(struct job *job)
{
	job->phase = PHASE_COLLECTING;
	if (job->suspension)
		suspension_abort(job->suspension);
	job_stop_moving(job);
	job->collect_start_ns = platform_now_ns(job->settings.platform);
	g_clear_handle_id(&job->kill_source, g_source_remove);
	stop_looking(job);
	for (uint32_t i = 0; i < job->processes; i++) {
		struct rank *rank = &job->ranks[i];

		if (rank->place->lost || !rank->pid)
			rank->lost_output |= !rank->collected;
		else if (!rank->collected && !rank->lost_output)
			collect_rank(rank);
	}
}

/* Settling. */

/* Decides the outcome, reads what the task used, and gives the nodes back. */
static void settle(struct job *job)
{
	job->phase = PHASE_SETTLING;
	g_clear_handle_id(&job->deadline_source, g_source_remove);
	g_clear_handle_id(&job->poll_source, g_source_remove);
	g_clear_handle_id(&job->silence.source, g_source_remove);
	if (job->task->outcome == TASK_OUTCOME_NONE)
		job_decide_outcome(job);
	job_learn_patience(job);
	finish_usage(job);
	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		struct job_node *place = &job->places[i];

		if (!place->lost)
			vm_release(place->vm, !job->dirty);
	}
	if (job->suspension || job->migration)
		pool_tidy(job->settings.pool); /* its VMs may have been without nodes */
}

/* From phase to phase. */

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
		collect(job);
	/* A share that is still being set would hold for the next task as well. */
	if (job->phase == PHASE_COLLECTING && all_ranks(job, is_collected) &&
	    job->share_pending == 0) {
		if (!job_test_network(job, settle))
			settle(job);
		return; /* settle() may have ended the job */
	}
	if (job->phase == PHASE_SETTLING && job->usage_known && all_settled(job))
		job_end(job);
	else if (is_quieting(job))
		suspension_proceed(job->suspension);
}
