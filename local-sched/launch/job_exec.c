/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The programs that are started in the guests for a task: virtbed-rank with a benchmark for each
 * rank, or with a script for each node.
 */
#include "common/platform.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_private.h"
#include "local-sched/launch/task_fsm.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

#define BENCHMARKS "/usr/lib/virtbed/npb"
#define START_AGAIN_MS 500

/* The program and its environment. */

/* The command for `rank`: virtbed-rank with its options and the program. */
static GStrvBuilder *rank_arguments(const struct job *job, const struct rank *rank)
{
	GStrvBuilder *arguments = g_strv_builder_new();
	g_autofree char *core = g_strdup_printf("%u", rank->core);
	g_autofree char *user = g_strdup_printf("%" G_GINT64_FORMAT, job->task->user);

	g_strv_builder_add_many(arguments, RANK_PROGRAM, "run", core, NULL);
	if (job->task->user >= 0)
		g_strv_builder_add_many(arguments, "--user", user, NULL);
	return arguments;
}

static char *benchmark_request(const struct job *job, const struct rank *rank)
{
	const struct task *task = job->task;
	char class_[2] = {task->class_, '\0'};
	g_autoptr(GStrvBuilder) builder = rank_arguments(job, rank);
	g_autofree char *program = g_strdup_printf(BENCHMARKS "/%s", task->benchmark);
	g_autofree char *repetitions = g_strdup_printf("%u", task->repetitions);
	g_autofree char *pmi_rank = g_strdup_printf("PMI_RANK=%u", rank->index);
	g_autofree char *pmi_size = g_strdup_printf("PMI_SIZE=%u", task->ranks);
	g_autofree char *progress = g_strdup_printf("VIRTBED_PROGRESS_MS=%d", PATIENCE_REPORT_MS);
	const char *const environment[] = {pmi_rank, pmi_size, progress, NULL};
	g_auto(GStrv) arguments = NULL;

	g_strv_builder_add_many(builder, program, "--class", class_, "--repetitions", repetitions,
				NULL);
	arguments = g_strv_builder_end(builder);
	return agent_exec_request((const char *const *)arguments, environment, NULL);
}

/* The addresses of the task's VMs, in the order of its nodes. */
static char *hosts_of(const struct job *job)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_auto(GStrv) hosts = NULL;

	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		g_autofree char *host = pool_address(job->settings.pool, job->places[i].vm);

		g_strv_builder_add(builder, host);
	}
	hosts = g_strv_builder_end(builder);
	return g_strjoinv(",", hosts);
}

/* The script's files are the standard input. */
static char *script_request(const struct job *job, const struct rank *rank)
{
	const struct task *task = job->task;
	g_autoptr(GStrvBuilder) builder = rank_arguments(job, rank);
	g_autofree char *program = g_strconcat("./", task->script->program, NULL);
	g_autofree char *index = g_strdup_printf("VIRTBED_INDEX=%u", task->index);
	g_autofree char *count = g_strdup_printf("VIRTBED_COUNT=%u", task->count);
	g_autofree char *cores = g_strdup_printf("VIRTBED_CORES=%u", task->ranks);
	g_autofree char *node = g_strdup_printf("VIRTBED_NODE=%u", rank->index);
	g_autofree char *nodes = g_strdup_printf("VIRTBED_NODES=%u", task->nodes_count);
	g_autofree char *addresses = hosts_of(job);
	g_autofree char *hosts = g_strconcat("VIRTBED_HOSTS=", addresses, NULL);
	const char *const environment[] = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin",
					   "UCX_NET_DEVICES=lo",
					   index,
					   count,
					   cores,
					   node,
					   nodes,
					   hosts,
					   NULL};
	g_autoptr(GBytes) input = task_script_bundle(task->script);
	g_auto(GStrv) arguments = NULL;

	g_strv_builder_add(builder, "--unpack");
	for (char **result = task->script->results; *result; result++)
		g_strv_builder_add_many(builder, "--result", *result, NULL);
	g_strv_builder_add(builder, program);
	g_strv_builder_addv(builder, (const char **)task->script->arguments);
	arguments = g_strv_builder_end(builder);
	return agent_exec_request((const char *const *)arguments, environment, input);
}

/* Start. */

/*
 * Whether the agent has refused the request, and would refuse it again. All other failures are not
 * the task's fault.
 */
static bool is_refusal(const GError *error)
{
	return g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED);
}

static void start_rank(struct job *job, struct rank *rank);

/* The VM was paused, and the rank was not started. */
static gboolean start_again(gpointer data)
{
	struct rank *rank = data;
	struct job *job = rank->place->job;

	rank->start_source = 0;
	if (job->phase == PHASE_STARTING) {
		start_rank(job, rank);
		return G_SOURCE_REMOVE;
	}
	job_rank_ended(rank, 127);
	rank->lost_output = true;
	job->execs_pending--;
	job_advance(job);
	return G_SOURCE_REMOVE;
}

static void exec_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct job *job;
	struct rank *rank = job_rank_answered(data);

	if (!rank)
		return;
	job = rank->place->job;
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_PAUSED)) {
		log_debug_of(LOG_LOCAL(job->task->id), "rank %u: not started yet: %s", rank->index,
			     error->message);
		rank->start_source = platform_after_ms(job->settings.platform, START_AGAIN_MS,
						       start_again, rank);
		return;
	}
	job->execs_pending--;
	if (!error && !agent_parse_exec(reply, &rank->pid, &wrong))
		error = wrong;
	if (error) {
		/* The rank may run or not: the node has to be swept. */
		job_rank_ended(rank, 127);
		rank->lost_output = true;
		job->dirty = true;
		if (is_refusal(error))
			job_kill(job, TASK_OUTCOME_FAILED, TASK_CAUSE_OTHER, error->message);
		else
			job_kill(job, TASK_OUTCOME_LOST, TASK_CAUSE_VM, error->message);
	} else if (job->phase == PHASE_KILLING && !rank->exited && job->kill_source == 0) {
		job_kill_ranks(job);
	}
	if (job->execs_pending == 0 && job->phase == PHASE_STARTING) {
		job->phase = PHASE_RUNNING;
		task_fsm_move(job->task, TASK_FSM_STARTED);
		job->task->started_ns = platform_now_ns(job->settings.platform);
		job_watch_progress(job);
		job->events->started(job->task, job->data);
	}
	job_advance(job);
}

static void start_rank(struct job *job, struct rank *rank)
{
	g_autofree char *request =
		job->task->script ? script_request(job, rank) : benchmark_request(job, rank);

	job_ask_rank(rank, request, exec_answered);
}

void job_start_ranks(struct job *job)
{
	job->execs_pending = job->processes;
	for (uint32_t i = 0; i < job->processes; i++)
		start_rank(job, &job->ranks[i]);
}
