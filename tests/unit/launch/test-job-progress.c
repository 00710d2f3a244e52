/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A task whose rank 0 falls silent, in a VM of libvirt's test driver, whose CPU time and agent are
 * this test's. Time passes by moving the moment back until which it was counted.
 */
#include <glib.h>
#include <libvirt-glib/libvirt-glib.h>
#include <libvirt/libvirt-qemu.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/platform.h"
#include "local-sched/hypervisor/vm_private.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_private.h"
#include "tests/unit/hypervisor/deaf_events.h"

#define DEADLINE_S 20
#define TICK_S 2.0
#define LONG_S 1000.0

/* What the host says of the VM's CPU time at each question. */
static struct {
	pthread_mutex_t lock; /* ThreadSanitizer does not see GMutex */
	unsigned long long cpu_ns;
	unsigned long long step_ns; /* that it has used more the next time */
	bool silent;                /* it does not answer */
} vm = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* These stand before libvirt's own: its test driver has no agents, and does not count CPU time. */
char *virDomainQemuAgentCommand(virDomainPtr domain, const char *command, int timeout,
				unsigned int flags)
{
	return strdup("{\"return\":{\"pid\":77}}");
}

int virConnectListAllDomains(virConnectPtr connection, virDomainPtr **ret_domains,
			     unsigned int flags)
{
	bool silent;

	pthread_mutex_lock(&vm.lock);
	silent = vm.silent;
	pthread_mutex_unlock(&vm.lock);
	if (silent)
		return -1;
	*ret_domains = calloc(2, sizeof(**ret_domains));
	(*ret_domains)[0] = virDomainLookupByName(connection, "test");
	return 1;
}

int virDomainGetCPUStats(virDomainPtr domain, virTypedParameterPtr params, unsigned int nparams,
			 int start_cpu, unsigned int ncpus, unsigned int flags)
{
	g_assert_cmpuint(nparams, ==, 1);
	g_assert_cmpint(start_cpu, ==, -1);
	pthread_mutex_lock(&vm.lock);
	vm.cpu_ns += vm.step_ns;
	params->type = VIR_TYPED_PARAM_ULLONG;
	params->value.ul = vm.cpu_ns;
	g_strlcpy(params->field, VIR_DOMAIN_CPU_STATS_CPUTIME, sizeof(params->field));
	pthread_mutex_unlock(&vm.lock);
	return 1;
}

static void set_vm(double cpu_per_tick, bool silent)
{
	pthread_mutex_lock(&vm.lock);
	vm.step_ns = (unsigned long long)(cpu_per_tick * TICK_S * 1e9);
	vm.silent = silent;
	pthread_mutex_unlock(&vm.lock);
}

struct fixture {
	struct host *host;
	struct boot_queue *queue;
	struct vm *vm;
	struct task task;
	struct usage_source source;
	struct patience *patience;
	struct job *job;
};

/* no event comes before the job's usage is read */
static const struct task_events task_events = {0};

static void set_up(struct fixture *fixture, gconstpointer data)
{
	struct vm_settings settings = {.name = "n0", .domain = "test"};
	struct job *job = fixture->job = g_new0(struct job, 1);

	settings.queue = fixture->queue = boot_queue_new(1);
	settings.host = fixture->host =
		host_new(&platform_machine, "t", "test:///default", &deaf_host, fixture);
	fixture->vm = vm_new(&settings, 0, &deaf_vm_events, fixture);
	fixture->vm->state = VM_READY;
	fixture->task = (struct task){.id = (char *)"t",
				      .benchmark = (char *)"cg",
				      .class_ = 'W',
				      .user = VM_OWNER_ANY,
				      .nodes_count = 1,
				      .share.fraction = 1,
				      .suspensions = g_ptr_array_new(),
				      .migrations = g_ptr_array_new()};
	fixture->source = (struct usage_source){.host = fixture->host};
	fixture->patience = patience_new();
	job->task = &fixture->task;
	job->settings = (struct job_settings){.platform = &platform_machine,
					      .task = &fixture->task,
					      .sources = &fixture->source,
					      .sources_count = 1,
					      .patience = fixture->patience};
	job->events = &task_events;
	job->phase = PHASE_RUNNING;
	job->pmi = pmi_server_new(1, 1, 1);
	job->per_node = job->processes = 1;
	job->places = g_new0(struct job_node, 1);
	job->places[0] = (struct job_node){.job = job, .vm = fixture->vm, .ranks = 1};
	job->ranks = g_new0(struct rank, 1);
	job->ranks[0] = (struct rank){.place = &job->places[0], .pid = 100};
	job_assign_vms(job);
	set_vm(1, false);
	job_watch_progress(job);
}

/* What is still asked is answered: the job is there until then. */
static void tear_down(struct fixture *fixture, gconstpointer data)
{
	job_free(fixture->job);
	while (!g_queue_is_empty(&fixture->vm->requests))
		g_main_context_iteration(NULL, TRUE);
	host_free(fixture->host);
	vm_free(fixture->vm);
	boot_queue_free(fixture->queue);
	patience_free(fixture->patience);
	g_free(fixture->task.reason);
	g_ptr_array_unref(fixture->task.suspensions);
	g_ptr_array_unref(fixture->task.migrations);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

/* A tick of the watch `s` seconds after the last one. */
static void tick(struct fixture *fixture, double s)
{
	const guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	fixture->job->silence.counted_ns -= (int64_t)(s * 1e9);
	job_look_at_progress(fixture->job);
	while (fixture->job->silence.asked > 0)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
}

/* Rank 0 says nothing for `s` seconds; those until the task is ended, or all of them. */
static double be_silent(struct fixture *fixture, double s)
{
	double passed_s = 0;

	for (; passed_s < s && fixture->task.outcome == TASK_OUTCOME_NONE; passed_s += TICK_S)
		tick(fixture, TICK_S);
	return passed_s;
}

static void report(struct fixture *fixture, int done)
{
	g_autofree char *line = g_strdup_printf("cmd=progress done=%d total=375\n", done);

	g_assert_true(pmi_server_input(fixture->job->pmi, 0, line, strlen(line), NULL));
	job_note_progress(fixture->job);
}

static void assert_stalled(const struct fixture *fixture, const char *words)
{
	g_assert_cmpstr(task_outcome_name(fixture->task.outcome), ==, "failed");
	g_assert_cmpstr(task_cause_name(fixture->task.cause), ==, "stalled");
	g_test_message("%s", fixture->task.reason);
	g_assert_nonnull(strstr(fixture->task.reason, words));
}

/* Looks are some seconds apart, and the first reading of a CPU time tells nothing. */
static void assert_about(double s, double expected_s)
{
	g_assert_cmpfloat(s, >=, expected_s);
	g_assert_cmpfloat(s, <=, expected_s + 4 * TICK_S);
}

static void test_never_begins(struct fixture *fixture, gconstpointer data)
{
	assert_about(be_silent(fixture, LONG_S), PATIENCE_MAX_S);
	assert_stalled(fixture, "rank 0 has not begun");
}

/* As slow as that, it may be ten times as slow. */
static void test_slow(struct fixture *fixture, gconstpointer data)
{
	report(fixture, 0);
	for (int i = 1; i < 50; i++) {
		g_assert_cmpfloat(be_silent(fixture, i % 10 ? 4 : 8), >, 0);
		g_assert_cmpint(fixture->task.outcome, ==, TASK_OUTCOME_NONE);
		report(fixture, i);
	}
	assert_about(be_silent(fixture, LONG_S), 80);
	assert_stalled(fixture, "rank 0 is at step 49 of 375; its VMs used 7");
}

static void test_fast(struct fixture *fixture, gconstpointer data)
{
	report(fixture, 0);
	report(fixture, 12);
	assert_about(be_silent(fixture, LONG_S), PATIENCE_MIN_S);
	assert_stalled(fixture, "rank 0 is at step 12 of 375");
}

/* The same step once more is no progress. */
static void test_same_step(struct fixture *fixture, gconstpointer data)
{
	double s = 0;

	report(fixture, 0);
	report(fixture, 12);
	while (s < LONG_S && fixture->task.outcome == TASK_OUTCOME_NONE) {
		s += be_silent(fixture, TICK_S);
		report(fixture, 12);
	}
	assert_about(s, PATIENCE_MIN_S);
}

/* A guest that does nothing at all: it gets 10 ms of CPU time in some seconds. */
static void test_idle(struct fixture *fixture, gconstpointer data)
{
	double s = 0;

	report(fixture, 0);
	report(fixture, 1);
	while (s < LONG_S && fixture->task.outcome == TASK_OUTCOME_NONE) {
		set_vm(0, false);
		s += be_silent(fixture, 4 * TICK_S);
		set_vm(0.005, false);
		s += be_silent(fixture, TICK_S);
	}
	g_assert_cmpfloat(s, <, PATIENCE_MIN_S + 8 * TICK_S);
	assert_stalled(fixture, "rank 0 is at step 1 of 375; its VMs used 0.");
}

/* A VM that gets no CPU time: that time is no silence of its rank. */
static void test_frozen(struct fixture *fixture, gconstpointer data)
{
	report(fixture, 0);
	report(fixture, 1);
	set_vm(0, false);
	be_silent(fixture, LONG_S);
	g_assert_cmpint(fixture->task.outcome, ==, TASK_OUTCOME_NONE);
	set_vm(1, false);
	be_silent(fixture, 5 * TICK_S);
	g_assert_cmpint(fixture->task.outcome, ==, TASK_OUTCOME_NONE);
	report(fixture, 2);
	g_assert_cmpfloat(fixture->job->silence.longest_s, <, 10 * TICK_S);
}

static void test_host_is_silent(struct fixture *fixture, gconstpointer data)
{
	report(fixture, 0);
	report(fixture, 1);
	set_vm(1, true);
	be_silent(fixture, LONG_S);
	g_assert_cmpint(fixture->task.outcome, ==, TASK_OUTCOME_NONE);
	set_vm(1, false);
	g_assert_cmpfloat(be_silent(fixture, LONG_S), <=, PATIENCE_MIN_S + 4 * TICK_S);
	assert_stalled(fixture, "rank 0 is at step 1 of 375");
}

static void test_paused(struct fixture *fixture, gconstpointer data)
{
	vm_was_paused(fixture->vm, true, NULL);
	be_silent(fixture, LONG_S);
	g_assert_cmpint(fixture->task.outcome, ==, TASK_OUTCOME_NONE);
	vm_was_paused(fixture->vm, false, NULL);
	assert_about(be_silent(fixture, LONG_S), PATIENCE_MAX_S);
}

/* A vm that was suspended for an hour, at any moment of the silence. */
static void test_gap(struct fixture *fixture, gconstpointer data)
{
	tick(fixture, 3600);
	be_silent(fixture, 10 * TICK_S);
	tick(fixture, 3600);
	g_assert_cmpint(fixture->task.outcome, ==, TASK_OUTCOME_NONE);
	g_assert_cmpfloat(be_silent(fixture, LONG_S), >, PATIENCE_MAX_S / 2);
}

static void test_share(struct fixture *fixture, gconstpointer data)
{
	fixture->task.share.fraction = 0.25;
	assert_about(0.25 * be_silent(fixture, LONG_S), PATIENCE_MAX_S);
}

static void test_learns(struct fixture *fixture, gconstpointer data)
{
	report(fixture, 0);
	be_silent(fixture, 6);
	report(fixture, 375);
	fixture->task.outcome = TASK_OUTCOME_FAILED;
	job_learn_patience(fixture->job);
	g_assert_cmpfloat(patience_s(fixture->patience, "cg", 'W', 0), ==, PATIENCE_MAX_S);
	fixture->task.outcome = TASK_OUTCOME_COMPLETED;
	job_learn_patience(fixture->job);
	g_assert_cmpfloat_with_epsilon(patience_s(fixture->patience, "cg", 'W', 0), 60, 5);
}

static void test_script(struct fixture *fixture, gconstpointer data)
{
	g_clear_handle_id(&fixture->job->silence.source, g_source_remove);
	fixture->task.script_summary = (char *)"{}";
	job_watch_progress(fixture->job);
	g_assert_cmpuint(fixture->job->silence.source, ==, 0);
	fixture->task.script_summary = NULL;
}

#define ADD(name, test)                                                                            \
	g_test_add("/job/progress/" name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	ADD("a-rank-that-never-begins-is-stalled", test_never_begins);
	ADD("a-slow-one-is-waited-for-ten-times-as-long", test_slow);
	ADD("a-fast-one-no-less-than-sixty-reports", test_fast);
	ADD("the-same-step-is-no-progress", test_same_step);
	ADD("an-idle-guest-is-stalled", test_idle);
	ADD("a-vm-without-cpu-time-is-not", test_frozen);
	ADD("nor-is-one-whose-host-does-not-answer", test_host_is_silent);
	ADD("nor-one-that-was-paused", test_paused);
	ADD("nor-one-on-a-machine-that-was-suspended", test_gap);
	ADD("a-share-stretches-the-time", test_share);
	ADD("what-completes-teaches", test_learns);
	ADD("a-script-reports-nothing", test_script);
	return g_test_run();
}
