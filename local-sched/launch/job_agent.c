/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to the agents of a task's nodes about its ranks. */
#include "common/platform.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/launch/job_private.h"

struct question {
	struct rank *rank;
	int64_t asked_ns;
};

void job_ask_rank(struct rank *rank, const char *request, host_done_f done)
{
	struct question *question = g_new0(struct question, 1);

	question->rank = rank;
	question->asked_ns = platform_now_ns(rank->place->job->settings.platform);
	job_call_begins(rank->place->job);
	vm_request(rank->place->vm, request, done, question);
}

bool job_rank_is_excused(gpointer data, const GError *error)
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

void job_keep_status(struct rank *rank, struct agent_status *status)
{
	rank->collected = true;
	if (!rank->exited)
		rank->status = status->status;
	job_output_take(&rank->output, status);
}
