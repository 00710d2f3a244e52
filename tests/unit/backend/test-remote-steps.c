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
#include "tests/unit/backend/fixture.h"

static void resume(struct fixture *fixture, uint32_t task, uint32_t n, uint32_t node)
{
	backend_resume(fixture->backend, task, 1, n, &node, 1);
}

static struct backend_event expect(struct fixture *fixture, enum backend_event_kind kind,
				   uint32_t n)
{
	struct backend_event event = fixture_next(fixture);

	g_assert_cmpint(event.kind, ==, kind);
	g_assert_cmpuint(event.n, ==, n);
	return event;
}

static void suspended(struct fixture *fixture)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	backend_suspend(fixture->backend, 0, 1, 1);
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
}

/* It completes, once, and it has no other event. */
static void completes(struct fixture *fixture)
{
	struct backend_event event;

	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", true);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	fixture_quiet(fixture, 0.3);
}

static void what_the_steps_took_is_told(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_set_steps(fixture->scheduler, 0.05, 0.2);
	fixture_start(fixture, 0, 1, 2);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	backend_suspend(fixture->backend, 0, 1, 1);
	event = expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	g_assert_cmpfloat(event.overhead.freeze_s, >=, 0.049);
	g_assert_cmpfloat(event.overhead.save_s, >=, 0.199);
	g_assert_cmpfloat_with_epsilon(event.overhead.skew_s, 0.0005, 1e-9);
	g_assert_cmpuint(event.vms_count, ==, 1);
	g_assert_cmpuint(event.vms[0].node, ==, 2);
	g_assert_cmpfloat_with_epsilon(event.vms[0].overhead.freeze_s, 0.05, 1e-6);
	g_assert_cmpfloat_with_epsilon(event.vms[0].overhead.save_s, 0.2, 1e-6);
	resume(fixture, 0, 1, 1);
	event = expect(fixture, BACKEND_EVENT_RESUMED, 1);
	g_assert_cmpfloat(event.overhead.restore_s + event.overhead.resume_s, >=, 0.199);
	g_assert_cmpfloat_with_epsilon(event.overhead.resume_s, 0.05, 1e-3);
	g_assert_cmpuint(event.node, ==, 1);
	g_assert_cmpuint(event.vms[0].node, ==, 1);
	g_assert_cmpfloat_with_epsilon(event.vms[0].overhead.resume_s, 0.05, 1e-6);
	g_assert_cmpfloat(event.time_s - event.since_s, >=, 0.049);
	completes(fixture);
}

/* Half of what its host draws above idle in its stretches is the task's: 40 W. */
static void its_energy_is_that_of_its_stretches(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_set_watts(fixture->scheduler, 60);
	scripted_scheduler_set_busy(fixture->scheduler, 40);
	fixture_start_accounts(fixture, 60);
	suspended(fixture);
	fixture_quiet(fixture, 0.6);
	resume(fixture, 0, 1, 2);
	expect(fixture, BACKEND_EVENT_RESUMED, 1);
	fixture_quiet(fixture, 0.4);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", false);
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpfloat(event.exec_s, >=, 0.4);
	g_assert_cmpfloat(event.exec_s, <=, event.time_s - 0.6);
	g_assert_cmpfloat_with_epsilon(event.energy_j, 40 * event.exec_s, 40 * 0.1 * event.exec_s);
}

static void a_task_that_is_being_started_is_suspended_then(struct fixture *fixture,
							   gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	backend_suspend(fixture->backend, 0, 1, 1);
	g_assert_cmpint(fixture_next(fixture).kind, ==, BACKEND_EVENT_STARTED);
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	resume(fixture, 0, 1, 0);
	expect(fixture, BACKEND_EVENT_RESUMED, 1);
	completes(fixture);
}

static void a_step_that_fails_can_be_tried_again(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_fail_steps(fixture->scheduler, 1);
	backend_suspend(fixture->backend, 0, 1, 1);
	event = expect(fixture, BACKEND_EVENT_SUSPENSION_FAILED, 1);
	g_assert_cmpstr(event.reason, ==, "as the test wants it");
	backend_suspend(fixture->backend, 0, 1, 1);
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	scripted_scheduler_fail_steps(fixture->scheduler, 2);
	for (int i = 0; i < 2; i++) {
		resume(fixture, 0, 1, 1);
		expect(fixture, BACKEND_EVENT_SUSPENSION_FAILED, 1);
	}
	resume(fixture, 0, 1, 1);
	expect(fixture, BACKEND_EVENT_RESUMED, 1);
	g_assert_cmpuint(scripted_scheduler_suspends(fixture->scheduler), ==, 2);
	g_assert_cmpuint(scripted_scheduler_resumes(fixture->scheduler), ==, 3);
	completes(fixture);
}

/* The events come first; the next step waits for the answer to the one before. */
static void late_answers_change_nothing(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_set_late(fixture->scheduler, 0.5);
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	for (uint32_t n = 1; n <= 2; n++) {
		backend_suspend(fixture->backend, 0, 1, n);
		expect(fixture, BACKEND_EVENT_SUSPENDED, n);
		resume(fixture, 0, n, n);
		expect(fixture, BACKEND_EVENT_RESUMED, n);
	}
	g_assert_cmpuint(scripted_scheduler_suspends(fixture->scheduler), ==, 2);
	g_assert_cmpuint(scripted_scheduler_resumes(fixture->scheduler), ==, 2);
	fixture_quiet(fixture, 0.7);
	completes(fixture);
}

static void a_failure_before_a_late_answer_is_told_once(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_set_late(fixture->scheduler, 0.5);
	scripted_scheduler_fail_steps(fixture->scheduler, 1);
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	backend_suspend(fixture->backend, 0, 1, 1);
	expect(fixture, BACKEND_EVENT_SUSPENSION_FAILED, 1);
	fixture_quiet(fixture, 0.7);
	completes(fixture);
}

static void not_now_is_asked_again(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_BUSY);
	backend_suspend(fixture->backend, 0, 1, 1);
	fixture_quiet(fixture, 0.4);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-busy"));
	resume(fixture, 0, 1, 0);
	expect(fixture, BACKEND_EVENT_RESUMED, 1);
	completes(fixture);
}

/* The answer is lost, and the request repeated. */
static void a_step_survives_a_restart(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_late(fixture->scheduler, 0.4);
	backend_suspend(fixture->backend, 0, 1, 1);
	while (!scripted_scheduler_suspends(fixture->scheduler))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_restart(fixture->scheduler, true); /* drops the answer */
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	g_assert_cmpuint(scripted_scheduler_suspends(fixture->scheduler), ==, 1);
	resume(fixture, 0, 1, 0);
	expect(fixture, BACKEND_EVENT_RESUMED, 1);
	completes(fixture);
}

static void a_scheduler_without_memory_loses_suspended_tasks(struct fixture *fixture,
							     gconstpointer data)
{
	suspended(fixture);
	scripted_scheduler_restart(fixture->scheduler, false);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_LOST);
	resume(fixture, 0, 1, 0);
	fixture_quiet(fixture, 0.3);
}

static void a_forgotten_task_is_not_suspended(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_forget(fixture->scheduler, "test-1-0-1");
	backend_suspend(fixture->backend, 0, 1, 1);
	fixture_ended_long_ago(fixture);
	backend_suspend(fixture->backend, 0, 1, 1);
	fixture_quiet(fixture, 0.3);
}

static void a_forgotten_task_is_not_resumed(struct fixture *fixture, gconstpointer data)
{
	suspended(fixture);
	scripted_scheduler_forget(fixture->scheduler, "test-1-0-1");
	resume(fixture, 0, 1, 1);
	fixture_ended_long_ago(fixture);
	resume(fixture, 0, 1, 1);
	fixture_quiet(fixture, 0.3);
}

static void a_task_killed_on_its_way_ends_once(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_steps(fixture->scheduler, 0.2, 0.2);
	backend_suspend(fixture->backend, 0, 1, 1);
	fixture_quiet(fixture, 0.1);
	backend_kill(fixture->backend, 0, 1);
	g_assert_cmpint(fixture_next(fixture).outcome, ==, BACKEND_OUTCOME_KILLED);
	fixture_quiet(fixture, 0.6);
}

static void a_task_that_ends_before_it_is_frozen_ends(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_steps(fixture->scheduler, 0.4, 0.1);
	backend_suspend(fixture->backend, 0, 1, 1);
	fixture_quiet(fixture, 0.1);
	completes(fixture);
	backend_suspend(fixture->backend, 0, 1, 1);
	fixture_quiet(fixture, 0.3);
}

/*
 * A controller that was killed, at each point of a suspension; its successor knows what it
 * recorded.
 */
enum moment {
	BEFORE_SUSPEND = 0, /* recorded, not asked */
	WHILE_SUSPENDING,
	SUSPENDED_UNTOLD, /* suspended, and the event not fetched yet */
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
static void bring_to(struct fixture *fixture, enum moment moment)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	if (moment == BEFORE_SUSPEND)
		return;
	if (moment == WHILE_SUSPENDING)
		scripted_scheduler_set_steps(fixture->scheduler, 0.3, 0.3);
	backend_suspend(fixture->backend, 0, 1, 1);
	until_asked(fixture->scheduler, scripted_scheduler_suspends);
	if (moment == WHILE_SUSPENDING)
		return;
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	if (moment <= BEFORE_RESUME)
		return;
	if (moment == WHILE_RESUMING)
		scripted_scheduler_set_steps(fixture->scheduler, 0.3, 0.3);
	resume(fixture, 0, 1, 2);
	until_asked(fixture->scheduler, scripted_scheduler_resumes);
	if (moment > WHILE_RESUMING)
		expect(fixture, BACKEND_EVENT_RESUMED, 1);
}

static void a_step_is_adopted(struct fixture *fixture, gconstpointer data)
{
	enum moment moment = (enum moment)GPOINTER_TO_INT(data);
	bool told = moment >= SUSPENDED;
	bool resuming = moment >= BEFORE_RESUME;
	const uint32_t node = resuming ? 2 : 0;
	const struct sched_allocation one = {.task = &(struct sched_task){0},
					     .nodes = &node,
					     .nodes_count = 1};
	const struct remote_past past = {
		.suspended = told,
		.resumed = moment == RESUMED,
	};
	struct backend *before = fixture->backend;

	bring_to(fixture, moment);
	/* Not destroyed in order, which would kill the task: another listener takes its place. */
	fixture_open(fixture, 1);
	remote_backend_adopt(fixture->backend, &one, 1, &past);
	remote_backend_wait_asked(fixture->backend, FIXTURE_SOON_S);
	if (!told)
		backend_suspend(fixture->backend, 0, 1, 1);
	else if (resuming && moment != RESUMED)
		resume(fixture, 0, 1, node);
	if (!told) {
		g_assert_cmpint(fixture_next(fixture).kind, ==, BACKEND_EVENT_STARTED);
		expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	}
	if (!resuming)
		resume(fixture, 0, 1, 1);
	if (moment != RESUMED)
		expect(fixture, BACKEND_EVENT_RESUMED, 1);
	g_assert_cmpuint(scripted_scheduler_starts(fixture->scheduler), ==, 1);
	g_assert_cmpuint(scripted_scheduler_suspends(fixture->scheduler), ==, 1);
	g_assert_cmpuint(scripted_scheduler_resumes(fixture->scheduler), ==, 1);
	completes(fixture);
	fixture_bury(fixture, before);
}

static const struct {
	const char *path;
	void (*test)(struct fixture *fixture, gconstpointer data);
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
	{"/steps/forgotten-before-suspend", a_forgotten_task_is_not_suspended},
	{"/steps/forgotten-before-resume", a_forgotten_task_is_not_resumed},
	{"/steps/killed", a_task_killed_on_its_way_ends_once},
	{"/steps/ends-first", a_task_that_ends_before_it_is_frozen_ends},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct fixture, NULL, fixture_set_up, tests[i].test,
			   fixture_tear_down);
	for (int i = 0; i < MOMENTS; i++) {
		g_autofree char *path = g_strdup_printf("/steps/adopted/%s", moment_names[i]);

		g_test_add(path, struct fixture, GINT_TO_POINTER(i), fixture_set_up,
			   a_step_is_adopted, fixture_tear_down);
	}
	return g_test_run();
}
