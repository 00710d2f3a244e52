/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What backend.h promises, asked of every backend alike. "sim" always; "scripted" is the remote
 * backend with a local scheduler that has no VMs; "remote" is the remote backend with real ones,
 * when VIRTBED_TEST_CONFIG names a configuration whose lab is up and VIRTBED_TEST_SCHEDULERS lists
 * the addresses of its local schedulers (tests/integration/60-run.bats does).
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/lab_state.h"
#include "common/platform.h"
#include "controller/backend/remote.h"
#include "controller/backend/sim.h"
#include "tests/unit/backend/fixture.h"

/* A task may take a while on a real lab of a loaded machine. */
#define SOON_S 120.0
#define READY_S 300.0
#define BASELINE_TRIES 40

/* What tasks of the scripted scheduler take: a moment, or longer than a test machine may stall. */
#define SHORT_S 0.5
#define LONG_S 1000.0

/* One backend with a cluster of at least `nodes` nodes, of which a task of type 0 takes `width`. */
struct subject {
	struct backend *backend;
	/* Takes the next event; NONE at `until_s` if there is none before. */
	void (*wait)(struct backend *backend, double until_s, struct backend_event *ret_event);
	uint32_t nodes, width;
	double task_s;     /* what a task of the scripted scheduler takes */
	double interval_s; /* longest between two samples of a meter; 0: it has none */
	struct sched_system *system;
	struct config *config; /* NULL: fixture_config */
	struct remote_fleet *fleet;
	struct scripted_scheduler *scheduler;
	char *dir;
};

typedef bool (*open_f)(struct subject *subject);

/* sim */

static bool open_sim(struct subject *subject)
{
	const struct sched_cluster cluster = {.name = "c1", .nodes = 2, .cores = 1, .pstates = 1};

	subject->system = sched_system_new(&cluster, 1, 1);
	subject->system->row_names[0] = "IS";
	subject->system->etc_s[0] = 2;
	subject->system->eec_j[0] = 80;
	subject->system->nodes[0] = 1;
	g_assert_cmpint(sched_system_finish(subject->system, NULL), ==, SCHED_SYSTEM_OK);
	subject->backend = backend_sim_new(subject->system, 16);
	subject->wait = backend_sim_wait;
	subject->nodes = 2;
	subject->width = 1;
	return true;
}

/* remote, both kinds */

/* As short as it gets, and again where a test machine stalled and no samples came meanwhile. */
static void measure_baseline(struct subject *subject, struct remote_baseline *ret_baseline)
{
	for (int tries = 1;; tries++) {
		g_autoptr(GError) error = NULL;

		if (remote_fleet_baseline(subject->fleet, 0, ret_baseline, &error))
			return;
		g_assert_error(error, REMOTE_ERROR, REMOTE_ERROR_METER);
		g_assert_cmpint(tries, <, BASELINE_TRIES);
	}
}

static void open_fleet(struct subject *subject, const struct config *config,
		       const char *const *addresses)
{
	static int64_t run;
	struct remote_run remote = {.experiment = "conformance", .t0_ns = clock_now_ns()};
	g_autoptr(GError) error = NULL;
	struct remote_baseline baseline = {0};
	GPtrArray *meters;

	subject->fleet = remote_fleet_new(&platform_machine, config, addresses, &error);
	g_assert_no_error(error);
	remote_fleet_wait_ready(subject->fleet, READY_S, &error);
	g_assert_no_error(error);
	measure_baseline(subject, &baseline);
	remote.t0_ns = clock_now_ns();
	remote.run =
		run++ + remote.t0_ns / 1000000; /* ids must be new to schedulers that live on */
	meters = remote_fleet_meters(subject->fleet);
	for (guint i = 0; i < meters->len; i++) {
		struct remote_meter *meter = g_ptr_array_index(meters, i);

		remote_meter_start(meter, remote.t0_ns, baseline.idle_w[i]);
		subject->interval_s = fmax(subject->interval_s, meter->interval_s);
	}
	remote_baseline_clear(&baseline);
	subject->backend = remote_backend_new(subject->fleet, &remote);
	subject->wait = remote_backend_wait;
	subject->nodes = config->clusters[0].nodes;
	subject->width = config_type_nodes(&config->types[0], &config->clusters[0]);
}

static double task_time(const json_t *request, void *data)
{
	const struct subject *subject = data;

	return subject->task_s;
}

static bool open_scripted(struct subject *subject)
{
	const char *addresses[2] = {0};
	g_autofree char *address = NULL;

	subject->dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	address = g_strdup_printf("unix:%s/ls.sock", subject->dir);
	addresses[0] = address;
	subject->scheduler =
		scripted_scheduler_new(address, "c1", fixture_config.clusters[0].nodes);
	scripted_scheduler_set_auto(subject->scheduler, task_time, subject);
	scripted_scheduler_set_watts(subject->scheduler, 60);
	scripted_scheduler_set_busy(subject->scheduler, 40);
	open_fleet(subject, &fixture_config, addresses);
	return true;
}

static bool open_remote(struct subject *subject)
{
	const char *path = g_getenv("VIRTBED_TEST_CONFIG");
	const char *list = g_getenv("VIRTBED_TEST_SCHEDULERS");
	g_auto(GStrv) addresses = NULL;
	g_autoptr(GError) error = NULL;

	if (!path || !list)
		return false;
	addresses = g_strsplit(list, ",", -1);
	subject->config = config_load(path, &error);
	g_assert_no_error(error);
	lab_state_resolve(subject->config, NULL, &error);
	g_assert_no_error(error);
	open_fleet(subject, subject->config, (const char *const *)addresses);
	return true;
}

static void close_subject(struct subject *subject)
{
	backend_destroy(subject->backend);
	remote_fleet_free(subject->fleet);
	if (subject->scheduler)
		scripted_scheduler_free(subject->scheduler);
	if (subject->dir)
		g_rmdir(subject->dir);
	config_free(subject->config);
	sched_system_free(subject->system);
	g_free(subject->dir);
}

/* The suite. */

static void start(struct subject *subject, uint32_t task, uint32_t attempt, uint32_t first)
{
	uint32_t nodes[64];
	const struct sched_allocation one = {
		.task = &(struct sched_task){.id = task},
		.nodes = nodes,
		.nodes_count = subject->width,
	};

	for (uint32_t i = 0; i < subject->width; i++)
		nodes[i] = first + i;
	backend_start(subject->backend, &one, attempt);
}

static struct backend_event next(struct subject *subject)
{
	struct backend_event event;

	subject->wait(subject->backend, backend_now_s(subject->backend) + SOON_S, &event);
	g_test_message("%.3f event %d: task %u, node %u%s%s", event.time_s, event.kind, event.task,
		       event.node, event.reason ? ": " : "", event.reason ?: "");
	g_assert_cmpint(event.kind, !=, BACKEND_EVENT_NONE);
	return event;
}

static struct backend_event next_of(struct subject *subject, enum backend_event_kind kind)
{
	struct backend_event event = next(subject);

	while (event.kind != kind)
		event = next(subject);
	return event;
}

static void time_goes_on(struct subject *subject)
{
	struct backend_event event;
	double now_s = backend_now_s(subject->backend);

	g_assert_cmpfloat(now_s, >=, 0);
	for (int i = 1; i <= 3; i++) {
		subject->wait(subject->backend, now_s + 0.2 * i, &event);
		g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
		g_assert_cmpfloat(backend_now_s(subject->backend), >=, now_s + 0.2 * i - 0.002);
	}
}

static void a_wait_for_the_past_ends_at_once(struct subject *subject)
{
	struct backend_event event;

	subject->wait(subject->backend, backend_now_s(subject->backend), &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
	subject->wait(subject->backend, backend_now_s(subject->backend) - 1e-9, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
}

static void a_task_starts_then_completes(struct subject *subject)
{
	double energy_j = backend_energy_j(subject->backend);
	double before_s = backend_now_s(subject->backend);
	struct backend_event started;
	struct backend_event ended;

	start(subject, 3, 1, 0);
	started = next(subject);
	g_assert_cmpint(started.kind, ==, BACKEND_EVENT_STARTED);
	g_assert_cmpint(started.task, ==, 3);
	g_assert_cmpint(started.attempt, ==, 1);
	g_assert_cmpfloat(started.time_s, >=, before_s);
	ended = next(subject);
	g_assert_cmpint(ended.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(ended.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpint(ended.task, ==, 3);
	g_assert_cmpint(ended.cluster, ==, 0);
	g_assert_cmpfloat(ended.time_s, >=, started.time_s);
	g_assert_cmpfloat(ended.exec_s, >, 0);
	g_assert_cmpfloat(ended.exec_s, <=, ended.time_s - before_s + 1e-3);
	g_assert_cmpfloat(ended.exec_s, >=, ended.time_s - started.time_s - 1e-3);
	g_assert_cmpfloat(ended.energy_j, >=, 0);
	g_assert_cmpfloat(backend_energy_j(subject->backend), >=, energy_j - 1);
}

/* A task of the scripted scheduler that was to take long may come to its end. */
static void let_end(struct subject *subject)
{
	if (subject->scheduler)
		scripted_scheduler_hurry(subject->scheduler, 0.2);
}

static void assert_quiet(struct subject *subject, double for_s)
{
	const double until_s = backend_now_s(subject->backend) + for_s;
	struct backend_event event;

	subject->wait(subject->backend, until_s, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
	g_assert_cmpfloat(backend_now_s(subject->backend), >=, until_s - 0.002);
}

/* Only the attempt that was meant ends, once, however often and at whatever it is asked. */
static void a_killed_task_ends_as_killed(struct subject *subject)
{
	struct backend_event event;

	subject->task_s = LONG_S;
	start(subject, 0, 1, 0);
	next_of(subject, BACKEND_EVENT_STARTED);
	backend_kill(subject->backend, 0, 2);
	backend_kill(subject->backend, 9, 1);
	backend_kill(subject->backend, 0, 1);
	backend_kill(subject->backend, 0, 1);
	event = next(subject);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	g_assert_cmpint(event.task, ==, 0);
	assert_quiet(subject, 0.3);
	backend_kill(subject->backend, 0, 1);
	assert_quiet(subject, 0.3);
}

static void an_attempt_is_carried_out_once(struct subject *subject)
{
	start(subject, 0, 1, 0);
	start(subject, 0, 1, 0);
	g_assert_cmpint(next(subject).kind, ==, BACKEND_EVENT_STARTED);
	g_assert_cmpint(next(subject).kind, ==, BACKEND_EVENT_ENDED);
	start(subject, 0, 1, 0);
	assert_quiet(subject, 0.5);
	start(subject, 0, 2, 0);
	g_assert_cmpuint(next(subject).attempt, ==, 2);
	g_assert_cmpuint(next(subject).attempt, ==, 2);
}

static void killing_what_ended_does_nothing(struct subject *subject)
{
	start(subject, 0, 1, 0);
	next_of(subject, BACKEND_EVENT_ENDED);
	backend_kill(subject->backend, 0, 1);
	backend_kill(subject->backend, 9, 1);
	assert_quiet(subject, 0.5);
}

/* A node is let go a moment after its task's end: the next task on it starts all the same. */
static void nodes_are_used_again(struct subject *subject)
{
	for (uint32_t attempt = 1; attempt <= 2; attempt++) {
		struct backend_event event;

		start(subject, 5, attempt, 0);
		event = next_of(subject, BACKEND_EVENT_ENDED);
		g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
		g_assert_cmpint(event.attempt, ==, attempt);
	}
}

static void tasks_side_by_side_both_complete(struct subject *subject)
{
	uint32_t fit = subject->nodes / subject->width;
	uint32_t ended = 0;
	double last_s = 0;

	for (uint32_t i = 0; i < fit; i++)
		start(subject, i, 1, i * subject->width);
	while (ended < fit) {
		struct backend_event event = next(subject);

		if (event.kind != BACKEND_EVENT_ENDED)
			continue;
		g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
		g_assert_cmpuint(event.task, <, fit);
		last_s = fmax(last_s, event.time_s);
		ended++;
	}
	g_assert_cmpfloat(last_s, <=, backend_now_s(subject->backend));
	assert_quiet(subject, 0.3);
}

static void a_small_limit_is_reached_once(struct subject *subject)
{
	struct backend_event event;
	uint32_t reached = 0;
	bool ended = false;

	backend_set_limit(subject->backend, 5);
	start(subject, 0, 1, 0);
	while (!ended || !reached) {
		event = next(subject);
		if (event.kind == BACKEND_EVENT_ENERGY_LIMIT) {
			g_assert_cmpfloat(event.time_s, >, 0);
			g_assert_cmpfloat(event.time_s, <=, backend_now_s(subject->backend));
			reached++;
		}
		ended = ended || event.kind == BACKEND_EVENT_ENDED;
	}
	assert_quiet(subject, 0.1 + 2.5 * subject->interval_s);
	g_assert_cmpint(reached, ==, 1);
	g_assert_cmpfloat(backend_energy_j(subject->backend), >, 4.9);
	backend_set_limit(subject->backend, 0);
	assert_quiet(subject, 0.2);
}

static void no_limit_is_never_reached(struct subject *subject)
{
	backend_set_limit(subject->backend, 0);
	start(subject, 0, 1, 0);
	for (struct backend_event event = next(subject); event.kind != BACKEND_EVENT_ENDED;
	     event = next(subject))
		g_assert_cmpint(event.kind, !=, BACKEND_EVENT_ENERGY_LIMIT);
}

static void it_can_end_while_a_task_runs(struct subject *subject)
{
	start(subject, 0, 1, 0);
	next_of(subject, BACKEND_EVENT_STARTED);
}

static void run_for(struct subject *subject, double for_s)
{
	struct backend_event event;

	subject->wait(subject->backend, backend_now_s(subject->backend) + for_s, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
}

static void resume(struct subject *subject, uint32_t task, uint32_t n, uint32_t first)
{
	uint32_t nodes[64];

	for (uint32_t i = 0; i < subject->width; i++)
		nodes[i] = first + i;
	backend_resume(subject->backend, task, 1, n, nodes, subject->width);
}

/* Starts a task, lets it run for a moment and suspends it for the first time. */
static struct backend_event suspended(struct subject *subject, uint32_t task)
{
	struct backend_event event;

	subject->task_s = LONG_S;
	start(subject, task, 1, 0);
	next_of(subject, BACKEND_EVENT_STARTED);
	subject->task_s = SHORT_S;
	run_for(subject, 0.3);
	backend_suspend(subject->backend, task, 1, 1);
	event = next(subject);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_SUSPENDED);
	g_assert_cmpuint(event.task, ==, task);
	g_assert_cmpuint(event.n, ==, 1);
	return event;
}

/*
 * Its nodes take another task; the task resumes on other nodes where there is room, and its
 * stretches add up.
 */
static void a_suspended_task_goes_on(struct subject *subject)
{
	uint32_t elsewhere = subject->nodes >= 2 * subject->width ? subject->width : 0;
	double before_s = backend_now_s(subject->backend);
	struct backend_event first = suspended(subject, 0);
	struct backend_event resumed;
	struct backend_event ended;

	g_assert_cmpfloat(first.exec_s, >=, 0.29);
	g_assert_cmpfloat(first.exec_s, <=, first.time_s - before_s + 1e-3);
	start(subject, 1, 1, 0);
	ended = next_of(subject, BACKEND_EVENT_ENDED);
	g_assert_cmpuint(ended.task, ==, 1);
	g_assert_cmpint(ended.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	resume(subject, 0, 1, elsewhere);
	resumed = next(subject);
	g_assert_cmpint(resumed.kind, ==, BACKEND_EVENT_RESUMED);
	g_assert_cmpuint(resumed.n, ==, 1);
	g_assert_cmpfloat(resumed.since_s, >=, ended.time_s);
	g_assert_cmpfloat(resumed.since_s, <=, resumed.time_s);
	let_end(subject);
	ended = next(subject);
	g_assert_cmpint(ended.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpuint(ended.task, ==, 0);
	g_assert_cmpint(ended.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpfloat_with_epsilon(ended.exec_s, first.exec_s + ended.time_s - resumed.since_s,
				       2e-3);
	g_assert_cmpfloat(ended.energy_j, >=, 0);
}

static void a_task_is_suspended_again_and_again(struct subject *subject)
{
	double executed_s = 0;
	struct backend_event event;

	subject->task_s = LONG_S;
	start(subject, 0, 1, 0);
	next_of(subject, BACKEND_EVENT_STARTED);
	for (uint32_t n = 1; n <= 3; n++) {
		run_for(subject, 0.1);
		backend_suspend(subject->backend, 0, 1, n);
		event = next(subject);
		g_assert_cmpint(event.kind, ==, BACKEND_EVENT_SUSPENDED);
		g_assert_cmpuint(event.n, ==, n);
		executed_s += event.exec_s;
		run_for(subject, 0.1);
		resume(subject, 0, n, 0);
		event = next(subject);
		g_assert_cmpint(event.kind, ==, BACKEND_EVENT_RESUMED);
		g_assert_cmpuint(event.n, ==, n);
	}
	executed_s -= event.since_s;
	let_end(subject);
	event = next(subject);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpfloat_with_epsilon(event.exec_s, executed_s + event.time_s, 5e-3);
}

/* What it is asked for twice, or cannot do, has no effect. */
static void a_step_is_carried_out_once(struct subject *subject)
{
	subject->task_s = LONG_S;
	start(subject, 0, 1, 0);
	next_of(subject, BACKEND_EVENT_STARTED);
	resume(subject, 0, 1, 0);
	g_assert_cmpint(next(subject).kind, ==, BACKEND_EVENT_SUSPENSION_FAILED);
	backend_suspend(subject->backend, 0, 2, 1);
	backend_suspend(subject->backend, 9, 1, 1);
	backend_suspend(subject->backend, 0, 1, 1);
	backend_suspend(subject->backend, 0, 1, 1);
	g_assert_cmpint(next(subject).kind, ==, BACKEND_EVENT_SUSPENDED);
	backend_suspend(subject->backend, 0, 1, 1);
	assert_quiet(subject, 0.3);
	backend_suspend(subject->backend, 0, 1, 2);
	g_assert_cmpint(next(subject).kind, ==, BACKEND_EVENT_SUSPENSION_FAILED);
	resume(subject, 0, 1, 0);
	resume(subject, 0, 1, 0);
	g_assert_cmpint(next(subject).kind, ==, BACKEND_EVENT_RESUMED);
	resume(subject, 0, 1, 0);
	let_end(subject);
	g_assert_cmpint(next(subject).kind, ==, BACKEND_EVENT_ENDED);
	backend_suspend(subject->backend, 0, 1, 2);
	resume(subject, 0, 2, 0);
	assert_quiet(subject, 0.3);
}

static void a_suspended_task_can_be_killed(struct subject *subject)
{
	struct backend_event event;

	suspended(subject, 0);
	backend_kill(subject->backend, 0, 1);
	event = next(subject);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	start(subject, 1, 1, 0);
	event = next_of(subject, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
}

static void it_can_end_while_a_task_is_suspended(struct subject *subject)
{
	suspended(subject, 0);
}

static const struct {
	const char *name;
	void (*test)(struct subject *subject);
} tests[] = {
	{"time", time_goes_on},
	{"wait-for-the-past", a_wait_for_the_past_ends_at_once},
	{"start-and-complete", a_task_starts_then_completes},
	{"kill", a_killed_task_ends_as_killed},
	{"once", an_attempt_is_carried_out_once},
	{"kill-ended", killing_what_ended_does_nothing},
	{"again", nodes_are_used_again},
	{"side-by-side", tasks_side_by_side_both_complete},
	{"limit", a_small_limit_is_reached_once},
	{"no-limit", no_limit_is_never_reached},
	{"end", it_can_end_while_a_task_runs},
	{"suspend-and-resume", a_suspended_task_goes_on},
	{"suspend-again", a_task_is_suspended_again_and_again},
	{"step-once", a_step_is_carried_out_once},
	{"kill-suspended", a_suspended_task_can_be_killed},
	{"end-suspended", it_can_end_while_a_task_is_suspended},
};

static const struct {
	const char *name;
	open_f open;
} subjects[] = {
	{"sim", open_sim},
	{"scripted", open_scripted},
	{"remote", open_remote},
};

static void run_case(gconstpointer data)
{
	gsize number = GPOINTER_TO_SIZE(data);
	gsize subject_number = number / G_N_ELEMENTS(tests);
	struct subject subject = {.task_s = SHORT_S};

	if (!subjects[subject_number].open(&subject)) {
		g_test_skip("no lab: VIRTBED_TEST_CONFIG and VIRTBED_TEST_SCHEDULERS are not set");
		return;
	}
	tests[number % G_N_ELEMENTS(tests)].test(&subject);
	close_subject(&subject);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(subjects) * G_N_ELEMENTS(tests); i++) {
		g_autofree char *path =
			g_strdup_printf("/%s/%s", subjects[i / G_N_ELEMENTS(tests)].name,
					tests[i % G_N_ELEMENTS(tests)].name);

		g_test_add_data_func(path, GSIZE_TO_POINTER(i), run_case);
	}
	return g_test_run();
}
