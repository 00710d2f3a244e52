/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "common/json.h"
#include "common/number_option.h"
#include "controller/cli/commands.h"
#include "controller/cli/limit_list.h"
#include "controller/cli/simulate_store.h"
#include "controller/cli/simulate_summary.h"
#include "controller/cli/trace_notes.h"
#include "controller/config/config_controller.h"
#include "controller/report/provenance.h"
#include "controller/store/store.h"
#include "controller/workload/environment.h"

/* More trials would only fill memory. */
#define TRIALS_MAX 1000000
#define JOBS_MAX 1024

/* The command line. */
struct options {
	uint32_t trials;
	uint32_t jobs;
	int64_t seed;    /* 0: the configured one */
	char *policies;  /* NULL: the configured ones */
	char *limits;    /* NULL: the configured ones */
	char *estimates; /* NULL: the configured ones */
	char *out;       /* NULL: nothing is stored */
	gboolean no_overheads;
	gboolean json;
};

static bool parse_options(int *argc, char ***argv, struct options *options, GError **error)
{
	g_autofree char *trials = NULL;
	g_autofree char *jobs = NULL;
	g_autofree char *seed = NULL;
	const GOptionEntry entries[] = {
		{ "trials", 'n', 0, G_OPTION_ARG_STRING, &trials,
		  "workloads to draw (default 200)", "N" },
		{ "jobs", 'j', 0, G_OPTION_ARG_STRING, &jobs,
		  "threads (default: one per core); results do not depend on it", "N" },
		{ "seed", 's', 0, G_OPTION_ARG_STRING, &seed,
		  "of the workloads (default: the configured one)", "N" },
		{ "policy", 'p', 0, G_OPTION_ARG_STRING, &options->policies,
		  "instead of the configured ones", "NAME,..." },
		{ "limit", 'l', 0, G_OPTION_ARG_STRING, &options->limits,
		  "fractions of the budget, instead of the configured ones", "F,..." },
		{ "estimates", 'e', 0, G_OPTION_ARG_FILENAME, &options->estimates,
		  "ETC and EEC, e.g. as measured by `virtbed profile`; and its overheads", "FILE" },
		{ "no-overheads", 0, 0, G_OPTION_ARG_NONE, &options->no_overheads,
		  "suspending and resuming tasks takes no time, whatever was measured", NULL },
		{ "out", 'o', 0, G_OPTION_ARG_FILENAME, &options->out,
		  "also write a run directory; tasks and decisions in it are those of trial 1, of most "
		  "environments none", "DIR" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &options->json, "one JSON array", NULL },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("CONFIG");

	g_option_context_set_summary(context, "Runs the experiment of CONFIG in virtual time.");
	g_option_context_add_main_entries(context, entries, NULL);
	return g_option_context_parse(context, argc, argv, error) &&
	       number_option_unsigned("--trials", trials, 1, TRIALS_MAX, &options->trials, error) &&
	       number_option_unsigned("--jobs", jobs, 1, JOBS_MAX, &options->jobs, error) &&
	       number_option_integer("--seed", seed, 1, INT64_MAX, &options->seed, error);
}

/* Returns the limits of the command line, else the configured ones; NULL with `error`. */
static double *find_limits(const struct options *options, const struct config *config,
			   uint32_t *ret_count, GError **error)
{
	g_autoptr(GArray) limits = NULL;

	if (!options->limits) {
		*ret_count = config->experiment->limits_count;
		return g_memdup2(config->experiment->limits, *ret_count * sizeof(double));
	}
	limits = limit_list_parse(options->limits, error);
	if (!limits)
		return NULL;
	*ret_count = limits->len;
	return g_memdup2(limits->data, limits->len * sizeof(double));
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
		      double budget_j,
	       const struct options *options, const struct provenance *origin)
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
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	summary = simulate_summary_new(trials, limits, budget_j, results);
	if (options->out &&
	    (!simulate_store_write(options->out, trials, limits, budget_j, results,
				   options->estimates ? options->estimates : "given", &error) ||
	     !store_origin(origin, options->out, &error)))
		return command_fail(store_error_is_input(error) ? COMMAND_BAD : COMMAND_FAILED,
				    name, "%s", error->message);
	if (options->json) {
		g_autoptr(json_t) list = simulate_summary_json(summary);
		g_autofree char *text = json_pretty(list);

		puts(text);
	} else {
		print_notes(origin);
		simulate_summary_print(summary, stdout);
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

/* Prints which jobs of a trace were left out, and which of its days the trials run. */
static void note_trace(const char *name, const struct experiment *experiment, uint32_t trials)
{
	g_autofree char *days = environment_days_text(experiment->config, experiment->trace, trials);

	trace_notes_print(name, "environment.trace", experiment->trace);
	if (days)
		fprintf(stderr, "%s: environment.trace: %s\n", name, days);
}

/* Makes trials of the configuration and the command line, and runs them. */
static int simulate(const char *name, const char *path, const struct options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autoptr(experiment_t) experiment = NULL;
	g_autoptr(provenance_t) origin =
		provenance_of_file(options->estimates ? options->estimates : path);
	g_auto(GStrv) policies = NULL;
	g_autofree double *limits = NULL;
	g_autofree double *limits_j = NULL;
	uint32_t count = 0;
	double budget_j = 0;
	const uint64_t seed =
		(uint64_t)options->seed;

	if (!config || (options->estimates &&
			!config_load_estimates(config, options->estimates, &error)))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	provenance_set_holes(origin, config);
	warn_of_speeds(name, config);
	if (options->out && !simulate_store_check(options->out, &error))
		return command_fail(COMMAND_BAD, name, "--out: %s", error->message);
	if (options->policies)
		policies = g_strsplit(options->policies, ",", -1);
	limits = find_limits(options, config, &count, &error);
	if (limits)
		experiment = experiment_new(config, (const char *const *)policies, &error);
	if (experiment && options->no_overheads)
		experiment_drop_overheads(experiment);
	if (experiment)
		budget_j = experiment_budget_j(experiment, seed, &error);
	if (error) {
		command_name_source(&error, path, policies);
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	}
	note_trace(name, experiment, options->trials);
	limits_j = g_new(double, count);
	for (uint32_t i = 0; i < count; i++)
		limits_j[i] = limits[i] * budget_j;

	struct trials trials = {
		.experiment = experiment,
		.seed = seed,
		.trials = options->trials,
		.jobs = options->jobs,
		.limits_j = limits_j,
		.limits_count = count,
	};

	return run_trials(name, &trials, limits, budget_j, options, origin);
}

int cmd_simulate(int argc, char **argv)
{
	struct options options = { .trials = 200, .jobs = g_get_num_processors() };
	g_autoptr(GError) error = NULL;
	int status;

	if (!parse_options(&argc, &argv, &options, &error))
		status = command_fail(COMMAND_BAD, argv[0], "%s", error->message);
	else if (argc != 2)
		status = command_fail(COMMAND_BAD, argv[0], "give one configuration file");
	else
		status = simulate(argv[0], argv[1], &options);
	g_free(options.policies);
	g_free(options.limits);
	g_free(options.estimates);
	g_free(options.out);
	return status;
}
