/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The progress of a task, and whether it hangs. Rank 0 reports the steps that it has done. A task
 * hangs if rank 0 was silent for longer than the task's patience (patience.h).
 *
 * Only time counts in which rank 0 could have made progress and reported it. The task's VMs are at
 * rest, and none is paused or cut off. After a short silence their hosts must answer, and every VM
 * must get CPU time: an idle guest gets some, a frozen VM gets none. Hangs of hosts and agents are
 * found elsewhere (vm_requests.h). An interval counts for at most GAP_S, so that a machine that was
 * suspended, or stood still, does not make all tasks look hung. For a task with a CPU share, time
 * counts by that share.
 */
#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/launch/job_private.h"

#define LOG_SUBSYSTEM "job"

#define LOOK_S 2
#define GAP_S (2 * LOOK_S)
/* A shorter silence is not examined. */
#define QUIET_S 5
/* A VM's CPU time is counted in steps of 10 ms. An idle guest needs some seconds for a step. */
#define STARVED_S 20

/* Counting. */

/* Ends the time that was not counted until `now_ns`: adds it to *to_s, or drops it. */
static void pass_over(struct job *job, int64_t now_ns)
{
	job->silence.counted_ns = now_ns;
}

static void count(struct job *job, int64_t now_ns, double *to_s)
{
	const double since_s = clock_elapsed_s(job->silence.counted_ns, now_ns);

	*to_s += MIN(since_s, GAP_S) * job->task->share.fraction;
	pass_over(job, now_ns);
}

static bool is_heard(const struct job *job)
{
	if (!job_is_at_rest(job))
		return false;
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		if (job->places[i].lost || !vm_is_heard(job->places[i].vm))
			return false;
	return true;
}

/* Counts the pending time: all VMs got CPU time in it. */
static void take_pending(struct job *job)
{
	if (job->silence.pending_s <= STARVED_S)
		job->silence.silent_s += job->silence.pending_s;
	job->silence.pending_s = 0;
}

static void forget_cpu(struct job *job)
{
	job->silence.pending_s = 0;
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		job->places[i].cpu_ns = job->places[i].silent_cpu_ns = 0;
}

void job_note_progress(struct job *job)
{
	struct task_progress *progress = &job->task->progress;
	const int64_t now_ns = platform_now_ns(job->settings.platform);
	int64_t done;
	int64_t total;

	if (!pmi_server_progress(job->pmi, &done, &total) ||
	    (total == progress->total && done == progress->done))
		return;
	if (job->silence.source) {
		count(job, now_ns, &job->silence.silent_s);
		take_pending(job);
		job->silence.longest_s = MAX(job->silence.longest_s, job->silence.silent_s);
	}
	job->silence.silent_s = 0;
	forget_cpu(job);
	*progress = (struct task_progress){.done = done, .total = total, .t_ns = now_ns};
}

/* Decision. */

static double patience_of(const struct job *job)
{
	const struct task *task = job->task;

	/* The start of the task says nothing about its steps. */
	return patience_s(job->settings.patience, task->benchmark, task->class_,
			  task->progress.done > 0 ? job->silence.longest_s : 0);
}

static char *describe(const struct job *job)
{
	const struct task_progress *progress = &job->task->progress;
	g_autoptr(GString) text = g_string_new(NULL);
	double cpu_s = 0;

	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		cpu_s += (double)job->places[i].silent_cpu_ns * 1e-9;
	g_string_printf(text, "no progress for %.0f s: ", job->silence.silent_s);
	if (progress->total)
		g_string_append_printf(text,
				       "rank 0 is at step %" G_GINT64_FORMAT
				       " of %" G_GINT64_FORMAT,
				       progress->done, progress->total);
	else
		g_string_append(text, "rank 0 has not begun");
	g_string_append_printf(text, "; its VMs used %.1f s of CPU time meanwhile", cpu_s);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static void kill_if_hung(struct job *job)
{
	g_autofree char *reason = NULL;

	if (job->silence.silent_s < patience_of(job))
		return;
	reason = describe(job);
	job_kill(job, TASK_OUTCOME_FAILED, TASK_CAUSE_STALLED, reason);
}

/* The VMs' CPU time. */

/* A call to a host. */
struct question {
	struct job *job;
	uint32_t source;
	int64_t t_ns; /* time of the report with which the silence began */
};

static const struct domain_cpu *find_cpu(const GPtrArray *times, const char *domain)
{
	for (guint i = 0; i < times->len; i++) {
		const struct domain_cpu *cpu = times->pdata[i];

		if (g_str_equal(cpu->name, domain))
			return cpu;
	}
	return NULL;
}

static void note_cpu(struct job *job, const struct host *host, const GPtrArray *times)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		struct job_node *place = &job->places[i];
		const struct domain_cpu *cpu;

		if (vm_current_host(place->vm) != host)
			continue;
		cpu = times ? find_cpu(times, vm_domain(place->vm)) : NULL;
		job->silence.unknown |= !cpu;
		/* A first reading proves nothing; the next one does. */
		job->silence.starved |= cpu && (place->cpu_ns == 0 || cpu->cpu_ns <= place->cpu_ns);
		if (cpu && place->cpu_ns != 0 && cpu->cpu_ns > place->cpu_ns)
			place->silent_cpu_ns += cpu->cpu_ns - place->cpu_ns;
		place->cpu_ns = cpu ? cpu->cpu_ns : 0;
	}
}

/* Evaluates the readings, once all hosts have answered. */
static void evaluate_readings(struct job *job)
{
	struct job_silence *silence = &job->silence;
	const int64_t now_ns = platform_now_ns(job->settings.platform);

	if (silence->unknown || !is_heard(job)) {
		silence->pending_s = 0;
		pass_over(job, now_ns);
		return;
	}
	count(job, now_ns, &silence->pending_s);
	if (silence->starved)
		return;
	take_pending(job);
	kill_if_hung(job);
}

static void cpu_read(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct question *question = data;
	g_autoptr(GPtrArray) times = result;
	struct job *job = question->job;

	if (!job_call_ended(job))
		return;
	/* A reading from before rank 0's last report says nothing about its current silence. */
	if (question->t_ns != job->task->progress.t_ns)
		job->silence.unknown = true;
	else
		note_cpu(job, job->settings.sources[question->source].host, times);
	if (--job->silence.asked == 0 && job->phase == PHASE_RUNNING)
		evaluate_readings(job);
	job_advance(job);
}

static bool has_vms(const struct job *job, const struct host *host)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		if (vm_current_host(job->places[i].vm) == host)
			return true;
	return false;
}

static void ask_cpu(struct job *job)
{
	job->silence.unknown = job->silence.starved = false;
	for (uint32_t s = 0; s < job->settings.sources_count; s++) {
		struct host *host = job->settings.sources[s].host;
		struct question *question;

		if (!has_vms(job, host))
			continue;
		question = g_new(struct question, 1);
		*question = (struct question){job, s, job->task->progress.t_ns};
		job->silence.asked++;
		job_call_begins(job);
		domain_cpu_times(host, cpu_read, question);
	}
}

/* Checks. */

void job_look_at_progress(struct job *job)
{
	const int64_t now_ns = platform_now_ns(job->settings.platform);

	if (job->phase != PHASE_RUNNING || job->silence.asked > 0)
		return;
	if (!is_heard(job)) {
		forget_cpu(job);
		pass_over(job, now_ns);
	} else if (job->silence.silent_s < QUIET_S) {
		count(job, now_ns, &job->silence.silent_s);
	} else {
		ask_cpu(job);
	}
}

static gboolean check_progress(gpointer data)
{
	job_look_at_progress(data);
	return G_SOURCE_CONTINUE;
}

void job_watch_progress(struct job *job)
{
	if (job->task->script_summary)
		return;
	job->silence.counted_ns = platform_now_ns(job->settings.platform);
	job->silence.source = platform_after_s(job->settings.platform, LOOK_S, check_progress, job);
}
