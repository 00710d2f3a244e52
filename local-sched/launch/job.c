/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_private.h"

#include <string.h>

#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/npb_output.h"

#define LOG_SUBSYSTEM "job"
#include "common/log.h"

#define RANK_PROGRAM "/usr/bin/virtbed-rank"
#define BENCHMARKS "/usr/lib/virtbed/npb"
#define AGENT_TIMEOUT_S 15
#define POLL_S 5
#define POLL_FAILURES 2
#define START_AGAIN_MS 500
#define EXIT_GRACE_MS 2000 /* from "exited" by the agent to the line on the port */
#define KILL_AGAIN_MS 1000
#define KILL_TRIES 15
#define COLLECT_FIRST_MS 20
#define COLLECT_MAX_MS 500
#define COLLECT_LIMIT_S 15.0

struct question {
	struct job *job;
	struct rank *rank;
	int64_t asked_ns;
};

static void really_free(struct job *job);

/* Questions to agents. */

static void ask(struct rank *rank, struct job *job, const char *request, host_done_f done)
{
	struct question *question = g_new0(struct question, 1);

	question->job = job;
	question->rank = rank;
	question->asked_ns = clock_now_ns();
	job->questions++;
	machine_agent(rank->place->machine, request, AGENT_TIMEOUT_S, done, question);
}

/* Whether there is no answer because somebody paused the VM; to be asked before it is taken in. */
static bool is_excused(gpointer data, const GError *error)
{
	const struct question *question = data;

	return question->job->events && machine_is_excused(question->rank->place->machine,
							   question->asked_ns, error);
}

void job_asks(struct job *job)
{
	job->questions++;
}

bool job_was_answered(struct job *job)
{
	job->questions--;
	if (job->events)
		return true;
	if (job->questions == 0)
		really_free(job);
	return false;
}

/* Takes an answer in; NULL if nobody wants it any more. */
static struct rank *answered(gpointer data, struct job **ret_job)
{
	g_autofree struct question *question = data;

	*ret_job = question->job;
	return job_was_answered(question->job) ? question->rank : NULL;
}

/* Failing. */

bool job_is_held(const struct job *job)
{
	return job->suspension && !job->doomed &&
	       suspension_step_holds(suspension_step(job->suspension));
}

static bool was_cut_off(const struct job *job)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		if (machine_was_cut_off(job->places[i].machine))
			return true;
	return false;
}

/* A rank that reads an end on its port, because libvirtd was restarted, aborts: not its fault. */
static void blame(struct job *job, enum task_outcome outcome, const char *reason)
{
	struct task *task = job->task;

	task->outcome = outcome;
	task->reason = g_strdup(reason);
	if (outcome == TASK_OUTCOME_FAILED && was_cut_off(job)) {
		task->outcome = TASK_OUTCOME_LOST;
		g_free(task->reason);
		task->reason = g_strconcat(reason, ", after its ports were cut off", NULL);
	}
	log_info_of(LOG_TASK(task->id), "%s: %s", task_outcome_name(task->outcome), task->reason);
}

void job_fail(struct job *job, enum task_outcome outcome, const char *reason)
{
	if (job->phase > PHASE_KILLING)
		return;
	if (job->task->outcome == TASK_OUTCOME_NONE)
		blame(job, outcome, reason);
	if (job->phase == PHASE_KILLING)
		return;
	job->phase = PHASE_KILLING;
	if (job_is_held(job)) {
		suspension_doom(job->suspension);
		return;
	}
	if (job->suspension)
		suspension_abort(job->suspension);
	job_stop_moving(job);
	if (!job_is_moving(job))
		job_kill_ranks(job);
}

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

static void kill_answered(gpointer result, const GError *error, gpointer data)
{
	struct job *job;

	/* Whether it worked is seen on the rank's port. */
	answered(data, &job);
	g_free(result);
}

static void poll_node(struct job_node *place);

/*
 * A wrapper that was killed before it had started its program tells nothing on its port: the agent
 * knows that it has ended.
 */
static gboolean kill_again(gpointer data)
{
	struct job *job = data;

	job->kill_source = 0;
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		poll_node(&job->places[i]);
	job_kill_ranks(job);
	return G_SOURCE_REMOVE;
}

/* VMs whose ranks do not die are removed; that ends their ranks (machine_lost()). */
static void remove_stubborn(struct job *job)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		struct job_node *place = &job->places[i];
		bool stubborn = false;

		for (uint32_t r = 0; r < place->ranks; r++)
			stubborn |= !job->ranks[place->first_rank + r].exited;
		if (stubborn && !place->lost)
			machine_fail(place->machine, "a rank could not be killed");
	}
}

/*
 * A rank whose guest-exec is not answered yet cannot be killed, nor one that has not written its
 * pid down: hence again and again until all ports have told the end.
 */
void job_kill_ranks(struct job *job)
{
	bool all_ended = true;

	for (uint32_t i = 0; i < job->processes; i++) {
		struct rank *rank = &job->ranks[i];
		g_autofree char *core = g_strdup_printf("%u", rank->core);
		const char *const arguments[] = {RANK_PROGRAM, "kill", core, NULL};
		g_autofree char *request = agent_exec_request(arguments, NULL, NULL);

		if (rank->exited)
			continue;
		all_ended = false;
		job->dirty = true;
		if (rank->pid)
			ask(rank, job, request, kill_answered);
	}
	if (all_ended) {
		job_advance(job);
		return;
	}
	if (++job->kill_tries > KILL_TRIES) {
		remove_stubborn(job);
		job_advance(job);
		return;
	}
	job->kill_source = g_timeout_add(KILL_AGAIN_MS, kill_again, job);
}

/* What the agent refuses would be refused again; all else is not the task's fault. */
static enum task_outcome outcome_of(const GError *error)
{
	return g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED) ? TASK_OUTCOME_FAILED :
									 TASK_OUTCOME_LOST;
}

/* Starting. */

static void start_rank(struct job *job, struct rank *rank);

/* Its VM stood still: it was not started. */
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
	struct rank *rank = answered(data, &job);

	if (!rank)
		return;
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_PAUSED)) {
		log_debug_of(LOG_TASK(job->task->id), "rank %u: not started yet: %s", rank->index,
			     error->message);
		rank->start_source = g_timeout_add(START_AGAIN_MS, start_again, rank);
		return;
	}
	job->execs_pending--;
	if (!error && !agent_parse_exec(reply, &rank->pid, &wrong))
		error = wrong;
	if (error) {
		/* Whether it runs is not known: the node is swept. */
		job_rank_ended(rank, 127);
		rank->lost_output = true;
		job->dirty = true;
		job_fail(job, outcome_of(error), error->message);
	} else if (job->phase == PHASE_KILLING && !rank->exited && job->kill_source == 0) {
		job_kill_ranks(job);
	}
	if (job->execs_pending == 0 && job->phase == PHASE_STARTING) {
		job->phase = PHASE_RUNNING;
		job->task->state = TASK_RUNNING;
		job->task->started_ns = clock_now_ns();
		job->events->started(job, job->data);
	}
	job_advance(job);
}

/* A program in the guest for `rank`, with what virtbed-rank is to know. */
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
	const char *const environment[] = {pmi_rank, pmi_size, NULL};
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
		g_autofree char *host = pool_address(job->settings.pool, job->places[i].machine);

		g_strv_builder_add(builder, host);
	}
	hosts = g_strv_builder_end(builder);
	return g_strjoinv(",", hosts);
}

/* Its files go in by its standard input. */
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
					   "UCX_NET_DEVICES=lo", index, count, cores, node, nodes,
					   hosts, NULL};
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

static void start_rank(struct job *job, struct rank *rank)
{
	g_autofree char *request = job->task->script ? script_request(job, rank)
						     : benchmark_request(job, rank);

	ask(rank, job, request, exec_answered);
}

/* What the nodes tell. */

/* A guest that stands still gets nothing: what QEMU held for it would be lost if it were saved. */
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
		job->sent_ns = clock_now_ns();
		machine_send(rank->place->machine, rank->core, bytes, length);
	}
}

/* Why a task has failed whose process ended with another status than 0. */
static char *exit_reason(const struct job *job, const struct rank *rank)
{
	if (!job->task->script_summary)
		return g_strdup_printf("rank %u exited with status %d", rank->index, rank->status);
	if (job->processes == 1)
		return g_strdup_printf("the script exited with status %d", rank->status);
	return g_strdup_printf("the script exited with status %d on node %u", rank->status,
			       rank->index);
}

static void machine_input(struct machine *machine, uint32_t core, const char *bytes, size_t length,
		       void *data)
{
	struct job_node *place = data;
	struct job *job = place->job;
	g_autoptr(GError) error = NULL;
	struct rank *rank;
	int status;

	if (core >= place->ranks) {
		job_fail(job, TASK_OUTCOME_FAILED, "bytes from a PMI port without a rank");
		return;
	}
	rank = &job->ranks[place->first_rank + core];
	log_debug_of(LOG_TASK(job->task->id), "rank %u: %.*s", rank->index, (int)length, bytes);
	if (!pmi_server_input(job->pmi, rank->index, bytes, length, &error))
		job_fail(job, TASK_OUTCOME_FAILED, error->message);
	job_send_answers(job);
	if (pmi_server_exited(job->pmi, rank->index, &status) && !rank->exited) {
		job_rank_ended(rank, status);
		if (status != 0) {
			g_autofree char *reason = exit_reason(job, rank);

			job_fail(job, TASK_OUTCOME_FAILED, reason);
		}
	}
	job_advance(job);
}

static void machine_lost(struct machine *machine, const char *reason, void *data)
{
	struct job_node *place = data;
	struct job *job = place->job;
	g_autofree char *text = g_strdup_printf("VM '%s': %s", machine_name(machine), reason);

	place->lost = place->settled = true;
	for (uint32_t i = 0; i < place->ranks; i++) {
		struct rank *rank = &job->ranks[place->first_rank + i];

		job_rank_ended(rank, 255);
		rank->lost_output |= !rank->collected;
	}
	job_fail(job, TASK_OUTCOME_LOST, text);
	job_moving_lost(job, machine);
	job_advance(job);
}

static void machine_settled(struct machine *machine, void *data)
{
	struct job_node *place = data;

	place->settled = true;
	job_advance(place->job);
}

static void machine_wired(struct machine *machine, const GError *error, void *data)
{
	struct job_node *place = data;

	if (job_is_moving(place->job))
		migration_wired(place->job->migration, machine, error);
	else if (place->job->suspension)
		suspension_wired(place->job->suspension, machine, error);
}

static const struct machine_user machine_user = {
	.input = machine_input,
	.lost = machine_lost,
	.settled = machine_settled,
	.wired = machine_wired,
};

/* The slow poll. */

static gboolean grace_over(gpointer data)
{
	struct rank *rank = data;
	struct job *job = rank->place->job;
	g_autofree char *reason =
		g_strdup_printf("rank %u ended with status %d, without a word on its port",
				rank->index, rank->status);

	/* The word may have been in the hands of a libvirtd that was restarted. */
	rank->grace_source = 0;
	job_rank_ended(rank, rank->status);
	job->dirty = true;
	if (rank->status != 0)
		job_fail(job, TASK_OUTCOME_FAILED, reason);
	job_advance(job);
	return G_SOURCE_REMOVE;
}

/* A status that says "exited" is given once: it is kept. */
static void keep_status(struct rank *rank, struct agent_status *status)
{
	rank->collected = true;
	if (!rank->exited)
		rank->status = status->status;
	job_output_take(&rank->output, status);
	if (!rank->exited && rank->grace_source == 0)
		rank->grace_source = g_timeout_add(EXIT_GRACE_MS, grace_over, rank);
}

static void poll_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;
	bool excused = is_excused(data, error);
	struct job *job;
	struct rank *rank = answered(data, &job);

	if (!rank)
		return;
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
		log_debug_of(LOG_TASK(job->task->id), "rank %u: not asked: %s", rank->index,
			     error->message);
		job_advance(job);
		return; /* the host or the VM will be back, or it is found to be gone */
	}
	log_warning_of(LOG_TASK(job->task->id), "rank %u: %s", rank->index,
		       error ? error->message : wrong->message);
	if (++rank->place->poll_failures >= POLL_FAILURES && !rank->place->lost)
		machine_fail(rank->place->machine,
			  g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED) ?
				  "the guest agent was restarted" :
				  "the guest agent hangs or answers rubbish");
}

/* One rank per node and time. */
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
		ask(rank, job, request, poll_answered);
		return;
	}
}

static gboolean poll_all(gpointer data)
{
	struct job *job = data;

	if (job->phase == PHASE_RUNNING && job_is_at_rest(job))
		for (uint32_t i = 0; i < job->task->nodes_count; i++)
			poll_node(&job->places[i]);
	return G_SOURCE_CONTINUE;
}

static gboolean deadline_reached(gpointer data)
{
	struct job *job = data;
	g_autofree char *reason =
		g_strdup_printf("ran longer than its deadline of %g s", job->task->deadline_s);

	job->deadline_source = 0;
	job_fail(job, TASK_OUTCOME_DEADLINE, reason);
	return G_SOURCE_REMOVE;
}

void job_start_deadline(struct job *job)
{
	job->deadline_source =
		g_timeout_add((guint)(MAX(job->left_s, 0) * 1000), deadline_reached, job);
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

/* The wrapper writes its line just before it ends: the agent may see that a moment later. */
static void collect_later(struct rank *rank)
{
	struct job *job = rank->place->job;

	if (clock_elapsed_s(job->collect_start_ns, clock_now_ns()) > COLLECT_LIMIT_S) {
		rank->lost_output = true;
		return;
	}
	rank->collect_ms = rank->collect_ms ? MIN(rank->collect_ms * 2, COLLECT_MAX_MS) :
					      COLLECT_FIRST_MS;
	rank->collect_source = g_timeout_add(rank->collect_ms, collect_again, rank);
}

static void collect_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *reply = result;
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;
	bool excused = is_excused(data, error);
	struct job *job;
	struct rank *rank = answered(data, &job);

	if (!rank)
		return;
	/* It is waited for until the deadline. */
	if (excused && job->deadline_source)
		job->collect_start_ns = clock_now_ns();
	if (rank->collected) {
		/* A poll got the status that is given once; this question came too late. */
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
		log_warning_of(LOG_TASK(job->task->id), "rank %u: output lost: %s", rank->index,
			       error ? error->message : wrong->message);
		rank->lost_output = true;
	}
	job_advance(job);
}

static void collect_rank(struct rank *rank)
{
	g_autofree char *request = agent_status_request(rank->pid);

	ask(rank, rank->place->job, request, collect_answered);
}

static void collect_all(struct job *job)
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

/* Ending. */

/* The outcome of a task whose ranks all exited with 0. */
static void judge(struct job *job)
{
	struct task *task = job->task;
	const struct job_output *output = &job->ranks[0].output;
	struct npb_output result;

	/* With what each node of a script prints come its results; of a benchmark rank 0 tells all. */
	for (uint32_t i = 0; i < (task->script_summary ? job->processes : 1); i++) {
		if (!job->ranks[i].lost_output)
			continue;
		task->outcome = TASK_OUTCOME_LOST;
		task->reason = g_strdup_printf("the output of rank %u was lost", i);
		return;
	}
	if (task->script_summary) {
		task->outcome = TASK_OUTCOME_COMPLETED;
		return;
	}
	npb_output_parse(output->out ? output->out : "", &result);
	if (npb_output_verified(&result, task->benchmark)) {
		task->outcome = TASK_OUTCOME_COMPLETED;
		task->benchmark_time_s = result.time_s;
		return;
	}
	task->outcome = TASK_OUTCOME_FAILED;
	task->reason = g_strdup_printf("%u of %u results verified", result.successful,
				       npb_output_blocks(task->benchmark));
}

static void publish_usage(struct job *job)
{
	job->task->cpu_s = job->used.cpu_s;
	job->task->host_cpu_s = job->used.host_cpu_s;
	job->task->host_energy_uj = job->used.host_energy_uj;
	job->task->host_gap_ns = job->used.host_gap_ns;
	job->usage_known = true;
}

/* Nothing is to be read for a task that ends while it is suspended. */
static gboolean publish_idle(gpointer data)
{
	struct job *job = data;

	job->publish_source = 0;
	publish_usage(job);
	job_advance(job);
	return G_SOURCE_REMOVE;
}

static void stretch_read(const struct usage *usage, void *data)
{
	struct job *job = data;

	usage_add(&job->used, usage);
	job->usage_closing = false;
	g_clear_pointer(&job->usage, job_usage_free);
	if (job->phase == PHASE_SETTLING) {
		publish_usage(job);
		job_advance(job);
	} else if (job_is_held(job)) {
		suspension_go_on(job->suspension);
	} else {
		job_open_stretch(job, job->stretch_ns); /* it has run on since then */
	}
}

void job_open_stretch(struct job *job, int64_t t_ns)
{
	job->stretch_ns = t_ns;
	job->usage = job_usage_start(job_usage_parts(job), t_ns);
}

void job_close_stretch(struct job *job, int64_t t_ns)
{
	if (job->usage_closing)
		return;
	job->usage_closing = true;
	job_usage_finish(job->usage, t_ns, stretch_read, job);
}

bool job_uses(const struct job *job, const char *domain)
{
	for (uint32_t i = 0; job->usage && !job->usage_closing && i < job->task->nodes_count; i++)
		if (!job->places[i].lost && g_str_equal(machine_domain(job->places[i].machine), domain))
			return true;
	return false;
}

static void settle(struct job *job)
{
	job->phase = PHASE_SETTLING;
	g_clear_handle_id(&job->deadline_source, g_source_remove);
	g_clear_handle_id(&job->poll_source, g_source_remove);
	if (job->task->outcome == TASK_OUTCOME_NONE)
		judge(job);
	if (job->usage)
		job_close_stretch(job, job->task->ended_ns);
	else
		job->publish_source = g_idle_add(publish_idle, job);
	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		struct job_node *place = &job->places[i];

		if (!place->lost)
			machine_release(place->machine, !job->dirty);
	}
	if (job->suspension || job->migration)
		pool_tidy(job->settings.pool); /* its VMs may have been at no node */
}

/* What a script's virtbed-ranks write to standard error are its results. */
static void take_results(struct job *job)
{
	g_autoptr(GPtrArray) streams = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);

	if (!job->task->script_summary)
		return;
	for (uint32_t i = 0; i < job->processes; i++) {
		struct job_output *output = &job->ranks[i].output;

		g_ptr_array_add(streams, g_bytes_new_take(g_steal_pointer(&output->err),
							  output->err_length));
		output->err_length = 0;
	}
	job->results = task_script_join((GBytes *const *)streams->pdata, streams->len);
}

/* Of a VM that is lost there is what was read before. */
static void keep_printed(struct job *job)
{
	struct rank *first = &job->ranks[0];

	if (!first->lost_output || !job->live.text)
		return;
	g_free(first->output.out);
	first->output.out_length = job->live.text->len;
	first->output.out = g_string_free(g_steal_pointer(&job->live.text), FALSE);
}

static void end(struct job *job)
{
	struct job_output_rank *outputs = g_new0(struct job_output_rank, job->processes);
	g_autofree char *text = NULL;
	size_t length;

	job->phase = PHASE_ENDED;
	job->task->state = TASK_ENDED;
	keep_printed(job);
	take_results(job);
	for (uint32_t i = 0; i < job->processes; i++)
		outputs[i] = (struct job_output_rank){
			.output = &job->ranks[i].output,
			.status = job->ranks[i].status,
			.lost = job->ranks[i].lost_output,
		};
	text = job_output_text(outputs, job->processes,
			       job->task->script_summary && job->processes > 1 ? "node" : "rank",
			       &length);
	g_free(outputs);
	job->events->ended(job, text, length, job->data);
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

/* Goes on to the next phase when this one is complete; may end and free the job. */
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
		collect_all(job);
	/* A share that is still being set would be the next task's as well. */
	if (job->phase == PHASE_COLLECTING && all_ranks(job, is_collected) &&
	    job->share_pending == 0) {
		settle(job);
		return; /* settling may already have come to an end */
	}
	if (job->phase == PHASE_SETTLING && job->usage_known && all_settled(job))
		end(job);
	else if (is_quieting(job))
		suspension_go_on(job->suspension);
}

/* Life. */

static void place_ranks(struct job *job, const struct pool *pool)
{
	const struct task *task = job->task;

	for (uint32_t i = 0; i < task->nodes_count; i++) {
		struct job_node *place = &job->places[i];

		place->job = job;
		place->machine = node_machine(pool_node(pool, task->nodes[i]));
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

struct job *job_start(const struct job_settings *settings, const struct job_events *events,
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
	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (!machine_assign(job->places[i].machine, task->id, task->user, &machine_user,
				    &job->places[i]))
			g_assert_not_reached();
	job->execs_pending = job->processes;
	for (uint32_t i = 0; i < job->processes; i++)
		start_rank(job, &job->ranks[i]);
	job_open_stretch(job, task->requested_ns);
	job->left_s = task->deadline_s;
	job_start_deadline(job);
	job->poll_source = g_timeout_add_seconds(POLL_S, poll_all, job);
	return job;
}

void job_kill(struct job *job, enum task_outcome outcome, const char *reason)
{
	job_fail(job, outcome, reason);
}

GBytes *job_results(const struct job *job)
{
	return job->results;
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
	for (uint32_t i = 0; i < job->processes; i++) {
		g_clear_handle_id(&job->ranks[i].start_source, g_source_remove);
		g_clear_handle_id(&job->ranks[i].collect_source, g_source_remove);
		g_clear_handle_id(&job->ranks[i].grace_source, g_source_remove);
	}
}

static void really_free(struct job *job)
{
	g_free(job->share_trouble);
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
	pmi_server_free(job->pmi);
	job_usage_free(job->usage);
	suspension_free(job->suspension);
	migration_free(job->migration);
	job->events = NULL;
	job->task = NULL;
	if (job->questions == 0)
		really_free(job);
}
