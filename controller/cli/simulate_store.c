/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/simulate_store.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/version/build_version.h"
#include "controller/config/config_environment.h"
#include "controller/journal/recorder_store.h"
#include "controller/store/store.h"

/* The arguments of simulate_store_write(). */
struct writing {
	const struct trials *trials;
	const double *limits;
	const struct engine_result *results;
	struct store *store;
	uint64_t seed;
};

static bool put_meta(struct store *store, const char *key, GError **error, const char *format, ...)
	G_GNUC_PRINTF(4, 5);

static bool put_meta(struct store *store, const char *key, GError **error, const char *format, ...)
{
	va_list arguments;
	g_autofree char *text = NULL;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	return store_set_meta(store, key, text, error);
}

static char *cluster_order(const struct sched_system *system)
{
	GString *text = g_string_new(NULL);

	for (uint32_t c = 0; c < system->clusters_count; c++)
		g_string_append_printf(text, "%s%s", c ? "," : "", system->clusters[c].name);
	return g_string_free(text, FALSE);
}

/* Stores the configuration as it was used, as a file beside the store and as text in it. */
static bool put_config(const struct writing *writing, const char *dir, GError **error)
{
	const struct config *config = writing->trials->experiment->config;
	g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
	g_autofree char *text = NULL;

	return config_save(config, path, error) && g_file_get_contents(path, &text, NULL, error) &&
	       store_set_meta(writing->store, "config_yaml", text, error) &&
	       store_put_estimates(writing->store, config->estimates, config->estimates_count,
				   error);
}

static bool put_facts(const struct writing *writing, double budget_j, const char *estimates,
		      GError **error)
{
	const struct trials *trials = writing->trials;
	struct store *store = writing->store;
	g_autofree char *order = cluster_order(trials->experiment->system);
	g_autofree char *tasks = config_workload_digest(trials->experiment->config->workload);
	g_autofree char *users = config_workload_users_digest(trials->experiment->config);
	g_autofree char *now = clock_utc();

	return store_set_meta(store, "kind", "simulated", error) &&
	       store_set_meta(store, "version", build_version(), error) &&
	       store_set_meta(store, "config_name", trials->experiment->config->name, error) &&
	       store_set_meta(store, "started_utc", now, error) &&
	       store_set_meta(store, "cluster_order", order, error) &&
	       store_set_meta(store, "estimates", estimates, error) &&
	       store_set_meta(store, "tasks_sha256", tasks, error) &&
	       store_set_meta(store, "users_sha256", users, error) &&
	       put_meta(store, "overheads", error, "%u",
			trials->experiment->overheads ? trials->experiment->config->overheads_count
						      : 0) &&
	       put_meta(store, "seed", error, "%" PRIu64, writing->seed) &&
	       put_meta(store, "trials", error, "%u", trials->trials) &&
	       put_meta(store, "budget_j", error, "%.17g", budget_j);
}

/*
 * Stores the stretch of a run, which cannot be computed from trials without stored tasks; nothing
 * where it is unknown.
 */
static bool put_stretch(struct store *store, int64_t run, const struct engine_result *result,
			GError **error)
{
	g_autofree char *detail = NULL;
	char mean[G_ASCII_DTOSTR_BUF_SIZE];
	char max[G_ASCII_DTOSTR_BUF_SIZE];

	if (!(result->stretch_max > 0))
		return true;
	detail = g_strdup_printf("{\"mean\": %s, \"max\": %s}",
				 g_ascii_dtostr(mean, sizeof(mean), result->stretch_mean),
				 g_ascii_dtostr(max, sizeof(max), result->stretch_max));
	return store_add_event(store, run, result->ended_s, "stretch", detail, error);
}

static bool add_run(const struct writing *writing, uint32_t trial, uint32_t policy, uint32_t limit,
		    int64_t *ret_run, GError **error)
{
	const struct trials *trials = writing->trials;
	const struct engine_result *result =
		trials_result(trials, writing->results, trial, policy, limit);
	struct store_run row = {
		.policy = trials->experiment->policies[policy].name,
		.limit = writing->limits[limit],
		.limit_j = trials->limits_j[limit],
		.repeat = trial + 1,
		.seed = writing->seed,
		.ended_by = (char *)engine_end_name(result->ended_by),
		.ended_s = result->ended_s,
		.utility = result->utility,
		.energy_j = result->energy_j,
		.host_load = (double)NAN,
		.tasks_arrived = result->tasks_arrived,
		.tasks_completed = result->tasks_completed,
		.tasks_failed = result->tasks_failed,
		.tasks_dropped = result->tasks_dropped,
	};

	if (!store_add_run(writing->store, &row, error))
		return false;
	*ret_run = row.run;
	return put_stretch(writing->store, row.run, result, error);
}

/*
 * Simulates a run of trial 1 a second time and records it; texts of decisions only for types that can
 * be run.
 */
static bool record_run(const struct writing *writing, const struct experiment_trial *trial,
		       uint32_t policy, uint32_t limit, int64_t run, GError **error)
{
	const struct experiment *experiment = writing->trials->experiment;
	struct engine_setup setup =
		experiment_trial_setup(experiment, trial, &experiment->policies[policy],
				       writing->trials->limits_j[limit]);
	struct recorder_store *recorder =
		recorder_store_new(writing->store, run, experiment->system, false);
	struct engine_result result;
	bool good;

	setup.recorder = recorder_store_engine(recorder);
	/*
	 * Without types a decision is about hundreds of waiting tasks at thousands of events: its
	 * text would fill the disk. Its sums are stored with the inputs.
	 */
	if (experiment->config->types_count == 0)
		setup.recorder->decision = NULL;
	good = experiment_simulate_run(experiment, trial, &setup, &result, error) &&
	       recorder_store_pack(recorder, error);
	recorder_store_free(recorder);
	return good;
}

/* Records all runs of trial 1, policies x limits; `runs` are their row ids. */
static bool record_runs(const struct writing *writing, const int64_t *runs, GError **error)
{
	const struct trials *trials = writing->trials;
	const uint32_t policies = trials->experiment->policies_count;
	struct experiment_trial trial;
	bool good;

	if (!experiment_trial_init(trials->experiment, writing->seed, 1, &trial, error))
		return false;
	good = true;
	for (uint32_t i = 0; good && i < policies * trials->limits_count; i++)
		good = record_run(writing, &trial, i % policies, i / policies, runs[i], error);
	experiment_trial_clear(&trial);
	return good;
}

/* Tasks are recorded for configured types only: other environments have thousands of tasks. */
static bool is_recorded(const struct config *config)
{
	return !config_environment(config) || config_environment(config)->pruning;
}

static bool put_runs(const struct writing *writing, GError **error)
{
	const struct trials *trials = writing->trials;
	const struct experiment *experiment = trials->experiment;
	const uint32_t cells = experiment->policies_count * trials->limits_count;
	g_autofree int64_t *first = g_new(int64_t, cells);
	bool good = store_begin(writing->store, error);

	for (uint32_t trial = 0; good && trial < trials->trials; trial++) {
		for (uint32_t i = 0; good && i < cells; i++) {
			int64_t run = 0;

			good = add_run(writing, trial, i % experiment->policies_count,
				       i / experiment->policies_count, &run, error);
			if (trial == 0)
				first[i] = run;
		}
	}
	good = good && store_commit(writing->store, error);
	return good && (!is_recorded(experiment->config) || record_runs(writing, first, error));
}

static bool refuse_used(const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, STORE_FILE, NULL);

	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return true;
	return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN,
			  "%s: there is a run in it already; name another directory", dir);
}

/* The nearest existing directory above a path. */
static char *existing(const char *dir)
{
	char *at = g_canonicalize_filename(dir, NULL);

	while (g_access(at, F_OK) < 0 && errno == ENOENT) {
		char *above = g_path_get_dirname(at);

		g_free(at);
		at = above;
	}
	return at;
}

bool simulate_store_check(const char *dir, const struct config *config, GError **error)
{
	g_autofree char *at = existing(dir);
	g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
	g_autofree char *text = config_to_text(config);

	if (!refuse_used(dir, error) || !config_text_is_readable(text, path, error))
		return false;
	errno = ENOTDIR;
	if (g_file_test(at, G_FILE_TEST_IS_DIR) && g_access(at, W_OK | X_OK) == 0)
		return true;
	return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN,
			  "cannot make the run directory \"%s\": %s: %s; name another one", dir, at,
			  g_strerror(errno));
}

bool simulate_store_write(const char *dir, const struct trials *trials, const double *limits,
			  double budget_j, const struct engine_result *results,
			  const char *estimates, GError **error)
{
	struct writing writing = {
		.trials = trials,
		.limits = limits,
		.results = results,
		.seed = trials->seed ? trials->seed : trials->experiment->config->workload->seed,
	};
	g_autoptr(store_t) store = NULL;
	g_autofree char *ended = NULL;

	if (!refuse_used(dir, error))
		return false;
	store = store_open(dir, true, error);
	if (!store)
		return false;
	writing.store = store;
	if (!put_facts(&writing, budget_j, estimates, error) || !put_config(&writing, dir, error) ||
	    !put_runs(&writing, error))
		return false;
	ended = clock_utc();
	return store_set_meta(store, "ended_utc", ended, error);
}
