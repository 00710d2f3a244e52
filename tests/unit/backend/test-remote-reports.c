/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What local schedulers report of an attempt, in every order: a report can be late, repeated or of
 * something that a later one says as well. The local scheduler answers no request, so that an
 * attempt learns what the test reports and nothing else.
 */
#include <glib.h>

#include "common/clock.h"
#include "controller/backend/remote_private.h"
#include "tests/unit/backend/fixture.h"

/* How the backend gets the attempt. */
enum how {
	START,
	ENQUEUE,
	REATTACH,           /* as starting */
	REATTACH_RUNNING,   /* it was migrated */
	REATTACH_SUSPENDED, /* it was suspended once */
};

/* A description of the task. */
struct description {
	char letter;
	enum task_state state;
	bool requested;       /* has the time of its request */
	bool begun;           /* its turn has come, after it was queued */
	bool started;         /* has the time when its ranks started */
	uint32_t suspensions; /* that have succeeded */
	bool resumed;         /* the last of them has ended */
};

static const struct description descriptions[] = {
	{'s', TASK_STARTING, .requested = true},
	{'q', TASK_QUEUED, .requested = true},
	{'b', TASK_STARTING, .requested = true, .begun = true},
	{'r', TASK_RUNNING, .requested = true, .started = true},
	{'R', TASK_RUNNING, .requested = true, .begun = true, .started = true},
	{'n', TASK_SUSPENDED, .requested = true, .suspensions = 1},
	{'z', TASK_SUSPENDED, .requested = true, .started = true, .suspensions = 1},
	{'y', TASK_SUSPENDED, .requested = true, .begun = true, .started = true, .suspensions = 1},
	{'Z', TASK_SUSPENDED, .requested = true, .started = true, .suspensions = 2},
	{'w', TASK_RUNNING, .requested = true, .started = true, .suspensions = 1, .resumed = true},
	{'u', TASK_RUNNING, .started = true, .suspensions = 1, .resumed = true},
	{'e', TASK_ENDED, .requested = true},
	{'f', TASK_ENDED, .requested = true, .started = true},
};

/* Reports, by their letters, and what follows; A: it is abandoned, E: it ends without a report. */
static const struct {
	enum how how;
	const char *reports;
	enum attempt_state state;
} scenes[] = {
	{START, "ssb", ATTEMPT_STARTING},
	{START, "n", ATTEMPT_STARTING},
	{START, "rRr", ATTEMPT_RUNNING},
	{START, "zyZ", ATTEMPT_SUSPENDED},
	{START, "rzww", ATTEMPT_RUNNING},
	{START, "eE", ATTEMPT_ENDED},
	{START, "rf", ATTEMPT_ENDED},
	{START, "zf", ATTEMPT_ENDED},
	{START, "eA", ATTEMPT_ABANDONED},
	{START, "rA", ATTEMPT_ABANDONED},
	{START, "zA", ATTEMPT_ABANDONED},
	{START, "AAE", ATTEMPT_ABANDONED},
	{ENQUEUE, "qqb", ATTEMPT_STARTING},
	{ENQUEUE, "n", ATTEMPT_QUEUED},
	{ENQUEUE, "r", ATTEMPT_RUNNING},
	{ENQUEUE, "e", ATTEMPT_ENDED},
	{ENQUEUE, "A", ATTEMPT_ABANDONED},
	{REATTACH, "s", ATTEMPT_STARTING},
	{REATTACH, "b", ATTEMPT_STARTING},
	{REATTACH, "n", ATTEMPT_STARTING},
	{REATTACH, "r", ATTEMPT_RUNNING},
	{REATTACH, "e", ATTEMPT_ENDED},
	{REATTACH, "A", ATTEMPT_ABANDONED},
	{REATTACH_RUNNING, "R", ATTEMPT_RUNNING},
	{REATTACH_RUNNING, "z", ATTEMPT_SUSPENDED},
	{REATTACH_RUNNING, "f", ATTEMPT_ENDED},
	{REATTACH_RUNNING, "A", ATTEMPT_ABANDONED},
	{REATTACH_SUSPENDED, "y", ATTEMPT_SUSPENDED},
	{REATTACH_SUSPENDED, "Z", ATTEMPT_SUSPENDED},
	{REATTACH_SUSPENDED, "uu", ATTEMPT_REATTACHED_RUNNING},
	{REATTACH_SUSPENDED, "wz", ATTEMPT_RUNNING},
	{REATTACH_SUSPENDED, "e", ATTEMPT_ENDED},
	{REATTACH_SUSPENDED, "A", ATTEMPT_ABANDONED},
};

static struct remote_attempt *new_attempt(struct fixture *fixture, enum how how, uint32_t task)
{
	const uint32_t node = 0;
	const struct sched_allocation start = {.task = &(struct sched_task){.id = task},
					       .nodes = &node,
					       .nodes_count = 1};
	const struct remote_past past = {
		.suspended = how == REATTACH_SUSPENDED,
		.migrated = how == REATTACH_RUNNING,
	};
	const struct remote_backend *remote = (const struct remote_backend *)fixture->backend;
	g_autofree char *id = g_strdup_printf("test-1-%u-1", task);

	if (how == START)
		backend_start(fixture->backend, &start, 1);
	else if (how == ENQUEUE)
		backend_enqueue(fixture->backend, &start, 1, 0);
	else
		remote_backend_adopt(fixture->backend, &start, 1, &past);
	return g_hash_table_lookup(remote->entries, id);
}

static const struct description *find_description(char letter)
{
	for (size_t i = 0; i < G_N_ELEMENTS(descriptions); i++)
		if (descriptions[i].letter == letter)
			return &descriptions[i];
	g_assert_not_reached();
}

static void report(struct remote_attempt *entry, const struct description *what)
{
	const int64_t now_ns = clock_now_ns();
	g_autoptr(GPtrArray) suspensions =
		g_ptr_array_new_with_free_func((GDestroyNotify)task_suspension_free);
	const struct task task = {
		.id = entry->id,
		.state = what->state,
		.queued_ns = what->begun || what->state == TASK_QUEUED ? now_ns - 9 : 0,
		.requested_ns = what->requested ? now_ns - (what->begun ? 8 : 9) : 0,
		.started_ns = what->started ? now_ns - 7 : 0,
		.ended_ns = what->state == TASK_ENDED ? now_ns : 0,
		.outcome = TASK_OUTCOME_COMPLETED,
		.suspensions = suspensions,
	};

	for (uint32_t n = 1; n <= what->suspensions; n++) {
		struct task_suspension *one = g_new0(struct task_suspension, 1);

		one->n = n;
		one->requested_ns = now_ns - 6;
		one->frozen_ns = now_ns - 5;
		one->suspended_ns = now_ns - 4;
		one->resume_requested_ns = what->resumed ? now_ns - 3 : 0;
		one->running_ns = what->resumed ? now_ns - 2 : 0;
		one->resumed_ns = what->resumed ? now_ns - 1 : 0;
		g_ptr_array_add(suspensions, one);
	}
	remote_attempt_take(entry, &task);
}

/* The local scheduler answers again, and knows no task, so that the end waits for none. */
static void forget_all(struct fixture *fixture)
{
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	fixture_bury(fixture, fixture->backend);
	fixture_open(fixture, 1);
}

static void reports_in_any_order(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_SILENT);
	for (uint32_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		struct remote_attempt *entry = new_attempt(fixture, scenes[i].how, i);

		g_test_message("%u: %s", scenes[i].how, scenes[i].reports);
		for (const char *letter = scenes[i].reports; *letter; letter++) {
			if (*letter == 'A')
				remote_attempt_abandon(entry, "as the test wants it");
			else if (*letter == 'E')
				remote_attempt_end(entry, BACKEND_OUTCOME_LOST,
						   "as the test wants it");
			else
				report(entry, find_description(*letter));
		}
		g_assert_cmpint(entry->state, ==, scenes[i].state);
	}
	forget_all(fixture);
}

/* A step's failure is reported twice before the answer, which is that of a later try. */
static void a_failure_before_the_answer(struct fixture *fixture, gconstpointer data)
{
	struct remote_attempt *entry;
	struct remote_operation *step;

	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_SILENT);
	entry = new_attempt(fixture, START, 0);
	step = &entry->step;
	report(entry, find_description('r'));
	backend_suspend(fixture->backend, 0, 1, 1);
	g_assert_cmpint(step->state, ==, OPERATION_SENT);
	remote_operation_failed(step, REMOTE_OPERATION_SUSPEND, "no room");
	remote_operation_failed(step, REMOTE_OPERATION_SUSPEND, "no room at all");
	g_assert_cmpint(step->state, ==, OPERATION_FAILED);
	g_assert_cmpstr(step->reason, ==, "no room at all");
	remote_operation_answered(step, 201, TASK_SUSPENDING);
	g_assert_cmpint(step->state, ==, OPERATION_ANSWERED);
	remote_operation_accept(step);
	g_assert_cmpint(step->state, ==, OPERATION_ANSWERED);
	forget_all(fixture);
}

static void wait_state(const struct remote_operation *operation, enum operation_state state)
{
	const int64_t began_ns = clock_now_ns();

	while (operation->state != state) {
		g_assert_cmpfloat(clock_elapsed_s(began_ns, clock_now_ns()), <, FIXTURE_SOON_S);
		g_main_context_iteration(NULL, TRUE);
	}
}

/* A kill is sent twice; the second request is answered, and the first one given up then. */
static void a_kill_that_is_sent_twice(struct fixture *fixture, gconstpointer data)
{
	struct remote_attempt *entry = new_attempt(fixture, START, 0);
	uint32_t before;

	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	before = scripted_scheduler_task_requests(fixture->scheduler);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_BUSY);
	remote_request_delete(entry);
	while (scripted_scheduler_task_requests(fixture->scheduler) < before + 4)
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	remote_request_delete(entry);
	wait_state(&entry->kill, OPERATION_ANSWERED);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_RUBBISH);
	wait_state(&entry->kill, OPERATION_FAILED);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	remote_request_delete(entry);
	wait_state(&entry->kill, OPERATION_ANSWERED);
	remote_request_delete(entry);
	wait_state(&entry->kill, OPERATION_ANSWERED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/remote/reports/in any order", struct fixture, NULL, fixture_set_up,
		   reports_in_any_order, fixture_tear_down);
	g_test_add("/remote/reports/a failure before the answer", struct fixture, NULL,
		   fixture_set_up, a_failure_before_the_answer, fixture_tear_down);
	g_test_add("/remote/reports/a kill that is sent twice", struct fixture, NULL,
		   fixture_set_up, a_kill_that_is_sent_twice, fixture_tear_down);
	return g_test_run();
}
