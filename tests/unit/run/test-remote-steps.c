/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspensions and resumptions through the remote backend, against a scripted local scheduler: what
 * fails, comes late, or is interrupted.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "controller/backend/remote.h"
#include "tests/unit/run/scripted_scheduler.h"

#define PATIENCE_S 1.5
#define SOON_S 20.0

static struct config_meter meter = {.kind = CONFIG_METER_IPMI, .interval_s = SCRIPTED_INTERVAL_S};
static struct config_host host = {.name = (char *)"b1", .meter = &meter};
static struct config_cluster cluster = {
	.name = (char *)"c1",
	.nodes = 3,
	.cores = 1,
	.memory_mib = 128,
	.hosts = &host,
	.hosts_count = 1,
};
static struct config_type type = {
	.name = (char *)"IS",
	.benchmark = (char *)"is",
	.class_ = (char *)"S",
	.cores = 1,
	.repetitions = 1,
	.share = 1,
};
static struct config_experiment experiment = {.task_deadline_s = 60};
static struct config config = {
	.name = (char *)"test",
	.clusters = &cluster,
	.clusters_count = 1,
	.types = &type,
	.types_count = 1,
	.experiment = &experiment,
};

struct world {
	char *dir;
	char *address;
	struct scripted_scheduler *scheduler;
	struct remote_fleet *fleet;
	struct backend *backend;
	GString *notes;
};

static void note(double time_s, const char *kind, const char *text, void *data)
{
	struct world *world = data;

	g_test_message("%.3f %s: %s", time_s, kind, text);
	g_string_append_printf(world->notes, "%s ", kind);
}

static void open_backend(struct world *world, int64_t run)
{
	struct remote_run remote = {
		.experiment = "test",
		.run = run,
		.t0_ns = clock_now_ns(),
		.note = note,
		.data = world,
	};

	world->backend = remote_backend_new(world->fleet, &remote);
}

static void set_up(struct world *world, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	const char *addresses[2] = {0};

	world->dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	world->address = g_strdup_printf("unix:%s/ls.sock", world->dir);
	addresses[0] = world->address;
	world->notes = g_string_new(NULL);
	world->scheduler = scripted_scheduler_new(world->address, "c1", cluster.nodes);
	world->fleet = remote_fleet_new(&config, addresses, &error);
	g_assert_no_error(error);
	remote_link_set_patience(remote_fleet_link(world->fleet, 0), PATIENCE_S);
	g_assert_true(remote_fleet_wait_ready(world->fleet, SOON_S, &error));
	open_backend(world, 1);
}

static void tear_down(struct world *world, gconstpointer data)
{
	backend_destroy(world->backend);
	remote_fleet_free(world->fleet);
	scripted_scheduler_free(world->scheduler);
	g_rmdir(world->dir);
	g_string_free(world->notes, TRUE);
	g_free(world->address);
	g_free(world->dir);
}

static void start(struct world *world, uint32_t task, uint32_t attempt, uint32_t node)
{
	const struct backend_start one = {
		.task = task,
		.attempt = attempt,
		.nodes = &node,
		.nodes_count = 1,
	};

	backend_start(world->backend, &one);
}

/* The next event; fails the test when none comes. */
static struct backend_event next(struct world *world)
{
	struct backend_event event;

	backend_wait(world->backend, backend_now_s(world->backend) + SOON_S, &event);
	g_assert_cmpint(event.kind, !=, BACKEND_EVENT_NONE);
	return event;
}

/* The next event of a kind; others are passed over. */
static struct backend_event next_of(struct world *world, enum backend_event_kind kind)
{
	struct backend_event event = next(world);

	while (event.kind != kind)
		event = next(world);
	return event;
}

static void assert_quiet(struct world *world, double for_s)
{
	struct backend_event event;

	backend_wait(world->backend, backend_now_s(world->backend) + for_s, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
}

static void resume(struct world *world, uint32_t task, uint32_t n, uint32_t node)
{
	backend_resume(world->backend, task, 1, n, &node, 1);
}

static struct backend_event expect(struct world *world, enum backend_event_kind kind, uint32_t n)
{
	struct backend_event event = next(world);

	g_assert_cmpint(event.kind, ==, kind);
	g_assert_cmpuint(event.n, ==, n);
	return event;
}

static void suspended(struct world *world)
{
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	backend_suspend(world->backend, 0, 1, 1);
	expect(world, BACKEND_EVENT_SUSPENDED, 1);
}

/* It completes, once, and nothing else is told of it. */
static void completes(struct world *world)
{
	struct backend_event event;

	scripted_scheduler_end_task(world->scheduler, "test-1-0-1", "completed", true);
	event = next(world);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	assert_quiet(world, 0.3);
}

static void what_the_steps_took_is_told(struct world *world, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_set_steps(world->scheduler, 0.05, 0.2);
	start(world, 0, 1, 2);
	next_of(world, BACKEND_EVENT_STARTED);
	backend_suspend(world->backend, 0, 1, 1);
	event = expect(world, BACKEND_EVENT_SUSPENDED, 1);
	g_assert_cmpfloat(event.overhead.freeze_s, >=, 0.049);
	g_assert_cmpfloat(event.overhead.save_s, >=, 0.199);
	g_assert_cmpfloat_with_epsilon(event.overhead.skew_s, 0.0005, 1e-9);
	g_assert_cmpuint(event.vms_count, ==, 1);
	g_assert_cmpuint(event.vms[0].node, ==, 2);
	g_assert_cmpfloat_with_epsilon(event.vms[0].overhead.freeze_s, 0.05, 1e-6);
	g_assert_cmpfloat_with_epsilon(event.vms[0].overhead.save_s, 0.2, 1e-6);
	resume(world, 0, 1, 1);
	event = expect(world, BACKEND_EVENT_RESUMED, 1);
	g_assert_cmpfloat(event.overhead.restore_s + event.overhead.resume_s, >=, 0.199);
	g_assert_cmpfloat_with_epsilon(event.overhead.resume_s, 0.05, 1e-3);
	g_assert_cmpuint(event.node, ==, 1);
	g_assert_cmpuint(event.vms[0].node, ==, 1);
	g_assert_cmpfloat_with_epsilon(event.vms[0].overhead.resume_s, 0.05, 1e-6);
	g_assert_cmpfloat(event.time_s - event.since_s, >=, 0.049);
	completes(world);
}

/* Half of what its host draws above idle in its stretches is the task's: 40 W. */
static void its_energy_is_that_of_its_stretches(struct world *world, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_set_watts(world->scheduler, 60);
	scripted_scheduler_set_busy(world->scheduler, 40);
	for (guint i = 0; i < remote_fleet_meters(world->fleet)->len; i++)
		remote_meter_start(g_ptr_array_index(remote_fleet_meters(world->fleet), i),
				   clock_now_ns(), 60);
	suspended(world);
	assert_quiet(world, 0.6);
	resume(world, 0, 1, 2);
	expect(world, BACKEND_EVENT_RESUMED, 1);
	assert_quiet(world, 0.4);
	scripted_scheduler_end_task(world->scheduler, "test-1-0-1", "completed", false);
	event = next_of(world, BACKEND_EVENT_ENDED);
	g_assert_cmpfloat(event.exec_s, >=, 0.4);
	g_assert_cmpfloat(event.exec_s, <=, event.time_s - 0.6);
	g_assert_cmpfloat_with_epsilon(event.energy_j, 40 * event.exec_s, 40 * 0.1 * event.exec_s);
}

static void a_task_that_is_being_started_is_suspended_then(struct world *world, gconstpointer data)
{
	start(world, 0, 1, 0);
	backend_suspend(world->backend, 0, 1, 1);
	g_assert_cmpint(next(world).kind, ==, BACKEND_EVENT_STARTED);
	expect(world, BACKEND_EVENT_SUSPENDED, 1);
	resume(world, 0, 1, 0);
	expect(world, BACKEND_EVENT_RESUMED, 1);
	completes(world);
}

static void a_step_that_fails_can_be_tried_again(struct world *world, gconstpointer data)
{
	struct backend_event event;

	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	scripted_scheduler_fail_steps(world->scheduler, 1);
	backend_suspend(world->backend, 0, 1, 1);
	event = expect(world, BACKEND_EVENT_STAYED, 1);
	g_assert_cmpstr(event.reason, ==, "as the test wants it");
	backend_suspend(world->backend, 0, 1, 1);
	expect(world, BACKEND_EVENT_SUSPENDED, 1);
	scripted_scheduler_fail_steps(world->scheduler, 2);
	for (int i = 0; i < 2; i++) {
		resume(world, 0, 1, 1);
		expect(world, BACKEND_EVENT_STAYED, 1);
	}
	resume(world, 0, 1, 1);
	expect(world, BACKEND_EVENT_RESUMED, 1);
	g_assert_cmpuint(scripted_scheduler_suspends(world->scheduler), ==, 2);
	g_assert_cmpuint(scripted_scheduler_resumes(world->scheduler), ==, 3);
	completes(world);
}

/* The events come first; the next step waits for the answer to the one before. */
static void late_answers_change_nothing(struct world *world, gconstpointer data)
{
	scripted_scheduler_set_late(world->scheduler, 0.5);
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	for (uint32_t n = 1; n <= 2; n++) {
		backend_suspend(world->backend, 0, 1, n);
		expect(world, BACKEND_EVENT_SUSPENDED, n);
		resume(world, 0, n, n);
		expect(world, BACKEND_EVENT_RESUMED, n);
	}
	g_assert_cmpuint(scripted_scheduler_suspends(world->scheduler), ==, 2);
	g_assert_cmpuint(scripted_scheduler_resumes(world->scheduler), ==, 2);
	assert_quiet(world, 0.7);
	completes(world);
}

static void a_failure_before_a_late_answer_is_told_once(struct world *world, gconstpointer data)
{
	scripted_scheduler_set_late(world->scheduler, 0.5);
	scripted_scheduler_fail_steps(world->scheduler, 1);
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	backend_suspend(world->backend, 0, 1, 1);
	expect(world, BACKEND_EVENT_STAYED, 1);
	assert_quiet(world, 0.7);
	completes(world);
}

static void not_now_is_asked_again(struct world *world, gconstpointer data)
{
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_mood(world->scheduler, SCRIPTED_BUSY);
	backend_suspend(world->backend, 0, 1, 1);
	assert_quiet(world, 0.4);
	scripted_scheduler_set_mood(world->scheduler, SCRIPTED_FINE);
	expect(world, BACKEND_EVENT_SUSPENDED, 1);
	g_assert_nonnull(strstr(world->notes->str, "scheduler-busy"));
	resume(world, 0, 1, 0);
	expect(world, BACKEND_EVENT_RESUMED, 1);
	completes(world);
}

/* The answer is lost, and the request repeated. */
static void a_step_survives_a_restart(struct world *world, gconstpointer data)
{
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_late(world->scheduler, 0.4);
	backend_suspend(world->backend, 0, 1, 1);
	while (!scripted_scheduler_suspends(world->scheduler))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_restart(world->scheduler, true); /* drops the answer */
	expect(world, BACKEND_EVENT_SUSPENDED, 1);
	g_assert_cmpuint(scripted_scheduler_suspends(world->scheduler), ==, 1);
	resume(world, 0, 1, 0);
	expect(world, BACKEND_EVENT_RESUMED, 1);
	completes(world);
}

static void a_scheduler_without_memory_loses_suspended_tasks(struct world *world,
							     gconstpointer data)
{
	suspended(world);
	scripted_scheduler_restart(world->scheduler, false);
	g_assert_cmpint(next_of(world, BACKEND_EVENT_ENDED).outcome, ==, BACKEND_OUTCOME_LOST);
	resume(world, 0, 1, 0);
	assert_quiet(world, 0.3);
}

static void a_task_killed_on_its_way_ends_once(struct world *world, gconstpointer data)
{
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_steps(world->scheduler, 0.2, 0.2);
	backend_suspend(world->backend, 0, 1, 1);
	assert_quiet(world, 0.1);
	backend_kill(world->backend, 0, 1);
	g_assert_cmpint(next(world).outcome, ==, BACKEND_OUTCOME_KILLED);
	assert_quiet(world, 0.6);
}

static void a_task_that_ends_before_it_is_frozen_ends(struct world *world, gconstpointer data)
{
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_steps(world->scheduler, 0.4, 0.1);
	backend_suspend(world->backend, 0, 1, 1);
	assert_quiet(world, 0.1);
	completes(world);
	backend_suspend(world->backend, 0, 1, 1);
	assert_quiet(world, 0.3);
}

/* A controller that was killed, at each point of a suspension; its successor knows what it recorded. */
enum moment {
	BEFORE_SUSPEND = 0, /* recorded, not asked */
	WHILE_SUSPENDING,
	SUSPENDED_UNTOLD,   /* it was, before anybody was told */
	SUSPENDED,
	BEFORE_RESUME,
	WHILE_RESUMING,
	RESUMED_UNTOLD,
	RESUMED,
	MOMENTS,
};

static const char *const moment_names[] = {
	[BEFORE_SUSPEND] = "before-suspend",     [WHILE_SUSPENDING] = "while-suspending",
	[SUSPENDED_UNTOLD] = "suspended-untold", [SUSPENDED] = "suspended",
	[BEFORE_RESUME] = "before-resume",       [WHILE_RESUMING] = "while-resuming",
	[RESUMED_UNTOLD] = "resumed-untold",     [RESUMED] = "resumed",
};

static void until_asked(const struct scripted_scheduler *scheduler,
			uint32_t (*count)(const struct scripted_scheduler *scheduler))
{
	while (!count(scheduler))
		g_main_context_iteration(NULL, TRUE);
}

/* Brings a task to the moment through the first controller. */
static void bring_to(struct world *world, enum moment moment)
{
	start(world, 0, 1, 0);
	next_of(world, BACKEND_EVENT_STARTED);
	if (moment == BEFORE_SUSPEND)
		return;
	if (moment == WHILE_SUSPENDING)
		scripted_scheduler_set_steps(world->scheduler, 0.3, 0.3);
	backend_suspend(world->backend, 0, 1, 1);
	until_asked(world->scheduler, scripted_scheduler_suspends);
	if (moment == WHILE_SUSPENDING)
		return;
	expect(world, BACKEND_EVENT_SUSPENDED, 1);
	if (moment <= BEFORE_RESUME)
		return;
	if (moment == WHILE_RESUMING)
		scripted_scheduler_set_steps(world->scheduler, 0.3, 0.3);
	resume(world, 0, 1, 2);
	until_asked(world->scheduler, scripted_scheduler_resumes);
	if (moment > WHILE_RESUMING)
		expect(world, BACKEND_EVENT_RESUMED, 1);
}

static void a_step_is_adopted(struct world *world, gconstpointer data)
{
	enum moment moment = (enum moment)GPOINTER_TO_INT(data);
	bool told = moment >= SUSPENDED;
	bool resuming = moment >= BEFORE_RESUME;
	const uint32_t node = resuming ? 2 : 0;
	const struct backend_start one = {.attempt = 1, .nodes = &node, .nodes_count = 1};
	const struct remote_past past = {
		.suspended = told,
		.resumed = moment == RESUMED,
	};
	struct backend *before = world->backend;

	bring_to(world, moment);
	/* Not destroyed in order, which would kill the task: another listener takes its place. */
	open_backend(world, 1);
	remote_backend_adopt(world->backend, &one, &past);
	remote_backend_wait_asked(world->backend, SOON_S);
	if (!told)
		backend_suspend(world->backend, 0, 1, 1);
	else if (resuming && moment != RESUMED)
		resume(world, 0, 1, node);
	if (!told) {
		g_assert_cmpint(next(world).kind, ==, BACKEND_EVENT_STARTED);
		expect(world, BACKEND_EVENT_SUSPENDED, 1);
	}
	if (!resuming)
		resume(world, 0, 1, 1);
	if (moment != RESUMED)
		expect(world, BACKEND_EVENT_RESUMED, 1);
	g_assert_cmpuint(scripted_scheduler_starts(world->scheduler), ==, 1);
	g_assert_cmpuint(scripted_scheduler_suspends(world->scheduler), ==, 1);
	g_assert_cmpuint(scripted_scheduler_resumes(world->scheduler), ==, 1);
	completes(world);
	backend_destroy(before);
}

static const struct {
	const char *path;
	void (*test)(struct world *world, gconstpointer data);
} tests[] = {
	{"/steps/times", what_the_steps_took_is_told},
	{"/steps/energy", its_energy_is_that_of_its_stretches},
	{"/steps/starting", a_task_that_is_being_started_is_suspended_then},
	{"/steps/again", a_step_that_fails_can_be_tried_again},
	{"/steps/late", late_answers_change_nothing},
	{"/steps/late-failure", a_failure_before_a_late_answer_is_told_once},
	{"/steps/not-now", not_now_is_asked_again},
	{"/steps/restart", a_step_survives_a_restart},
	{"/steps/no-memory", a_scheduler_without_memory_loses_suspended_tasks},
	{"/steps/killed", a_task_killed_on_its_way_ends_once},
	{"/steps/ends-first", a_task_that_ends_before_it_is_frozen_ends},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct world, NULL, set_up, tests[i].test, tear_down);
	for (int i = 0; i < MOMENTS; i++) {
		g_autofree char *path = g_strdup_printf("/steps/adopted/%s", moment_names[i]);

		g_test_add(path, struct world, GINT_TO_POINTER(i), set_up, a_step_is_adopted,
			   tear_down);
	}
	return g_test_run();
}
