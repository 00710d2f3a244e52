/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events from the VMs of a task: bytes of the ranks on their PMI ports, and the ends of VMs. */
#include "common/platform.h"
#include "local-sched/launch/job_private.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

/*
 * Nothing is sent to a guest that stands still: bytes that QEMU holds for it are lost when it is
 * saved.
 */
void job_send_answers(struct job *job)
{
	if (job_is_held(job) || job_is_moving(job))
		return;
	for (uint32_t i = 0; i < job->processes; i++) {
		struct rank *rank = &job->ranks[i];
		size_t length;
		g_autofree char *bytes = pmi_server_take_output(job->pmi, i, &length);

		if (!bytes || rank->place->lost)
			continue;
		job->sent_ns = platform_now_ns(job->settings.platform);
		vm_send(rank->place->vm, rank->core, bytes, length);
	}
}

/* Why a task has failed whose process ended with a status other than 0. */
static char *exit_reason(const struct job *job, const struct rank *rank)
{
	if (!job->task->script_summary)
		return g_strdup_printf("rank %u exited with status %d", rank->index, rank->status);
	if (job->processes == 1)
		return g_strdup_printf("the script exited with status %d", rank->status);
	return g_strdup_printf("the script exited with status %d on node %u", rank->status,
			       rank->index);
}

/* A rank that aborts the job ends by itself. */
static enum task_cause cause_of(const GError *error)
{
	return g_error_matches(error, PMI_ERROR, PMI_ERROR_ABORT) ? TASK_CAUSE_EXIT
								  : TASK_CAUSE_OTHER;
}

static void vm_input(struct vm *vm, uint32_t core, const char *bytes, size_t length, void *data)
{
	struct job_node *place = data;
	struct job *job = place->job;
	g_autoptr(GError) error = NULL;
	struct rank *rank;
	int status;

	if (core >= place->ranks) {
		job_kill(job, TASK_OUTCOME_FAILED, TASK_CAUSE_OTHER,
			 "bytes from a PMI port without a rank");
		return;
	}
	rank = &job->ranks[place->first_rank + core];
	log_debug_of(LOG_LOCAL(job->task->id), "rank %u: %.*s", rank->index, (int)length, bytes);
	if (!pmi_server_input(job->pmi, rank->index, bytes, length, &error))
		job_kill(job, TASK_OUTCOME_FAILED, cause_of(error), error->message);
	job_note_progress(job);
	job_send_answers(job);
	if (pmi_server_exited(job->pmi, rank->index, &status) && !rank->exited) {
		job_rank_ended(rank, status);
		if (status != 0) {
			g_autofree char *reason = exit_reason(job, rank);

			job_kill(job, TASK_OUTCOME_FAILED, TASK_CAUSE_EXIT, reason);
		}
	}
	job_advance(job);
}

static void vm_torn(struct vm *vm, uint32_t core, void *data)
{
	const struct job_node *place = data;

	if (core < place->ranks)
		pmi_server_torn(place->job->pmi, place->first_rank + core);
}

static void vm_lost(struct vm *vm, const char *reason, void *data)
{
	struct job_node *place = data;
	struct job *job = place->job;
	g_autofree char *text = g_strdup_printf("VM '%s': %s", vm_name(vm), reason);

	place->lost = place->settled = true;
	for (uint32_t i = 0; i < place->ranks; i++) {
		struct rank *rank = &job->ranks[place->first_rank + i];

		job_rank_ended(rank, 255);
		rank->lost_output |= !rank->collected;
	}
	job_kill(job, TASK_OUTCOME_LOST, TASK_CAUSE_VM, text);
	if (job->migration)
		migration_lost(job->migration, vm);
	job_advance(job);
}

static void vm_settled(struct vm *vm, void *data)
{
	struct job_node *place = data;

	place->settled = true;
	job_advance(place->job);
}

static void vm_wired(struct vm *vm, const GError *error, void *data)
{
	struct job_node *place = data;

	if (job_is_moving(place->job))
		migration_wired(place->job->migration, vm, error);
	else if (place->job->suspension)
		suspension_wired(place->job->suspension, vm, error);
}

static const struct vm_user vm_user = {
	.input = vm_input,
	.torn = vm_torn,
	.lost = vm_lost,
	.settled = vm_settled,
	.wired = vm_wired,
};

void job_assign_vms(struct job *job)
{
	const struct task *task = job->task;

	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (!vm_assign(job->places[i].vm, task->id, task->user, &vm_user, &job->places[i]))
			g_assert_not_reached();
}
