/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/job_private.h"

#include <math.h>

#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"

#define LOG_SUBSYSTEM "job"

#define GIVEN_S 2

/*
 * A call to a host about a VM (to set its share), or about all VMs of the task there (to read their
 * usage).
 */
struct question {
	struct job *job;
	int64_t n;       /* number of the share */
	uint32_t source; /* index of the source, or of the node */
};

/* The CPU time of the VMs on a host at the last reading. */
struct job_given {
	int64_t t_ns; /* 0: not read */
	double cpu_ns;
	double cores; /* cores used since the reading before; NAN: not known */
};

static struct question *begin_call(struct job *job, uint32_t source)
{
	struct question *question = g_new0(struct question, 1);

	*question = (struct question){.job = job, .n = job->task->share.n, .source = source};
	job_call_begins(job);
	return question;
}

/* Set the share. */

static void report_share(struct job *job)
{
	g_autofree char *trouble = g_steal_pointer(&job->share_failure);

	if (!trouble)
		job->task->share.set_ns = platform_now_ns(job->settings.platform);
	job->events->shared(job->task, trouble, job->data);
}

static void set_share(struct job *job, uint32_t i);

static void share_set(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct question *question = data;
	struct job *job = question->job;

	if (!job_call_ended(job))
		return;
	/*
	 * Calls to a host may overtake one another, so the next share waits for the end of this
	 * call.
	 */
	if (question->n != job->task->share.n && !job->places[question->source].lost) {
		set_share(job, question->source);
		return;
	}
	if (error && !job->share_failure)
		job->share_failure = g_strdup(error->message);
	job->places[question->source].sharing = false;
	if (--job->share_pending == 0)
		report_share(job);
	job_advance(job);
}

static void set_share(struct job *job, uint32_t i)
{
	const struct vm *vm = job->places[i].vm;
	const struct vm_place *place = vm_where(vm);
	const struct cpu_cap cap = vm_cap_at(vm, place);

	domain_apply_cap(vm_current_host(vm), vm_domain(vm), &cap,
			 vm_cores_at(job->places[i].vm, place), share_set, begin_call(job, i));
}

/* Read the usage. */

/* The cores that the VMs may use together. */
static double asked_cores(const struct job *job)
{
	double cores = 0;

	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		const struct vm *vm = job->places[i].vm;
		const struct vm_place *place = vm_where(vm);
		const struct cpu_cap cap = vm_cap_at(vm, place);

		cores +=
			cap.quota_us > 0 ? (double)cap.quota_us / (double)cap.period_us : cap.cores;
	}
	return cores;
}

static bool is_ours(const struct job *job, const struct host *host, const char *domain)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		if (vm_current_host(job->places[i].vm) == host &&
		    g_str_equal(vm_domain(job->places[i].vm), domain))
			return true;
	return false;
}

static void tell_given(struct job *job)
{
	double given = 0;

	for (uint32_t s = 0; s < job->settings.sources_count; s++)
		given += job->given[s].cores;
	job->task->share.given_cores = given;
	job->task->share.asked_cores = asked_cores(job);
}

static void given_read(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct question *question = data;
	g_autoptr(GPtrArray) times = result;
	struct job *job = question->job;
	const struct host *host;
	struct job_given *given;
	int64_t now_ns = platform_now_ns(job->settings.platform);
	double cpu_ns = 0;

	if (!job_call_ended(job))
		return;
	host = job->settings.sources[question->source].host;
	given = &job->given[question->source];
	for (guint i = 0; times && i < times->len; i++) {
		const struct domain_cpu *cpu = times->pdata[i];

		if (is_ours(job, host, cpu->name))
			cpu_ns += (double)cpu->cpu_ns;
	}
	/* Only over a whole interval with this share. */
	given->cores =
		times && given->t_ns && question->n == job->given_n && cpu_ns >= given->cpu_ns
			? (cpu_ns - given->cpu_ns) / (double)(now_ns - given->t_ns)
			: (double)NAN;
	given->t_ns = times ? now_ns : 0;
	given->cpu_ns = cpu_ns;
	if (--job->given_pending == 0) {
		if (job->phase == PHASE_RUNNING)
			tell_given(job);
		job->given_n = question->n;
	}
	job_advance(job);
}

static bool has_vms(const struct job *job, const struct host *host)
{
	for (uint32_t i = 0; i < job->task->nodes_count; i++)
		if (vm_current_host(job->places[i].vm) == host)
			return true;
	return false;
}

static gboolean read_given(gpointer data)
{
	struct job *job = data;

	if (job->phase != PHASE_RUNNING || !job_is_at_rest(job) || job->task->share.set_ns == 0) {
		job->given_n = 0; /* the next interval is not whole */
		return G_SOURCE_CONTINUE;
	}
	if (job->given_pending > 0)
		return G_SOURCE_CONTINUE;
	for (uint32_t s = 0; s < job->settings.sources_count; s++) {
		struct host *host = job->settings.sources[s].host;

		job->given[s].cores = 0;
		if (!has_vms(job, host))
			continue;
		job->given_pending++;
		domain_cpu_times(host, given_read, begin_call(job, s));
	}
	return G_SOURCE_CONTINUE;
}

/* Requests. */

void job_share(struct job *job)
{
	g_clear_pointer(&job->share_failure, g_free);
	job->task->share.given_cores = (double)NAN;
	for (uint32_t i = 0; i < job->task->nodes_count; i++) {
		struct job_node *place = &job->places[i];

		vm_set_share(place->vm, job->task->share.fraction);
		if (place->sharing)
			continue; /* it gets this share after the call under way */
		place->sharing = true;
		job->share_pending++;
		set_share(job, i);
	}
	if (!job->given)
		job->given = g_new0(struct job_given, job->settings.sources_count);
	if (job->given_source == 0)
		job->given_source =
			platform_after_s(job->settings.platform, GIVEN_S, read_given, job);
}
