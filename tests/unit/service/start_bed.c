/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/service/start_bed.h"

#include <math.h>
#include <sqlite3.h>

#include "common/http_client.h"
#include "common/json.h"
#include "controller/service/run_service.h"
#include "controller/session/run_session_private.h"
#include "controller/session/view.h"

static const char config_text[] =
	"name: start\n"
	"clusters:\n"
	"  - {name: s1, nodes: 1, cores: 1, memory_mib: 128, simulated: {idle_w: 60, seed: 1}}\n"
	"types:\n"
	"  - {name: SHORT, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}\n"
	"estimates:\n"
	"  - {type: SHORT, cluster: s1, etc_s: 5, eec_j: 150}\n"
	"workload: {arrival_mean_s: 2, duration_s: 60, seed: 1, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], budget_j: 100000, duration_s: 60,\n"
	"             mapping_interval_s: 1, baseline_s: 1, task_deadline_s: 60}\n"
	"service: {policy: easy}\n";

#define LOOK_MS 500
#define RECORD_S 3

static void end_life(struct start_bed *bed)
{
	bed->over = true;
	if (bed->disk)
		virtual_disk_kill(bed->disk); /* the test says what of it is lost */
	run_session_stop(bed->session, "the test has seen enough");
}

static void on_task(int status, json_t *body, const GError *error, void *data)
{
	struct start_bed *bed = data;

	bed->asked = false;
	if (bed->over || error ||
	    g_strcmp0(json_string_value(json_object_get(body, "state")), "completed") != 0)
		return;
	bed->completed_s = virtual_platform_s(bed->virtual);
}

static void on_submitted(int status, json_t *body, const GError *error, void *data)
{
	struct start_bed *bed = data;

	bed->asked = false;
	if (bed->over || error)
		return;
	bed->submitted = *bed->acknowledged = true;
	if (!bed->completes)
		end_life(bed);
}

/* The user submits the task, by the same key until that is acknowledged, and then asks about it. */
static gboolean look(gpointer data)
{
	struct start_bed *bed = data;
	g_autoptr(json_t) body = json_pack("{s:s, s:s}", "type", "SHORT", "key", "start");

	if (bed->over)
		return G_SOURCE_CONTINUE;
	/* The end of a task is on record within a second. */
	if (virtual_platform_s(bed->virtual) > fmin(START_LIFE_S, bed->completed_s + RECORD_S))
		end_life(bed);
	if (bed->over || bed->asked || !view_service(bed->session))
		return G_SOURCE_CONTINUE;
	bed->asked = true;
	if (bed->submitted)
		http_client_request(bed->user, "GET", "/v1/tasks/0", NULL, 5, on_task, bed);
	else
		http_client_request(bed->user, "POST", "/v1/tasks", body, 5, on_submitted, bed);
	return G_SOURCE_CONTINUE;
}

/* Returns whether the controller has worked until the test ended it. */
static bool serve(struct start_bed *bed, const struct platform *platform, bool continues)
{
	g_autoptr(GError) error = NULL;
	guint source;

	bed->session = run_session_open(platform, bed->daemons.dir, &error);
	if (!bed->session)
		return false;
	bed->session->go_on = continues;
	bed->status = status_api_new(bed->daemons.controller, bed->session, &error);
	g_assert_no_error(error); /* it keeps no file */
	bed->user = http_client_new(platform, bed->daemons.controller, NULL);
	source = platform_after_ms(platform, LOOK_MS, look, bed);
	g_assert_false(run_service_work(bed->session, &error));
	g_assert_nonnull(error);
	g_test_message("the controller has ended: %s", error->message);
	g_source_remove(source);
	http_client_free(bed->user);
	status_api_free(bed->status);
	run_session_close(bed->session);
	return bed->over;
}

static gboolean past(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

/* What libsoup still has of connections ends. */
static void pass(const struct platform *platform)
{
	bool over = false;

	platform_after_s(platform, 60, past, &over);
	while (!over)
		g_main_context_iteration(NULL, TRUE);
}

enum start_life start_bed_live(struct start_bed *bed, bool boots, bool completes)
{
	struct virtual_platform *former = bed->virtual;
	const struct platform *platform;
	g_autoptr(GError) error = NULL;
	bool lasted;

	bed->virtual = virtual_platform_new(1);
	if (former)
		virtual_platform_follow(bed->virtual, former, boots);
	virtual_platform_free(former);
	if (bed->disk)
		virtual_platform_use_disk(bed->virtual, bed->disk);
	platform = bed->daemons.platform = virtual_platform_of(bed->virtual);
	bed->completes = completes;
	bed->asked = bed->submitted = bed->over = false;
	bed->completed_s = INFINITY;
	lasted = daemons_try_local(&bed->daemons, &error) && serve(bed, platform, former && !boots);
	if (error)
		g_test_message("the local scheduler has not started: %s", error->message);
	if (bed->disk)
		virtual_disk_kill(bed->disk);
	daemons_end_local(&bed->daemons);
	pass(platform);
	if (!lasted)
		return START_REFUSED;
	return (completes ? isfinite(bed->completed_s) : bed->submitted) ? START_DONE : START_STUCK;
}

/* The number that a query of a database gives. */
static int count(const struct start_bed *bed, const char *file, const char *query)
{
	g_autofree char *path = g_build_filename(bed->daemons.dir, file, NULL);
	sqlite3 *db = NULL;
	sqlite3_stmt *rows = NULL;
	int number;

	g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE,
					bed->disk ? virtual_disk_vfs(bed->disk) : NULL),
			==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db, query, -1, &rows, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(rows), ==, SQLITE_ROW);
	number = sqlite3_column_int(rows, 0);
	sqlite3_finalize(rows);
	sqlite3_close(db);
	return number;
}

void start_bed_assert_once(struct start_bed *bed, bool crashed)
{
	int ends;

	if (bed->disk)
		virtual_platform_use_disk(bed->virtual, bed->disk);
	ends = count(bed, "s1/local.sqlite",
		     "SELECT count(*) FROM tasks "
		     "WHERE json_extract(record, '$.outcome') = 'completed'");
	g_assert_cmpint(count(bed, "run.sqlite", "SELECT count(*) FROM submission"), ==, 1);
	g_assert_cmpint(count(bed, "run.sqlite", "SELECT count(*) FROM task"), ==, 1);
	g_assert_cmpint(count(bed, "run.sqlite",
			      "SELECT count(*) FROM task WHERE state = 'completed'"),
			==, 1);
	g_assert_cmpint(ends, <=, 1);
	g_assert_true(ends == 1 || crashed);
}

void start_bed_begin(struct start_bed *bed, struct virtual_disk *disk, bool *acknowledged)
{
	*bed = (struct start_bed){.disk = disk, .acknowledged = acknowledged};
	*acknowledged = false;
	daemons_init(&bed->daemons, NULL, "start"); /* each life has a platform of its own */
	daemons_write(&bed->daemons, config_text);
}

void start_bed_finish(struct start_bed *bed)
{
	virtual_platform_free(bed->virtual);
	daemons_clear(&bed->daemons);
}
