/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/backend/fixture.h"

#include <glib/gstdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/platform.h"

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
const struct config fixture_config = {
	.name = (char *)"test",
	.clusters = &cluster,
	.clusters_count = 1,
	.types = &type,
	.types_count = 1,
	.experiment = &experiment,
};

static void note(double time_s, const char *kind, const char *text, void *data)
{
	struct fixture *fixture = data;

	g_test_message("%.3f %s: %s", time_s, kind, text);
	g_string_append_printf(fixture->notes, "%s ", kind);
}

static void sample(double time_s, const struct remote_meter *of, const struct wire_sample *one,
		   void *data)
{
	((struct fixture *)data)->samples++;
}

static void usage(uint32_t of, const char *stream, const GPtrArray *intervals, void *data)
{
	struct fixture *fixture = data;

	for (guint i = 0; i < intervals->len; i++) {
		const struct wire_usage *one = g_ptr_array_index(intervals, i);

		g_assert_cmpstr(one->host, ==, "b1");
		fixture->usage_seq = one->seq;
	}
	fixture->intervals += intervals->len;
}

void fixture_open(struct fixture *fixture, int64_t run)
{
	struct remote_run remote = {
		.experiment = "test",
		.run = run,
		.t0_ns = clock_now_ns(),
		.note = note,
		.sample = sample,
		.usage = usage,
		.data = fixture,
	};

	fixture->backend = remote_backend_new(fixture->fleet, &remote);
}

void fixture_set_up(struct fixture *fixture, gconstpointer data)
{
	fixture_set_up_with(fixture, &fixture_config);
}

static void connect_to(struct fixture *fixture, const struct config *config)
{
	const char *const addresses[] = {fixture->address, NULL};
	g_autoptr(GError) error = NULL;

	fixture->fleet = remote_fleet_new(&platform_machine, config, addresses, &error);
	g_assert_no_error(error);
	remote_link_set_patience(remote_fleet_link(fixture->fleet, 0), FIXTURE_PATIENCE_S);
	g_assert_true(remote_fleet_wait_ready(fixture->fleet, FIXTURE_SOON_S, &error));
	fixture_open(fixture, 1);
}

void fixture_set_up_with(struct fixture *fixture, const struct config *config)
{
	const struct config_cluster *of = &config->clusters[0];

	fixture->dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	fixture->address = g_strdup_printf("unix:%s/ls.sock", fixture->dir);
	fixture->notes = g_string_new(NULL);
	fixture->scheduler = scripted_scheduler_new(fixture->address, of->name, of->nodes);
	connect_to(fixture, config);
}

void fixture_reconnect(struct fixture *fixture)
{
	const struct config *config = remote_fleet_config(fixture->fleet);

	backend_destroy(fixture->backend);
	remote_fleet_free(fixture->fleet);
	/* drops the requests that it has not answered */
	scripted_scheduler_restart(fixture->scheduler, true);
	connect_to(fixture, config);
}

void fixture_tear_down(struct fixture *fixture, gconstpointer data)
{
	backend_destroy(fixture->backend);
	remote_fleet_free(fixture->fleet);
	scripted_scheduler_free(fixture->scheduler);
	g_rmdir(fixture->dir);
	g_string_free(fixture->notes, TRUE);
	g_free(fixture->address);
	g_free(fixture->dir);
}

void fixture_bury(struct fixture *fixture, struct backend *killed)
{
	scripted_scheduler_restart(fixture->scheduler, false);
	backend_destroy(killed);
}

void fixture_start(struct fixture *fixture, uint32_t task, uint32_t attempt, uint32_t node)
{
	const struct sched_allocation one = {
		.task = &(struct sched_task){.id = task},
		.nodes = &node,
		.nodes_count = 1,
	};

	backend_start(fixture->backend, &one, attempt);
}

struct backend_event fixture_next(struct fixture *fixture)
{
	struct backend *backend = fixture->backend;
	struct backend_event event;

	remote_backend_wait(backend, backend_now_s(backend) + FIXTURE_SOON_S, &event);
	g_assert_cmpint(event.kind, !=, BACKEND_EVENT_NONE);
	return event;
}

struct backend_event fixture_next_of(struct fixture *fixture, enum backend_event_kind kind)
{
	struct backend_event event = fixture_next(fixture);

	while (event.kind != kind)
		event = fixture_next(fixture);
	return event;
}

void fixture_quiet(struct fixture *fixture, double for_s)
{
	struct backend_event event;

	remote_backend_wait(fixture->backend, backend_now_s(fixture->backend) + for_s, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
}

void fixture_start_accounts(struct fixture *fixture, double idle_w)
{
	GPtrArray *meters = remote_fleet_meters(fixture->fleet);

	for (guint i = 0; i < meters->len; i++)
		remote_meter_start(g_ptr_array_index(meters, i), clock_now_ns(), idle_w);
}

void fixture_ended_long_ago(struct fixture *fixture)
{
	struct backend_event event = fixture_next(fixture);

	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_FAILED);
	g_assert_nonnull(strstr(event.reason, "ended long ago"));
	fixture_quiet(fixture, 0.3);
}
