/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The remote backend against a scripted local scheduler: what goes wrong between the two. That it
 * works with a real one is for test-backend-conformance and the integration tests.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/platform.h"
#include "common/json.h"
#include "controller/backend/remote.h"
#include "controller/backend/remote_link_private.h"
#include "tests/unit/backend/fixture.h"

static void a_task_starts_and_ends(struct fixture *fixture, gconstpointer data)
{
	struct backend_event started;
	struct backend_event ended;

	fixture_start(fixture, 7, 1, 2);
	started = fixture_next(fixture);
	g_assert_cmpint(started.kind, ==, BACKEND_EVENT_STARTED);
	g_assert_cmpint(started.task, ==, 7);
	g_assert_true(scripted_scheduler_runs(fixture->scheduler, "test-1-7-1"));
	scripted_scheduler_end_task(fixture->scheduler, "test-1-7-1", "completed", false);
	ended = fixture_next(fixture);
	g_assert_cmpint(ended.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(ended.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpint(ended.attempt, ==, 1);
	g_assert_cmpfloat(ended.time_s, >=, started.time_s);
	g_assert_cmpfloat(ended.exec_s, >, 0);
	g_assert_cmpfloat(ended.exec_s, <=, ended.time_s);
}

static void an_end_tells_its_cause_and_progress(struct fixture *fixture, gconstpointer data)
{
	struct backend_event ended;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_fail_task(fixture->scheduler, "test-1-0-1", "stalled", 12, 375);
	ended = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(ended.outcome, ==, BACKEND_OUTCOME_FAILED);
	g_assert_cmpint(ended.cause, ==, TASK_CAUSE_STALLED);
	g_assert_cmpint(ended.done, ==, 12);
	g_assert_cmpint(ended.total, ==, 375);
}

/* Its local scheduler never tells when its turn came. */
static void an_enqueued_task_can_start_without_its_turn(struct fixture *fixture, gconstpointer data)
{
	const uint32_t node = 0;
	const struct sched_allocation one = {.task = &(struct sched_task){0},
					     .nodes = &node,
					     .nodes_count = 1};
	struct backend_event ended;

	backend_enqueue(fixture->backend, &one, 1, 0);
	g_assert_cmpint(fixture_next(fixture).kind, ==, BACKEND_EVENT_STARTED);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", false);
	ended = fixture_next(fixture);
	g_assert_cmpint(ended.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpfloat(ended.exec_s, >, 0);
}

static void a_duplicate_is_told_once(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", true);
	fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	fixture_quiet(fixture, 0.5);
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 1);
}

static void a_kill_ends_a_task(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	backend_kill(fixture->backend, 0, 1);
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	backend_kill(fixture->backend, 0, 1);
	fixture_quiet(fixture, 0.3);
}

/* The DELETE must not overtake the PUT. */
static void a_kill_at_once_ends_a_task_too(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	fixture_start(fixture, 0, 1, 0);
	backend_kill(fixture->backend, 0, 1);
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	g_assert_false(scripted_scheduler_runs(fixture->scheduler, "test-1-0-1"));
}

static void a_node_that_is_not_free_yet_is_asked_again(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_refuse(fixture->scheduler, 3);
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 1);
}

static void a_node_that_stays_taken_loses_the_task(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_refuse(fixture->scheduler, 1000);
	fixture_start(fixture, 0, 1, 0);
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_LOST);
	g_assert_nonnull(strstr(event.reason, "not ready"));
	g_assert_nonnull(strstr(fixture->notes->str, "task-refused"));
}

static void not_now_is_tried_again(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_BUSY);
	fixture_start(fixture, 0, 1, 0);
	fixture_quiet(fixture, 0.5);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	g_assert_cmpstr(fixture->notes->str, ==, "scheduler-busy ");
}

static void a_restart_goes_unnoticed(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_restart(fixture->scheduler, true);
	fixture_start(fixture, 1, 1, 1);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_STARTED);
	g_assert_cmpint(event.task, ==, 1);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", false);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.task, ==, 0);
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 2);
}

/* Ended while no controller listened: event numbers continue, so the event is still there. */
static void an_end_during_a_restart_is_not_missed(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_SILENT);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", false);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
	scripted_scheduler_restart(fixture->scheduler, true);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_COMPLETED);
}

static void a_scheduler_without_memory_loses_its_tasks(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_watts(fixture->scheduler, 50);
	fixture_start_accounts(fixture, 0);
	fixture_quiet(fixture, 0.5);
	scripted_scheduler_restart(fixture->scheduler, false);
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_LOST);
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-reset"));
	fixture_start(fixture, 0, 2, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-2", "completed", false);
	fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpfloat(backend_energy_j(fixture->backend), >, 0);
}

static void silence_loses_tasks_and_nodes(struct fixture *fixture, gconstpointer data)
{
	uint32_t down = 0;
	uint32_t up = 0;
	bool lost = false;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_SILENT);
	scripted_scheduler_restart(fixture->scheduler, true); /* drops the open long poll */
	while (down < fixture_config.clusters[0].nodes || !lost) {
		struct backend_event event = fixture_next(fixture);

		down += event.kind == BACKEND_EVENT_NODE_DOWN;
		lost = lost ||
		       (event.kind == BACKEND_EVENT_ENDED && event.outcome == BACKEND_OUTCOME_LOST);
	}
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
	scripted_scheduler_restart(fixture->scheduler, true);
	while (up < fixture_config.clusters[0].nodes)
		up += fixture_next(fixture).kind == BACKEND_EVENT_NODE_UP;
	while (scripted_scheduler_runs(fixture->scheduler,
				       "test-1-0-1")) /* killed, now that it can be */
		g_main_context_iteration(NULL, TRUE);
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-away"));
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-back"));
}

static void rubbish_is_recorded_and_loses_the_task(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_RUBBISH);
	fixture_start(fixture, 0, 1, 0);
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_LOST);
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-rubbish"));
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
}

/* It is not lost, and not run again, for a number that cannot be; that is told. */
static void an_end_with_impossible_numbers_is_one(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_spoil_task(fixture->scheduler, "test-1-0-1", "cpu_s", json_real(-0.25));
	scripted_scheduler_spoil_task(fixture->scheduler, "test-1-0-1", "host_cpu_s",
				      json_string("much"));
	scripted_scheduler_spoil_event(fixture->scheduler, "t_ns", json_integer(-1));
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", false);
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-rubbish"));
	/* The events after it are read. */
	fixture_start(fixture, 0, 2, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-2", "completed", false);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_COMPLETED);
}

/* An event that cannot be read at all may have been of any task: they are asked about. */
static void an_unreadable_end_is_asked_for(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_spoil_event(fixture->scheduler, "kind", json_integer(7));
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", false);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_COMPLETED);
}

static void nodes_go_and_come(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_set_node(fixture->scheduler, 1, false);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NODE_DOWN);
	g_assert_cmpint(event.node, ==, 1);
	scripted_scheduler_set_node(fixture->scheduler, 1, true);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NODE_UP);
}

static void the_limit_is_reported_once_at_its_time(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;
	double now_s;

	scripted_scheduler_set_watts(fixture->scheduler, 160);
	fixture_start_accounts(fixture, 60);
	now_s = backend_now_s(fixture->backend);
	backend_set_limit(fixture->backend, 100);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENERGY_LIMIT);
	g_assert_cmpfloat(fabs(event.time_s - now_s - 1), <,
			  0.35); /* about two sampling intervals */
	fixture_quiet(fixture, 0.5);
	g_assert_cmpfloat(backend_energy_j(fixture->backend), >, 100);
	g_assert_cmpint(fixture->samples, >, 5);
}

static void a_meter_that_falls_silent_is_held(struct fixture *fixture, gconstpointer data)
{
	struct backend_event event;

	scripted_scheduler_set_watts(fixture->scheduler, 160);
	fixture_start_accounts(fixture, 60);
	fixture_quiet(fixture, 0.5);
	scripted_scheduler_set_metering(fixture->scheduler, false);
	backend_set_limit(fixture->backend, 150);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENERGY_LIMIT);
}

/* Those that come after them count, the log says it once, and no peer is away. */
static void samples_in_the_future_are_passed_over(struct fixture *fixture, gconstpointer data)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)(FIXTURE_SOON_S * G_USEC_PER_SEC);
	guint before;

	while (!fixture->samples && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	g_assert_cmpuint(fixture->samples, >, 0);
	scripted_scheduler_misdate_sample(fixture->scheduler,
					  clock_now_ns() + 60 * INT64_C(1000000000));
	scripted_scheduler_misdate_sample(fixture->scheduler, INT64_MAX);
	before = fixture->samples;
	while (fixture->samples < before + 5 && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	g_assert_cmpuint(fixture->samples, >=, before + 5);
	g_assert_cmpstr(strstr(fixture->notes->str, "sample-skipped"), ==, "sample-skipped ");
}

/* The account of the others continues, the log says it once, and no peer is away. */
static void usage_that_makes_no_sense_is_passed_over(struct fixture *fixture, gconstpointer data)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)(FIXTURE_SOON_S * G_USEC_PER_SEC);
	int64_t bad;

	remote_link_usage_from(remote_fleet_link(fixture->fleet, 0), NULL, 0);
	while (!fixture->intervals && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	g_assert_cmpuint(fixture->intervals, >, 0);
	scripted_scheduler_spoil_usage(fixture->scheduler, "host", json_string("nowhere"));
	scripted_scheduler_spoil_usage(fixture->scheduler, "to_uj", json_integer(INT64_MAX));
	scripted_scheduler_spoil_usage(fixture->scheduler, "to_ns", json_integer(INT64_MAX));
	scripted_scheduler_spoil_usage(fixture->scheduler, "tasks", json_string("rubbish"));
	bad = fixture->usage_seq + 4;
	while (fixture->usage_seq <= bad + 4 && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	g_assert_cmpint(fixture->usage_seq, >, bad + 4);
	g_assert_cmpstr(strstr(fixture->notes->str, "usage-skipped"), ==, "usage-skipped ");
}

/*
 * What an answer left out is asked for at the next tick: every fifth would not be soon enough for
 * 18 answers.
 */
static void usage_is_caught_up_with(struct fixture *fixture, gconstpointer data)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)(FIXTURE_SOON_S * G_USEC_PER_SEC);
	int64_t last;

	remote_link_usage_from(remote_fleet_link(fixture->fleet, 0), NULL, 0);
	while (!fixture->intervals && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	for (int i = 0; i < 18000; i++)
		scripted_scheduler_spoil_usage(fixture->scheduler, "others_ns", json_integer(i));
	last = fixture->usage_seq + 18000;
	while (fixture->usage_seq < last && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	g_assert_cmpint(fixture->usage_seq, >=, last);
}

/* Whenever it would be due: a restarted controller keeps it from when it is asked. */
static void usage_is_asked_for_when_it_answers_again(struct fixture *fixture, gconstpointer data)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)(FIXTURE_SOON_S * G_USEC_PER_SEC);
	struct remote_link *link = remote_fleet_link(fixture->fleet, 0);
	int64_t last;

	remote_link_usage_from(link, NULL, 0);
	while ((!fixture->intervals || link->usage_pending) && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	link->usage_read_ns = INT64_MAX; /* never */
	last = fixture->usage_seq;
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_SILENT);
	scripted_scheduler_restart(fixture->scheduler, true); /* drops the open long poll */
	while (!link->silent && g_get_monotonic_time() < until_us)
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
	scripted_scheduler_restart(fixture->scheduler, true);
	while (fixture->usage_seq == last && g_get_monotonic_time() < until_us)
		fixture_quiet(fixture, SCRIPTED_INTERVAL_S);
	g_assert_cmpint(fixture->usage_seq, >, last);
}

static void a_baseline_is_measured(struct fixture *fixture, gconstpointer data)
{
	struct remote_baseline baseline = {0};
	g_autoptr(GError) error = NULL;

	scripted_scheduler_set_watts(fixture->scheduler, 61);
	fixture_quiet(fixture, 3 * SCRIPTED_INTERVAL_S);
	g_assert_true(remote_fleet_baseline(fixture->fleet, 0.6, &baseline, &error));
	g_assert_cmpint(baseline.count, ==, 1);
	g_assert_cmpfloat_with_epsilon(baseline.sum_w, 61, 0.01);
	remote_baseline_clear(&baseline);
}

static void a_baseline_without_samples_is_an_error(struct fixture *fixture, gconstpointer data)
{
	struct remote_baseline baseline = {0};
	g_autoptr(GError) error = NULL;

	scripted_scheduler_set_metering(fixture->scheduler, false);
	fixture_quiet(fixture, 5 * SCRIPTED_INTERVAL_S);
	g_assert_false(remote_fleet_baseline(fixture->fleet, 0.5, &baseline, &error));
	g_assert_error(error, REMOTE_ERROR, REMOTE_ERROR_METER);
	scripted_scheduler_set_metering(fixture->scheduler, true);
}

static gboolean meter_on(gpointer scheduler)
{
	scripted_scheduler_set_metering(scheduler, true);
	return G_SOURCE_REMOVE;
}

/* The meter gives its first sample when three times the asked duration is over. */
static void a_baseline_waits_for_a_slow_meter(struct fixture *fixture, gconstpointer data)
{
	struct remote_baseline baseline = {0};
	g_autoptr(GError) error = NULL;

	scripted_scheduler_set_watts(fixture->scheduler, 61);
	scripted_scheduler_set_metering(fixture->scheduler, false);
	fixture_quiet(fixture, 5 * SCRIPTED_INTERVAL_S);
	g_timeout_add((guint)(15 * SCRIPTED_INTERVAL_S * 1000), meter_on, fixture->scheduler);
	g_assert_true(
		remote_fleet_baseline(fixture->fleet, 5 * SCRIPTED_INTERVAL_S, &baseline, &error));
	g_assert_no_error(error);
	g_assert_cmpfloat_with_epsilon(baseline.sum_w, 61, 0.01);
	remote_baseline_clear(&baseline);
}

/* A controller that was killed: its successor asks again, and nothing is run twice. */
static void tasks_are_adopted(struct fixture *fixture, gconstpointer data)
{
	const uint32_t nodes[] = {0, 1, 2};
	struct backend_event event;
	bool ended[3] = {0};

	fixture_start(fixture, 0, 1, 0);
	fixture_start(fixture, 1, 1, 1);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-1-1", "completed", false);
	/* Not destroyed in order, which would kill the tasks: another listener takes its place. */
	struct backend *before = fixture->backend;

	fixture_open(fixture, 1);
	for (uint32_t i = 0; i < 3; i++) { /* the third was never asked for before */
		const struct sched_allocation one = {
			.task = &(struct sched_task){.id = i},
			.nodes = &nodes[i],
			.nodes_count = 1,
		};

		remote_backend_adopt(fixture->backend, &one, 1, &(struct remote_past){0});
	}
	event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.task, ==, 1);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	while (scripted_scheduler_starts(fixture->scheduler) < 3)
		g_main_context_iteration(NULL, TRUE);
	for (uint32_t i = 0; i < 3; i++)
		backend_kill(fixture->backend, i, 1);
	ended[1] = true;
	while (!ended[0] || !ended[2])
		ended[fixture_next_of(fixture, BACKEND_EVENT_ENDED).task] = true;
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 3);
	fixture_bury(fixture, before);
}

static gboolean stop(gpointer data)
{
	remote_fleet_stop(data, "enough");
	return G_SOURCE_REMOVE;
}

static void a_stop_aborts_the_run(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	struct backend_event event;

	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	g_timeout_add(100, stop, fixture->fleet);
	event = fixture_next(fixture);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ABORTED);
	g_assert_cmpstr(event.reason, ==, "enough");
	g_assert_false(remote_fleet_wait_ready(fixture->fleet, FIXTURE_SOON_S, &error));
	g_assert_error(error, REMOTE_ERROR, REMOTE_ERROR_STOPPED);
}

static void the_end_of_a_run_kills_what_runs(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	backend_destroy(fixture->backend);
	g_assert_false(scripted_scheduler_runs(fixture->scheduler, "test-1-0-1"));
	fixture_open(fixture, 2);
}

static void it_is_not_ready_while_spares_boot(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_set_spares_booting(fixture->scheduler, 2);
	g_assert_true(remote_fleet_wait_ready(fixture->fleet, FIXTURE_SOON_S, NULL));
	g_assert_cmpuint(scripted_scheduler_spares_booting(fixture->scheduler), ==, 0);
}

/*
 * Eight asks, half a second apart, and one more at each: more than it waits where nothing gets
 * ready.
 */
static void it_waits_while_more_gets_ready(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	scripted_scheduler_set_spares_booting(fixture->scheduler, 8);
	g_assert_true(remote_fleet_wait_ready(fixture->fleet, 2, &error));
	g_assert_no_error(error);
}

static void it_gives_up_when_nothing_more_gets_ready(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	scripted_scheduler_set_node(fixture->scheduler, 1, false);
	g_assert_false(remote_fleet_wait_ready(fixture->fleet, 2, &error));
	g_assert_error(error, REMOTE_ERROR, REMOTE_ERROR_NOT_READY);
	g_assert_nonnull(
		strstr(error->message, "no further node got ready for 2 s: node 1 of cluster"));
}

/* A cluster's nodes may all be ready before its scheduler is asked about itself again. */
static void it_is_not_ready_before_all_was_said(struct fixture *fixture, gconstpointer data)
{
	const char *addresses[] = {fixture->address};
	g_autoptr(GError) error = NULL;
	struct remote_fleet *fleet;

	scripted_scheduler_set_unsaid(fixture->scheduler, 2);
	fleet = remote_fleet_new(&platform_machine, &fixture_config, addresses, &error);
	g_assert_no_error(error);
	g_assert_true(remote_fleet_wait_ready(fleet, FIXTURE_SOON_S, &error));
	g_assert_true(json_is_true(
		json_object_get(remote_link_capabilities(remote_fleet_link(fleet, 0)), "ready")));
	g_assert_cmpfloat(remote_fleet_boot_timeout_s(fleet), ==, 150);
	remote_fleet_free(fleet);
}

/* Both were asked to be killed; one was over by then, which is told only afterwards. */
static void settling_tells_what_was_over_before_the_kill(struct fixture *fixture,
							 gconstpointer data)
{
	enum backend_outcome outcomes[2] = {BACKEND_OUTCOME_NONE, BACKEND_OUTCOME_NONE};
	double end_s;

	fixture_start(fixture, 0, 1, 0);
	fixture_start(fixture, 1, 1, 1);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	scripted_scheduler_hold_end(fixture->scheduler, "test-1-0-1");
	end_s = backend_now_s(fixture->backend);
	backend_kill(fixture->backend, 0, 1);
	backend_kill(fixture->backend, 1, 1);
	remote_backend_settle(fixture->backend);
	g_assert_false(scripted_scheduler_runs(fixture->scheduler, "test-1-1-1"));
	for (int i = 0; i < 2; i++) {
		struct backend_event event;

		remote_backend_wait(fixture->backend, end_s, &event);
		g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
		outcomes[event.task] = event.outcome;
		g_assert_true((event.time_s <= end_s) == (event.task == 0));
	}
	g_assert_cmpint(outcomes[0], ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpint(outcomes[1], ==, BACKEND_OUTCOME_KILLED);
}

/* Sends a PUT of a task that belongs to no attempt; `done` gets `heard`. */
static void put(struct fixture *fixture, const char *id, remote_link_done_f done, bool *heard)
{
	g_autofree char *path = g_strconcat("/v1/tasks/", id, NULL);
	g_autoptr(json_t) body = json_pack("{s:[i]}", "nodes", 0);

	remote_link_send(remote_fleet_link(fixture->fleet, 0), "PUT", path, body, done, heard);
}

static void hear(int status, json_t *body, const GError *error, void *data)
{
	*(bool *)data = true;
}

/* Its PUT is answered with 503 until after it was forgotten: it must not run then. */
static void a_forgotten_start_does_not_run_later(struct fixture *fixture, gconstpointer data)
{
	bool heard = false;

	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_BUSY);
	put(fixture, "orphan", hear, &heard);
	fixture_quiet(fixture, 0.3);
	remote_link_forget(remote_fleet_link(fixture->fleet, 0), &heard);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
	while (scripted_scheduler_deletes(fixture->scheduler) == 0)
		g_main_context_iteration(NULL, TRUE);
	g_assert_false(scripted_scheduler_runs(fixture->scheduler, "orphan"));
	g_assert_false(heard);
}

/* Its PUT is on its way when it is forgotten: it starts and is ended. */
static void a_forgotten_start_that_arrives_is_ended(struct fixture *fixture, gconstpointer data)
{
	bool heard = false;

	put(fixture, "orphan", hear, &heard);
	remote_link_forget(remote_fleet_link(fixture->fleet, 0), &heard);
	while (scripted_scheduler_deletes(fixture->scheduler) == 0)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 1);
	g_assert_false(scripted_scheduler_runs(fixture->scheduler, "orphan"));
	g_assert_false(heard);
}

/*
 * More than can be under way at a time, asked for `heard`; none is answered before the main loop
 * runs.
 */
#define MANY 40

static void put_many(struct fixture *fixture, bool heard[MANY])
{
	for (int i = 0; i < MANY; i++) {
		g_autofree char *id = g_strdup_printf("many-%d", i);

		heard[i] = false;
		put(fixture, id, hear, &heard[i]);
	}
}

static void many_starts_take_turns(struct fixture *fixture, gconstpointer data)
{
	bool heard[MANY];

	put_many(fixture, heard);
	for (int i = 0; i < MANY; i++)
		while (!heard[i])
			g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, MANY);
}

static void what_is_held_back_waits(struct fixture *fixture, gconstpointer data)
{
	bool heard[MANY];

	remote_backend_hold(fixture->backend);
	put_many(fixture, heard);
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 0);
	remote_backend_flush(fixture->backend);
	for (int i = 0; i < MANY; i++)
		while (!heard[i])
			g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, MANY);
}

/* Nor does what is held back hold it, and it takes no turn from what waits. */
static void who_polls_waits_for_nobody(struct fixture *fixture, gconstpointer data)
{
	struct remote_link *link = remote_fleet_link(fixture->fleet, 0);
	bool heard[MANY];

	remote_backend_hold(fixture->backend);
	put_many(fixture, heard);
	for (int i = 0; i < MANY; i++) {
		bool answered = false;

		remote_link_poll(link, "/v1/tasks/nobody", hear, &answered);
		while (!answered)
			g_main_context_iteration(NULL, TRUE);
	}
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 0);
	remote_backend_flush(fixture->backend);
	for (int i = 0; i < MANY; i++)
		while (!heard[i])
			g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, MANY);
}

static void one_that_waits_for_its_turn_is_forgotten(struct fixture *fixture, gconstpointer data)
{
	const struct scripted_scheduler *scheduler = fixture->scheduler;
	bool heard[MANY];
	bool last = false;

	put_many(fixture, heard);
	for (int i = 0; i < MANY; i++)
		remote_link_forget(remote_fleet_link(fixture->fleet, 0), &heard[i]);
	put(fixture, "last", hear, &last);
	/* Those that were on their way arrive, and are ended. */
	while (!last ||
	       scripted_scheduler_deletes(scheduler) + 1 < scripted_scheduler_starts(scheduler))
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(scripted_scheduler_starts(scheduler), <, MANY / 2);
	g_assert_true(scripted_scheduler_runs(scheduler, "last"));
	for (int i = 0; i < MANY; i++) {
		g_autofree char *id = g_strdup_printf("many-%d", i);

		g_assert_false(scripted_scheduler_runs(scheduler, id));
		g_assert_false(heard[i]);
	}
}

/*
 * A queued request fails as soon as the others when the peer is away, and is not sent any more.
 */
static void silence_has_no_turns(struct fixture *fixture, gconstpointer data)
{
	bool heard[MANY];
	gint64 first_us = 0;

	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_SILENT);
	put_many(fixture, heard);
	for (int i = 0; i < MANY; i++) {
		while (!heard[i])
			g_main_context_iteration(NULL, TRUE);
		first_us = first_us ?: g_get_monotonic_time();
	}
	/* Not one time-out of a request for every four. */
	g_assert_cmpint(g_get_monotonic_time() - first_us, <, 20 * G_USEC_PER_SEC);
	g_assert_cmpint(scripted_scheduler_task_requests(fixture->scheduler), <=, 12);
}

/* The others of its questions are answered: it is there, and not asked more at a time. */
static void one_time_out_is_no_silence(struct fixture *fixture, gconstpointer data)
{
	bool heard[MANY];

	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_SILENT);
	put_many(fixture, heard);
	for (int i = 0; i < 5; i++) /* the first four, and a fifth that had to wait for them */
		while (!heard[i])
			g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(scripted_scheduler_task_requests(fixture->scheduler), <=, 12);
	g_assert_false(remote_link_away(remote_fleet_link(fixture->fleet, 0)));
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	for (int i = 5; i < MANY; i++)
		while (!heard[i])
			g_main_context_iteration(NULL, TRUE);
}

static void waiting_ends_at_its_time(struct fixture *fixture, gconstpointer data)
{
	double from_s = backend_now_s(fixture->backend);

	fixture_quiet(fixture, 0.25);
	g_assert_cmpfloat(backend_now_s(fixture->backend) - from_s, >=, 0.249);
	g_assert_cmpfloat(backend_now_s(fixture->backend) - from_s, <, 2);
}

static void leftovers_are_killed(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	remote_fleet_kill_all(fixture->fleet);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_KILLED);
}

static bool all_run(struct fixture *fixture, const char *const *ids)
{
	for (; *ids; ids++)
		if (!scripted_scheduler_runs(fixture->scheduler, *ids))
			return false;
	return true;
}

/* No answer makes sense for longer than is borne, and then all do again. */
static void go_away(struct fixture *fixture)
{
	g_string_truncate(fixture->notes, 0);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_RUBBISH);
	scripted_scheduler_restart(fixture->scheduler, true);
	while (!strstr(fixture->notes->str, "scheduler-away"))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_mood(fixture->scheduler, SCRIPTED_FINE);
	scripted_scheduler_restart(fixture->scheduler, true);
}

/*
 * When it has said that the attempt is ended it is not asked for that again, whenever it comes
 * back.
 */
static void what_was_given_up_is_ended_once(struct fixture *fixture, gconstpointer data)
{
	fixture_start(fixture, 0, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	go_away(fixture);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_LOST);
	while (scripted_scheduler_runs(fixture->scheduler, "test-1-0-1"))
		g_main_context_iteration(NULL, TRUE);
	go_away(fixture);
	while (!strstr(fixture->notes->str, "scheduler-back "))
		g_main_context_iteration(NULL, TRUE);
	fixture_start(fixture, 1, 1, 0); /* what else it is asked for was asked before */
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	g_assert_cmpint(scripted_scheduler_deletes(fixture->scheduler), ==, 1);
}

/*
 * Of what runs there, only what is of this run and was not taken up is killed: now, and when it was
 * away.
 */
static void strangers_are_killed(struct fixture *fixture, gconstpointer data)
{
	static const char *const others[] = {"test-1-7-1", "test-2-0-1",  "test-1-2-0-1",
					     "best-1-0-1", "test-1-0-1-", NULL};
	const uint32_t node = 0;
	const struct sched_allocation known = {.task = &(struct sched_task){.id = 7},
					       .nodes = &node,
					       .nodes_count = 1};
	static bool heard;

	put(fixture, "test-1-0-1", hear, &heard);
	for (const char *const *id = others + 1; *id; id++)
		put(fixture, *id, hear, &heard);
	remote_backend_adopt(fixture->backend, &known, 1, &(struct remote_past){0});
	while (!all_run(fixture, others) ||
	       !scripted_scheduler_runs(fixture->scheduler, "test-1-0-1"))
		g_main_context_iteration(NULL, TRUE);
	remote_backend_kill_orphans(fixture->backend);
	while (scripted_scheduler_runs(fixture->scheduler, "test-1-0-1"))
		g_main_context_iteration(NULL, TRUE);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	fixture_quiet(fixture, 0.3);
	g_assert_true(all_run(fixture, others));
	g_assert_nonnull(strstr(fixture->notes->str, "tasks-unknown "));
	put(fixture, "test-1-3-2", hear, &heard);
	while (!scripted_scheduler_runs(fixture->scheduler, "test-1-3-2"))
		g_main_context_iteration(NULL, TRUE);
	go_away(fixture);
	while (scripted_scheduler_runs(fixture->scheduler, "test-1-3-2"))
		g_main_context_iteration(NULL, TRUE);
	g_assert_true(all_run(fixture, others + 1));
}

static void run_task(struct fixture *fixture, uint32_t task)
{
	g_autofree char *id = g_strdup_printf("test-1-%u-1", task);

	fixture_start(fixture, task, 1, 0);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
	remote_backend_wait_asked(fixture->backend, FIXTURE_SOON_S);
	scripted_scheduler_end_task(fixture->scheduler, id, "completed", false);
	fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_true(remote_backend_is_drained(fixture->backend));
}

/*
 * What was read when it was noted is said to be on record once it is; nothing to one without
 * memory.
 */
static void what_is_on_record_is_said(struct fixture *fixture, gconstpointer data)
{
	struct remote_link *link = remote_fleet_link(fixture->fleet, 0);

	run_task(fixture, 0);
	remote_link_note_read(link);
	run_task(fixture, 1);
	remote_link_note_read(link);
	g_assert_cmpint(scripted_scheduler_taken(fixture->scheduler), ==, -1);
	remote_link_acknowledge(link);
	run_task(fixture, 2);
	while (scripted_scheduler_taken(fixture->scheduler) < 0)
		g_main_context_iteration(NULL, TRUE);
	/* The start and the end of task 0. */
	g_assert_cmpint(scripted_scheduler_taken(fixture->scheduler), ==, 2);
	scripted_scheduler_restart(fixture->scheduler, false);
	while (scripted_scheduler_taken(fixture->scheduler) >= 0)
		g_main_context_iteration(NULL, TRUE);
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-reset"));
}

static void until_noted(struct fixture *fixture, const char *kind)
{
	scripted_scheduler_tell(fixture->scheduler, kind);
	while (!strstr(fixture->notes->str, kind))
		g_main_context_iteration(NULL, TRUE);
}

/* A wait for ready nodes does not report their earlier states. */
static void a_refresh_takes_no_older_answer(struct fixture *fixture, gconstpointer data)
{
	struct remote_link *link = remote_fleet_link(fixture->fleet, 0);

	scripted_scheduler_hold_nodes(fixture->scheduler);
	remote_link_refresh(link);
	while (!scripted_scheduler_holds_nodes(fixture->scheduler))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_node(fixture->scheduler, 0, false);
	remote_link_refresh(link);
	scripted_scheduler_let_nodes_go(fixture->scheduler);
	while (!remote_link_node(link, 0)->state)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpstr(remote_link_node(link, 0)->state, ==, "down");
	remote_link_unwait(link);
}

/*
 * Events from before it was there are those of tasks that it asks about: it has them when that is
 * answered.
 */
static void what_was_only_asked_about_is_not_said_before(struct fixture *fixture,
							 gconstpointer data)
{
	const uint32_t node = 0;
	const struct sched_allocation one = {.task = &(struct sched_task){0},
					     .nodes = &node,
					     .nodes_count = 1};
	const struct remote_past past = {0};
	struct remote_link *link;

	run_task(fixture, 0);
	fixture_reconnect(fixture);
	link = remote_fleet_link(fixture->fleet, 0);
	remote_link_set_patience(link, FIXTURE_SOON_S);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_SILENT);
	while (!scripted_scheduler_is_waited_for(fixture->scheduler))
		g_main_context_iteration(NULL, TRUE);
	remote_backend_adopt(fixture->backend, &one, 1, &past);
	for (int i = 0; i < 3; i++)
		remote_link_note_read(link);
	remote_link_acknowledge(link);
	until_noted(fixture, "first");
	until_noted(fixture, "second"); /* with a question of its own, after that */
	g_assert_cmpint(scripted_scheduler_taken(fixture->scheduler), ==, -1);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	scripted_scheduler_restart(fixture->scheduler, true); /* drops what it was asked */
	fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	remote_link_note_read(link);
	remote_link_acknowledge(link);
	scripted_scheduler_tell(fixture->scheduler, "third");
	while (scripted_scheduler_taken(fixture->scheduler) < 0)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(scripted_scheduler_taken(fixture->scheduler), ==, 2);
}

static void until_killed(struct fixture *fixture, const char *id)
{
	while (scripted_scheduler_runs(fixture->scheduler, id))
		g_main_context_iteration(NULL, TRUE);
}

/*
 * Of tasks alone it answers so when task 0, which runs there for an earlier controller, is adopted
 * and asked about.
 */
static struct remote_link *adopt_unclear(struct fixture *fixture, enum scripted_mood mood)
{
	const uint32_t node = 0;
	const struct sched_allocation one = {.task = &(struct sched_task){0},
					     .nodes = &node,
					     .nodes_count = 1};
	static bool heard;

	put(fixture, "test-1-0-1", hear, &heard);
	while (!scripted_scheduler_runs(fixture->scheduler, "test-1-0-1"))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_task_mood(fixture->scheduler, mood);
	remote_backend_adopt(fixture->backend, &one, 1, &(struct remote_past){.migrated = 1});
	return remote_fleet_link(fixture->fleet, 0);
}

/* It is lost, as where its local scheduler is away, and killed as soon as that can be asked for. */
static void lose_unclear(struct fixture *fixture, enum scripted_mood mood)
{
	struct remote_link *link = adopt_unclear(fixture, mood);
	struct backend_event event = fixture_next_of(fixture, BACKEND_EVENT_ENDED);

	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_LOST);
	g_assert_nonnull(strstr(event.reason, "does not report its state"));
	g_assert_nonnull(strstr(fixture->notes->str, "task-unclear "));
	g_assert_false(remote_link_away(link));
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	until_killed(fixture, "test-1-0-1");
}

static void a_task_that_is_told_of_with_errors_alone_is_lost(struct fixture *fixture,
							     gconstpointer data)
{
	lose_unclear(fixture, SCRIPTED_BROKEN);
}

static void a_task_that_rubbish_is_told_of_is_lost(struct fixture *fixture, gconstpointer data)
{
	lose_unclear(fixture, SCRIPTED_RUBBISH);
}

static void errors_for_a_moment_lose_nothing(struct fixture *fixture, gconstpointer data)
{
	adopt_unclear(fixture, SCRIPTED_BROKEN);
	while (!strstr(fixture->notes->str, "task-unclear "))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	scripted_scheduler_end_task(fixture->scheduler, "test-1-0-1", "completed", false);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_COMPLETED);
}

/*
 * The local scheduler answers other requests, so it is not away. A request about a task that it does
 * not answer does not hold up the acknowledgement of recorded events.
 */
static void a_question_that_is_never_answered_holds_nothing_up(struct fixture *fixture,
							       gconstpointer data)
{
	struct remote_link *link = adopt_unclear(fixture, SCRIPTED_SILENT);

	until_noted(fixture, "begin");
	remote_link_note_read(link);
	remote_link_note_read(link);
	remote_link_acknowledge(link);
	until_noted(fixture, "first");
	until_noted(fixture, "second");
	g_assert_cmpint(scripted_scheduler_taken(fixture->scheduler), ==, -1);
	g_assert_cmpint(fixture_next_of(fixture, BACKEND_EVENT_ENDED).outcome, ==,
			BACKEND_OUTCOME_LOST);
	remote_link_note_read(link);
	remote_link_acknowledge(link);
	scripted_scheduler_tell(fixture->scheduler, "third");
	while (scripted_scheduler_taken(fixture->scheduler) < 0)
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	until_killed(fixture, "test-1-0-1");
}

/*
 * It has not got what it does not start now, and may forget what is on record: its disk is full,
 * perhaps.
 */
static void a_start_that_is_not_now_holds_nothing_up(struct fixture *fixture, gconstpointer data)
{
	struct remote_link *link = remote_fleet_link(fixture->fleet, 0);

	run_task(fixture, 0);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_BUSY);
	fixture_start(fixture, 1, 1, 0);
	while (!strstr(fixture->notes->str, "scheduler-busy "))
		g_main_context_iteration(NULL, TRUE);
	for (int i = 0; i < 2; i++)
		remote_link_note_read(link);
	remote_link_acknowledge(link);
	until_noted(fixture, "first");
	until_noted(fixture, "second");
	g_assert_cmpint(scripted_scheduler_taken(fixture->scheduler), ==, 2);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	fixture_next_of(fixture, BACKEND_EVENT_STARTED);
}

/* A cancellation returns before it can be carried out. */
static void a_start_that_is_not_now_can_be_cancelled(struct fixture *fixture, gconstpointer data)
{
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_BUSY);
	fixture_start(fixture, 0, 1, 0);
	while (!strstr(fixture->notes->str, "scheduler-busy "))
		g_main_context_iteration(NULL, TRUE);
	backend_kill(fixture->backend, 0, 1);
	fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	fixture_quiet(fixture, 1.2); /* it would be asked for again */
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 0);
}

/* So does a cancellation while the start is under way. */
static void a_start_on_its_way_that_is_not_now_can_be_cancelled(struct fixture *fixture,
								gconstpointer data)
{
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_BUSY);
	fixture_start(fixture, 0, 1, 0);
	backend_kill(fixture->backend, 0, 1);
	fixture_next_of(fixture, BACKEND_EVENT_ENDED);
	g_assert_nonnull(strstr(fixture->notes->str, "scheduler-busy "));
	g_assert_cmpint(scripted_scheduler_starts(fixture->scheduler), ==, 0);
}

static void strangers_are_looked_for_again(struct fixture *fixture, gconstpointer data)
{
	static bool heard;

	put(fixture, "test-1-0-1", hear, &heard);
	while (!scripted_scheduler_runs(fixture->scheduler, "test-1-0-1"))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_RUBBISH);
	remote_backend_kill_orphans(fixture->backend);
	while (!strstr(fixture->notes->str, "tasks-unlisted "))
		g_main_context_iteration(NULL, TRUE);
	scripted_scheduler_set_task_mood(fixture->scheduler, SCRIPTED_FINE);
	until_killed(fixture, "test-1-0-1");
}

static const struct {
	const char *path;
	void (*test)(struct fixture *fixture, gconstpointer data);
} tests[] = {
	{"/remote/start-and-end", a_task_starts_and_ends},
	{"/remote/end-cause", an_end_tells_its_cause_and_progress},
	{"/remote/enqueued-start", an_enqueued_task_can_start_without_its_turn},
	{"/remote/duplicate", a_duplicate_is_told_once},
	{"/remote/kill", a_kill_ends_a_task},
	{"/remote/kill-at-once", a_kill_at_once_ends_a_task_too},
	{"/remote/conflict", a_node_that_is_not_free_yet_is_asked_again},
	{"/remote/conflict-stays", a_node_that_stays_taken_loses_the_task},
	{"/remote/not-now", not_now_is_tried_again},
	{"/remote/restart", a_restart_goes_unnoticed},
	{"/remote/end-during-restart", an_end_during_a_restart_is_not_missed},
	{"/remote/no-memory", a_scheduler_without_memory_loses_its_tasks},
	{"/remote/silence", silence_loses_tasks_and_nodes},
	{"/remote/rubbish", rubbish_is_recorded_and_loses_the_task},
	{"/remote/impossible-numbers", an_end_with_impossible_numbers_is_one},
	{"/remote/unreadable-end", an_unreadable_end_is_asked_for},
	{"/remote/nodes", nodes_go_and_come},
	{"/remote/limit", the_limit_is_reported_once_at_its_time},
	{"/remote/meter-silent", a_meter_that_falls_silent_is_held},
	{"/remote/samples/future", samples_in_the_future_are_passed_over},
	{"/remote/usage", usage_that_makes_no_sense_is_passed_over},
	{"/remote/usage/caught-up", usage_is_caught_up_with},
	{"/remote/usage/answers-again", usage_is_asked_for_when_it_answers_again},
	{"/remote/baseline", a_baseline_is_measured},
	{"/remote/baseline-slow-meter", a_baseline_waits_for_a_slow_meter},
	{"/remote/baseline-no-samples", a_baseline_without_samples_is_an_error},
	{"/remote/adopt", tasks_are_adopted},
	{"/remote/stop", a_stop_aborts_the_run},
	{"/remote/end-kills", the_end_of_a_run_kills_what_runs},
	{"/remote/spares", it_is_not_ready_while_spares_boot},
	{"/remote/more and more", it_waits_while_more_gets_ready},
	{"/remote/no more", it_gives_up_when_nothing_more_gets_ready},
	{"/remote/all said", it_is_not_ready_before_all_was_said},
	{"/remote/settle", settling_tells_what_was_over_before_the_kill},
	{"/remote/forgotten", a_forgotten_start_does_not_run_later},
	{"/remote/forgotten-on-its-way", a_forgotten_start_that_arrives_is_ended},
	{"/remote/turns", many_starts_take_turns},
	{"/remote/turns-held", what_is_held_back_waits},
	{"/remote/turns-polls", who_polls_waits_for_nobody},
	{"/remote/turns-forgotten", one_that_waits_for_its_turn_is_forgotten},
	{"/remote/turns-silence", silence_has_no_turns},
	{"/remote/turns-time-out", one_time_out_is_no_silence},
	{"/remote/wait", waiting_ends_at_its_time},
	{"/remote/leftovers", leftovers_are_killed},
	{"/remote/given-up-once", what_was_given_up_is_ended_once},
	{"/remote/strangers", strangers_are_killed},
	{"/remote/refresh", a_refresh_takes_no_older_answer},
	{"/remote/taken", what_is_on_record_is_said},
	{"/remote/taken-asked", what_was_only_asked_about_is_not_said_before},
	{"/remote/unclear", a_task_that_is_told_of_with_errors_alone_is_lost},
	{"/remote/unclear-rubbish", a_task_that_rubbish_is_told_of_is_lost},
	{"/remote/unclear-for-a-moment", errors_for_a_moment_lose_nothing},
	{"/remote/taken-unanswered", a_question_that_is_never_answered_holds_nothing_up},
	{"/remote/taken-not-now", a_start_that_is_not_now_holds_nothing_up},
	{"/remote/not-now-cancelled", a_start_that_is_not_now_can_be_cancelled},
	{"/remote/not-now-cancelled-on-its-way",
	 a_start_on_its_way_that_is_not_now_can_be_cancelled},
	{"/remote/strangers-again", strangers_are_looked_for_again},
};

/* A fleet of one link to a local scheduler that is wrong from the start, before any run. */
struct wrong_start {
	const char *name;
	const char *cluster; /* that it serves */
	enum scripted_mood mood;
	const char *says; /* part of what is told */
};

static const struct wrong_start wrong_starts[] = {
	{"rubbish", "c1", SCRIPTED_RUBBISH, "sends malformed answers: "},
	{"redirection", "c1", SCRIPTED_ELSEWHERE, "sends malformed answers: "},
	{"another-cluster", "c9", SCRIPTED_FINE, "it serves cluster 'c9', not 'c1'"},
};

struct telling {
	struct remote_fleet *fleet;
	const char *says;
};

static bool is_told(void *data)
{
	const struct telling *telling = data;
	g_autofree char *missing = remote_fleet_missing(telling->fleet);

	return missing && strstr(missing, telling->says);
}

static void what_is_wrong_from_the_start_is_told(gconstpointer data)
{
	const struct wrong_start *wrong = data;
	g_autofree char *dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	g_autofree char *address = g_strdup_printf("unix:%s/ls.sock", dir);
	const char *const addresses[] = {address, NULL};
	struct scripted_scheduler *scheduler =
		scripted_scheduler_new(address, wrong->cluster, fixture_config.clusters[0].nodes);
	struct telling telling = {.says = wrong->says};
	g_autoptr(GError) error = NULL;

	scripted_scheduler_set_mood(scheduler, wrong->mood);
	telling.fleet = remote_fleet_new(&platform_machine, &fixture_config, addresses, &error);
	g_assert_no_error(error);
	g_assert_true(remote_fleet_until(telling.fleet, is_told, &telling, FIXTURE_SOON_S, true));
	g_assert_false(remote_fleet_wait_known(telling.fleet, 0.1, &error));
	g_assert_error(error, REMOTE_ERROR, REMOTE_ERROR_NOT_READY);
	g_assert_nonnull(strstr(error->message, wrong->says));
	remote_fleet_free(telling.fleet);
	scripted_scheduler_free(scheduler);
	g_assert_cmpint(g_rmdir(dir), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct fixture, NULL, fixture_set_up, tests[i].test,
			   fixture_tear_down);
	for (gsize i = 0; i < G_N_ELEMENTS(wrong_starts); i++) {
		g_autofree char *path =
			g_strdup_printf("/remote/what-is-wrong-from-the-start-is-told/%s",
					wrong_starts[i].name);

		g_test_add_data_func(path, &wrong_starts[i], what_is_wrong_from_the_start_is_told);
	}
	return g_test_run();
}
