/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to the agents of a task's nodes about its ranks. A slow poll finds what the ports cannot
 * report: a wrapper that died, an agent that hangs. When all ranks have ended, their status and
 * output are collected.
 */
#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_private.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

#define POLL_S 5
#define POLL_FAILURES 2
/*
 * The time from "exited" by the agent to the line on the port: 2 s, if an agent has 15 s for an
 * answer.
 */
#define EXIT_GRACE_PATIENCE (2.0 / VM_PATIENCE_S)
#define COLLECT_FIRST_MS 20
#define COLLECT_MAX_MS 500

/* Requests. */

struct question {
	struct rank *rank;
	int64_t asked_ns;
};

void job_ask_rank(struct rank *rank, const char *request, host_done_f done)
{
	struct question *question = g_new0(struct question, 1);

	question->rank = rank;
	question->asked_ns = clock_now_ns();
	job_call_begins(rank->place->job);
	vm_request(rank->place->vm, request, done, question);
}

/*
 * Whether the answer is missing because the VM is paused from outside. Call it before
 * job_rank_answered().
 */
static bool is_excused(gpointer data, const GError *error)
{
	const struct question *question = data;
	const struct job_node *place = question->rank->place;

	return place->job->events && vm_is_excused(place->vm, question->asked_ns, error);
}

struct rank *job_rank_answered(gpointer data)
{
	g_autofree struct question *question = data;
	struct rank *rank = question->rank;

	return job_call_ended(rank->place->job) ? rank : NULL;
}

/* The slow poll. */

static gboolean grace_over(gpointer data)
{
	struct rank *rank = data;
	struct job *job = rank->place->job;
	g_autofree char *reason =
		g_strdup_printf("rank %u ended with status %d, without a word on its port",
				rank->index, rank->status);

	/* The line may have been lost with a libvirtd that was restarted. */
	rank->grace_source = 0;
	job_rank_ended(rank, rank->status);
	job->dirty = true;
	if (rank->status != 0)
		job_kill(job, TASK_OUTCOME_FAILED, TASK_CAUSE_EXIT, reason);
	job_advance(job);
	return G_SOURCE_REMOVE;
}

/* Keeps a status: the agent reports "exited" only once. */
static void keep_status(struct rank *rank, struct agent_status *status)
{
	rank->collected = true;
	if (!rank->exited)
		rank->status = status->status;
	job_output_take(&rank->output, status);
	if (!rank->exited && rank->grace_source == 0)
		rank->grace_source = g_timeout_add((guint)(EXIT_GRACE_PATIENCE *
							   vm_patience_s(rank->place->vm) * 1000),
						   grace_over, rank);
}

static void poll_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;
	bool excused = is_excused(data, error);
	struct job *job;
	struct rank *rank = job_rank_answered(data);

	if (!rank)
		return;
	job = rank->place->job;
	rank->place->polling = false;
	if (!error && agent_parse_status(reply, &status, &wrong)) {
		rank->place->poll_failures = 0;
		if (status.exited && !rank->collected)
			keep_status(rank, &status);
		agent_status_clear(&status);
		job_advance(job);
		return;
	}
	if (excused || g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		log_debug_of(LOG_LOCAL(job->task->id), "rank %u: not asked: %s", rank->index,
			     error->message);
		job_advance(job);
		return; /* the host or the VM returns, or is found to be gone */
	}
	log_warning_of(LOG_LOCAL(job->task->id), "rank %u: %s", rank->index,
		       error ? error->message : wrong->message);
	if (++rank->place->poll_failures >= POLL_FAILURES && !rank->place->lost)
		vm_fail(rank->place->vm, g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED)
						 ? "the guest agent was restarted"
						 : "the guest agent hangs or answers rubbish");
}

/* Polls a rank per node at a time. */
static void poll_node(struct job_node *place)
{
	struct job *job = place->job;

	if (place->lost || place->polling)
		return;
	for (uint32_t i = 0; i < place->ranks; i++) {
		uint32_t core = (place->poll_next + i) % place->ranks;
		struct rank *rank = &job->ranks[place->first_rank + core];
		g_autofree char *request = agent_status_request(rank->pid);

		if (rank->collected || rank->exited || !rank->pid)
			continue;
		place->poll_next = core + 1;
		place->polling = true;
		job_ask_rank(rank, request, poll_answered);
		return;
	}
}

void job_poll(struct job *job)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		poll_node(&job->places[i]);
}

static gboolean poll_now(gpointer data)
{
	struct job *job = data;

	if (job->phase == PHASE_RUNNING && job_is_at_rest(job))
		job_poll(job);
	return G_SOURCE_CONTINUE;
}

void job_start_polling(struct job *job)
{
	job->poll_source = g_timeout_add_seconds(POLL_S, poll_now, job);
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

	if (clock_elapsed_s(job->collect_start_ns, clock_now_ns()) >
	    vm_patience_s(rank->place->vm)) {
		rank->lost_output = true;
		return;
	}
	rank->collect_ms =
		rank->collect_ms ? MIN(rank->collect_ms * 2, COLLECT_MAX_MS) : COLLECT_FIRST_MS;
	rank->collect_source = g_timeout_add(rank->collect_ms, collect_again, rank);
}

static void collect_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;
	bool excused = is_excused(data, error);
	struct job *job;
	struct rank *rank = job_rank_answered(data);

	if (!rank)
		return;
	job = rank->place->job;
	/* The deadline limits the wait. */
	if (excused && job->deadline_source)
		job->collect_start_ns = clock_now_ns();
	if (rank->collected) {
		/* A poll has got the status, which is reported once; this request came too late. */
	} else if (rank->place->lost) {
		rank->lost_output = true;
	} else if (!error && agent_parse_status(reply, &status, &wrong)) {
		if (status.exited)
			keep_status(rank, &status);
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

void job_collect(struct job *job)
{
	job->phase = PHASE_COLLECTING;
	if (job->suspension)
		suspension_abort(job->suspension);
	job_stop_moving(job);
	job->collect_start_ns = clock_now_ns();
	g_clear_handle_id(&job->kill_source, g_source_remove);
	job_live_close(job);
	for (uint32_t i = 0; i < job->processes; i++) {
		struct rank *rank = &job->ranks[i];

		if (rank->place->lost || !rank->pid)
			rank->lost_output |= !rank->collected;
		else if (!rank->collected && !rank->lost_output)
			collect_rank(rank);
	}
}
