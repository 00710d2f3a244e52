/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Migrations, shares and places of shared hosts through the remote backend, against a scripted
 * local scheduler: what fails, or is interrupted.
 */
#include <glib.h>
#include <string.h>

#include "common/clock.h"
#include "controller/backend/remote.h"
#include "tests/unit/backend/fixture.h"

/* Two hosts of two places each, and tasks of two VMs that need half of a host each. */
static struct config_host hosts[] = {{.name = (char *)"b1"}, {.name = (char *)"b2"}};
static struct config_cluster cluster = {
	.name = (char *)"c1",
	.nodes = 4,
	.cores = 1,
	.memory_mib = 128,
	.hosts = hosts,
	.hosts_count = 2,
	.shared = true,
};
static struct config_type type = {
	.name = (char *)"IS",
	.benchmark = (char *)"is",
	.class_ = (char *)"S",
	.cores = 2,
	.repetitions = 1,
	.share = 1,
	.cpu_need = 0.5,
};
static struct config_experiment experiment = {.task_deadline_s = 60};
static const struct config shared_config = {
	.name = (char *)"test",
	.clusters = &cluster,
	.clusters_count = 1,
	.types = &type,
	.types_count = 1,
	.experiment = &experiment,
};

static void shared_set_up(struct fixture *fixture, gconstpointer data)
{
	fixture_set_up_with(fixture, &shared_config);
}

static struct backend_event expect(struct fixture *fixture, enum backend_event_kind kind,
				   uint32_t n)
{
	struct backend_event event = fixture_next(fixture);

	g_assert_cmpint(event.kind, ==, kind);
	g_assert_cmpuint(event.n, ==, n);
	return event;
}

static void until(const struct fixture *fixture,
		  uint32_t (*count)(const struct scripted_scheduler *scheduler), uint32_t least)
{
	while (count(fixture->scheduler) < least)
		g_main_context_iteration(NULL, TRUE);
}

/* Task 0 runs on node 0, and is on its way to node 1. */
static void moving(struct fixture *fixture)
{
	const uint32_t node = 1;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	backend_migrate(fixture->backend, 0, 1, 1, &node, 1);
	until(fixture, scripted_scheduler_moves, 1);
}

static void assert_moved(const struct backend_event *event)
{
	g_assert_cmpuint(event->moves_count, ==, 1);
	g_assert_cmpuint(event->moves[0].from, ==, 0);
	g_assert_cmpuint(event->moves[0].to, ==, 1);
	g_assert_cmpfloat_with_epsilon(event->moves[0].total_s, 0.7, 1e-9);
	g_assert_cmpfloat_with_epsilon(event->moves[0].downtime_s, 0.04, 1e-9);
}

static void what_a_migration_took_is_told(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	moving(fixture);
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	event = expect(fixture, BACKEND_EVENT_MIGRATED, 1);
	assert_moved(&event);
	fixture_quiet(fixture, 0.3);
}

/* An event of a kind that the controller does not know describes its task all the same. */
static void any_event_of_a_task_describes_it(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	moving(fixture);
	scripted_scheduler_spoil_event(fixture->scheduler, "kind", json_string("task-swapped"));
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	event = expect(fixture, BACKEND_EVENT_MIGRATED, 1);
	assert_moved(&event);
	g_assert_null(strstr(fixture->notes->str, "task-swapped"));
}

static void one_that_failed_can_be_asked_again(struct fixture *fixture, gconstpointer data)
{
	const uint32_t node = 1;
	struct backend_event event;

	moving(fixture);
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", "no room");
	event = expect(fixture, BACKEND_EVENT_MIGRATION_FAILED, 1);
	g_assert_cmpstr(event.reason, ==, "no room");
	backend_migrate(fixture->backend, 0, 1, 2, &node, 1);
	until(fixture, scripted_scheduler_moves, 2);
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	event = expect(fixture, BACKEND_EVENT_MIGRATED, 2);
	assert_moved(&event);
}

/* The answer to a request arrives after its migration has ended and the next one was called. */
static void a_late_answer_is_not_that_of_the_next(struct fixture *fixture, gconstpointer data)
{
	const uint32_t back = 0;

	scripted_scheduler_set_late(fixture->scheduler, 0.5);
	moving(fixture);
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	expect(fixture, BACKEND_EVENT_MIGRATED, 1);
	backend_migrate(fixture->backend, 0, 1, 2, &back, 1);
	until(fixture, scripted_scheduler_moves, 2);
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	expect(fixture, BACKEND_EVENT_MIGRATED, 2);
}

static void a_forgotten_task_is_not_migrated(struct fixture *fixture, gconstpointer data)
{
	const uint32_t node = 1;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_forget(fixture->scheduler, "test-1-0-1");
	backend_migrate(fixture->backend, 0, 1, 1, &node, 1);
	fixture_ended_long_ago(fixture);
	g_assert_cmpuint(scripted_scheduler_moves(fixture->scheduler), ==, 0);
}

/* What had become of the migration when the controller died. */
enum moment { UNDER_WAY = 0, MOVED_UNTOLD, FAILED_UNTOLD, MOMENTS };

static const char *const moment_names[] = {"under-way", "moved-untold", "failed-untold"};

/* The next controller asks for the same again; nothing is done twice, and nothing lost. */
static void a_migration_is_adopted(struct fixture *fixture, gconstpointer data)
{
	const enum moment moment = (enum moment)GPOINTER_TO_INT(data);
	const uint32_t node = 1;
	const struct sched_allocation one = {.task = &(struct sched_task){0},
					     .nodes = &node,
					     .nodes_count = 1};
	const struct remote_past past = {.migrated = true};
	struct backend *before = fixture->backend;
	struct backend_event event;

	moving(fixture);
	if (moment != UNDER_WAY)
		scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1",
					       moment == MOVED_UNTOLD ? NULL : "no room");
	fixture_open(fixture, 1);
	remote_backend_adopt(fixture->backend, &one, 1, &past);
	remote_backend_wait_asked(fixture->backend, FIXTURE_SOON_S);
	backend_migrate(fixture->backend, 0, 1, 1, &node, 1);
	if (moment == FAILED_UNTOLD)
		until(fixture, scripted_scheduler_moves, 2);
	else if (moment == UNDER_WAY)
		fixture_quiet(fixture, 0.5);
	if (moment != MOVED_UNTOLD)
		scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	event = expect(fixture, BACKEND_EVENT_MIGRATED, 1);
	assert_moved(&event);
	g_assert_cmpuint(scripted_scheduler_moves(fixture->scheduler), ==,
			 moment == FAILED_UNTOLD ? 2 : 1);
	fixture_bury(fixture, before);
}

/* A suspension that an earlier controller requested ends before the migration can begin. */
static void a_migration_is_not_lost_with_a_suspension(struct fixture *fixture, gconstpointer data)
{
	const uint32_t node = 1, here = 0;
	const struct sched_allocation one = {.task = &(struct sched_task){0},
					     .nodes = &here,
					     .nodes_count = 1};
	const struct remote_past past = {.migrated = true};
	struct backend *before = fixture->backend;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_steps(fixture->scheduler, 0.3, 0.3);
	backend_suspend(fixture->backend, 0, 1, 1);
	until(fixture, scripted_scheduler_suspends, 1);
	fixture_open(fixture, 1);
	remote_backend_adopt(fixture->backend, &one, 1, &past);
	backend_migrate(fixture->backend, 0, 1, 1, &node, 1);
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	expect(fixture, BACKEND_EVENT_MIGRATION_FAILED, 1);
	fixture_bury(fixture, before);
}

static void a_second_call_keeps_the_number(struct fixture *fixture, gconstpointer data)
{
	const uint32_t two = 2;

	moving(fixture);
	backend_migrate(fixture->backend, 0, 1, 2, &two, 1);
	expect(fixture, BACKEND_EVENT_MIGRATION_FAILED, 2);
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	expect(fixture, BACKEND_EVENT_MIGRATED, 1);
}

/* Shared hosts. */

static void start_on(struct fixture *fixture, uint32_t task, uint32_t first, uint32_t second)
{
	const uint32_t of_vms[] = {first, second};
	const struct sched_allocation one = {.task = &(struct sched_task){.id = task},
					     .nodes = of_vms,
					     .nodes_count = 2};

	backend_start(fixture->backend, &one, 1);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
}

static void assert_places(const struct fixture *fixture, const char *id, uint32_t first,
			  uint32_t second)
{
	g_assert_cmpuint(scripted_scheduler_place(fixture->scheduler, id, 0), ==, first);
	g_assert_cmpuint(scripted_scheduler_place(fixture->scheduler, id, 1), ==, second);
}

static void each_vm_has_a_place_of_its_own(struct fixture *fixture, gconstpointer data)
{
	start_on(fixture, 0, 1, 1);
	start_on(fixture, 1, 0, 0);
	assert_places(fixture, "test-1-0-1", 2, 3);
	assert_places(fixture, "test-1-1-1", 0, 1);
}

static void places_that_are_up_come_first(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_set_node(fixture->scheduler, 0, false);
	fixture_quiet(fixture, 0.3); /* the other place of its host is up */
	start_on(fixture, 0, 0, 1);
	assert_places(fixture, "test-1-0-1", 1, 2);
	scripted_scheduler_set_node(fixture->scheduler, 1, false);
	g_assert_cmpuint(fixture_next_of(fixture, BACKEND_EVENT_NODE_DOWN).node, ==, 0);
}

static void a_resumption_that_failed_takes_no_places(struct fixture *fixture, gconstpointer data)
{
	const uint32_t other[] = {1, 1};

	start_on(fixture, 0, 0, 0);
	until(fixture, scripted_scheduler_shares, 1);
	backend_suspend(fixture->backend, 0, 1, 1);
	expect(fixture, BACKEND_EVENT_SUSPENDED, 1);
	scripted_scheduler_fail_steps(fixture->scheduler, 1);
	backend_resume(fixture->backend, 0, 1, 1, other, 2);
	expect(fixture, BACKEND_EVENT_SUSPENSION_FAILED, 1);
	start_on(fixture, 1, 1, 1);
	assert_places(fixture, "test-1-1-1", 2, 3);
}

static void vms_that_stay_keep_their_places(struct fixture *fixture, gconstpointer data)
{
	const uint32_t other[] = {1, 1};
	struct backend_event event;

	start_on(fixture, 0, 0, 1);
	until(fixture, scripted_scheduler_shares, 1);
	backend_migrate(fixture->backend, 0, 1, 1, other, 2);
	until(fixture, scripted_scheduler_moves, 1);
	scripted_scheduler_settle_move(fixture->scheduler, "test-1-0-1", NULL);
	event = expect(fixture, BACKEND_EVENT_MIGRATED, 1);
	g_assert_cmpuint(event.moves_count, ==, 2);
	g_assert_cmpuint(event.moves[0].from, ==, 0);
	g_assert_cmpuint(event.moves[0].to, ==, 1);
	g_assert_cmpuint(event.moves[1].to, ==, 1);
	assert_places(fixture, "test-1-0-1", 3, 2);
}

static void a_share_that_failed_is_asked_for_again(struct fixture *fixture, gconstpointer data)
{
	start_on(fixture, 0, 0, 1);
	until(fixture, scripted_scheduler_shares, 1);
	g_assert_cmpfloat(scripted_scheduler_share(fixture->scheduler, "test-1-0-1"), ==, 0.5);
	scripted_scheduler_fail_shares(fixture->scheduler, 2);
	backend_share(fixture->backend, 0, 1, 0.5);
	until(fixture, scripted_scheduler_shares, 4);
	fixture_quiet(fixture, 0.3);
	g_assert_cmpuint(scripted_scheduler_shares(fixture->scheduler), ==, 4);
	g_assert_cmpfloat(scripted_scheduler_share(fixture->scheduler, "test-1-0-1"), ==, 0.25);
	g_assert_nonnull(strstr(fixture->notes->str, "share-failed"));
}

static void a_forgotten_task_gets_no_share(struct fixture *fixture, gconstpointer data)
{
	start_on(fixture, 0, 0, 1);
	until(fixture, scripted_scheduler_shares, 1);
	scripted_scheduler_forget(fixture->scheduler, "test-1-0-1");
	backend_share(fixture->backend, 0, 1, 0.5);
	fixture_ended_long_ago(fixture);
}

/* A share that fails does not keep another share waiting. */
static void another_share_is_asked_for_at_once(struct fixture *fixture, gconstpointer data)
{
	start_on(fixture, 0, 0, 1);
	until(fixture, scripted_scheduler_shares, 1);
	scripted_scheduler_fail_shares(fixture->scheduler, 3);
	backend_share(fixture->backend, 0, 1, 0.5);
	until(fixture, scripted_scheduler_shares, 4);
	backend_share(fixture->backend, 0, 1, 1);
	until(fixture, scripted_scheduler_shares, 5);
	g_assert_cmpfloat(scripted_scheduler_share(fixture->scheduler, "test-1-0-1"), ==, 0.5);
}

static const struct {
	const char *path;
	bool shared;
	void (*test)(struct fixture *fixture, gconstpointer data);
} tests[] = {
	{"/moves/times", false, what_a_migration_took_is_told},
	{"/moves/unknown-event", false, any_event_of_a_task_describes_it},
	{"/moves/again", false, one_that_failed_can_be_asked_again},
	{"/moves/late", false, a_late_answer_is_not_that_of_the_next},
	{"/moves/lost", false, a_migration_is_not_lost_with_a_suspension},
	{"/moves/number", false, a_second_call_keeps_the_number},
	{"/moves/forgotten", false, a_forgotten_task_is_not_migrated},
	{"/moves/stay", true, vms_that_stay_keep_their_places},
	{"/places/own", true, each_vm_has_a_place_of_its_own},
	{"/places/up", true, places_that_are_up_come_first},
	{"/places/failed-resumption", true, a_resumption_that_failed_takes_no_places},
	{"/shares/again", true, a_share_that_failed_is_asked_for_again},
	{"/shares/forgotten", true, a_forgotten_task_gets_no_share},
	{"/shares/another", true, another_share_is_asked_for_at_once},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct fixture, NULL,
			   tests[i].shared ? shared_set_up : fixture_set_up, tests[i].test,
			   fixture_tear_down);
	for (int i = 0; i < MOMENTS; i++) {
		g_autofree char *path = g_strdup_printf("/moves/adopted/%s", moment_names[i]);

		g_test_add(path, struct fixture, GINT_TO_POINTER(i), fixture_set_up,
			   a_migration_is_adopted, fixture_tear_down);
	}
	return g_test_run();
}
