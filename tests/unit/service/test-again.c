/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Both daemons in one process and on one thread: created, dropped and created again, with what they
 * have on record. The cluster is simulated behind the local scheduler.
 */

#include "common/http_client.h"
#include "common/json.h"
#include "common/platform.h"
#include "controller/api/status_api.h"
#include "controller/rerun/rerun.h"
#include "controller/rerun/rerun_setup.h"
#include "controller/service/run_service.h"
#include "controller/session/run_session_private.h"
#include "controller/session/view.h"
#include "tests/unit/common/wait_for.h"
#include "tests/unit/service/daemons.h"

static const char config_text[] =
	"name: again\n"
	"clusters:\n"
	"  - {name: s1, nodes: 2, cores: 1, memory_mib: 128, simulated: {idle_w: 60, seed: 1}}\n"
	"types:\n"
	"  - {name: SHORT, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}\n"
	"estimates:\n"
	"  - {type: SHORT, cluster: s1, etc_s: 0.1, eec_j: 3}\n"
	"workload: {arrival_mean_s: 2, duration_s: 60, seed: 1, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], budget_j: 1000, duration_s: 60,\n"
	"             mapping_interval_s: 0.2,\n"
	"             baseline_s: 1, task_deadline_s: 60}\n"
	"service: {policy: easy}\n";

enum { ROUNDS = 3, LOOK_MS = 20, ALARM_S = 60 };

struct bed {
	struct daemons daemons;
	/* The controller. */
	struct run_session *session;
	struct status_api *status;
	struct http_client *user;
	uint32_t submitted; /* tasks, in all rounds */
	bool has_asked;     /* in this round */
	bool stopped;
};

static void set_up(struct bed *bed, gconstpointer data)
{
	daemons_init(&bed->daemons, &platform_machine, "again");
	daemons_write(&bed->daemons, config_text);
}

static void tear_down(struct bed *bed, gconstpointer data)
{
	daemons_clear(&bed->daemons);
}

/* Whether all tasks that were submitted have completed. */
static bool all_completed(struct bed *bed)
{
	for (uint32_t i = 0; i < bed->submitted; i++) {
		g_autofree char *path = g_strdup_printf("/v1/tasks/%u", i);
		g_autoptr(json_t) task = http_client_call(bed->user, "GET", path, NULL, 5, NULL);
		const char *state = json_string_value(json_object_get(task, "state"));

		if (g_strcmp0(state, "completed") != 0)
			return false;
	}
	return true;
}

/* A user submits a task, waits until it and all before it have completed, and stops the service. */
static gboolean look(gpointer data)
{
	struct bed *bed = data;

	if (bed->stopped || !view_service(bed->session))
		return G_SOURCE_CONTINUE;
	if (!bed->user)
		bed->user = http_client_new(&platform_machine, bed->daemons.controller, NULL);
	if (!bed->has_asked) {
		g_autoptr(json_t) body = json_pack("{s:s}", "type", "SHORT");
		g_autoptr(json_t) answer =
			http_client_call(bed->user, "POST", "/v1/tasks", body, 5, NULL);

		bed->has_asked = answer != NULL;
		bed->submitted += answer != NULL;
	} else if (all_completed(bed)) {
		bed->stopped = true;
		run_session_stop(bed->session, "the test has seen enough");
	}
	return G_SOURCE_CONTINUE;
}

static void serve(struct bed *bed, bool again)
{
	g_autoptr(GError) error = NULL;
	guint source;

	bed->session = run_session_open(&platform_machine, bed->daemons.dir, &error);
	g_assert_no_error(error);
	bed->session->go_on = again;
	bed->status = status_api_new(bed->daemons.controller, bed->session, &error);
	g_assert_no_error(error);
	bed->has_asked = bed->stopped = false;
	source = g_timeout_add(LOOK_MS, look, bed);
	g_assert_false(run_service_work(bed->session, &error));
	g_assert_error(error, RUN_ERROR, RUN_ERROR_STOPPED);
	g_source_remove(source);
	g_assert_true(bed->stopped);
	g_clear_pointer(&bed->user, http_client_free);
	status_api_free(bed->status);
	run_session_close(bed->session);
}

static gboolean alarm_rings(gpointer data)
{
	g_error("the service was not stopped within %d s", ALARM_S);
	return G_SOURCE_REMOVE;
}

/* Every part begins again with what is on record, and no task is executed twice. */
static void test_all_begin_again(struct bed *bed, gconstpointer data)
{
	const guint alarm = g_timeout_add_seconds(ALARM_S, alarm_rings, NULL);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		daemons_start_local(&bed->daemons);
		serve(bed, i > 0);
		g_assert_cmpuint(bed->submitted, ==, i + 1);
		g_assert_cmpuint(scheduler_tasks(bed->daemons.scheduler)->len, ==, i + 1);
		daemons_end_local(&bed->daemons);
	}
	g_source_remove(alarm);
}

static void change(const struct bed *bed, const char *sql)
{
	g_autofree char *path = g_build_filename(bed->daemons.dir, STORE_FILE, NULL);
	sqlite3 *db = NULL;

	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
}

/* What the service did in all rounds is carried out again as it is stored. */
static void test_rerun(struct bed *bed, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = NULL;
	g_autoptr(GPtrArray) runs = NULL;
	g_autoptr(rerun_t) rerun = NULL;
	struct rerun_setup made;
	const struct rerun_result *result;

	test_all_begin_again(bed, NULL);
	store = store_open(bed->daemons.dir, false, &error);
	g_assert_no_error(error);
	runs = store_runs(store, &error);
	g_assert_no_error(error);
	g_assert_true(rerun_setup_init(store, runs->pdata[0], &made, &error));
	rerun = rerun_new(store, runs->pdata[0], &made.setup, &error);
	g_assert_no_error(error);
	g_assert_true(rerun_until(rerun, UINT32_MAX, &error));
	result = rerun_result(rerun);
	if (result->divergence.input != 0)
		g_error("%s", divergence_text(&result->divergence));
	g_assert_cmpuint(result->inputs, ==, rerun_inputs_count(rerun));
	g_assert_cmpuint(result->states, ==, ROUNDS);
	g_assert_cmpuint(result->restarts, ==, ROUNDS - 1);
	g_assert_cmpuint(result->decisions, >=, ROUNDS);
	g_clear_pointer(&rerun, rerun_free);
	rerun_setup_clear(&made);

	/* A full state before no input, a damaged state, and none at all. */
	change(bed, "UPDATE full_state SET n = 0 WHERE n = 1");
	g_assert_false(rerun_setup_init(store, runs->pdata[0], &made, &error));
	g_assert_error(error, RERUN_ERROR, RERUN_ERROR_DAMAGED);
	g_clear_error(&error);
	change(bed, "UPDATE full_state SET n = 1 WHERE n = 0");
	change(bed, "UPDATE full_state SET state = replace(state, substr(state, 20, 4), 'AAAA')");
	g_assert_false(rerun_setup_init(store, runs->pdata[0], &made, &error));
	g_assert_error(error, RERUN_ERROR, RERUN_ERROR_DAMAGED);
	g_clear_error(&error);
	change(bed, "DELETE FROM full_state");
	g_assert_false(rerun_setup_init(store, runs->pdata[0], &made, &error));
	g_assert_error(error, RERUN_ERROR, RERUN_ERROR_LACKS);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/service/again/both daemons begin again in one process", struct bed, NULL,
		   set_up, test_all_begin_again, tear_down);
	g_test_add("/service/again/... and are carried out again from the store", struct bed, NULL,
		   set_up, test_rerun, tear_down);
	return g_test_run();
}
