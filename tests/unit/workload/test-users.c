/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Users who react: what they submit, and when. */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "controller/experiment/experiment.h"
#include "controller/experiment/simulation.h"
#include "controller/workload/users.h"
#include "tests/unit/workload/testbed.h"

#define NONE UINT32_MAX

static struct config *config_of_users(uint32_t users, double think_mean_s, double think_s)
{
	struct config *config = testbed_config_new();

	config->workload->arrival_mean_s = 0;
	config->workload->users = users;
	config->workload->think_mean_s = think_mean_s;
	config->workload->think_s = think_s;
	return config;
}

/* The system of a configuration, which it can run. */
static struct sched_system *system_of(const struct config *config)
{
	g_autoptr(GError) error = NULL;
	struct sched_system *system = workload_system_new(config, &error);

	g_assert_no_error(error);
	return system;
}

static double think_of(const struct workload_users *users, uint32_t user, uint32_t n,
		       uint32_t *ret_row)
{
	struct sched_task task;
	double think_s;

	g_assert_true(workload_users_task(users, user, n, &task, &think_s));
	*ret_row = task.row;
	return think_s;
}

static void test_drawn(void)
{
	enum { USERS = 20, TASKS = 500 };
	struct config *config = config_of_users(USERS, 600, 0);
	struct sched_system *system = system_of(config);
	struct workload_users *users = workload_users_new(config, system, 1, 1);
	struct workload_users *again = workload_users_new(config, system, 1, 1);
	struct workload_users *other = workload_users_new(config, system, 1, 2);
	uint32_t rows[4] = {0}, differing = 0;
	double sum_s = 0;

	g_assert_cmpuint(workload_users_count(users), ==, USERS);
	g_assert_cmpuint(workload_users_tasks_max(users), ==, USERS * 10000);
	for (uint32_t user = 0; user < USERS; user++) {
		for (uint32_t n = 0; n < TASKS; n++) {
			uint32_t row, same_row, other_row;
			const double think_s = think_of(users, user, n, &row);

			rows[row]++;
			sum_s += think_s;
			differing += think_s != think_of(other, user, n, &other_row);
			/* In another order of calls. */
			g_assert_cmpfloat(think_of(again, USERS - 1 - user, TASKS - 1 - n,
						   &other_row),
					  >=, 0);
			g_assert_cmpfloat(think_of(again, user, n, &same_row), ==, think_s);
			g_assert_cmpuint(same_row, ==, row);
		}
	}
	g_assert_cmpuint(differing, ==, USERS * TASKS);
	/* Ten thousand of each: six deviations of the means. */
	g_assert_cmpfloat_with_epsilon(sum_s / (USERS * TASKS), 600, 6 * 600 / sqrt(USERS * TASKS));
	g_assert_cmpfloat_with_epsilon(rows[0] / (double)(USERS * TASKS), 0.4, 0.03);
	g_assert_cmpfloat_with_epsilon(rows[1] / (double)(USERS * TASKS), 0.1, 0.02);
	workload_users_hurry(again, 2);
	g_assert_cmpfloat(think_of(again, 3, 4, &rows[0]), ==, think_of(users, 3, 4, &rows[0]) / 2);
	workload_users_free(users);
	workload_users_free(again);
	workload_users_free(other);
	sched_system_free(system);
	testbed_config_free(config);
}

static void test_constant(void)
{
	struct config *config = config_of_users(8, 0, 300);
	struct sched_system *system = system_of(config);
	struct workload_users *users = workload_users_new(config, system, 1, 1);
	double first_s[8];
	uint32_t row;

	for (uint32_t user = 0; user < 8; user++) {
		first_s[user] = think_of(users, user, 0, &row);
		g_assert_cmpfloat(first_s[user], >=, 0);
		g_assert_cmpfloat(first_s[user], <, 300);
		g_assert_true(user == 0 || first_s[user] != first_s[user - 1]);
		g_assert_cmpfloat(think_of(users, user, 1, &row), ==, 300);
		g_assert_cmpfloat(think_of(users, user, 9, &row), ==, 300);
	}
	workload_users_free(users);
	sched_system_free(system);
	testbed_config_free(config);
}

/* IS.8 takes at least 430 s. */
static void give_list(struct config *config)
{
	static const struct config_workload_task list[] = {
		{.type = (char *)"IS.8", .arrival_s = 1000, .utility = 1, .user = (char *)"ann"},
		{.type = (char *)"IS.8", .arrival_s = 20, .utility = 2},
		{.type = (char *)"IS.8", .arrival_s = 100, .utility = 3, .user = (char *)"ann"},
		{.type = (char *)"IS.8", .arrival_s = 50, .utility = 4, .user = (char *)"bob"},
		{.type = (char *)"IS.8", .arrival_s = 1100, .utility = 5, .user = (char *)"ann"},
	};

	config->workload->arrival_mean_s = 0;
	config->workload->list = g_memdup2(list, sizeof(list));
	config->workload->list_count = G_N_ELEMENTS(list);
}

static void test_given(void)
{
	struct config *config = testbed_config_new();
	struct sched_system *system;
	g_autoptr(workload_t) workload = NULL;
	g_autoptr(GError) error = NULL;
	struct sched_task task;
	double think_s;
	uint32_t row;

	give_list(config);
	system = system_of(config);
	workload = workload_testbed_new(config, system, 0, 1, &error);
	g_assert_no_error(error);
	/* The task of no user arrives at its time; the others are in the room. */
	g_assert_cmpuint(workload->tasks_count, ==, 1);
	g_assert_cmpfloat(workload->tasks[0].arrival_s, ==, 20);
	g_assert_cmpuint(workload_room(workload), ==, 5);
	g_assert_cmpuint(workload_users_count(workload->users), ==, 2);
	/* ann, in the order of arrivals. */
	g_assert_cmpfloat(think_of(workload->users, 0, 0, &row), ==, 100);
	g_assert_cmpfloat(think_of(workload->users, 0, 1, &row), ==, 1000 - (100 + 430));
	g_assert_cmpfloat(think_of(workload->users, 0, 2, &row), ==, 0);
	g_assert_true(workload_users_task(workload->users, 0, 2, &task, &think_s));
	g_assert_cmpfloat(task.utility.max, ==, 5);
	g_assert_false(workload_users_task(workload->users, 0, 3, &task, &think_s));
	g_assert_cmpfloat(think_of(workload->users, 1, 0, &row), ==, 50);
	g_assert_true(isinf(workload_users_until_s(workload->users)));
	sched_system_free(system);
	g_free(config->workload->list);
	testbed_config_free(config);
}

/* Which user submitted which task, as the events say. */
struct noted {
	struct engine_recorder recorder; /* first */
	GArray *users;                   /* uint32_t per task */
};

static bool note(struct engine_recorder *recorder, double time_s, const char *kind,
		 const char *detail)
{
	struct noted *noted = (struct noted *)recorder;
	json_t *object = json_loads(detail, 0, NULL);
	const json_t *user = json_object_get(object, "user");
	const uint32_t number = user ? (uint32_t)json_integer_value(user) : NONE;

	if (strcmp(kind, "user-submitted") == 0) {
		g_assert_cmpint(json_integer_value(json_object_get(object, "task")), ==,
				noted->users->len);
		g_array_append_val(noted->users, number);
	}
	json_decref(object);
	return true;
}

/* A run of a policy, which the caller frees, with what was noted. */
static struct engine *run(const struct experiment *experiment, const struct experiment_trial *trial,
			  struct noted *noted, struct backend **ret_backend,
			  struct engine_result *ret_result)
{
	struct engine_setup setup =
		experiment_trial_setup(experiment, trial, &experiment->policies[0], 0);
	struct engine *engine;

	noted->recorder = (struct engine_recorder){.event = note};
	noted->users = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	setup.recorder = &noted->recorder;
	*ret_backend = experiment_backend_new(experiment, trial, &setup);
	engine = engine_new(&setup, *ret_backend);
	simulation_run(engine, *ret_backend, ret_result);
	return engine;
}

/* Asserts that every task arrives when the one before of its user has ended and it has thought. */
static void assert_reacts(const struct engine *engine, const struct noted *noted,
			  const struct workload_users *users)
{
	const uint32_t count = workload_users_count(users);
	g_autofree double *ready_s = g_new0(double, count);
	g_autofree uint32_t *next = g_new0(uint32_t, count);
	double last_s = 0;

	g_assert_cmpuint(noted->users->len, ==, engine_tasks_count(engine));
	for (uint32_t i = 0; i < noted->users->len; i++) {
		const struct engine_task *task = engine_task_at(engine, i);
		const uint32_t user = g_array_index(noted->users, uint32_t, i);
		uint32_t row;

		g_assert_cmpfloat(task->task->arrival_s, >=, last_s);
		last_s = task->task->arrival_s;
		if (user == NONE)
			continue;
		g_assert_cmpfloat_with_epsilon(task->task->arrival_s,
					       ready_s[user] +
						       think_of(users, user, next[user], &row),
					       1e-9);
		g_assert_cmpuint(task->task->row, ==, row);
		next[user]++;
		ready_s[user] = engine_task_over(task) && isfinite(task->ended_s) ? task->ended_s
										  : INFINITY;
	}
}

static void check_run(struct config *config, const char *policy, enum engine_end ended_by)
{
	const char *const policies[] = {policy, NULL};
	g_autoptr(GError) error = NULL;
	struct experiment *experiment = experiment_new(config, policies, &error);
	struct experiment_trial trial;
	struct engine_result result;
	struct backend *backend;
	struct noted noted;
	struct engine *engine;

	g_assert_no_error(error);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));
	engine = run(experiment, &trial, &noted, &backend, &result);
	assert_reacts(engine, &noted, trial.workload->users);
	g_test_message("%s: %u tasks, ended by %s", policy, noted.users->len,
		       engine_end_name(result.ended_by));
	g_assert_cmpuint(noted.users->len, >, 3);
	g_assert_cmpuint(result.tasks_arrived, ==, noted.users->len);
	g_assert_cmpint(result.ended_by, ==, ended_by);
	engine_free(engine);
	backend_destroy(backend);
	g_array_unref(noted.users);
	experiment_trial_clear(&trial);
	experiment_free(experiment);
}

static void test_reacts(void)
{
	struct config *config = config_of_users(10, 600, 0);

	check_run(config, "easy", ENGINE_END_TIME);
	check_run(config, "max-upr", ENGINE_END_TIME);
	/* Users stop before the run does: it is done when their last tasks have ended. */
	config->workload->duration_s = 2000;
	check_run(config, "easy", ENGINE_END_DONE);
	testbed_config_free(config);
}

static void test_list_reacts(void)
{
	struct config *config = testbed_config_new();

	give_list(config);
	check_run(config, "easy", ENGINE_END_DONE);
	g_free(config->workload->list);
	testbed_config_free(config);
}

/* What is on record is submitted again, and nothing else. */
static void test_restored(void)
{
	const char *const policies[] = {"easy", NULL};
	struct config *config = testbed_config_new();
	struct experiment *experiment;
	struct experiment_trial trial;
	struct engine_setup setup;
	struct backend *backend;
	struct engine *engine;

	give_list(config);
	experiment = experiment_new(config, policies, NULL);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, NULL));
	setup = experiment_trial_setup(experiment, &trial, &experiment->policies[0], 0);
	backend = experiment_backend_new(experiment, &trial, &setup);
	engine = engine_new(&setup, backend);
	g_assert_false(engine_restore_submission(engine, 1, NONE, 20));
	g_assert_true(engine_restore_submission(engine, 0, NONE, 20));
	g_assert_false(engine_restore_submission(engine, 1, NONE, 30));
	g_assert_false(engine_restore_submission(engine, 1, 2, 50));
	g_assert_false(engine_restore_submission(engine, 1, 1, 10));
	g_assert_true(engine_restore_submission(engine, 1, 1, 50));
	g_assert_false(engine_restore_submission(engine, 2, 1, 60));
	g_assert_true(engine_restore_submission(engine, 2, 0, 100));
	g_assert_cmpuint(engine_tasks_count(engine), ==, 3);
	g_assert_cmpfloat(engine_task_at(engine, 1)->task->utility.max, ==, 4);
	/* The workload of the trial is as it was, for other runs. */
	g_assert_cmpuint(trial.workload->tasks_count, ==, 1);
	engine_free(engine);
	backend_destroy(backend);
	experiment_trial_clear(&trial);
	experiment_free(experiment);
	g_free(config->workload->list);
	testbed_config_free(config);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/users/what is drawn depends on user and number alone", test_drawn);
	g_test_add_func("/users/that think as long each time begin apart", test_constant);
	g_test_add_func("/users/of a list think as its arrivals say", test_given);
	g_test_add_func("/users/submit after the end and a think time", test_reacts);
	g_test_add_func("/users/of a list do so beside tasks of no user", test_list_reacts);
	g_test_add_func("/users/are restored as they were", test_restored);
	return g_test_run();
}
