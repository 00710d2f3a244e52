/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A task that does not end by itself. The first failure decides its outcome, and the remaining
 * ranks are killed.
 */
#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_private.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

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

/* The ranks. */

static void kill_answered(gpointer result, const GError *error, gpointer data)
{
	struct rank *rank = job_rank_answered(data);

	/* The rank's port shows whether it died. */
	if (rank) {
		rank->killing = false;
		if (rank->kill_answered_ns == 0 && virt_error_is_answer(error))
			rank->kill_answered_ns = clock_now_ns();
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
	job_poll(job);
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
	return !rank->exited && clock_elapsed_s(may_die_ns(job, rank), clock_now_ns()) >
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
		job->kill_start_ns = clock_now_ns();
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
		job->kill_source = g_timeout_add(KILL_AGAIN_MS, kill_again, job);
}
