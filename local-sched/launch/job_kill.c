/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ranks that do not end by themselves. A slow poll of the agents finds what the ports cannot
 * report: a wrapper that died, an agent that hangs. The first failure decides the task's outcome,
 * and the remaining ranks are killed.
 */
#include "common/clock.h"
#include "common/platform.h"
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
#define KILL_AGAIN_MS 1000

/* The outcome. */

static bool was_cut_off(const struct job *job)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		if (vm_was_cut_off(job->places[i].vm))
			return true;
	return false;
}

/*
 * Decides the outcome. A rank that reads an end of file on its port, because libvirtd was
 * restarted, aborts; that is not its fault.
 */
static void blame(struct job *job, enum task_outcome outcome, enum task_cause cause,
		  const char *reason)
{
	struct task *task = job->task;

	task->outcome = outcome;
	task->cause = cause;
	task->reason = g_strdup(reason);
	if (outcome == TASK_OUTCOME_FAILED && was_cut_off(job)) {
		task->outcome = TASK_OUTCOME_LOST;
		task->cause = TASK_CAUSE_VM;
		g_free(task->reason);
		task->reason = g_strconcat(reason, ", after its ports were cut off", NULL);
	}
	log_info_of(LOG_LOCAL(task->id), "%s: %s", task_outcome_name(task->outcome), task->reason);
}

void job_kill(struct job *job, enum task_outcome outcome, enum task_cause cause, const char *reason)
{
	if (job->phase > PHASE_KILLING)
		return;
	if (job->task->outcome == TASK_OUTCOME_NONE)
		blame(job, outcome, cause, reason);
	if (job->phase == PHASE_KILLING)
		return;
	job->phase = PHASE_KILLING;
	if (job_is_held(job)) {
		suspension_cancel(job->suspension);
		return;
	}
	if (job->suspension)
		suspension_abort(job->suspension);
	job_stop_moving(job);
	if (!job_is_moving(job))
		job_kill_ranks(job);
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

/* Waits for the line on the port of a rank that has exited. */
static void await_line(struct rank *rank)
{
	if (!rank->exited && rank->grace_source == 0)
		rank->grace_source =
			platform_after_ms(rank->place->job->settings.platform,
					  (guint)(EXIT_GRACE_PATIENCE *
						  vm_patience_s(rank->place->vm) * 1000),
					  grace_over, rank);
}

static void poll_answered(gpointer result, const GError *error, gpointer data)
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
	rank->place->polling = false;
	if (!error && agent_parse_status(reply, &status, &wrong)) {
		rank->place->poll_failures = 0;
		if (status.exited && !rank->collected) {
			job_keep_status(rank, &status);
			await_line(rank);
		}
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

static void poll_nodes(struct job *job)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		poll_node(&job->places[i]);
}

static gboolean poll_now(gpointer data)
{
	struct job *job = data;

	if (job->phase == PHASE_RUNNING && job_is_at_rest(job))
		poll_nodes(job);
	return G_SOURCE_CONTINUE;
}

void job_start_polling(struct job *job)
{
	job->poll_source = platform_after_s(job->settings.platform, POLL_S, poll_now, job);
}

/* Killing. */

static void kill_answered(gpointer result, const GError *error, gpointer data)
{
	struct rank *rank = job_rank_answered(data);

	/* The rank's port shows whether it died. */
	if (rank) {
		rank->killing = false;
		if (rank->kill_answered_ns == 0 && virt_error_is_answer(error))
			rank->kill_answered_ns =
				platform_now_ns(rank->place->job->settings.platform);
	}
	g_free(result);
}

/*
 * A wrapper that was killed before it had started its program writes nothing to its port, so the
 * agent is asked whether it has ended.
 */
static gboolean kill_again(gpointer data)
{
	struct job *job = data;

	job->kill_source = 0;
	poll_nodes(job);
	job_kill_ranks(job);
	return G_SOURCE_REMOVE;
}

/*
 * Since when a rank may have died. An agent is asked one question at a time. A question that was
 * not asked yet waits for its turn, however long, as long as the agent answers.
 */
static int64_t may_die_ns(const struct job *job, const struct rank *rank)
{
	return rank->kill_answered_ns ?: MAX(job->kill_start_ns, vm_heard_ns(rank->place->vm));
}

static bool is_stubborn(const struct job *job, const struct rank *rank)
{
	return !rank->exited &&
	       clock_elapsed_s(may_die_ns(job, rank), platform_now_ns(job->settings.platform)) >
		       vm_patience_s(rank->place->vm);
}

/* Removes VMs whose ranks do not die, which ends those ranks (vm_lost()). */
static void remove_stubborn(struct job *job)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		struct job_node *place = &job->places[i];
		bool stubborn = false;

		for (uint32_t r = 0; r < place->ranks; r++)
			stubborn |= is_stubborn(job, &job->ranks[place->first_rank + r]);
		if (stubborn && !place->lost)
			vm_fail(place->vm, "a rank could not be killed");
	}
}

/*
 * Repeated until all ports have reported the end: a rank whose guest-exec is not answered yet
 * cannot be killed, nor a rank that has not recorded its pid.
 */
void job_kill_ranks(struct job *job)
{
	bool all_ended = true;

	if (job->kill_start_ns == 0)
		job->kill_start_ns = platform_now_ns(job->settings.platform);
	remove_stubborn(job);
	for (uint32_t i = 0; i < job->processes; i++) {
		struct rank *rank = &job->ranks[i];
		g_autofree char *core = g_strdup_printf("%u", rank->core);
		const char *const arguments[] = {RANK_PROGRAM, "kill", core, NULL};
		g_autofree char *request = agent_exec_request(arguments, NULL, NULL);

		if (rank->exited)
			continue;
		all_ended = false;
		job->dirty = true;
		if (!rank->pid || rank->killing)
			continue;
		rank->killing = true;
		job_ask_rank(rank, request, kill_answered);
	}
	if (all_ended)
		job_advance(job);
	else
		job->kill_source =
			platform_after_ms(job->settings.platform, KILL_AGAIN_MS, kill_again, job);
}
