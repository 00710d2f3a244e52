/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "common/visible.h"
#include "controller/cli/commands.h"
#include "controller/cli/simulate_summary.h"
#include "controller/journal/input_json.h"
#include "controller/plugin/plugin.h"
#include "controller/rerun/rerun.h"
#include "controller/rerun/rerun_setup.h"
#include "controller/store/store.h"

/* The command line. */
struct arguments {
	uint32_t run;       /* 0: all */
	uint32_t from;      /* 0: no fork */
	const char *policy; /* of the fork, or NULL */
	bool list;
	bool json;
};

/* A run whose inputs are handled, for the progress line. */
struct progress {
	int64_t run;
	gint64 begun;
	bool shown;
};

/* What became of the runs of a store. */
struct tally {
	uint32_t identical, divergent, lacking;
	json_t *runs;
	char *lacks; /* what the first run lacks that cannot be carried out again */
};

static void show_progress(uint32_t done, uint32_t count, void *data)
{
	struct progress *progress = data;

	if (g_get_monotonic_time() - progress->begun < G_TIME_SPAN_SECOND)
		return;
	progress->shown = true;
	fprintf(stderr, "\rrun %" PRId64 ": %u of %u events ", progress->run, done, count);
}

static void print_heading(const struct store_run *run)
{
	g_autofree char *text =
		g_strdup_printf("run %" PRId64 " (%s at %.0f %%%s%u): ", run->run, run->policy,
				100 * run->limit, run->measured ? ", repeat " : ", trial ",
				run->repeat);

	visible_print(text);
}

static void print_result(const struct store_run *run, const struct rerun_result *result)
{
	g_autofree char *text = NULL;

	print_heading(run);
	if (result->divergence.input != 0) {
		text = divergence_text(&result->divergence);
		visible_print(text);
		putchar('\n');
		return;
	}
	printf("%u events", result->inputs);
	if (result->from > 1)
		printf(" from number %u on", result->from);
	printf(", %u decisions", result->decisions);
	if (result->states > 0)
		printf(", %u full state%s", result->states, result->states == 1 ? "" : "s");
	if (result->restarts > 0)
		printf(", %u restart%s", result->restarts, result->restarts == 1 ? "" : "s");
	printf(", all as stored%s\n", result->ended ? "" : "; the run has not ended");
}

static json_t *describe_result(const struct store_run *run, const struct rerun_result *result)
{
	return json_pack("{s:I, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "run",
			 (json_int_t)run->run, "policy", run->policy, "limit", run->limit, "repeat",
			 (json_int_t)run->repeat, "events", (json_int_t)result->inputs, "decisions",
			 (json_int_t)result->decisions, "texts", (json_int_t)result->texts,
			 "restarts", (json_int_t)result->restarts, "states",
			 (json_int_t)result->states, "from", (json_int_t)result->from, "ended",
			 (int)result->ended, "divergence",
			 result->divergence.input ? divergence_json(&result->divergence)
						  : json_null());
}

/* Carries a run out again and adds it to the tally. False with `error`: it cannot be. */
static bool rerun_one(struct store *store, const struct store_run *run, struct tally *tally,
		      bool as_json, GError **error)
{
	struct progress progress = {run->run, g_get_monotonic_time(), false};
	struct rerun_setup made = {0};
	g_autoptr(rerun_t) rerun = NULL;
	bool good = rerun_check(store, run, error) && rerun_setup_init(store, run, &made, error);

	if (good)
		rerun = rerun_new(store, run, &made.setup, error);
	if (rerun)
		rerun_configure(rerun, made.config);
	if (rerun && isatty(STDERR_FILENO))
		rerun_watch(rerun, show_progress, &progress);
	good = rerun && rerun_until(rerun, UINT32_MAX, error);
	if (progress.shown)
		fputs("\r\033[K", stderr);
	if (good) {
		const struct rerun_result *result = rerun_result(rerun);

		tally->identical += result->divergence.input == 0;
		tally->divergent += result->divergence.input != 0;
		if (as_json)
			json_array_append_new(tally->runs, describe_result(run, result));
		else
			print_result(run, result);
	}
	g_clear_pointer(&rerun, rerun_free);
	rerun_setup_clear(&made);
	return good;
}

/* Whether the user asked for the run: `--run` names it, or there is no `--run`. */
static bool is_wanted(const struct store_run *run, const struct arguments *arguments)
{
	return arguments->run == 0 || run->run == (int64_t)arguments->run;
}

/* A run that could not be carried out to its end: what is damaged differs, and the rest lacks. */
static void note_failure(struct tally *tally, const struct store_run *run, const GError *error,
			 bool as_json)
{
	const bool damaged = g_error_matches(error, RERUN_ERROR, RERUN_ERROR_DAMAGED) ||
			     g_error_matches(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);

	tally->divergent += damaged;
	tally->lacking += !damaged;
	if (!damaged && !tally->lacks)
		tally->lacks = g_strdup(error->message);
	if (as_json) {
		g_autofree char *message = g_utf8_make_valid(error->message, -1);

		json_array_append_new(tally->runs,
				      json_pack("{s:I, s:s, s:f, s:I, s:s}", "run",
						(json_int_t)run->run, "policy", run->policy,
						"limit", run->limit, "repeat",
						(json_int_t)run->repeat,
						damaged ? "damaged" : "lacks", message));
	} else if (damaged) {
		print_heading(run);
		visible_print(error->message);
		putchar('\n');
	}
}

static int end(const char *name, const char *dir, struct tally *tally,
	       const struct arguments *arguments)
{
	const bool any = tally->identical + tally->divergent > 0;

	if (!any && !tally->lacks)
		return command_fail(COMMAND_BAD, name, "%s: there is no such run in it", dir);
	if (!any)
		return command_fail(COMMAND_BAD, name, "%s: %s", dir, tally->lacks);
	if (arguments->json) {
		g_autoptr(json_t) document =
			json_pack("{s:O, s:b, s:{s:I, s:I, s:I}}", "runs", tally->runs, "identical",
				  (int)(tally->divergent == 0 && tally->lacking == 0), "counts",
				  "identical", (json_int_t)tally->identical, "divergent",
				  (json_int_t)tally->divergent, "lacking",
				  (json_int_t)tally->lacking);

		command_print_json(document);
	} else if (tally->lacking > 0) {
		g_autofree char *text =
			g_strdup_printf("%u more run%s cannot be carried out again: %s\n",
					tally->lacking, tally->lacking == 1 ? "" : "s",
					tally->lacks);

		visible_print(text);
	}
	if (tally->divergent > 0)
		return COMMAND_FAILED;
	return tally->lacking > 0 ? COMMAND_BAD : COMMAND_DONE;
}

static int rerun_all(const char *name, const char *dir, struct store *store, GPtrArray *runs,
		     const struct arguments *arguments)
{
	g_autoptr(json_t) list = json_array();
	g_autofree char *lacks = NULL;
	struct tally tally = {.runs = list};
	int status;

	for (guint i = 0; i < runs->len; i++) {
		const struct store_run *run = runs->pdata[i];
		g_autoptr(GError) error = NULL;

		if (is_wanted(run, arguments) &&
		    !rerun_one(store, run, &tally, arguments->json, &error))
			note_failure(&tally, run, error, arguments->json);
	}
	status = end(name, dir, &tally, arguments);
	g_free(tally.lacks);
	return status;
}

/* The list of events. */

static void print_input(const struct store_run *run, const struct store_input *input)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "run %" PRId64 ", event %u", run->run, input->n);
	if (isfinite(input->time_s))
		g_string_append_printf(text, " at %.3f s", input->time_s);
	g_string_append_printf(text, ": %s", input_title(input->kind));
	if (input->task >= 0)
		g_string_append_printf(text, ", task %" PRId64, input->task);
	if (input->plan_sum != -1)
		g_string_append(text, ", decided");
	g_string_append_c(text, '\n');
	visible_print(text->str);
}

static json_t *describe_input(const struct store_run *run, const struct store_input *input)
{
	return json_pack("{s:I, s:I, s:o, s:s, s:o, s:b}", "run", (json_int_t)run->run, "event",
			 (json_int_t)input->n, "time_s", json_number_or_null(input->time_s), "kind",
			 input_title(input->kind), "task",
			 input->task >= 0 ? json_integer(input->task) : json_null(), "decided",
			 (int)(input->plan_sum != -1));
}

/* Adds the events of a run to `list`; NULL: prints them. */
static bool list_run(struct store *store, const struct store_run *run, json_t *list, GError **error)
{
	uint32_t after = 0;

	for (;;) {
		g_autoptr(GPtrArray) inputs =
			store_inputs_after(store, run->run, after, STORE_PACK_INPUTS, error);

		if (!inputs || inputs->len == 0)
			return inputs != NULL;
		for (guint i = 0; i < inputs->len; i++) {
			const struct store_input *input = inputs->pdata[i];

			if (list)
				json_array_append_new(list, describe_input(run, input));
			else
				print_input(run, input);
			after = input->n;
		}
	}
}

static int list_all(const char *name, const char *dir, struct store *store, GPtrArray *runs,
		    const struct arguments *arguments)
{
	g_autoptr(json_t) list = json_array();
	g_autoptr(GError) error = NULL;
	bool any = false;

	for (guint i = 0; i < runs->len; i++) {
		const struct store_run *run = runs->pdata[i];

		if (!is_wanted(run, arguments))
			continue;
		any = true;
		if (!rerun_check(store, run, &error) ||
		    !list_run(store, run, arguments->json ? list : NULL, &error))
			return command_fail(COMMAND_BAD, name, "%s: %s", dir, error->message);
	}
	if (!any)
		return command_fail(COMMAND_BAD, name, "%s: there is no such run in it", dir);
	if (arguments->json)
		command_print_json(list);
	return COMMAND_DONE;
}

/* Forks. */

/* Where the history of a run is left. */
struct fork {
	const struct store_run *run;
	uint32_t event; /* the last one of the history */
	double time_s;  /* of the run by then */
};

static json_t *describe_fork(const struct fork *fork, const struct simulate_summary *summary)
{
	g_autoptr(json_t) cells = simulate_summary_json(summary);

	return json_pack("{s:{s:I, s:I, s:f, s:b}, s:O}", "forked", "run",
			 (json_int_t)fork->run->run, "event", (json_int_t)fork->event, "time_s",
			 fork->time_s, "measured", (int)fork->run->measured, "result",
			 json_array_get(cells, 0));
}

static void print_summary(const struct rerun_setup *made, const struct fork *fork,
			  struct experiment *experiment, double budget_j,
			  const struct engine_result *result, bool as_json)
{
	const struct store_run *run = fork->run;
	const struct trials trials = {
		.experiment = experiment,
		.seed = run->seed,
		.trials = 1,
		.jobs = 1,
		.limits_j = &made->setup.limit_j,
		.limits_count = 1,
	};
	g_autoptr(simulate_summary_t) summary =
		simulate_summary_new(&trials, &run->limit, budget_j,
				     simulate_summary_baseline(experiment, NULL), result);

	if (as_json) {
		g_autoptr(json_t) document = describe_fork(fork, summary);

		command_print_json(document);
	} else {
		g_autofree char *heading =
			g_strdup_printf("run %" PRId64
					": %s until event %u at %.3f s, simulated from then on",
					run->run, run->measured ? "measured" : "as stored",
					fork->event, fork->time_s);

		simulate_summary_print(summary, heading, stdout);
	}
}

static double budget_of(struct store *store)
{
	g_autofree char *text = store_get_meta(store, "budget_j");
	double budget_j = 0;

	return read_number(text, 0, DBL_MAX, &budget_j) ? budget_j : 0;
}

/* Leaves the history of a run after an event, and prints what the simulation makes of the rest. */
static bool fork_run(struct store *store, const struct store_run *run,
		     const struct arguments *arguments, GError **error)
{
	const char *const names[] = {arguments->policy ?: run->policy, NULL};
	struct rerun_setup made = {0};
	g_autoptr(rerun_t) rerun = NULL;
	g_autoptr(experiment_t) experiment = NULL;
	struct engine_result result = {0};
	struct fork fork = {.run = run};
	struct backend *sim = NULL;
	bool good = rerun_check(store, run, error) && rerun_setup_init(store, run, &made, error);

	if (good && made.open)
		good = error_fail(error, RERUN_ERROR, RERUN_ERROR_FORK,
				  "a service has no end to which it could be simulated");
	if (good)
		experiment = experiment_new(made.config, names, error);
	if (experiment)
		rerun = rerun_new(store, run, &made.setup, error);
	if (rerun)
		rerun_configure(rerun, made.config);
	good = rerun && rerun_until(rerun, arguments->from, error);
	if (good) {
		fork.event = rerun_result(rerun)->inputs;
		fork.time_s = rerun_time_s(rerun);
		sim = experiment_backend_new(made.experiment, &made.trial, &made.setup);
		good = rerun_fork(rerun, sim, arguments->policy ? &experiment->policies[0] : NULL,
				  &result, error);
	}
	if (good) {
		experiment_complete_result(&made.trial, rerun_engine(rerun), &result);
		print_summary(&made, &fork, experiment, budget_of(store), &result, arguments->json);
	}
	g_clear_pointer(&rerun, rerun_free);
	backend_destroy(sim);
	rerun_setup_clear(&made);
	return good;
}

/* The run to fork: that of --run, or the only run; NULL: it is not clear which. */
static const struct store_run *find_run(GPtrArray *runs, const struct arguments *arguments)
{
	const struct store_run *found = NULL;

	for (guint i = 0; i < runs->len; i++)
		if (is_wanted(runs->pdata[i], arguments)) {
			if (found)
				return NULL;
			found = runs->pdata[i];
		}
	return found;
}

static int fork_it(const char *name, const char *dir, struct store *store, GPtrArray *runs,
		   const struct arguments *arguments)
{
	const struct store_run *run = find_run(runs, arguments);
	g_autoptr(GError) error = NULL;

	if (!run)
		return command_fail(COMMAND_BAD, name,
				    "--from: say by --run N which of the %u runs of %s it is",
				    runs->len, dir);
	if (fork_run(store, run, arguments, &error))
		return COMMAND_DONE;
	return command_fail(g_error_matches(error, PLUGIN_ERROR, PLUGIN_ERROR_DECIDE)
				    ? COMMAND_FAILED
				    : COMMAND_BAD,
			    name, "%s: run %" PRId64 ": %s", dir, run->run, error->message);
}

int cmd_rerun(int argc, char **argv)
{
	struct arguments arguments = {0};
	const struct command_option options[] = {
		{"run", 'r', COMMAND_COUNT, &arguments.run, "this run alone (default: all)", "N", 1,
		 UINT32_MAX},
		{"from", 'f', COMMAND_COUNT, &arguments.from,
		 "leave the history after this event, and simulate the rest", "EVENT", 1,
		 UINT32_MAX},
		{"policy", 'p', COMMAND_TEXT, &arguments.policy,
		 "with --from: decides from then on (default: that of the run)", "NAME"},
		{"list", 'l', COMMAND_FLAG, &arguments.list,
		 "only list the events, and which have decisions"},
		{"json", 0, COMMAND_FLAG, &arguments.json, "one JSON document"},
		{NULL},
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = NULL;
	g_autoptr(GPtrArray) runs = NULL;

	if (!command_parse(&argc, &argv, "RUN_DIR",
			   "Carries the runs of a run directory out again, from their stored "
			   "events, and holds\nevery decision against the stored one.",
			   options))
		return COMMAND_BAD;
	if (argc != 2)
		return command_fail(COMMAND_BAD, argv[0], "give one run directory");
	if (arguments.policy && arguments.from == 0)
		return command_fail(COMMAND_BAD, argv[0], "--policy goes with --from");
	if (arguments.list && arguments.from > 0)
		return command_fail(COMMAND_BAD, argv[0], "--list and --from exclude each other");
	store = store_open(argv[1], false, &error);
	runs = store ? store_runs(store, &error) : NULL;
	if (!runs)
		return command_fail(store_error_is_input(error) ? COMMAND_BAD : COMMAND_FAILED,
				    argv[0], "%s", error->message);
	if (arguments.list)
		return list_all(argv[0], argv[1], store, runs, &arguments);
	return arguments.from > 0 ? fork_it(argv[0], argv[1], store, runs, &arguments)
				  : rerun_all(argv[0], argv[1], store, runs, &arguments);
}
