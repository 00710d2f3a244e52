/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A controller's service and a local scheduler with a simulated cluster in one process and on one
 * thread, under virtual time and on a disk in memory: no socket, no sleep. A user submits a task by a request, and waits
 * until it has completed and its energy is known. What both daemons have on record then depends on
 * the seed alone.
 */
#include <sqlite3.h>
#include <string.h>

#include "common/http_client.h"
#include "common/json.h"
#include "controller/api/status_api.h"
#include "controller/service/run_service.h"
#include "controller/session/run_session_private.h"
#include "controller/session/view.h"
#include "tests/unit/service/daemons.h"
#include "tests/virtual/virtual_platform.h"

static const char config_text[] =
	"name: virtual\n"
	"clusters:\n"
	"  - {name: s1, nodes: 2, cores: 1, memory_mib: 128, simulated: {idle_w: 60, seed: 1}}\n"
	"types:\n"
	"  - {name: LONG, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}\n"
	"estimates:\n"
	"  - {type: LONG, cluster: s1, etc_s: 600, eec_j: 18000}\n"
	"workload: {arrival_mean_s: 2, duration_s: 60, seed: 1, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], budget_j: 100000, duration_s: 60,\n"
	"             mapping_interval_s: 0.2,\n"
	"             baseline_s: 1, task_deadline_s: 3600}\n"
	"service: {policy: easy}\n";

/* How often the user asks, and how long the task executes at least, in virtual time. */
enum { LOOK_MS = 1000, TASK_S = 500 };

struct bed {
	struct daemons daemons;
	struct virtual_disk *disk;
	struct virtual_platform *virtual;
	struct run_session *session;
	struct status_api *status;
	struct http_client *user;
	bool has_asked;
	bool stopped;
	bool crashes; /* the machine does, when the user has the answer to the submission */
	guint submits_after_s;
	bool again;         /* the service has been on this disk before */
	double energy_j;    /* of the task */
	double completed_s; /* of the clock */
};

static const struct platform *platform_of(const struct bed *bed)
{
	return virtual_platform_of(bed->virtual);
}

static void on_task(int status, json_t *body, const GError *error, void *data)
{
	struct bed *bed = data;
	const char *state = json_string_value(json_object_get(body, "state"));

	g_assert_no_error(error);
	if (g_strcmp0(state, "completed") != 0 || bed->stopped)
		return;
	if (!bed->completed_s)
		bed->completed_s = virtual_platform_s(bed->virtual);
	bed->energy_j = json_number_value(json_object_get(body, "energy_j"));
	if (!(bed->energy_j > 0) || json_is_true(json_object_get(body, "provisional")))
		return;
	bed->stopped = true;
	run_session_stop(bed->session, "the test has seen enough");
}

static void on_submitted(int status, json_t *body, const GError *error, void *data)
{
	struct bed *bed = data;

	g_assert_no_error(error);
	if (!bed->crashes)
		return;
	virtual_disk_crash(bed->disk);
	bed->stopped = true;
	run_session_stop(bed->session, "the machine has no power");
}

/* The user submits a task, and then asks about it. */
static gboolean look(gpointer data)
{
	struct bed *bed = data;
	g_autoptr(json_t) body = json_pack("{s:s}", "type", "LONG");

	if (bed->stopped || !view_service(bed->session) ||
	    virtual_platform_s(bed->virtual) < bed->submits_after_s)
		return G_SOURCE_CONTINUE;
	if (!bed->user)
		bed->user = http_client_new(platform_of(bed), bed->daemons.controller, NULL);
	if (!bed->has_asked)
		http_client_request(bed->user, "POST", "/v1/tasks", body, 5, on_submitted, bed);
	else
		http_client_request(bed->user, "GET", "/v1/tasks/0", NULL, 5, on_task, bed);
	bed->has_asked = true;
	return G_SOURCE_CONTINUE;
}

static void serve(struct bed *bed)
{
	g_autoptr(GError) error = NULL;
	guint source;

	bed->session = run_session_open(platform_of(bed), bed->daemons.dir, &error);
	g_assert_no_error(error);
	bed->session->go_on = bed->again;
	bed->status = status_api_new(bed->daemons.controller, bed->session, &error);
	g_assert_no_error(error);
	source = platform_after_ms(platform_of(bed), LOOK_MS, look, bed);
	g_assert_false(run_service_work(bed->session, &error));
	if (bed->crashes)
		g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	else
		g_assert_error(error, RUN_ERROR, RUN_ERROR_STOPPED);
	g_source_remove(source);
	g_clear_pointer(&bed->user, http_client_free);
	status_api_free(bed->status);
	run_session_close(bed->session);
}

static gboolean past(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

/* What libsoup still has of connections ends. */
static void pass(const struct bed *bed, guint s)
{
	bool over = false;

	platform_after_s(platform_of(bed), s, past, &over);
	while (!over)
		g_main_context_iteration(NULL, TRUE);
}

/* Adds a value; bytes that are no text as hexadecimal digits. */
static void add_value(GString *text, sqlite3_stmt *rows, int column)
{
	const guint8 *bytes = sqlite3_column_blob(rows, column);

	g_string_append_printf(text, " %s=", sqlite3_column_name(rows, column));
	if (sqlite3_column_type(rows, column) != SQLITE_BLOB)
		g_string_append(text, (const char *)sqlite3_column_text(rows, column) ?: "NULL");
	else
		for (int i = 0; i < sqlite3_column_bytes(rows, column); i++)
			g_string_append_printf(text, "%02x", bytes[i]);
}

/* Adds all rows of a database to a text, table by table. */
static void add_rows(GString *text, const struct virtual_disk *disk, const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *tables = NULL;

	g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, virtual_disk_vfs(disk)),
			==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db,
					   "SELECT name FROM sqlite_master WHERE type = 'table' "
					   "ORDER BY name",
					   -1, &tables, NULL),
			==, SQLITE_OK);
	while (sqlite3_step(tables) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(tables, 0);
		g_autofree char *query = g_strdup_printf("SELECT * FROM \"%s\"", name);
		sqlite3_stmt *rows = NULL;

		g_assert_cmpint(sqlite3_prepare_v2(db, query, -1, &rows, NULL), ==, SQLITE_OK);
		while (sqlite3_step(rows) == SQLITE_ROW) {
			g_string_append_printf(text, "%s:", name);
			for (int i = 0; i < sqlite3_column_count(rows); i++)
				add_value(text, rows, i);
			g_string_append_c(text, '\n');
		}
		sqlite3_finalize(rows);
	}
	sqlite3_finalize(tables);
	sqlite3_close(db);
}

/* A life of both daemons, on the disk as it is. */
static void live_once(struct bed *bed, struct virtual_platform *virtual)
{
	bed->virtual = virtual;
	virtual_platform_use_disk(virtual, bed->disk);
	bed->stopped = false;
	bed->completed_s = bed->energy_j = 0;
	bed->daemons.platform = platform_of(bed);
	daemons_start_local(&bed->daemons);
	serve(bed);
	daemons_end_local(&bed->daemons);
	pass(bed, 60);
}

static void begin(struct bed *bed)
{
	bed->disk = virtual_disk_new();
	bed->has_asked = false;
	daemons_write(&bed->daemons, config_text);
}

/* Runs all, and returns what is on record. */
static char *live(struct bed *bed, uint64_t seed)
{
	GString *text = g_string_new(NULL);
	g_autofree char *run = g_build_filename(bed->daemons.dir, "run.sqlite", NULL);
	g_autofree char *local = g_build_filename(bed->daemons.dir, "s1", "local.sqlite", NULL);

	begin(bed);
	live_once(bed, virtual_platform_new(seed));
	add_rows(text, bed->disk, run);
	add_rows(text, bed->disk, local);
	g_string_append_printf(text, "end: %.9f s\n", virtual_platform_s(bed->virtual));
	g_clear_pointer(&bed->virtual, virtual_platform_free);
	g_clear_pointer(&bed->disk, virtual_disk_free);
	g_assert_false(g_file_test(run, G_FILE_TEST_EXISTS));
	return g_string_free(text, FALSE);
}

static void set_up(struct bed *bed, gconstpointer data)
{
	daemons_init(&bed->daemons, NULL, "virtual"); /* each life has a platform of its own */
}

static void tear_down(struct bed *bed, gconstpointer data)
{
	daemons_clear(&bed->daemons);
}

/*
 * A record without what this machine is in it, which no seed determines: how busy its processors
 * have been (/proc/stat).
 */
static char *without_machine(const char *text)
{
	g_autoptr(GRegex) facts = g_regex_new("\"host_busy_s\":[-+.e0-9]+", 0, 0, NULL);

	return g_regex_replace_literal(facts, text, -1, 0, "\"host_busy_s\":0", 0, NULL);
}

/* The first lines in which two records differ. */
static void assert_same(const char *one, const char *other)
{
	g_auto(GStrv) lines = g_strsplit(one, "\n", -1);
	g_auto(GStrv) others = g_strsplit(other, "\n", -1);

	for (gsize i = 0; lines[i] && others[i]; i++)
		g_assert_cmpstr(lines[i], ==, others[i]);
	g_assert_cmpstr(one, ==, other);
}

/* Minutes of virtual time end in an instant, with the energy that the simulated meter counted. */
static void test_completes(struct bed *bed, gconstpointer data)
{
	g_autofree char *text = live(bed, 1);

	g_assert_nonnull(strstr(text, "completed"));
	g_assert_cmpfloat(bed->completed_s, >, TASK_S);
	g_assert_cmpfloat(bed->energy_j, >, 0);
}

/* The same seed gives the same record, to the last column of the last row. */
static void test_same_again(struct bed *bed, gconstpointer data)
{
	g_autofree char *first = live(bed, 7);
	g_autofree char *second = live(bed, 7);
	g_autofree char *one = without_machine(first);
	g_autofree char *other = without_machine(second);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, one, -1);

	g_test_message("record %.16s, %zu bytes", hash, strlen(one));
	assert_same(one, other);
}

/* A life whose machine crashes, and one after it, whose UTC is `by_s` later than it would be. */
static void live_twice(struct bed *bed, double by_s)
{
	struct virtual_platform *former;
	struct virtual_platform *virtual;

	begin(bed);
	bed->crashes = true;
	live_once(bed, virtual_platform_new(1));
	g_assert_cmpfloat(bed->completed_s, ==, 0);
	former = bed->virtual;
	virtual_platform_step_utc(former, by_s);
	virtual = virtual_platform_new(2);
	virtual_platform_follow(virtual, former, true);
	virtual_platform_free(former);
	bed->crashes = false;
	bed->again = true;
	live_once(bed, virtual);
}

/* What a user has been answered is there after a crash: the task is carried out by the next life. */
static void test_crash(struct bed *bed, gconstpointer data)
{
	live_twice(bed, 0);
	g_assert_cmpfloat(bed->completed_s, >, TASK_S);
	g_assert_cmpfloat(bed->energy_j, >, 0);
	g_clear_pointer(&bed->virtual, virtual_platform_free);
	g_clear_pointer(&bed->disk, virtual_disk_free);
}

/* The time of a service does not go back where the clock was set back before the machine boots. */
static void test_set_back(struct bed *bed, gconstpointer data)
{
	g_autofree char *run = g_build_filename(bed->daemons.dir, "run.sqlite", NULL);
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;

	bed->submits_after_s = 30;
	live_twice(bed, -3600);
	g_assert_cmpint(sqlite3_open_v2(run, &db, SQLITE_OPEN_READWRITE,
					virtual_disk_vfs(bed->disk)),
			==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db, "SELECT arrival_s, started_s FROM task", -1, &row,
					   NULL),
			==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(row), ==, SQLITE_ROW);
	g_assert_cmpfloat(sqlite3_column_double(row, 1), >, sqlite3_column_double(row, 0));
	sqlite3_finalize(row);
	sqlite3_close(db);
	g_clear_pointer(&bed->virtual, virtual_platform_free);
	g_clear_pointer(&bed->disk, virtual_disk_free);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/service/virtual/a task completes, with energy", struct bed, NULL, set_up,
		   test_completes, tear_down);
	g_test_add("/service/virtual/the same seed, the same record", struct bed, NULL, set_up,
		   test_same_again, tear_down);
	g_test_add("/service/virtual/what a user was answered survives a crash", struct bed, NULL,
		   set_up, test_crash, tear_down);
	g_test_add("/service/virtual/a clock that is set back does not set the service back",
		   struct bed, NULL, set_up, test_set_back, tear_down);
	return g_test_run();
}
