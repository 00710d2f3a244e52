/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/cli/limit_list.h"
#include "controller/cli/simulate_store.h"
#include "controller/cli/simulate_summary.h"
#include "controller/cli/trace_notes.h"
#include "controller/config/config_controller.h"
#include "controller/report/provenance.h"
#include "controller/store/store.h"

/* More trials would only fill memory. */
#define TRIALS_MAX 1000000
#define JOBS_MAX 1024

/* Workloads to draw, unless the command line says otherwise. */
#define TRIALS 200

/* The command line. */
struct arguments {
	uint32_t trials; /* 0: not given */
	uint32_t jobs;
	int64_t seed;          /* 0: the configured one */
	const char *policies;  /* NULL: the configured ones */
	const char *limits;    /* NULL: the configured ones */
	const char *estimates; /* NULL: the configured ones */
	const char *out;       /* NULL: nothing is stored */
	const char *baseline;  /* NULL: ratios refer to policy_reference() */
	bool no_overheads;
	bool json;
};

/* Returns the limits of the command line, else the configured ones; NULL with `error`. */
static GArray *find_limits(const char *given, const struct config *config, GError **error)
{
	GArray *limits;

	if (given)
		return limit_list_parse(given, error);
	limits = g_array_new(FALSE, FALSE, sizeof(double));
	return g_array_append_vals(limits, config->experiment->limits,
				   config->experiment->limits_count);
}

/* Overwrites the progress line. */
static bool show_progress(uint32_t done, uint32_t trials, void *data)
{
	const gint64 *begun = data;
	const double elapsed_s =
		(double)(g_get_monotonic_time() - *begun) / (double)G_TIME_SPAN_SECOND;

	if (done > 0)
		fprintf(stderr, "\rsimulating: %u of %u trials, %.0f s left ", done, trials,
			elapsed_s * (trials - done) / done);
	return true;
}

/* Stores the provenance of the estimates in the run directory. */
static bool store_origin(const struct provenance *origin, const char *dir, GError **error)
{
	g_autoptr(store_t) store = store_open(dir, false, error);

	return store && provenance_put(origin, store, error);
}

static void print_notes(const struct provenance *origin)
{
	g_autoptr(GPtrArray) notes = provenance_notes(origin, false, false);

	for (guint i = 0; i < notes->len; i++)
		printf("  ! %s\n", (const char *)notes->pdata[i]);
}

/* Runs all trials, prints and stores the results; false with `error`. */
static int run_trials(const char *name, struct trials *trials, const double *limits,
		      double budget_j, const struct arguments *arguments,
		      const struct provenance *origin)
{
	const bool watched = isatty(STDERR_FILENO);
	gint64 begun = g_get_monotonic_time();
	g_autofree struct engine_result *results = NULL;
	g_autoptr(simulate_summary_t) summary = NULL;
	g_autoptr(GError) error = NULL;

	trials->progress = watched ? show_progress : NULL;
	trials->data = &begun;
	results = trials_run(trials, &error);
	if (watched && g_get_monotonic_time() - begun > G_TIME_SPAN_SECOND)
		fputs("\r\033[K", stderr);
	if (!results)
		return command_fail(error->domain == PLUGIN_ERROR ? COMMAND_FAILED : COMMAND_BAD,
				    name, "%s", error->message);
	summary = simulate_summary_new(trials, limits, budget_j,
				       simulate_summary_baseline(trials->experiment,
								 arguments->baseline),
				       results);
	if (arguments->out &&
	    (!simulate_store_write(arguments->out, trials, limits, budget_j, results,
				   arguments->estimates ? arguments->estimates : "given", &error) ||
	     !store_origin(origin, arguments->out, &error)))
		return command_fail(store_error_is_input(error) ? COMMAND_BAD : COMMAND_FAILED,
				    name, "%s", error->message);
	if (arguments->json) {
		g_autoptr(json_t) list = simulate_summary_json(summary);

		command_print_json(list);
	} else {
		print_notes(origin);
		simulate_summary_print(summary, NULL, stdout);
	}
	return COMMAND_DONE;
}

static void warn_of_speeds(const char *name, const struct config *config)
{
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		const struct config_cluster *cluster = &config->clusters[i];

		if (cluster->simulated && cluster->simulated->speed != 1)
			fprintf(stderr,
				"%s: warning: clusters[%u].simulated.speed: %g is of its local scheduler alone: here "
				"tasks take the seconds of their estimates\n",
				name, i, cluster->simulated->speed);
	}
}

/*
 * Finds how many trials are simulated. Where tasks are given all trials would be the same, and pass
 * for a spread of workloads.
 */
static bool find_trials(const struct config *config, uint32_t given, uint32_t *ret_trials,
			GError **error)
{
	const bool listed = config_workload_is_given(config->workload);

	*ret_trials = given ? given : listed ? 1 : TRIALS;
	if (!listed || given <= 1)
		return true;
	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
		    "--trials: %u of the same tasks, which the configuration gives; leave it out",
		    given);
	return false;
}

/* Whether the policy of --baseline is one of the experiment; `given` may be NULL. */
static bool check_baseline(const struct experiment *experiment, const char *given, GError **error)
{
	g_autoptr(GString) names = g_string_new(NULL);

	if (!given || simulate_summary_baseline(experiment, given) >= 0)
		return true;
	for (uint32_t i = 0; i < experiment->policies_count; i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", experiment->policies[i].name);
	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
		    "--baseline: \"%s\" is not among the policies: %s", given, names->str);
	return false;
}

/* Makes trials of the configuration and the command line, and runs them. */
static int simulate(const char *name, const char *path, const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autoptr(experiment_t) experiment = NULL;
	g_autoptr(provenance_t) origin =
		provenance_of_file(arguments->estimates ? arguments->estimates : path);
	g_auto(GStrv) policies = NULL;
	g_autoptr(GArray) limits = NULL;
	g_autofree double *limits_j = NULL;
	double budget_j = 0;
	uint32_t count;
	const uint64_t seed = (uint64_t)arguments->seed;

	if (!config ||
	    (arguments->estimates && !config_load_estimates(config, arguments->estimates, &error)))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (!find_trials(config, arguments->trials, &count, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	provenance_set_holes(origin, config);
	warn_of_speeds(name, config);
	if (arguments->out && !simulate_store_check(arguments->out, config, &error))
		return command_fail(COMMAND_BAD, name, "--out: %s", error->message);
	if (arguments->policies)
		policies = g_strsplit(arguments->policies, ",", -1);
	limits = find_limits(arguments->limits, config, &error);
	if (limits)
		experiment = experiment_new(config, (const char *const *)policies, &error);
	if (experiment)
		experiment->loads_objects = true;
	if (experiment && !experiment_check_programs(experiment, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (experiment && !check_baseline(experiment, arguments->baseline, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (experiment && arguments->no_overheads)
		experiment_drop_overheads(experiment);
	if (experiment)
		budget_j = experiment_budget_j(experiment, seed, &error);
	if (error) {
		command_name_source(&error, path, policies);
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	}
	trace_notes_print_days(name, experiment, count);
	limits_j = g_new(double, limits->len);
	for (guint i = 0; i < limits->len; i++)
		limits_j[i] = g_array_index(limits, double, i) * budget_j;

	struct trials trials = {
		.experiment = experiment,
		.seed = seed,
		.trials = count,
		.jobs = arguments->jobs,
		.limits_j = limits_j,
		.limits_count = limits->len,
	};

	return run_trials(name, &trials, (const double *)(const void *)limits->data, budget_j,
			  arguments, origin);
}

int cmd_simulate(int argc, char **argv)
{
	struct arguments arguments = {.jobs = g_get_num_processors()};
	const struct command_option options[] = {
		{"trials", 'n', COMMAND_COUNT, &arguments.trials,
		 "workloads to draw (default 200; 1 where tasks are given)", "N", 1, TRIALS_MAX},
		{"jobs", 'j', COMMAND_COUNT, &arguments.jobs,
		 "threads (default: one per core); results do not depend on it", "N", 1, JOBS_MAX},
		{"seed", 's', COMMAND_INTEGER, &arguments.seed,
		 "of the workloads (default: the configured one)", "N", 1, (double)INT64_MAX},
		{"policy", 'p', COMMAND_TEXT, &arguments.policies, "instead of the configured ones",
		 "NAME,..."},
		{"limit", 'l', COMMAND_TEXT, &arguments.limits,
		 "fractions of the budget, instead of the configured ones", "F,..."},
		{"estimates", 'e', COMMAND_FILE, &arguments.estimates,
		 "ETC and EEC, e.g. as measured by `virtbed profile`; and its overheads", "FILE"},
		{"no-overheads", 0, COMMAND_FLAG, &arguments.no_overheads,
		 "suspending and resuming tasks takes no time, whatever was measured"},
		{"out", 'o', COMMAND_FILE, &arguments.out,
		 "also write a run directory; tasks and decisions in it are those of trial 1, of most "
		 "environments none",
		 "DIR"},
		{"baseline", 0, COMMAND_TEXT, &arguments.baseline,
		 "the policy that ratios refer to (default: max-upr)", "NAME"},
		{"json", 0, COMMAND_FLAG, &arguments.json, "one JSON array"},
		{NULL},
	};

	if (!command_parse(&argc, &argv, "CONFIG", "Runs the experiment of CONFIG in virtual time.",
			   options))
		return COMMAND_BAD;
	if (argc != 2)
		return command_fail(COMMAND_BAD, argv[0], "give one configuration file");
	return simulate(argv[0], argv[1], &arguments);
}
