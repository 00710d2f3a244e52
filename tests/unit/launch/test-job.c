/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A task whose ranks have all ended on a VM that has no agent: libvirt's own test driver knows
 * none.
 */
#include <glib.h>
#include <libvirt-glib/libvirt-glib.h>
#include <string.h>

#include "common/json.h"
#include "common/platform.h"
#include "local-sched/hypervisor/vm_private.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_private.h"
#include "tests/unit/hypervisor/deaf_events.h"

#define RANKS 3
#define DEADLINE_S 20

struct fixture {
	struct host *host;
	struct boot_queue *queue;
	struct vm *vm;
	struct task *task;
	struct job *job;
	char *output; /* of the task that has ended */
};

static void release(struct job *job, void *owner)
{
	job_free(g_steal_pointer(&((struct fixture *)owner)->job));
}

static void on_ended(struct task *task, const char *output, size_t length, void *data)
{
	((struct fixture *)data)->output = g_strndup(output, length);
}

static const struct task_events task_events = {.ended = on_ended};

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

static void wait_until(struct fixture *fixture, bool (*holds)(const struct fixture *fixture))
{
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	while (!holds(fixture))
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
}

static bool has_ended(const struct fixture *fixture)
{
	return fixture->output != NULL;
}

static bool has_asked_all(const struct fixture *fixture)
{
	return g_queue_is_empty(&fixture->vm->requests);
}

/* Runs on one node; its ranks have told on their ports how they ended. */
static struct job *make_job(struct fixture *fixture)
{
	struct job *job = g_new0(struct job, 1);

	job->task = fixture->task;
	job->events = &task_events;
	job->data = fixture;
	job->settings.platform = &platform_machine;
	job->settings.release = release;
	job->settings.owner = fixture;
	job->phase = PHASE_RUNNING;
	job->processes = RANKS;
	job->places = g_new0(struct job_node, 1);
	job->places[0] = (struct job_node){.job = job, .vm = fixture->vm, .ranks = RANKS};
	job->ranks = g_new0(struct rank, RANKS);
	for (uint32_t i = 0; i < RANKS; i++)
		job->ranks[i] = (struct rank){.index = i,
					      .place = job->places,
					      .core = i,
					      .pid = 100 + i,
					      .exited = true};
	job_assign_vms(job);
	return job;
}

static void set_up(struct fixture *fixture, gconstpointer data)
{
	struct vm_settings settings = {.name = "n0", .domain = "test", .boot_timeout_s = 60};
	g_autoptr(json_t) request =
		json_pack("{s:s, s:s, s:s, s:i, s:i, s:[i], s:i}", "type", "IS.3", "benchmark",
			  "is", "class", "S", "ranks", RANKS, "repetitions", 1, "nodes", 0,
			  "deadline_s", 60);

	fixture->queue = boot_queue_new(1);
	fixture->host = host_new(&platform_machine, "b1", "test:///default", &deaf_host, NULL);
	settings.host = fixture->host;
	settings.queue = fixture->queue;
	fixture->vm = vm_new(&settings, RANKS, &deaf_vm_events, NULL);
	fixture->vm->state = VM_READY; /* as if its guest had booted */
	fixture->task = task_parse_request("t", request, 1, RANKS, NULL);
	g_assert_nonnull(fixture->task);
	fixture->job = make_job(fixture);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	wait_until(fixture, has_asked_all);
	g_assert_null(fixture->job);
	host_free(fixture->host);
	vm_free(fixture->vm);
	boot_queue_free(fixture->queue);
	task_free(fixture->task);
	g_free(fixture->output);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static void assert_lost(const struct fixture *fixture, enum task_outcome outcome,
			const char *reason)
{
	g_assert_cmpstr(task_outcome_name(fixture->task->outcome), ==, task_outcome_name(outcome));
	g_assert_cmpstr(fixture->task->reason, ==, reason);
	for (uint32_t i = 0; i < RANKS; i++) {
		g_autofree char *lost = g_strdup_printf("---- rank %u: output lost ----\n", i);

		g_assert_nonnull(strstr(fixture->output, lost));
	}
	g_assert_cmpstr(fixture->vm->reason, ==, "the guest agent hangs or answers rubbish");
}

static gpointer pass_gate(virConnectPtr connection, gpointer input, GError **error)
{
	g_mutex_lock(input);
	g_mutex_unlock(input);
	return HOST_DONE;
}

/* The others' questions would be answered after the gate is open. */
static void test_one_patience(struct fixture *fixture, gconstpointer data)
{
	const struct host_call wait = {.vm = "test", .work = pass_gate, .input = (gpointer)data};
	GMutex *gate = (GMutex *)data;

	fixture->task->outcome = TASK_OUTCOME_FAILED;
	fixture->task->reason = g_strdup("rank 2 exited with status 3");
	fixture->job->ranks[2].status = 3;
	g_mutex_lock(gate);
	job_advance(fixture->job);
	host_call(fixture->host, HOST_LANE_AGENT, &wait);
	wait_until(fixture, has_ended);
	g_assert_false(has_asked_all(fixture));
	assert_lost(fixture, TASK_OUTCOME_FAILED, "rank 2 exited with status 3");
	g_mutex_unlock(gate);
}

static bool is_asked_again(const struct fixture *fixture)
{
	for (uint32_t i = 0; i < RANKS; i++)
		if (fixture->job->ranks[i].collect_source == 0)
			return false;
	return true;
}

/* Not by what its agent does not say while it is paused. */
static void test_paused(struct fixture *fixture, gconstpointer data)
{
	vm_was_paused(fixture->vm, true, NULL);
	job_advance(fixture->job);
	wait_until(fixture, is_asked_again);
	g_assert_cmpstr(vm_state_name(vm_state(fixture->vm)), ==, "busy");
	for (uint32_t i = 0; i < RANKS; i++)
		g_assert_false(fixture->job->ranks[i].lost_output);
	vm_was_paused(fixture->vm, false, NULL);
	wait_until(fixture, has_ended);
	assert_lost(fixture, TASK_OUTCOME_LOST, "the output of rank 0 was lost");
}

int main(int argc, char **argv)
{
	static GMutex gate;

	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	g_test_add("/job/waits-once-for-an-agent-that-hangs", struct fixture, &gate, set_up,
		   test_one_patience, tear_down);
	g_test_add("/job/waits-for-the-output-in-a-vm-that-somebody-paused", struct fixture, NULL,
		   set_up, test_paused, tear_down);
	return g_test_run();
}
