/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed_runs.h"

#include <glib.h>
#include <math.h>

#include "common/random.h"
#include "controller/backend/sim.h"
#include "controller/experiment/experiment.h"
#include "controller/experiment/simulation.h"
#include "controller/journal/recorder_store.h"
#include "controller/store/store.h"

/* Ratios to draw from, per cluster. */
enum { RATIOS = 500 };

struct writing {
	const struct testbed_runs *runs;
	struct experiment *experiment;
	struct store *store;
	struct backend_sim_ratio ratios[RATIOS];
};

static void good(bool done, GError **error)
{
	g_assert_no_error(*error);
	g_assert_true(done);
}

/* Ratios around 1, of time and energy alike: normal by the sum of twelve uniforms. */
static void draw_ratios(struct writing *writing)
{
	struct random_stream random;

	random_stream_init(&random, writing->runs->seed, 0);
	for (int i = 0; i < RATIOS; i++) {
		double sum = -6;

		for (int j = 0; j < 12; j++)
			sum += random_stream_uniform(&random);
		writing->ratios[i].time = writing->ratios[i].energy =
			fmax(0.1, 1 + writing->runs->spread * sum);
	}
}

/* Measuring again draws other execution times, where they are drawn. */
static void draw_times(const struct writing *writing, const struct experiment_trial *trial,
		       int64_t run, struct backend *backend)
{
	const struct workload *workload = trial->workload;

	if (trial->pruning && writing->runs->measured)
		backend_sim_set_exec_seed(backend, writing->runs->seed, (uint64_t)run);
	else if (trial->pruning)
		backend_sim_set_exec_seed(backend, workload->seed, workload->trial);
}

static void simulate(struct writing *writing, const struct experiment_trial *trial, int64_t run,
		     const struct policy *policy, double limit_j, struct engine_result *ret_result)
{
	g_autoptr(GError) error = NULL;
	const struct sched_system *system = writing->experiment->system;
	const struct backend_sim_ratio *lists[8];
	uint32_t counts[8];
	const struct backend_sim_spread spread = {lists, counts, writing->runs->seed,
						  (uint64_t)run};
	struct engine_setup setup =
		experiment_trial_setup(writing->experiment, trial, policy, limit_j);
	struct recorder_store *recorder = recorder_store_new(writing->store, run, system, false);
	struct backend *backend = backend_sim_new(setup.system, trial->workload->tasks_count);
	struct engine *engine;

	g_assert_cmpuint(system->clusters_count, <=, G_N_ELEMENTS(lists));
	for (uint32_t i = 0; i < system->clusters_count; i++) {
		lists[i] = writing->ratios;
		counts[i] = RATIOS;
	}
	setup.recorder = recorder_store_engine(recorder);
	backend_sim_set_spread(backend, &spread);
	draw_times(writing, trial, run, backend);
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, ret_result);
	engine_free(engine);
	backend_destroy(backend);
	good(recorder_store_finish(recorder, &error), &error);
	recorder_store_free(recorder);
}

static void put_run(struct writing *writing, const struct experiment_trial *trial,
		    const struct policy *policy, double limit, uint32_t repeat)
{
	g_autoptr(GError) error = NULL;
	double limit_j = limit * writing->runs->config->experiment->budget_j;
	struct store_run run = {
		.policy = (char *)policy->name,
		.limit = limit,
		.limit_j = limit_j,
		.repeat = repeat,
		.seed = trial->workload->seed,
		.measured = writing->runs->measured,
		.host_load = NAN,
	};
	struct engine_result result;

	good(store_add_run(writing->store, &run, &error), &error);
	simulate(writing, trial, run.run, policy, limit_j, &result);
	run.ended_by = (char *)engine_end_name(result.ended_by);
	run.ended_s = result.ended_s;
	run.utility = result.utility;
	run.energy_j = result.energy_j;
	run.tasks_arrived = result.tasks_arrived;
	run.tasks_completed = result.tasks_completed;
	run.tasks_failed = result.tasks_failed;
	run.tasks_dropped = result.tasks_dropped;
	good(store_update_run(writing->store, &run, &error), &error);
}

static void put_runs(struct writing *writing)
{
	const struct testbed_runs *runs = writing->runs;

	for (uint32_t i = 1; i <= runs->runs; i++) {
		g_autoptr(GError) error = NULL;
		struct experiment_trial trial;

		good(experiment_trial_init(writing->experiment, 0, runs->measured ? 1 : i, &trial,
					   &error),
		     &error);
		for (uint32_t limit = 0; limit < runs->limits_count; limit++)
			for (uint32_t j = 0; j < writing->experiment->policies_count; j++)
				put_run(writing, &trial, &writing->experiment->policies[j],
					runs->limits[limit], i);
		experiment_trial_clear(&trial);
	}
}

char *testbed_runs_new(const struct testbed_runs *runs)
{
	g_autoptr(GError) error = NULL;
	char *dir = g_dir_make_tmp("virtbed-report-XXXXXX", &error);
	g_autofree char *config_path = g_build_filename(dir, "config.yaml", NULL);
	g_autoptr(experiment_t) experiment = experiment_new(runs->config, runs->policies, &error);
	g_autoptr(store_t) store = store_open(dir, true, &error);
	struct writing writing = {.runs = runs, .experiment = experiment, .store = store};

	g_assert_no_error(error);
	draw_ratios(&writing);
	good(config_save(runs->config, config_path, &error), &error);
	good(store_set_meta(store, "kind", runs->measured ? "measured" : "simulated", &error),
	     &error);
	put_runs(&writing);
	return dir;
}
