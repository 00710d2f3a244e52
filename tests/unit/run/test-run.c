/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run is made of: its plan, what comes of it, a reload, and what it tells. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/journal/recorder_store.h"
#include "controller/measure/run_estimate.h"
#include "controller/experiment/run_overshoot.h"
#include "controller/run/run_finished.h"
#include "controller/run/run_meters.h"
#include "controller/run/run_plan.h"
#include "controller/run/run_reload.h"
#include "controller/service/run_service_scripts.h"
#include "controller/session/host_load.h"
#include "controller/session/run_progress.h"
#include "controller/store/store_private.h"
#include "controller/supervise/run_watch.h"

static char *temporary_dir(void)
{
	return g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
}

/* The plan. */

static void a_plan_reads_back_equal(void)
{
	g_autofree char *dir = temporary_dir();
	g_autofree char *path = g_build_filename(dir, "plan.json", NULL);
	char *policies[] = {(char *)"easy", (char *)"max-upr+drop:0.5", NULL};
	char *schedulers[] = {(char *)"unix:/a", NULL};
	double limits[] = {1, 0.7};
	const struct run_plan plan = {
		.experiment = (char *)"x-1",
		.api = (char *)"unix:/c",
		.estimates = (char *)"given",
		.profile = true,
		.profile_repeats = 4,
		.run = true,
		.policies = policies,
		.limits = limits,
		.limits_count = 2,
		.repeats = 3,
		.schedulers = schedulers,
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(run_plan_t) read = NULL;

	g_assert_true(run_plan_save(&plan, dir, &error));
	read = run_plan_load(dir, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(read->experiment, ==, "x-1");
	g_assert_cmpstrv(read->policies, policies);
	g_assert_cmpstrv(read->schedulers, schedulers);
	g_assert_cmpint(read->limits_count, ==, 2);
	g_assert_cmpfloat(read->limits[1], ==, 0.7);
	g_assert_cmpint(read->profile_repeats, ==, 4);
	g_assert_true(read->profile && read->run);
	g_unlink(path);
	g_rmdir(dir);
}

static void a_broken_plan_is_refused(void)
{
	static const char *const broken[] = {
		"",
		"{",
		"[]",
		"{\"experiment\": 1}",
		"{\"experiment\":\"x\",\"api\":\"unix:/c\",\"estimates\":\"given\",\"repeats\":-1}",
	};
	g_autofree char *dir = temporary_dir();
	g_autofree char *path = g_build_filename(dir, "plan.json", NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(broken); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_true(g_file_set_contents(path, broken[i], -1, NULL));
		g_assert_null(run_plan_load(dir, &error));
		g_assert_nonnull(error);
	}
	g_unlink(path);
	g_rmdir(dir);
}

/*
 * A directory whose one run, of each of the policies at the whole budget, is done; in a file of
 * version 9.
 */
static char *old_directory(const char *const *policies)
{
	char *dir = temporary_dir();
	g_autoptr(store_t) store = store_open(dir, true, NULL);
	g_autofree char *path = g_build_filename(dir, "plan.json", NULL);
	g_autofree char *names = g_strjoinv("\", \"", (char **)(uintptr_t)policies);
	g_autofree char *text = g_strdup_printf(
		"{\"experiment\": \"x\", \"api\": \"unix:/c\", \"estimates\": \"given\", \"profile_repeats\": 1,"
		" \"run\": true, \"policies\": [\"%s\"], \"limits\": [1], \"repeats\": 1, \"schedulers\": []}",
		names);

	for (; *policies; policies++) {
		struct store_run row = {.policy = (char *)(uintptr_t)*policies,
					.limit = 1,
					.repeat = 1,
					.measured = true,
					.ended_by = (char *)"done"};

		g_assert_true(store_add_run(store, &row, NULL));
	}
	g_assert_true(store_set_meta(store, "ended_utc", "2026-01-01T00:00:00Z", NULL));
	g_assert_true(
		database_exec(store->database, "PRAGMA user_version = 9", "become old", NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return dir;
}

static void remove_directory(const char *dir)
{
	static const char *const files[] = {"plan.json", STORE_FILE, STORE_FILE "-wal",
					    STORE_FILE "-shm"};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir, files[i], NULL);

		g_unlink(path);
	}
	g_rmdir(dir);
}

/*
 * The policies of Pair had other names before version 10: the plan means them as its runs do, also
 * when saved.
 */
static void an_old_plan_means_the_policies_of_its_time(void)
{
	static const char *const before[] = {"easy", "max-util-preempt-pair",
					     "max-upt-preempt-pair+no-wait", NULL};
	static const char *const now[] = {"easy", "max-util-preempt-pair+algorithm-3",
					  "max-upt-preempt-pair", NULL};
	g_autofree char *dir = old_directory(before);

	for (guint times = 0; times < 2; times++) {
		g_autoptr(run_plan_t) plan = run_plan_load(dir, NULL);

		g_assert_true(run_plan_rename(plan, dir, NULL));
		g_assert_cmpstrv(plan->policies, now);
		g_assert_true(run_is_finished(plan, dir));
		g_assert_true(run_plan_save(plan, dir, NULL));
	}
	remove_directory(dir);
}

static void an_experiment_id_can_name_tasks(void)
{
	const struct config config = {
		.name = (char *)"a name/with more than \xc3\xa4 few characters in it",
	};
	g_autofree char *id = run_plan_experiment_id(&config);

	g_assert_cmpint(strlen(id), <=, 40);
	g_assert_cmpint(strspn(id,
			       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"),
			==, strlen(id));
}

/* Estimates. */

static void estimates_are_means_of_pairs(void)
{
	struct config_cluster clusters[] = {{.name = (char *)"c1"}, {.name = (char *)"c2"}};
	struct config_type types[] = {{.name = (char *)"A"}, {.name = (char *)"B"}};
	const struct config config = {
		.clusters = clusters,
		.clusters_count = 2,
		.types = types,
		.types_count = 2,
	};
	const struct run_measurement measurements[] = {
		{1, 0, 5, 100},
		{0, 1, 2, 10},
		{0, 1, 4, 30},
		{0, 1, 6, 20},
	};
	uint32_t count;
	g_autofree struct config_estimate *estimates =
		run_estimate(&config, measurements, 4, &count);

	g_assert_cmpint(count, ==, 2);
	g_assert_cmpstr(estimates[0].type, ==, "A");
	g_assert_cmpstr(estimates[0].cluster, ==, "c2");
	g_assert_cmpint(estimates[0].count, ==, 3);
	g_assert_cmpfloat_with_epsilon(estimates[0].etc_s, 4, 1e-12);
	g_assert_cmpfloat_with_epsilon(estimates[0].etc_sd_s, 2, 1e-12);
	g_assert_cmpfloat_with_epsilon(estimates[0].eec_j, 20, 1e-12);
	g_assert_cmpfloat_with_epsilon(estimates[0].eec_sd_j, 10, 1e-12);
	g_assert_cmpstr(estimates[1].type, ==, "B");
	g_assert_cmpfloat(estimates[1].etc_sd_s, ==, 0);
}

/* A measurement whose energy is not known counts for its time alone. */
static void estimates_leave_unknown_energies_out(void)
{
	struct config_cluster cluster = {.name = (char *)"c1"};
	struct config_type types[] = {{.name = (char *)"A"}, {.name = (char *)"B"}};
	const struct config config = {.types = types,
				      .types_count = 2,
				      .clusters = &cluster,
				      .clusters_count = 1};
	const struct run_measurement measurements[] = {
		{.type = 0, .exec_s = 2, .energy_j = 10},
		{.type = 0, .exec_s = 4, .energy_j = (double)NAN},
		{.type = 1, .exec_s = 5, .energy_j = (double)NAN},
	};
	uint32_t count;
	g_autofree struct config_estimate *estimates =
		run_estimate(&config, measurements, G_N_ELEMENTS(measurements), &count);

	g_assert_cmpuint(count, ==, 2);
	g_assert_cmpfloat(estimates[0].etc_s, ==, 3);
	g_assert_cmpfloat(estimates[0].eec_j, ==, 10);
	g_assert_cmpfloat(estimates[1].etc_s, ==, 5);
	g_assert_cmpfloat(estimates[1].eec_j, ==, 0);
}

/* What ended after the run did. */

static const struct {
	enum engine_task_state state;
	double ended_s;
	bool late;
} late_cases[] = {
	{ENGINE_TASK_COMPLETED, 9, false}, {ENGINE_TASK_COMPLETED, 11, true},
	{ENGINE_TASK_FAILED, 10, false},   {ENGINE_TASK_FAILED, 11, true},
	{ENGINE_TASK_KILLED, 11, true},    {ENGINE_TASK_DROPPED, 9, false},
	{ENGINE_TASK_DROPPED, 11, true},   {ENGINE_TASK_UNFINISHED, (double)NAN, false},
	{ENGINE_TASK_COMING, 0, false},
};

static void what_ended_late_does_not_count(void)
{
	struct engine_result result = {.ended_s = 10, .utility = 9};
	struct engine_task late;

	result.tasks_completed = result.tasks_failed = result.tasks_dropped = 2;
	for (gsize i = 0; i < G_N_ELEMENTS(late_cases); i++) {
		const struct engine_task task = {
			.state = late_cases[i].state,
			.ended_s = late_cases[i].ended_s,
			.utility = late_cases[i].state == ENGINE_TASK_COMPLETED ? 4 : 0,
		};

		g_assert_true(run_overshoot_correct(&task, &result, &late) == late_cases[i].late);
		if (late_cases[i].late)
			g_assert_cmpint(late.state, ==, ENGINE_TASK_UNFINISHED);
	}
	g_assert_cmpuint(result.tasks_completed, ==, 1);
	g_assert_cmpuint(result.tasks_failed, ==, 0);
	g_assert_cmpuint(result.tasks_dropped, ==, 1);
	g_assert_cmpfloat(result.utility, ==, 5);
}

/* A reload. */

static char *service_file(const char *dir, const char *policy)
{
	g_autofree char *text = g_strdup_printf(
		"name: x\n"
		"clusters:\n"
		"  - {name: c1, nodes: 1, cores: 1, memory_mib: 128, hosts: [{name: h1, uri: 'test:///default', "
		"meter: {kind: ipmi, address: 127.0.0.1, password_file: /dev/null}}]}\n"
		"types: [{name: IS.S.1, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}]\n"
		"service: {policy: %s%s}\n"
		"workload: {arrival_mean_s: 1, duration_s: 8, seed: 1, utility_max: [1, 2, 3, 4]}\n"
		"experiment: {policies: [easy], limits: [1], budget_j: 420, mapping_interval_s: 1, "
		"duration_s: 12, baseline_s: 1, profile_repeats: 2, task_deadline_s: 60}\n",
		policy,
		g_str_equal(policy, "fcfs") ? ", energy_limit_j: 500, energy_window_s: 60, "
					      "meter_refresh_s: 2, tasks_max: 200000"
					    : "");
	char *path = g_build_filename(dir, policy, NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return path;
}

static void what_cannot_be_saved_is_not_taken(void)
{
	g_autofree char *dir = temporary_dir();
	g_autofree char *before = service_file(dir, "easy");
	g_autofree char *after = service_file(dir, "fcfs");
	g_autofree char *saved = g_build_filename(dir, "config.yaml", NULL);
	g_autofree char *nowhere = g_build_filename(dir, "nowhere", "config.yaml", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) running = config_controller_load(before, &error);
	g_autofree char *fixed = NULL;

	g_assert_no_error(error);
	fixed = run_reload_fixed(running);
	g_assert_false(run_reload(after, fixed, running, nowhere, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_assert_cmpstr(running->service->policy, ==, "easy");
	g_clear_error(&error);
	g_assert_true(run_reload(after, fixed, running, saved, &error));
	g_assert_cmpstr(running->service->policy, ==, "fcfs");
	g_assert_cmpfloat(running->service->energy_limit_j, ==, 500);
	g_assert_cmpfloat(running->service->energy_window_s, ==, 60);
	g_assert_cmpfloat(running->service->meter_refresh_s, ==, 2);
	g_assert_cmpuint(running->service->tasks_max, ==, 200000);
	/* Fewer tasks than there may be already. */
	g_assert_false(run_reload(before, fixed, running, saved, &error));
	g_assert_error(error, RUN_RELOAD_ERROR, RUN_RELOAD_ERROR_RESTART);
	g_assert_nonnull(strstr(error->message, "100000 is less than the 200000"));
	g_assert_cmpuint(running->service->tasks_max, ==, 200000);
	g_clear_error(&error);
	g_assert_true(g_remove(before) == 0 && g_remove(after) == 0 && g_remove(saved) == 0);
	g_assert_true(g_rmdir(dir) == 0);
}

/* Meters. */

static void hosts_without_a_meter_are_named(void)
{
	struct config_meter ipmi = {.kind = CONFIG_METER_IPMI};
	struct config_meter none = {.kind = CONFIG_METER_NONE};
	struct config_host hosts[] = {{.name = (char *)"h1", .meter = &ipmi},
				      {.name = (char *)"h2", .blade = (char *)"b2"}};
	struct config_cluster cluster = {.name = (char *)"c1",
					 .hosts = hosts,
					 .hosts_count = G_N_ELEMENTS(hosts)};
	const struct config config = {.clusters = &cluster, .clusters_count = 1};
	g_autofree char *missing = NULL;

	g_assert_null(run_meters_missing(&config));
	hosts[0].meter = &none;
	missing = run_meters_missing(&config);
	g_assert_cmpstr(missing, ==, "host 'h1' of cluster 'c1' has no meter");
}

/* The machine's load. */

static void load_is_read_from_counters(void)
{
	g_autofree char *dir = temporary_dir();
	g_autofree char *path = g_build_filename(dir, "stat", NULL);
	struct host_load before;
	struct host_load after;

	g_assert_true(
		g_file_set_contents(path, "cpu  100 0 50 1000 7 1 2 3 0 0\ncpu0 ...\n", -1, NULL));
	g_assert_true(host_load_read(&platform_machine, path, &before));
	after = before;
	after.busy_s += 3;
	after.at_s += 2;
	g_assert_cmpfloat_with_epsilon(host_load_cores(&before, &after), 1.5, 1e-9);
	g_assert_true(isnan(host_load_cores(&before, &before)));
	g_assert_true(g_file_set_contents(path, "cpu  100 x\n", -1, NULL));
	g_assert_false(host_load_read(&platform_machine, path, &before));
	g_assert_false(host_load_read(&platform_machine, "/nowhere", &before));
	g_assert_true(host_load_read(&platform_machine, NULL, &before));
	g_unlink(path);
	g_rmdir(dir);
}

/* What belongs together is undone together, and nothing is recorded after it. */
static void a_recorder_that_failed_records_nothing_more(void)
{
	g_autofree char *dir = temporary_dir();
	g_autofree char *path = g_build_filename(dir, STORE_FILE, NULL);
	g_autoptr(store_t) store = store_open(dir, true, NULL);
	struct store_run row = {.policy = (char *)"easy",
				.limit = 1,
				.repeat = 1,
				.host_load = (double)NAN};
	g_autoptr(GError) reason =
		g_error_new_literal(DATABASE_ERROR, DATABASE_ERROR_CORRUPT, "full");
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) events = NULL;
	struct recorder_store *recorder;
	struct engine_recorder *base;

	g_assert_true(store_add_run(store, &row, NULL));
	recorder = recorder_store_new(store, row.run, NULL, true);
	base = recorder_store_engine(recorder);
	g_assert_true(base->event(base, 1, "held", NULL));
	recorder_store_fail(recorder, reason);
	g_assert_false(base->event(base, 2, "held", NULL));
	g_assert_false(base->flush(base));
	g_assert_false(recorder_store_finish(recorder, &error));
	g_assert_cmpstr(error->message, ==, "full");
	events = store_events(store, row.run, NULL);
	g_assert_cmpuint(events->len, ==, 0);
	recorder_store_free(recorder);
	g_clear_pointer(&store, store_close);
	g_unlink(path);
	g_rmdir(dir);
}

/* Progress. */

static void notices_are_numbered_and_few(void)
{
	struct run_progress *progress = run_progress_new(&platform_machine);
	g_autoptr(json_t) all = NULL;
	g_autoptr(json_t) some = NULL;

	for (int i = 1; i <= RUN_NOTICES_KEPT + 5; i++)
		run_progress_note(progress, "test", "notice %d", i);
	all = run_progress_json(progress, 0);
	some = run_progress_json(progress, RUN_NOTICES_KEPT + 3);
	g_assert_cmpint(json_array_size(json_object_get(all, "notices")), ==, RUN_NOTICES_KEPT);
	g_assert_cmpint(json_array_size(json_object_get(some, "notices")), ==, 2);
	g_assert_cmpint(json_integer_value(json_object_get(all, "last")), ==, RUN_NOTICES_KEPT + 5);
	run_progress_free(progress);
}

static void a_line_says_where_it_is(void)
{
	struct run_progress *progress = run_progress_new(&platform_machine);
	g_autoptr(json_t) document = NULL;
	g_autofree char *line = NULL;

	progress->phase = RUN_PHASE_RUN;
	progress->run = 3;
	progress->runs = 8;
	progress->policy = g_strdup("max-upr");
	progress->limit = 0.6;
	progress->time_s = 12;
	progress->duration_s = 70;
	progress->energy_j = 120;
	progress->limit_j = 400;
	progress->phase_left_s = 58;
	progress->left_s = 3725;
	document = run_progress_json(progress, 0);
	line = run_watch_line(document);
	g_assert_cmpstr(
		line, ==,
		"run 3/8 max-upr at 60 %: 12 of 70 s, energy 120/400 J, utility 0.0, 0 running, 0 "
		"waiting, 0 done; 0:58 left, 1:02:05 in all");
	/* Less than the idle watts, before tasks execute. */
	json_object_set_new(document, "energy_j", json_real(-9));
	g_free(line);
	line = run_watch_line(document);
	g_assert_nonnull(strstr(line, ", energy 0/400 J, "));
	run_progress_free(progress);
}

static void a_status_of_rubbish_makes_a_line(void)
{
	g_autoptr(json_t) document =
		json_pack("{s:s, s:s, s:i}", "phase", "run", "limit", "x", "policy", 5);
	g_autofree char *line = run_watch_line(document);

	g_assert_nonnull(line);
}

/* Just so many nodes, or enough cores; of those the shortest, then the narrowest. */
static void test_script_types(void)
{
	struct config_type types[] = {
		{.name = "IS", .benchmark = "is", .cores = 64},
		{.name = "short", .benchmark = "script", .cores = 1, .time_s = 60},
		{.name = "wide", .benchmark = "script", .cores = 4, .time_s = 60},
		{.name = "long", .benchmark = "script", .cores = 4, .time_s = 600},
		{.name = "pair-long", .benchmark = "script", .nodes = 2, .time_s = 600},
		{.name = "pair", .benchmark = "script", .nodes = 2, .time_s = 60},
		{.name = "four", .benchmark = "script", .nodes = 4, .time_s = 60},
	};
	const struct config config = {.types = types, .types_count = G_N_ELEMENTS(types)};
	static const struct {
		uint32_t nodes, cores;
		double time_s;
		const char *name;
	} cases[] = {
		{0, 1, 60, "short"}, {0, 2, 60, "wide"},      {0, 1, 61, "long"}, {0, 5, 1, NULL},
		{2, 0, 60, "pair"},  {2, 0, 61, "pair-long"}, {4, 0, 1, "four"},  {4, 0, 61, NULL},
		{3, 0, 1, NULL},     {1, 0, 1, NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(run_service_script_type(&config, cases[i].nodes, cases[i].cores,
							cases[i].time_s),
				==, cases[i].name);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plan/round-trip", a_plan_reads_back_equal);
	g_test_add_func("/plan/broken", a_broken_plan_is_refused);
	g_test_add_func("/plan/old", an_old_plan_means_the_policies_of_its_time);
	g_test_add_func("/plan/experiment-id", an_experiment_id_can_name_tasks);
	g_test_add_func("/estimate/means", estimates_are_means_of_pairs);
	g_test_add_func("/estimate/unknown-energy", estimates_leave_unknown_energies_out);
	g_test_add_func("/late/does-not-count", what_ended_late_does_not_count);
	g_test_add_func("/reload/not-saved", what_cannot_be_saved_is_not_taken);
	g_test_add_func("/meters/missing", hosts_without_a_meter_are_named);
	g_test_add_func("/load/counters", load_is_read_from_counters);
	g_test_add_func("/service/recorder", a_recorder_that_failed_records_nothing_more);
	g_test_add_func("/progress/notices", notices_are_numbered_and_few);
	g_test_add_func("/progress/line", a_line_says_where_it_is);
	g_test_add_func("/progress/rubbish", a_status_of_rubbish_makes_a_line);
	g_test_add_func("/run/a script gets a type of just its nodes, or enough cores",
			test_script_types);
	return g_test_run();
}
