/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <gio/gio.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/read_number.h"
#include "controller/cli/commands.h"
#include "controller/cli/trace_notes.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/sched/policy.h"
#include "controller/study/study.h"
#include "controller/study/study_figure.h"
#include "controller/study/study_merge.h"
#include "controller/study/study_metrics.h"

#define TRIALS_MAX 1000000
#define JOBS_MAX 1024
#define SHARDS_MAX 100000

struct arguments {
	uint32_t trials;      /* 0: as configured */
	uint32_t jobs;        /* 0: one per processor */
	int64_t seed;         /* 0: as configured */
	const char *policies; /* NULL: the configured ones */
	const char *shard;    /* "K/N", NULL: all */
	const char *out;      /* NULL: studies/NAME */
	bool partial;         /* merge: missing trials are allowed */
	bool json;
};

/* Reads "K/N"; false where the text is something else. */
static bool parse_shard(const char *text, uint32_t *ret_shard, uint32_t *ret_shards)
{
	g_auto(GStrv) parts = text ? g_strsplit(text, "/", -1) : NULL;
	uint64_t numbers[2];

	*ret_shard = *ret_shards = 1;
	if (!text)
		return true;
	if (g_strv_length(parts) != 2 ||
	    !read_number_unsigned(parts[1], 1, SHARDS_MAX, &numbers[1]) ||
	    !read_number_unsigned(parts[0], 1, numbers[1], &numbers[0]))
		return false;
	*ret_shard = (uint32_t)numbers[0];
	*ret_shards = (uint32_t)numbers[1];
	return true;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = 1;
}

/* The first Ctrl-C ends the study after the runs under way; a second one ends the program. */
static void watch_signals(void)
{
	const struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* The state of the progress line. */
struct clock_watch {
	gint64 begun_us;
	gint64 shown_us;
	uint32_t before; /* runs stored at the beginning; UINT32_MAX: not known yet */
};

static void show_progress(uint32_t done, uint32_t total, void *data)
{
	struct clock_watch *watch = data;
	const gint64 now_us = g_get_monotonic_time();
	const double passed_s = (double)(now_us - watch->begun_us) / G_USEC_PER_SEC;

	if (watch->before == UINT32_MAX)
		watch->before = done;
	if (now_us - watch->shown_us < G_TIME_SPAN_SECOND)
		return;
	watch->shown_us = now_us;
	fprintf(stderr, "\r%u of %u runs, %.0f s", done, total, passed_s);
	if (done > watch->before)
		fprintf(stderr, ", %.0f s left",
			passed_s / (done - watch->before) * (total - done));
	fputs("\033[K", stderr);
}

/* Prints why a study failed; returns the exit status. */
static int report_failure(const char *name, const GError *error)
{
	const bool bad = error->domain == STUDY_ERROR || error->domain == WORKLOAD_ERROR ||
			 error->domain == EXPERIMENT_ERROR || error->domain == CONFIG_ERROR ||
			 g_error_matches(error, STUDY_FIGURE_ERROR, STUDY_FIGURE_ERROR_POLICY);

	return command_fail(bad ? COMMAND_BAD : COMMAND_FAILED, name, "%s", error->message);
}

/* A field of a CSV table as JSON: a number, a text, or null for an empty field. */
static json_t *field_json(const char *field)
{
	double value;

	if (*field == '\0')
		return json_null();
	return read_number(field, -DBL_MAX, DBL_MAX, &value) ? json_real(value)
							     : json_string(field);
}

/* Returns the rows of DIR/NAME.csv as objects, or NULL with `error`. */
static json_t *table_json(const char *dir, const char *name, GError **error)
{
	g_autofree char *file = g_strconcat(name, ".csv", NULL);
	g_autofree char *path = g_build_filename(dir, file, NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	g_auto(GStrv) columns = NULL;
	json_t *list;

	if (!g_file_get_contents(path, &text, NULL, error))
		return NULL;
	list = json_array();
	lines = g_strsplit(g_strchomp(text), "\n", -1);
	columns = g_strsplit(lines[0], ",", -1);
	for (guint i = 1; i < g_strv_length(lines); i++) {
		g_auto(GStrv) fields = g_strsplit(lines[i], ",", -1);
		json_t *object = json_object();

		for (guint c = 0; columns[c] && fields[c]; c++)
			json_object_set_new(object, columns[c], field_json(fields[c]));
		json_array_append_new(list, object);
	}
	return list;
}

/* Prints the tables as one document. */
static int print_json_tables(const char *name, const struct config *config, const char *dir)
{
	const char *const tables[] = {"summary", "results",
				      study_shares(config)   ? "sharing"
				      : study_prunes(config) ? "pruning"
							     : NULL};
	g_autoptr(json_t) object = json_pack("{s:s, s:s}", "name", config->name, "directory", dir);

	for (gsize i = 0; i < G_N_ELEMENTS(tables) && tables[i]; i++) {
		g_autoptr(GError) error = NULL;
		json_t *list = table_json(dir, tables[i], &error);

		if (!list)
			return report_failure(name, error);
		json_object_set_new(object, tables[i], list);
	}
	command_print_json(object);
	return COMMAND_DONE;
}

/* Writes the tables and figures of the stored results of some policies (NULL: all). */
static int write_results(const char *name, struct study_store *store, const char *const *policies,
			 const char *dir, bool json)
{
	g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
	const char *text = study_store_config(store);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = NULL;
	g_auto(GStrv) stored = NULL;
	g_auto(GStrv) drawn = NULL;

	if (!g_file_set_contents(path, text, -1, &error))
		return report_failure(name, error);
	config = config_controller_load(path, &error);
	if (!config)
		return report_failure(name, error);
	if (!policies) {
		stored = study_stored_policies(store, config, &error);
		policies = (const char *const *)stored;
	}
	if (!policies || !study_write_tables(store, config, policies, dir, &error))
		return report_failure(name, error);
	drawn = study_figure_draw(store, config, policies, dir, &error);
	if (!drawn)
		return report_failure(name, error);
	if (json)
		return print_json_tables(name, config, dir);
	printf("%s/summary.csv\n%s/results.csv\n", dir, dir);
	if (study_shares(config))
		printf("%s/sharing.csv\n", dir);
	if (study_prunes(config))
		printf("%s/pruning.csv\n", dir);
	if (study_has_days(dir))
		printf("%s/" STUDY_DAYS_FILE "\n", dir);
	for (char **figure = drawn; *figure; figure++)
		printf("%s/%s.png\n", dir, *figure);
	if (!*drawn)
		fprintf(stderr, "%s: no figures: no trial is stored that has something to show\n",
			name);
	return COMMAND_DONE;
}

/* The names of the study's policies; the caller frees the array only. */
static const char **policy_names(const struct experiment *experiment)
{
	const char **names = g_new0(const char *, experiment->policies_count + 1);

	for (uint32_t i = 0; i < experiment->policies_count; i++)
		names[i] = experiment->policies[i].name;
	return names;
}

/* Runs the study and writes its tables. */
static int run_study(const char *name, struct study *study, const char *const *policies,
		     const char *dir, bool json)
{
	const bool watched = isatty(STDERR_FILENO);
	struct clock_watch watch = {.begun_us = g_get_monotonic_time(), .before = UINT32_MAX};
	g_autoptr(GError) error = NULL;
	bool done;

	watch_signals();
	study->stop = &interrupted;
	study->progress = watched ? show_progress : NULL;
	study->data = &watch;
	done = study_run(study, &error);
	if (watched && watch.shown_us > 0)
		fputs("\r\033[K", stderr);
	if (done)
		return write_results(name, study->store, policies, dir, json);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return command_fail(
			COMMAND_FAILED, name,
			"interrupted; the results so far are in %s: the same command continues the study",
			dir);
	return report_failure(name, error);
}

/* Frees the experiment of a point of the sweeps, and its configuration. */
static void free_point(gpointer data)
{
	struct experiment *experiment = data;
	struct config *config = (struct config *)experiment->config;

	experiment_free(experiment);
	config_free(config);
}

/* Makes the experiments of all points, or NULL with `error`. */
static GPtrArray *load_points(const char *path, const struct study_point *points, uint32_t count,
			      const char *const *policies, GError **error)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(free_point);

	for (uint32_t i = 0; i < count; i++) {
		g_autoptr(config_t) config = config_controller_load(path, error);
		struct experiment *experiment;

		if (!config)
			return NULL;
		study_vary(config, &points[i]);
		experiment = experiment_new(config, policies, error);
		if (!experiment)
			return NULL;
		experiment->loads_objects = true;
		g_ptr_array_add(list, experiment);
		g_steal_pointer(&config);
	}
	return g_steal_pointer(&list);
}

/* The study's limits in joules, or NULL with `error`. */
static double *find_limits(const struct experiment *experiment, uint64_t seed, GError **error)
{
	const struct config_experiment *configured = experiment->config->experiment;
	const double budget_j = experiment_budget_j(experiment, seed, error);
	double *limits_j;

	if (!(budget_j > 0))
		return NULL;
	limits_j = g_new(double, configured->limits_count);
	for (uint32_t i = 0; i < configured->limits_count; i++)
		limits_j[i] = configured->limits[i] * budget_j;
	return limits_j;
}

/* Stores the number of this shard and of all shards, for `study merge`. */
static bool store_part(const struct study *study, GError **error)
{
	const struct study_part part = {.shard = study->shard,
					.shards = study->shards,
					.trials = study->trials};

	return study_store_add_part(study->store, &part, error);
}

static uint64_t find_seed(const struct config *config, const struct arguments *arguments)
{
	if (arguments->seed > 0)
		return (uint64_t)arguments->seed;
	return config_environment(config) ? config_environment(config)->seed
					  : config->workload->seed;
}

/* Replaces the names of the policies by those under which results are stored, drawn and found. */
static void name_policies(struct config *config)
{
	for (uint32_t i = 0; i < config->experiment->policies_count; i++)
		policy_normalize_name(config->experiment->policies[i]);
}

static int study(const char *name, const char *path, const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_auto(GStrv) policies =
		arguments->policies ? g_strsplit(arguments->policies, ",", -1) : NULL;
	uint32_t count = 0;
	g_autofree struct study_point *points = config ? study_points_new(config, &count) : NULL;
	g_autoptr(GPtrArray) varied =
		config ? load_points(path, points, count, (const char *const *)policies, &error)
		       : NULL;
	const struct experiment *const *experiments;
	g_autofree const char **names = NULL;
	g_autoptr(study_store_t) store = NULL;
	g_autofree char *identity = NULL;
	g_autofree char *text = NULL;
	g_autofree char *dir = g_strdup(arguments->out);
	g_autofree double *limits_j = NULL;
	struct study study;

	if (varied && config->workload->list_count > 0)
		return command_fail(
			COMMAND_BAD, name,
			"%s: workload.arrivals, workload.list: a study draws a workload for "
			"each trial; simulate the tasks that are given",
			path);
	if (!varied) {
		command_name_source(&error, path, policies);
		return report_failure(name, error);
	}
	if (!experiment_check_programs(varied->pdata[0], &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	name_policies(config);
	experiments = (const struct experiment *const *)varied->pdata;
	names = policy_names(experiments[0]);
	if (!study_figure_check(config, names, &error))
		return report_failure(name, error);
	study = (struct study){
		.experiments = experiments,
		.points = points,
		.points_count = count,
		.seed = find_seed(config, arguments),
		.trials = arguments->trials > 0 ? arguments->trials : config_study(config)->trials,
		.jobs = arguments->jobs > 0 ? arguments->jobs : g_get_num_processors(),
		.limits_count = config->experiment->limits_count,
	};
	parse_shard(arguments->shard, &study.shard, &study.shards);
	study.limits_j = limits_j = find_limits(experiments[0], study.seed, &error);
	if (!limits_j) {
		command_name_source(&error, path, policies);
		return report_failure(name, error);
	}
	identity = study_identity(config, study.seed);
	text = config_to_text(config);
	if (!dir)
		dir = g_build_filename("studies", config->name, NULL);
	study.store = store = study_store_open(dir, identity, text, &error);
	if (!store || !store_part(&study, &error) ||
	    (trace_notes_print_days(name, experiments[0], study.trials) &&
	     !study_write_days(&study, dir, &error)))
		return report_failure(name, error);
	return run_study(name, &study, names, dir, arguments->json);
}

/* Returns an option about what to compute, where the command computes nothing; or NULL. */
static const char *pointless_option(const struct arguments *arguments)
{
	if (arguments->trials > 0)
		return "--trials";
	if (arguments->jobs > 0)
		return "--jobs";
	if (arguments->seed > 0)
		return "--seed";
	return arguments->policies ? "--policy"
	       : arguments->shard  ? "--shard"
	       : arguments->out    ? "--out"
				   : NULL;
}

/* merge DIR PART... */
static int merge(const char *name, char **dirs, int count, const struct arguments *arguments)
{
	const char *pointless = pointless_option(arguments);
	g_autofree char *missing = NULL;
	g_autoptr(study_store_t) whole = NULL;
	g_autoptr(GError) error = NULL;

	if (pointless)
		return command_fail(COMMAND_BAD, name,
				    "merge: %s says what is computed, and nothing is; leave it out",
				    pointless);
	if (count < 2)
		return command_fail(COMMAND_BAD, name, "merge: give a directory and its parts");
	whole = study_merge(dirs[0], dirs + 1, arguments->partial, &missing, &error);
	if (!whole || !study_copy_days(dirs[1], dirs[0], &error))
		return report_failure(name, error);
	if (missing)
		fprintf(stderr, "%s: warning: %s\n", name, missing);
	return write_results(name, whole, NULL, dirs[0], arguments->json);
}

int cmd_study(int argc, char **argv)
{
	struct arguments arguments = {0};
	uint32_t shard;
	const struct command_option options[] = {
		{"trials", 'n', COMMAND_COUNT, &arguments.trials,
		 "trials to draw (default: the configured number, 48)", "N", 1, TRIALS_MAX},
		{"jobs", 'j', COMMAND_COUNT, &arguments.jobs,
		 "threads (default: one per core); results do not depend on it", "N", 1, JOBS_MAX},
		{"seed", 's', COMMAND_INTEGER, &arguments.seed,
		 "of the trials (default: the configured one)", "N", 1, (double)INT64_MAX},
		{"policy", 'p', COMMAND_TEXT, &arguments.policies,
		 "these, in tables and figures too, instead of the configured ones", "NAME,..."},
		{"shard", 0, COMMAND_TEXT, &arguments.shard,
		 "only the K-th of N parts; put them together with `study merge`", "K/N"},
		{"out", 'o', COMMAND_FILE, &arguments.out,
		 "directory of the study (default: studies/NAME)", "DIR"},
		{"partial", 0, COMMAND_FLAG, &arguments.partial,
		 "merge: allow missing trials and list them"},
		{"json", 0, COMMAND_FLAG, &arguments.json,
		 "one JSON object with the tables, instead of the names of the files"},
		{NULL},
	};

	if (!command_parse(
		    &argc, &argv, "CONFIG | merge DIR PART...",
		    "Runs trials x policies x limits, sizes or values of CONFIG in virtual time on "
		    "all cores. The same command again\ncontinues an interrupted study. "
		    "DIR then holds summary.csv, results.csv, and the figures\nutility and energy "
		    "(of serial tasks, completed; on shared hosts degradation and stretch, with\n"
		    "sharing.csv; of tasks with deadlines robustness, variance and cost, with\n"
		    "pruning.csv) as PNG, SVG and CSV.",
		    options))
		return COMMAND_BAD;
	if (argc > 1 && strcmp(argv[1], "merge") == 0)
		return merge(argv[0], argv + 2, argc - 2, &arguments);
	if (arguments.partial)
		return command_fail(COMMAND_BAD, argv[0], "--partial is for `study merge`");
	if (argc != 2)
		return command_fail(COMMAND_BAD, argv[0], "give one configuration file");
	if (!parse_shard(arguments.shard, &shard, &shard))
		return command_fail(COMMAND_BAD, argv[0], "--shard must be K/N with K from 1 to N");
	return study(argv[0], argv[1], &arguments);
}
