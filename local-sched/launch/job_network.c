/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests whether a task has failed because of the network between its VMs: once its ranks have
 * ended, the VMs ping one another. Where a VM cannot, the task is lost, not failed, and the VM is
 * booted again.
 */
#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/launch/job_private.h"
#include "local-sched/launch/network_test.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

#define PING "/usr/bin/ping" /* in the guests */
#define PING_COUNT "3"
/* The limit of a ping: 5 s, if an agent has 15 s for an answer. */
#define PING_PATIENCE (5.0 / VM_PATIENCE_S)
#define PING_POLL_MS 200

/* A VM that pings the next one. */
struct ping {
	struct job_node *place;
	enum network_answer answer;
	int64_t pid; /* in its guest; 0: not started */
	int64_t start_ns;
	guint source;
	bool over;
};

struct job_network {
	struct ping *pings; /* of VMs that the task still has */
	uint32_t count;
	job_network_done_f done;
};

/* A call to an agent that is under way; the job may be freed meanwhile. */
struct question {
	struct job *job;
	uint32_t i;
};

static void send_question(struct job *job, uint32_t i);

/* The end. */

/* Sets the outcome of a task that counted as failed. */
static void blame_network(struct job *job, const char *names)
{
	struct task *task = job->task;
	g_autofree char *reason =
		g_strdup_printf("%s, and the network of VM %s is cut", task->reason, names);

	task->outcome = TASK_OUTCOME_LOST;
	task->cause = TASK_CAUSE_VM;
	g_free(task->reason);
	task->reason = g_steal_pointer(&reason);
	log_warning_of(LOG_LOCAL(task->id), "lost: %s", task->reason);
}

static void finish(struct job *job)
{
	const struct job_network *network = job->network;
	g_autofree enum network_answer *answers = g_new0(enum network_answer, network->count);
	g_autofree bool *cut = g_new0(bool, network->count);
	g_autoptr(GString) names = g_string_new(NULL);

	for (uint32_t i = 0; i < network->count; i++)
		answers[i] = network->pings[i].answer;
	if (network_test_judge(answers, network->count, cut)) {
		for (uint32_t i = 0; i < network->count; i++)
			if (cut[i])
				g_string_append_printf(names, "%s'%s'", names->len > 0 ? ", " : "",
						       vm_name(network->pings[i].place->vm));
		blame_network(job, names->str);
	}
	for (uint32_t i = 0; i < network->count; i++)
		if (cut[i] && !network->pings[i].place->lost)
			vm_fail(network->pings[i].place->vm,
				"its network is cut: the other VMs of its task and it do not reach one another");
	network->done(job);
}

static void end_ping(struct job *job, struct ping *ping, enum network_answer answer)
{
	ping->over = true;
	ping->answer = answer;
	for (uint32_t i = 0; i < job->network->count; i++)
		if (!job->network->pings[i].over)
			return;
	finish(job);
}

/* Pings. */

static gboolean send_question_again(gpointer data)
{
	struct ping *ping = data;
	struct job *job = ping->place->job;

	ping->source = 0;
	send_question(job, (uint32_t)(ping - job->network->pings));
	return G_SOURCE_REMOVE;
}

/* A VM whose agent does not answer as it should is not blamed: other checks find that. */
static void answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct question *question = data;
	g_autofree char *reply = result;
	struct job *job = question->job;
	struct agent_status status;
	struct ping *ping;
	enum network_answer answer;

	if (!job_call_ended(job))
		return;
	ping = &job->network->pings[question->i];
	if (error || ping->place->lost ||
	    clock_elapsed_s(ping->start_ns, platform_now_ns(job->settings.platform)) >
		    vm_patience_s(ping->place->vm)) {
		end_ping(job, ping, NETWORK_UNKNOWN);
	} else if (!ping->pid) {
		if (agent_parse_exec(reply, &ping->pid, NULL))
			send_question(job, question->i);
		else
			end_ping(job, ping, NETWORK_UNKNOWN);
	} else if (!agent_parse_status(reply, &status, NULL)) {
		end_ping(job, ping, NETWORK_UNKNOWN);
	} else {
		answer = status.status == 0   ? NETWORK_REACHED
			 : status.status == 1 ? NETWORK_CUT
					      : NETWORK_UNKNOWN;
		if (status.exited)
			end_ping(job, ping, answer);
		else
			ping->source = platform_after_ms(job->settings.platform, PING_POLL_MS,
							 send_question_again, ping);
		agent_status_clear(&status);
	}
}

/* The request that starts a ping, or that reads its result. */
static char *request_of(struct job *job, uint32_t i)
{
	const struct job_network *network = job->network;
	const struct ping *ping = &network->pings[i];
	g_autofree char *next = NULL;
	g_autofree char *limit = NULL;

	if (ping->pid)
		return agent_status_request(ping->pid);
	next = pool_address(job->settings.pool, network->pings[(i + 1) % network->count].place->vm);
	limit = g_strdup_printf("%.0f", PING_PATIENCE * vm_patience_s(ping->place->vm));
	return agent_exec_request((const char *const[]){PING, "-q", "-A", "-c", PING_COUNT, "-w",
							limit, next, NULL},
				  NULL, NULL);
}

static void send_question(struct job *job, uint32_t i)
{
	struct question *question = g_new0(struct question, 1);
	g_autofree char *request = request_of(job, i);

	*question = (struct question){job, i};
	job_call_begins(job);
	vm_request(job->network->pings[i].place->vm, request, answered, question);
}

bool job_test_network(struct job *job, job_network_done_f done)
{
	const struct task *task = job->task;
	struct job_network *network;

	if (task->nodes_count < 2 ||
	    (task->outcome != TASK_OUTCOME_FAILED && task->outcome != TASK_OUTCOME_DEADLINE))
		return false;
	network = job->network = g_new0(struct job_network, 1);
	network->done = done;
	network->pings = g_new0(struct ping, task->nodes_count);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (!job->places[i].lost)
			network->pings[network->count++] =
				(struct ping){.place = &job->places[i],
					      .start_ns = platform_now_ns(job->settings.platform)};
	if (network->count < 2)
		return false;
	job->phase = PHASE_TESTING;
	for (uint32_t i = 0; i < network->count; i++)
		send_question(job, i);
	return true;
}

void job_free_network(struct job *job)
{
	if (!job->network)
		return;
	for (uint32_t i = 0; i < job->network->count; i++)
		g_clear_handle_id(&job->network->pings[i].source, g_source_remove);
	g_free(job->network->pings);
	g_free(job->network);
}
