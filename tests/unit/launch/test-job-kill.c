/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ranks that are killed, in a VM of libvirt's test driver, whose agent is this test's. How long
 * something takes is made of times that are moved back.
 */
#include <glib.h>
#include <libvirt-glib/libvirt-glib.h>
#include <libvirt/libvirt-qemu.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/platform.h"
#include "local-sched/hypervisor/vm_private.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_private.h"
#include "tests/unit/hypervisor/deaf_events.h"

#define DEADLINE_S 20
#define RANKS 3
#define SLOW_S (0.7 * VM_PATIENCE_S) /* for one answer */
#define LONG_S (1.1 * VM_PATIENCE_S)

/* The agent starts as many programs as it may. */
static struct {
	pthread_mutex_t lock; /* ThreadSanitizer does not see GMutex */
	pthread_cond_t changed;
	uint32_t may_start;
} agent = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Stands before libvirt's own: its test driver has no agents. */
char *virDomainQemuAgentCommand(virDomainPtr domain, const char *command, int timeout,
				unsigned int flags)
{
	pthread_mutex_lock(&agent.lock);
	while (agent.may_start == 0)
		pthread_cond_wait(&agent.changed, &agent.lock);
	agent.may_start--;
	pthread_mutex_unlock(&agent.lock);
	return strdup("{\"return\":{\"pid\":77}}");
}

static void let_start(uint32_t count)
{
	pthread_mutex_lock(&agent.lock);
	agent.may_start += count;
	pthread_cond_broadcast(&agent.changed);
	pthread_mutex_unlock(&agent.lock);
}

struct fixture {
	struct host *host;
	struct boot_queue *queue;
	struct vm *vm;
	struct task task;
	struct job *job;
};

/* no event comes before the job's usage is read */
static const struct task_events task_events = {0};

/* A job whose ranks run in a VM that the test driver has from the beginning; it has no ports. */
static void set_up(struct fixture *fixture, gconstpointer data)
{
	struct vm_settings settings = {.name = "n0", .domain = "test"};
	struct job *job = fixture->job = g_new0(struct job, 1);

	settings.queue = fixture->queue = boot_queue_new(1);
	settings.host = fixture->host =
		host_new(&platform_machine, "t", "test:///default", &deaf_host, fixture);
	fixture->vm = vm_new(&settings, 0, &deaf_vm_events, fixture);
	fixture->vm->state = VM_READY;
	fixture->task = (struct task){.id = (char *)"t", .user = VM_OWNER_ANY, .nodes_count = 1};
	job->task = &fixture->task;
	job->settings.platform = &platform_machine;
	job->events = &task_events;
	job->phase = PHASE_RUNNING;
	job->pmi = pmi_server_new(RANKS, 1, RANKS);
	job->per_node = job->processes = RANKS;
	job->places = g_new0(struct job_node, 1);
	job->places[0] = (struct job_node){.job = job, .vm = fixture->vm, .ranks = RANKS};
	job->ranks = g_new0(struct rank, RANKS);
	for (uint32_t r = 0; r < RANKS; r++)
		job->ranks[r] = (struct rank){.index = r,
					      .place = &job->places[0],
					      .core = r,
					      .pid = 100 + r};
	job_assign_vms(job);
	job_kill(job, TASK_OUTCOME_KILLED, TASK_CAUSE_KILLED, "a user asked for it");
}

/* What is still asked is answered: the job is there until then. */
static void tear_down(struct fixture *fixture, gconstpointer data)
{
	job_free(fixture->job);
	let_start(fixture->vm->requests.length);
	while (!g_queue_is_empty(&fixture->vm->requests))
		g_main_context_iteration(NULL, TRUE);
	host_free(fixture->host);
	vm_free(fixture->vm);
	boot_queue_free(fixture->queue);
	g_free(fixture->task.reason);
	while (g_main_context_iteration(NULL, FALSE))
		;
	agent.may_start = 0; /* VMs that are gone are not asked */
}

/* As if all that was so far had been `s` earlier. */
static void pass(struct fixture *fixture, double s)
{
	const int64_t ns = (int64_t)(s * 1e9);

	fixture->job->kill_start_ns -= ns;
	fixture->vm->heard_ns -= ns;
	for (uint32_t r = 0; r < RANKS; r++)
		if (fixture->job->ranks[r].kill_answered_ns)
			fixture->job->ranks[r].kill_answered_ns -= ns;
}

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

/* Its agent answers what was asked about the rank. */
static void let_kill(struct fixture *fixture, uint32_t rank)
{
	const guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	let_start(1);
	while (fixture->job->ranks[rank].killing)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
}

/* Whether its VM is still there when the job reads how the ranks ended. */
static bool is_kept(struct fixture *fixture)
{
	g_clear_handle_id(&fixture->job->kill_source, g_source_remove);
	job_kill_ranks(fixture->job);
	return vm_state(fixture->vm) == VM_BUSY;
}

static void assert_removed(struct fixture *fixture)
{
	g_assert_false(is_kept(fixture));
	g_assert_cmpstr(vm_reason(fixture->vm), ==, "a rank could not be killed");
	for (uint32_t r = 0; r < RANKS; r++)
		g_assert_true(fixture->job->ranks[r].exited);
}

/* Each answer comes in time, but the last of them long after the first question. */
static void test_slow(struct fixture *fixture, gconstpointer data)
{
	for (uint32_t r = 0; r < RANKS; r++) {
		pass(fixture, SLOW_S);
		let_kill(fixture, r);
		g_assert_true(is_kept(fixture));
		job_rank_ended(&fixture->job->ranks[r], 137);
	}
}

static void test_silent(struct fixture *fixture, gconstpointer data)
{
	pass(fixture, SLOW_S);
	g_assert_true(is_kept(fixture));
	let_kill(fixture, 0);
	job_rank_ended(&fixture->job->ranks[0], 137);
	pass(fixture, SLOW_S);
	g_assert_true(is_kept(fixture));
	pass(fixture, SLOW_S);
	assert_removed(fixture);
}

/* However well the agent answers. */
static void test_stubborn(struct fixture *fixture, gconstpointer data)
{
	for (uint32_t r = 0; r < RANKS; r++)
		let_kill(fixture, r);
	g_assert_true(is_kept(fixture));
	pass(fixture, LONG_S);
	let_kill(fixture, 0);
	assert_removed(fixture);
}

#define ADD(name, test) g_test_add("/job/kill/" name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	ADD("an-agent-that-is-slow-is-waited-for", test_slow);
	ADD("one-that-falls-silent-is-not", test_silent);
	ADD("nor-is-a-rank-that-does-not-die", test_stubborn);
	return g_test_run();
}
