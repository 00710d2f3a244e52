/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated runs are recorded as `virtbed simulate --out` does, and carried out again. */
#include <float.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/engine/task_fsm.h"
#include "controller/experiment/experiment.h"
#include "controller/journal/listener.h"
#include "controller/journal/recorder_store.h"
#include "controller/rerun/rerun.h"
#include "controller/sched/fcfs.h"
#include "controller/snapshot/snapshot_json.h"

struct fixture {
	char *dir;
	struct store *store;
	struct config *config;
	struct experiment *experiment;
	struct experiment_trial trial;
	struct store_run run;
	struct engine_setup setup;
};

static void set_up(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;

	fixture->dir = g_dir_make_tmp("virtbed-rerun-XXXXXX", &error);
	g_assert_no_error(error);
	fixture->store = store_open(fixture->dir, true, &error);
	g_assert_no_error(error);
}

static void forget_run(struct fixture *fixture)
{
	experiment_trial_clear(&fixture->trial);
	g_clear_pointer(&fixture->experiment, experiment_free);
	g_clear_pointer(&fixture->config, config_free);
}

static void tear_down(struct fixture *fixture, const void *data)
{
	static const char *const files[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};

	forget_run(fixture);
	store_close(fixture->store);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(fixture->dir, files[i], NULL);

		g_unlink(path);
	}
	g_rmdir(fixture->dir);
	g_free(fixture->dir);
}

/* Makes the setup of a run; false: the policy does not fit the configuration. */
static bool make_run(struct fixture *fixture, const char *config, const char *policy, double limit)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, config, NULL);
	const char *const policies[] = {policy, NULL};
	g_autoptr(GError) error = NULL;
	double budget_j;

	forget_run(fixture);
	fixture->config = config_controller_load(path, &error);
	g_assert_no_error(error);
	fixture->experiment = experiment_new(fixture->config, policies, &error);
	if (!fixture->experiment)
		return false;
	experiment_trial_init(fixture->experiment, 0, 1, &fixture->trial, &error);
	g_assert_no_error(error);
	budget_j = experiment_budget_j(fixture->experiment, 0, &error);
	g_clear_error(&error);
	fixture->setup =
		experiment_trial_setup(fixture->experiment, &fixture->trial,
				       &fixture->experiment->policies[0], limit * budget_j);
	return true;
}

/* Simulates the run and records it. `texts`: decisions as well. `packed`: its inputs in packs. */
static void record_as(struct fixture *fixture, bool texts, bool packed)
{
	struct engine_setup setup = fixture->setup;
	struct store_run row = {.policy = setup.policy.name, .limit_j = setup.limit_j, .repeat = 1};
	struct recorder_store *recorder;
	struct engine_result result;
	g_autoptr(GError) error = NULL;

	store_add_run(fixture->store, &row, &error);
	g_assert_no_error(error);
	recorder = recorder_store_new(fixture->store, row.run, fixture->experiment->system, false);
	setup.recorder = recorder_store_engine(recorder);
	if (!texts)
		setup.recorder->decision = NULL;
	g_assert_true(experiment_simulate_run(fixture->experiment, &fixture->trial, &setup, &result,
					      NULL));
	g_assert_true(packed ? recorder_store_pack(recorder, &error)
			     : recorder_store_finish(recorder, &error));
	recorder_store_free(recorder);
	row.ended_by = (char *)engine_end_name(result.ended_by);
	row.ended_s = result.ended_s;
	row.utility = result.utility;
	row.energy_j = result.energy_j;
	row.tasks_arrived = result.tasks_arrived;
	row.tasks_completed = result.tasks_completed;
	row.tasks_failed = result.tasks_failed;
	row.tasks_dropped = result.tasks_dropped;
	store_update_run(fixture->store, &row, &error);
	g_assert_no_error(error);
	fixture->run = row;
}

static void record(struct fixture *fixture, bool texts)
{
	record_as(fixture, texts, false);
}

static struct rerun *carry_out(struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;
	struct rerun *rerun = rerun_new(fixture->store, &fixture->run, &fixture->setup, &error);

	g_assert_no_error(error);
	rerun_until(rerun, UINT32_MAX, &error);
	g_assert_no_error(error);
	return rerun;
}

static void assert_identical(struct fixture *fixture, bool texts)
{
	g_autoptr(rerun_t) rerun = carry_out(fixture);
	const struct rerun_result *result = rerun_result(rerun);

	if (result->divergence.input != 0)
		g_error("%s: %s", fixture->setup.policy.name, divergence_text(&result->divergence));
	g_assert_true(result->ended);
	g_assert_cmpuint(result->inputs, ==, rerun_inputs_count(rerun));
	g_assert_cmpuint(result->decisions, >, 0);
	g_assert_cmpuint(result->texts, ==, texts ? result->decisions : 0);
}

/* A configuration, and whether its decisions are short enough for texts. */
struct scene {
	const char *config;
	bool texts;
	double limit;
};

static const struct scene scenes[] = {
	{"busy.yaml", true, 1},    {"busy.yaml", true, 0.5},  {"serial.yaml", false, 1},
	{"pruning.yaml", true, 1}, {"sharing.yaml", true, 1}, {"energy.yaml", false, 1},
};

/* Those where tasks have nodes of their own. */
static const struct scene reloaded[] = {
	{"busy.yaml", false, 0.5},
	{"overheads.yaml", false, 1},
};

/* Every policy that fits a configuration. */
static void test_policies(struct fixture *fixture, const void *data)
{
	const struct scene *scene = data;
	uint32_t count;
	uint32_t fit = 0;
	const struct policy_ops *const *policies = policy_list(&count);

	for (uint32_t i = 0; i < count; i++) {
		if (!make_run(fixture, scene->config, policies[i]->name, scene->limit))
			continue;
		fit++;
		record_as(fixture, scene->texts, fit % 2);
		assert_identical(fixture, scene->texts);
	}
	g_assert_cmpuint(fit, >, 0);
}

/* At most so many policies of a configuration are reloaded at every input: each takes a second. */
#define RELOADED_MAX 12

/* A run that continues with another engine after every input, by full states, is as stored. */
static void test_reload(struct fixture *fixture, const void *data)
{
	const struct scene *scene = data;
	uint32_t count;
	uint32_t reloads = 0;
	uint32_t fit = 0;
	const struct policy_ops *const *policies = policy_list(&count);

	for (uint32_t i = 0; i < count && fit < RELOADED_MAX; i++) {
		g_autoptr(rerun_t) rerun = NULL;
		const struct rerun_result *result;
		g_autoptr(GError) error = NULL;

		if (!make_run(fixture, scene->config, policies[i]->name, scene->limit))
			continue;
		fit++;
		record(fixture, false);
		rerun = rerun_new(fixture->store, &fixture->run, &fixture->setup, &error);
		g_assert_no_error(error);
		result = rerun_result(rerun);
		for (uint32_t n = 1;
		     n <= rerun_inputs_count(rerun) && result->divergence.input == 0; n++) {
			g_assert_true(rerun_until(rerun, n, &error));
			reloads += rerun_reload(rerun);
		}
		if (result->divergence.input != 0)
			g_error("%s: %s", policies[i]->name, divergence_text(&result->divergence));
		g_assert_true(result->ended);
	}
	g_assert_cmpuint(reloads, >, 100 * fit);
}

/* A configuration, and a policy. */
struct pair {
	const char *config, *policy;
};

static const struct pair pairs[] = {
	{"busy.yaml", "easy"},
	{"busy.yaml", "max-util-preempt-diff"},
	{"busy.yaml", "max-upt"},
	{"serial.yaml", "max-util-preempt-pair"},
	{"sharing.yaml", "greedy-pmtn"},
	{"pruning.yaml", "pamf"},
	{"overheads.yaml", "max-util-preempt-diff"},
};

/* Every how many decisions the history is left. */
#define FORK_EVERY 7

/* The number of tasks in one of these states. */
static guint count_tasks(const struct rerun *rerun, uint32_t states)
{
	const struct engine *engine = rerun_engine(rerun);
	guint count = 0;

	for (uint32_t i = 0; i < engine_tasks_count(engine); i++)
		count += engine_task_state_in(engine_task_at(engine, i)->state, states);
	return count;
}

/*
 * The history of a simulation is left after a decision: the rest is as it was. A step that is under
 * way begins again, so nothing is left where steps take time. Returns the number of suspended tasks
 * with which it was left.
 */
static guint assert_fork(struct fixture *fixture, uint32_t input)
{
	guint suspended;
	g_autoptr(GError) error = NULL;
	g_autoptr(rerun_t) rerun =
		rerun_new(fixture->store, &fixture->run, &fixture->setup, &error);
	struct backend *sim =
		experiment_backend_new(fixture->experiment, &fixture->trial, &fixture->setup);
	struct engine_result result;

	g_assert_no_error(error);
	g_assert_true(rerun_until(rerun, input, &error));
	suspended = count_tasks(rerun, ENGINE_TASK_ANY_SUSPENDED);
	if (fixture->experiment->overheads &&
	    count_tasks(rerun, ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_SET(ENGINE_TASK_RESUMING)) >
		    0) {
		backend_destroy(sim);
		return 0;
	}
	rerun_fork(rerun, sim, NULL, &result, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(engine_end_name(result.ended_by), ==, fixture->run.ended_by);
	g_assert_cmpuint(result.tasks_completed, ==, fixture->run.tasks_completed);
	g_assert_cmpuint(result.tasks_dropped, ==, fixture->run.tasks_dropped);
	g_assert_cmpfloat_with_epsilon(result.ended_s, fixture->run.ended_s, 1e-6);
	g_assert_cmpfloat_with_epsilon(result.utility, fixture->run.utility, 1e-6);
	g_assert_cmpfloat_with_epsilon(result.energy_j, fixture->run.energy_j, 1e-3);
	g_clear_pointer(&rerun, rerun_free);
	backend_destroy(sim);
	return suspended;
}

static void test_fork(struct fixture *fixture, const void *data)
{
	const struct pair *pair = data;
	g_autoptr(GPtrArray) inputs = NULL;
	uint32_t decisions = 0;
	guint suspended = 0;

	g_assert_true(make_run(fixture, pair->config, pair->policy, 1));
	record(fixture, false);
	inputs = store_inputs_after(fixture->store, fixture->run.run, 0, UINT32_MAX, NULL);
	for (guint i = 0; i < inputs->len; i++) {
		const struct store_input *input = inputs->pdata[i];

		if (input->plan_sum != -1 && decisions++ % FORK_EVERY == 0 && decisions < 150)
			suspended += assert_fork(fixture, input->n);
	}
	if (fixture->experiment->overheads)
		g_assert_cmpuint(suspended, >, 0);
	g_assert_cmpuint(decisions, >, FORK_EVERY);
}

/* A history is not left where there is none. */
static void test_no_fork(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(rerun_t) rerun = NULL;
	struct engine_result result;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, false);
	rerun = carry_out(fixture);
	g_assert_false(rerun_fork(rerun, NULL, NULL, &result, &error));
	g_assert_error(error, RERUN_ERROR, RERUN_ERROR_FORK);
}

/* EASY with one comparison turned round: it reserves where it holds a reservation already. */
static int decide_turned(struct mapping *mapping)
{
	const bool held = mapping->snapshot->reservations_count <= 0;

	return fcfs_map(mapping, held ? 0 : 1);
}

static void turn(struct policy *policy, struct policy_ops *ops, struct policy_planning *planning)
{
	*planning = *policy->ops->planning;
	planning->decide = decide_turned;
	*ops = *policy->ops;
	ops->planning = planning;
	policy->ops = ops;
}

/* The time of the first stored decision that a policy decides otherwise. */
static double find_first_change(const struct fixture *fixture, const struct policy *policy)
{
	struct arena *arena = arena_new();
	struct policy_context context = {.arena = arena};
	double time_s = NAN;
	int64_t id = 0;

	while (isnan(time_s)) {
		struct store_decision *stored =
			store_decision_after(fixture->store, fixture->run.run, id, NULL);
		g_autoptr(json_t) object = NULL;
		g_autoptr(snapshot_json_t) read = NULL;
		g_autofree char *actions = NULL;
		struct sched_plan plan;

		g_assert_nonnull(stored);
		id = stored->id;
		object = json_parse(stored->snapshot, strlen(stored->snapshot), "snapshot", NULL);
		read = snapshot_json_read(object, "snapshot", NULL);
		g_assert_nonnull(read);
		g_assert_cmpint(policy_decide(policy, &read->snapshot, &context, &plan), ==, 0);
		actions = snapshot_text_actions(read->snapshot.system, &plan, NULL);
		if (strcmp(actions, stored->actions) != 0)
			time_s = stored->time_s;
		store_decision_free(stored);
	}
	arena_free(arena);
	return time_s;
}

static void test_turned(struct fixture *fixture, const void *data)
{
	struct policy_ops ops;
	struct policy_planning planning;
	const struct divergence *divergence;
	g_autoptr(rerun_t) rerun = NULL;
	double first_s;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, true);
	turn(&fixture->setup.policy, &ops, &planning);
	first_s = find_first_change(fixture, &fixture->setup.policy);
	rerun = carry_out(fixture);
	divergence = &rerun_result(rerun)->divergence;
	g_assert_cmpuint(divergence->input, >, 0);
	g_assert_cmpfloat(divergence->time_s, ==, first_s);
	g_assert_true(g_str_has_prefix(divergence->field, "actions["));
}

/* Without texts the sums tell. */
static void test_turned_sums(struct fixture *fixture, const void *data)
{
	struct policy_ops ops;
	struct policy_planning planning;
	g_autoptr(rerun_t) rerun = NULL;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record_as(fixture, false, data != NULL);
	turn(&fixture->setup.policy, &ops, &planning);
	rerun = carry_out(fixture);
	g_assert_cmpstr(rerun_result(rerun)->divergence.field, ==, "plan_sum");
}

static void change(struct fixture *fixture, const char *sql)
{
	g_autofree char *path = g_build_filename(fixture->dir, STORE_FILE, NULL);
	sqlite3 *db = NULL;

	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_changes(db), ==, 1); /* by the last statement */
	sqlite3_close(db);
}

/* A pack keeps few bits of each sum: what these hide is found by the sums of the whole. */
static void test_hidden(struct fixture *fixture, const void *data)
{
	g_autoptr(rerun_t) rerun = NULL;
	const struct divergence *divergence;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, false);
	change(fixture, "UPDATE input SET snapshot_sum = snapshot_sum | 0xff00 WHERE n ="
			" (SELECT min(n) FROM input WHERE (snapshot_sum & 0xff00) <> 0xff00)");
	g_assert_true(store_begin(fixture->store, NULL));
	g_assert_true(store_pack_inputs(fixture->store, fixture->run.run, UINT32_MAX, 9, NULL));
	g_assert_true(store_commit(fixture->store, NULL));
	rerun = carry_out(fixture);
	divergence = &rerun_result(rerun)->divergence;
	g_assert_cmpstr(divergence->field, ==, "sums");
	g_assert_cmpuint(divergence->input, ==, rerun_inputs_count(rerun));
}

/* Whatever is answered is read back to the last bit, and what was expected takes no room. */
static void test_answers(struct fixture *fixture, const void *data)
{
	static const double values[] = {0, -0.0, 1, 1 + DBL_EPSILON, -1e300, 5e-324, 12.5, INFINITY,
					12.5 - 1, -INFINITY, 0.1, 0.1,
					/* of one kind: nanoseconds, and what only looks like it */
					3.5, 3, 3, 3, 3, 3, 3, 3.123456789, 3, 3, 3, 3, 3, 3,
					3.12345678900001};
	struct answers written;
	struct answers read;
	g_autofree char *text = NULL;
	g_autofree char *nothing = NULL;

	answers_init(&written);
	answers_init(&read);
	answers_begin(&written, 3, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
		answers_add(&written, i % ANSWER_KINDS, values[i]);
	text = answers_text(&written);
	g_assert_true(answers_begin(&read, 3, text));
	for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
		const double value = answers_next(&read, i % ANSWER_KINDS);

		g_assert_cmpmem(&value, sizeof(value), &values[i], sizeof(value));
	}
	g_assert_false(answers_left(&read));
	answers_begin(&written, 4, NULL);
	answers_add(&written, ANSWER_CLOCK, 4);
	answers_add(&written, ANSWER_CLOCK, 4);
	nothing = answers_text(&written);
	g_assert_null(nothing);
	answers_begin(&read, 4, NULL);
	g_assert_cmpfloat(answers_next(&read, ANSWER_CLOCK), ==, 4);
	g_assert_false(answers_begin(&read, 4, "?"));
	answers_finish(&written);
	answers_finish(&read);
}

/* A change of the store, and the field that is named. */
struct alteration {
	const char *name, *sql, *field;
	uint32_t input; /* 0: not told */
};

static const struct alteration alterations[] = {
	{"an action",
	 "UPDATE decision SET actions = json_set(actions, '$[0].start_s', 7.5)"
	 " WHERE id = (SELECT min(id) FROM decision WHERE"
	 " json_array_length(actions) > 0)",
	 "actions[0].start_s", 0},
	{"a snapshot",
	 "UPDATE decision SET snapshot = json_set(snapshot, '$.seed', 7)"
	 " WHERE id = (SELECT min(id) + 2 FROM decision)",
	 "snapshot.seed", 0},
	{"a sum",
	 "UPDATE input SET plan_sum = 1 WHERE n ="
	 " (SELECT min(n) FROM input WHERE plan_sum IS NOT NULL)",
	 "plan_sum", 0},
	{"a request of the same kind",
	 "UPDATE input SET request_sum = request_sum + 1 WHERE n ="
	 " (SELECT min(n) FROM input WHERE plan_sum IS NOT NULL AND request_sum IS NOT NULL)",
	 "requests", 0},
	{"a start that was not requested",
	 "UPDATE input SET request_sum = NULL WHERE n ="
	 " (SELECT min(n) FROM input WHERE plan_sum IS NOT NULL AND request_sum IS NOT NULL)",
	 "requests.start", 0},
	{"a kill that was requested", /* the bit of its kind is the second */
	 "UPDATE input SET request_sum = 1 << 40 WHERE n = 2", "requests.kill", 2},
	{"a decision that was not made", "UPDATE input SET snapshot_sum = 1 WHERE n = 1",
	 "decision", 1},
	{"a time",
	 "UPDATE input SET time_s = time_s + 4 WHERE n = (SELECT min(n) FROM input WHERE kind ="
	 " 'e')",
	 "", 0},
	{"a setting",
	 "UPDATE input SET detail = json_set(detail, '$.mapping_interval_s', 3.5)"
	 " WHERE n = 1",
	 "setup.mapping_interval_s", 1},
	{"a reading of energy",
	 "UPDATE input SET answers = 'AB1Af0E=' WHERE n = (SELECT min(n) FROM input WHERE answers"
	 " IS NOT NULL)",
	 "snapshot.consumed_j", 0},
	{"the utility of the run", "UPDATE run SET utility = 1", "utility", 0},
	{"the end of a task",
	 "UPDATE input SET exec_s = exec_s + 1 WHERE n = (SELECT min(n) FROM input WHERE kind ="
	 " 'e')",
	 "snapshot.completed.resources", 0},
	{"the end of the inputs", "DELETE FROM input WHERE n = (SELECT max(n) FROM input)", "end",
	 0},
	{"a decision at the end",
	 "INSERT INTO decision (run, time_s, snapshot, actions)"
	 " SELECT run, time_s + 1, snapshot, actions FROM decision ORDER BY id DESC LIMIT 1",
	 "decision", 0},
};

static void test_altered(struct fixture *fixture, const void *data)
{
	const struct alteration *alteration = data;
	g_autoptr(GPtrArray) runs = NULL;
	g_autoptr(rerun_t) rerun = NULL;
	const struct divergence *divergence;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, true);
	change(fixture, alteration->sql);
	runs = store_runs(fixture->store, NULL);
	fixture->run = *(const struct store_run *)runs->pdata[0];
	rerun = carry_out(fixture);
	divergence = &rerun_result(rerun)->divergence;
	g_assert_cmpuint(divergence->input, >, 0);
	g_test_message("%s", divergence->field);
	g_assert_true(g_str_has_prefix(divergence->field, alteration->field));
	if (alteration->input > 0)
		g_assert_cmpuint(divergence->input, ==, alteration->input);
}

/* The result of a measured run, all but its energy, is compared as well. */
static void test_measured_result(struct fixture *fixture, const void *data)
{
	g_autoptr(rerun_t) good = NULL;
	g_autoptr(rerun_t) altered = NULL;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 0.5));
	record(fixture, false);
	fixture->run.measured = true;
	fixture->run.energy_j = NAN;
	good = carry_out(fixture);
	g_assert_cmpuint(rerun_result(good)->divergence.input, ==, 0);
	fixture->run.tasks_failed++;
	altered = carry_out(fixture);
	g_assert_cmpstr(rerun_result(altered)->divergence.field, ==, "tasks_failed");
}

/* As samples show later that the limit was reached, tasks that ended since do not count. */
static void test_corrected_result(struct fixture *fixture, const void *data)
{
	g_autoptr(rerun_t) plain = NULL;
	g_autoptr(rerun_t) rerun = NULL;
	const struct engine *engine;
	struct store_run *run = &fixture->run;
	double last_s = 0;
	double lost = 0;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 9));
	record(fixture, false);
	run->measured = true;
	plain = carry_out(fixture);
	engine = rerun_engine(plain);
	for (uint32_t i = 0; i < engine_tasks_count(engine); i++)
		if (engine_task_at(engine, i)->state == ENGINE_TASK_COMPLETED)
			last_s = fmax(last_s, engine_task_at(engine, i)->ended_s);
	run->ended_by = (char *)engine_end_name(ENGINE_END_LIMIT);
	run->ended_s = nextafter(last_s, 0);
	run->tasks_arrived = run->tasks_completed = 0;
	for (uint32_t i = 0; i < engine_tasks_count(engine); i++) {
		const struct engine_task *task = engine_task_at(engine, i);

		run->tasks_arrived += task->task->arrival_s <= run->ended_s;
		if (task->state == ENGINE_TASK_COMPLETED && task->ended_s <= run->ended_s)
			run->tasks_completed++;
		else if (task->state == ENGINE_TASK_COMPLETED)
			lost += task->utility;
	}
	run->utility -= lost;
	rerun = carry_out(fixture);
	g_assert_cmpstr(rerun_result(rerun)->divergence.field, ==, NULL);
}

/* A change of the store after which an input is not what any engine was given. */
struct damage {
	const char *name, *sql;
};

/* An input that is put behind the first one. */
#define INSERTED(kind, time, task, detail)                                                         \
	"UPDATE input SET n = -n WHERE n > 1; UPDATE input SET n = 1 - n WHERE n < 0;"             \
	"INSERT INTO input (run, n, kind, time_s, task, attempt, detail) VALUES (1, 2, " kind ","  \
	" " time ", " task ", 1, '" detail "')"
#define AT_BEGIN(set) "UPDATE input SET " set " WHERE n = 1"

static const struct damage damages[] = {
	{"answers at the beginning", AT_BEGIN("answers = '!!'")},
	{"a beginning that is no JSON", AT_BEGIN("detail = '{'")},
	{"a detail that is no JSON", INSERTED("'ended'", "1", "0", "{")},
	{"a second beginning", INSERTED("'begin'", "NULL", "NULL", "{}")},
	{"answers of a restart",
	 "INSERT INTO input (run, n, kind, answers) SELECT 1, max(n) + 1, 'restore', '!!'"
	 " FROM input"},
	{"a clock of 1e300", /* the difference of its bits to 0, all bytes of it */
	 "UPDATE input SET answers = 'QJx1AIg85Dd+' WHERE n = (SELECT min(n) FROM input WHERE"
	 " kind IS NULL)"},
	{"a time of 1e300", INSERTED("NULL", "1e300", "NULL", "{}")},
	{"a time that is infinite", INSERTED("NULL", "9e999", "NULL", "{}")},
	{"no time", INSERTED("NULL", "NULL", "NULL", "{}")},
	{"a task beyond all numbers", INSERTED("'ended'", "1", "4294967296", "{}")},
	{"no task", INSERTED("'ended'", "1", "NULL", "{}")},
	{"a cause that is none", INSERTED("'ended'", "1", "0", "{\"cause\": 99}")},
	{"a window in a run that is no service",
	 INSERTED("'window'", "NULL", "NULL", "{\"limit_j\": 1, \"length_s\": 0}")},
};

/* What is damaged is said. */
static void test_damaged(struct fixture *fixture, const void *data)
{
	const struct damage *damage = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(rerun_t) rerun = NULL;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, false);
	change(fixture, damage->sql);
	rerun = rerun_new(fixture->store, &fixture->run, &fixture->setup, &error);
	g_assert_no_error(error);
	g_assert_false(rerun_until(rerun, UINT32_MAX, &error));
	g_assert_error(error, RERUN_ERROR, RERUN_ERROR_DAMAGED);
}

/* Events about tasks that are not there change nothing, as in the run. */
static void test_unknown_task(struct fixture *fixture, const void *data)
{
	g_autoptr(rerun_t) rerun = NULL;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, true);
	change(fixture, INSERTED("'ended'", "0", "4000000000", "{}"));
	rerun = carry_out(fixture);
	g_assert_cmpuint(rerun_result(rerun)->divergence.input, ==, 0);
}

/* A history whose process ended before the run continued is not left there. */
static void test_no_fork_between(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(rerun_t) rerun = NULL;
	struct engine_result result;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, false);
	change(fixture, INSERTED("'restore'", "NULL", "NULL", "{}"));
	rerun = rerun_new(fixture->store, &fixture->run, &fixture->setup, &error);
	g_assert_no_error(error);
	g_assert_true(rerun_until(rerun, 2, &error));
	g_assert_no_error(error);
	g_assert_false(rerun_fork(rerun, NULL, NULL, &result, &error));
	g_assert_error(error, RERUN_ERROR, RERUN_ERROR_FORK);
}

/* What a store lacks is said. */
static void test_lacks(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(rerun_t) rerun = NULL;

	g_assert_true(make_run(fixture, "busy.yaml", "easy", 1));
	record(fixture, true);
	change(fixture, "DELETE FROM input WHERE n = 1");
	rerun = rerun_new(fixture->store, &fixture->run, &fixture->setup, &error);
	g_assert_no_error(error);
	g_assert_false(rerun_until(rerun, UINT32_MAX, &error));
	g_assert_error(error, RERUN_ERROR, RERUN_ERROR_LACKS);
	g_assert_nonnull(strstr(error->message, "from number 1 to 1"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf(
			"/rerun/every policy on %s with %g of the energy is carried out alike",
			scenes[i].config, scenes[i].limit);

		g_test_add(path, struct fixture, &scenes[i], set_up, test_policies, tear_down);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(reloaded); i++) {
		g_autofree char *path = g_strdup_printf(
			"/rerun/%s with %g of the energy is as stored over full states",
			reloaded[i].config, reloaded[i].limit);

		g_test_add(path, struct fixture, &reloaded[i], set_up, test_reload, tear_down);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
		g_autofree char *path =
			g_strdup_printf("/rerun/the rest of %s under %s is simulated as it was",
					pairs[i].config, pairs[i].policy);

		g_test_add(path, struct fixture, &pairs[i], set_up, test_fork, tear_down);
	}
	g_test_add("/rerun/no history is left after its end", struct fixture, NULL, set_up,
		   test_no_fork, tear_down);
	g_test_add("/rerun/a comparison turned round is caught where it first matters",
		   struct fixture, NULL, set_up, test_turned, tear_down);
	g_test_add("/rerun/a comparison turned round is caught without texts", struct fixture, NULL,
		   set_up, test_turned_sums, tear_down);
	g_test_add("/rerun/... by the bits of sums in a pack", struct fixture, "packed", set_up,
		   test_turned_sums, tear_down);
	g_test_add("/rerun/what the bits of a pack hide is found at its end", struct fixture, NULL,
		   set_up, test_hidden, tear_down);
	for (gsize i = 0; i < G_N_ELEMENTS(alterations); i++) {
		g_autofree char *path =
			g_strdup_printf("/rerun/%s that was altered is named", alterations[i].name);

		g_test_add(path, struct fixture, &alterations[i], set_up, test_altered, tear_down);
	}
	g_test_add("/rerun/a measured result is compared", struct fixture, NULL, set_up,
		   test_measured_result, tear_down);
	g_test_add("/rerun/... as it was corrected", struct fixture, NULL, set_up,
		   test_corrected_result, tear_down);
	for (gsize i = 0; i < G_N_ELEMENTS(damages); i++) {
		g_autofree char *path =
			g_strdup_printf("/rerun/%s: damage is told", damages[i].name);

		g_test_add(path, struct fixture, &damages[i], set_up, test_damaged, tear_down);
	}
	g_test_add("/rerun/an event about no task of the run changes nothing", struct fixture, NULL,
		   set_up, test_unknown_task, tear_down);
	g_test_add("/rerun/no history is left between a process and the next", struct fixture, NULL,
		   set_up, test_no_fork_between, tear_down);
	g_test_add("/rerun/answers are stored to the last bit", struct fixture, NULL, set_up,
		   test_answers, tear_down);
	g_test_add("/rerun/missing inputs are named", struct fixture, NULL, set_up, test_lacks,
		   tear_down);
	return g_test_run();
}
