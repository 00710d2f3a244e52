/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that is cut off goes on from its record as if nothing had happened. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>

#include "controller/engine/experiment.h"
#include "controller/engine/recorder_store.h"
#include "controller/store/store.h"
#include "tests/unit/sched/scripted_backend.h"
#include "tests/unit/sched/testbed.h"

/* When it is cut off: between events, at one, early and late. */
static const double cuts_s[] = { 40, 2500.5, 5000, 9999 };
static const char *const policies[] = { "easy", "max-upr", "max-upe+reservations", "event-based",
					NULL };

/* A directory with a store in it, and one run. */
struct place {
	char *dir;
	struct store *store;
	struct store_run row;
};

static void place_open(struct place *place, const char *policy)
{
	g_autoptr(GError) error = NULL;

	place->dir = g_dir_make_tmp("virtbed-resume-XXXXXX", &error);
	g_assert_no_error(error);
	place->store = store_open(place->dir, true, &error);
	g_assert_no_error(error);
	place->row = (struct store_run){
		.policy = (char *)policy,
		.limit = 1,
		.repeat = 1,
		.host_load = (double)NAN,
	};
	g_assert_true(store_add_run(place->store, &place->row, &error));
}

static void place_close(struct place *place)
{
	g_autoptr(GDir) dir = g_dir_open(place->dir, 0, NULL);
	const char *name;

	store_close(place->store);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(place->dir, name, NULL);

		g_unlink(path);
	}
	g_rmdir(place->dir);
	g_free(place->dir);
}

/* Runs with a recorder on a script; `resumed`: from the record, with what ran adopted. */
static void run(const struct experiment *experiment, const struct engine_setup *plain,
		struct place *place, const struct script *script, bool resumed,
		struct engine_result *ret_result)
{
	struct backend *backend = scripted_backend_new(script);
	struct recorder_store *recorder =
		recorder_store_new(place->store, place->row.run, experiment->system, true);
	struct engine_setup setup = *plain;
	g_autoptr(GError) error = NULL;

	setup.recorder = recorder_store_engine(recorder);

	g_autoptr(engine_t) engine = engine_new(&setup, backend);

	if (resumed) {
		g_assert_true(recorder_store_restore(place->store, place->row.run, &setup, engine,
						     &error));
		for (uint32_t i = 0; i < setup.workload->tasks_count; i++) {
			const struct engine_task *task = engine_task(engine, i);

			if (task->state == ENGINE_TASK_STARTING ||
			    task->state == ENGINE_TASK_RUNNING)
				scripted_backend_adopt(backend,
						       &(struct backend_start){
							       i, task->attempts, task->task->row,
							       task->cluster, task->pstate,
							       task->nodes, task->nodes_count },
						       task->started_s);
		}
	}
	engine_run(engine, ret_result);
	g_assert_true(recorder_store_finish(recorder, &error));
	g_assert_no_error(error);
	recorder_store_free(recorder);
	backend_destroy(backend);
}

/*
 * The cut: the backend gives up at that time. The engine then marks what was under way as
 * unfinished, which a controller that is killed does not do: those records are held back.
 */
struct keeper {
	struct engine_recorder recorder;
	struct engine_recorder *to;
};

static bool keep_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return task->state == ENGINE_TASK_UNFINISHED || keeper->to->task(keeper->to, task);
}

static bool keep_flush(struct engine_recorder *recorder)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return keeper->to->flush(keeper->to);
}

static void run_cut(const struct experiment *experiment, const struct engine_setup *plain,
		    struct place *place, const struct script *script)
{
	struct backend *backend = scripted_backend_new(script);
	struct recorder_store *recorder =
		recorder_store_new(place->store, place->row.run, experiment->system, true);
	struct keeper keeper = {
		.recorder = { .task = keep_task, .flush = keep_flush },
		.to = recorder_store_engine(recorder),
	};
	struct engine_setup setup = *plain;
	struct engine_result result;

	setup.recorder = &keeper.recorder;

	g_autoptr(engine_t) engine = engine_new(&setup, backend);

	engine_run(engine, &result);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_true(recorder_store_finish(recorder, NULL));
	recorder_store_free(recorder);
	backend_destroy(backend);
}

static void test_cut(const char *policy, double cut_s)
{
	const char *names[] = { policy, NULL };
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, names, NULL);
	g_autoptr(workload_t) workload =
		workload_testbed_new(config, experiment->system, 3, 1, NULL);
	const struct engine_setup setup =
		experiment_setup(experiment, workload, &experiment->policies[0], 2.8e6);
	const struct script_event abort = { cut_s, BACKEND_EVENT_ABORTED, 0, 0, "cut" };
	struct script whole = { .system = experiment->system, .watts = 250 };
	struct script first = whole;
	struct script second = whole;
	struct engine_result expected;
	struct engine_result result;
	struct place place;

	first.events = &abort;
	first.events_count = 1;
	second.now_s = cut_s;
	place_open(&place, policy);
	run(experiment, &setup, &place, &whole, false, &expected);
	place_close(&place);
	place_open(&place, policy);
	run_cut(experiment, &setup, &place, &first);
	run(experiment, &setup, &place, &second, true, &result);
	place_close(&place);
	g_assert_cmpint(result.ended_by, ==, expected.ended_by);
	g_assert_cmpfloat(result.ended_s, ==, expected.ended_s);
	g_assert_cmpuint(result.tasks_arrived, ==, expected.tasks_arrived);
	g_assert_cmpuint(result.tasks_completed, ==, expected.tasks_completed);
	g_assert_cmpuint(result.tasks_dropped, ==, expected.tasks_dropped);
	g_assert_cmpfloat_with_epsilon(result.utility, expected.utility, 1e-9);
	experiment_free(experiment);
	testbed_config_free(config);
}

static void test_policy(const void *data)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cuts_s); i++)
		test_cut(data, cuts_s[i]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; policies[i]; i++) {
		g_autofree char *path =
			g_strdup_printf("/resume/%s ends as it would have without a stop",
					policies[i]);

		g_test_add_data_func(path, policies[i], test_policy);
	}
	return g_test_run();
}
