/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/number_option.h"
#include "common/duplicates.h"
#include "controller/cli/commands.h"
#include "controller/cli/trace_notes.h"
#include "controller/replay/replay_report.h"
#include "controller/report/table.h"

struct options {
	char *policies;  /* separated by commas; NULL: all */
	char *estimates; /* NULL: user */
	char *out;       /* CSV file, or NULL */
	uint32_t procs;  /* 0: as in the trace's header */
	uint32_t first;  /* 0: all */
	gboolean overrun;
	gboolean keep;
	gboolean rebuild;
	gboolean json;
};

static bool parse_options(int *argc, char ***argv, struct options *options, GError **error)
{
	g_autofree char *procs = NULL;
	g_autofree char *first = NULL;
	const GOptionEntry entries[] = {
		{ "policy", 'p', 0, G_OPTION_ARG_STRING, &options->policies,
		  "fcfs, easy, conservative (default: all)", "NAME,..." },
		{ "procs", 0, 0, G_OPTION_ARG_STRING, &procs,
		  "processors of the machine (default: the trace's MaxProcs)", "P" },
		{ "estimates", 0, 0, G_OPTION_ARG_STRING, &options->estimates,
		  "plan by the users' estimates (default) or by run times", "user|perfect" },
		{ "first", 0, 0, G_OPTION_ARG_STRING, &first,
		  "only the first N jobs that can be replayed", "N" },
		{ "overrun", 0, 0, G_OPTION_ARG_NONE, &options->overrun,
		  "let jobs that outlive their estimates run on instead of killing them", NULL },
		{ "keep-reservations", 0, 0, G_OPTION_ARG_NONE, &options->keep,
		  "a reservation stays until its time instead of moving up", NULL },
		{ "rebuild", 0, 0, G_OPTION_ARG_NONE, &options->rebuild,
		  "conservative makes its schedule from nothing where it would compress it: promises "
		  "may slip",
		  NULL },
		{ "out", 'o', 0, G_OPTION_ARG_FILENAME, &options->out,
		  "write one row per job; needs one policy", "jobs.csv" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &options->json, "one JSON array", NULL },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("TRACE");

	g_option_context_set_summary(
		context, "Replays a trace in the Standard Workload Format, plain or gzipped, on "
			 "one machine under batch policies.");
	g_option_context_add_main_entries(context, entries, NULL);
	return g_option_context_parse(context, argc, argv, error) &&
	       number_option_unsigned("--procs", procs, 1, UINT32_MAX, &options->procs, error) &&
	       number_option_unsigned("--first", first, 1, UINT32_MAX, &options->first, error);
}

/* Checks the options and sets *ret_setup by them. Returns what is wrong, or NULL. */
static char *check_options(const struct options *options, struct replay_setup *ret_setup)
{
	const char *estimates = options->estimates ? options->estimates : "user";

	if (strcmp(estimates, "user") != 0 && strcmp(estimates, "perfect") != 0)
		return g_strdup_printf("--estimates: \"%s\" is neither user nor perfect",
				       estimates);
	if (options->policies && *options->policies == '\0')
		return g_strdup("--policy: give at least one");
	if (options->keep && options->rebuild)
		return g_strdup("--keep-reservations and --rebuild exclude each other");
	if (options->out && (!options->policies || strchr(options->policies, ',')))
		return g_strdup("--out: give one --policy to go with it");
	*ret_setup = (struct replay_setup){
		.estimates = strcmp(estimates, "perfect") == 0 ? REPLAY_ESTIMATES_PERFECT
								: REPLAY_ESTIMATES_USER,
		.overrun = options->overrun,
		.keep = options->keep,
		.rebuild = options->rebuild,
	};
	return NULL;
}

/* Returns the chosen policies, NULL-terminated, or NULL with what is wrong in *ret_wrong. */
static const struct replay_policy **find_policies(const char *names, char **ret_wrong)
{
	uint32_t count;
	const struct replay_policy *const *all = replay_policies(&count);
	g_autoptr(GPtrArray) list = g_ptr_array_new();
	g_auto(GStrv) split = g_strsplit(names ? names : "", ",", -1);
	const uint32_t names_count = g_strv_length(split);
	const uint32_t repeated = duplicate_name((const char *const *)split, names_count);

	if (repeated < names_count) {
		*ret_wrong = g_strdup_printf("\"%s\" is given twice", split[repeated]);
		return NULL;
	}
	for (uint32_t i = 0; !names && i < count; i++)
		g_ptr_array_add(list, (gpointer)all[i]);
	for (char **name = split; *name; name++) {
		const struct replay_policy *policy = replay_policy_find(*name);

		if (!policy) {
			*ret_wrong = g_strdup_printf(
				"unknown \"%s\"; known: fcfs easy conservative", *name);
			return NULL;
		}
		g_ptr_array_add(list, (gpointer)policy);
	}
	g_ptr_array_add(list, NULL);
	return (const struct replay_policy **)g_ptr_array_free(g_steal_pointer(&list), FALSE);
}

static bool has_policy(const struct replay_policy **policies, const char *name)
{
	for (; *policies; policies++)
		if (strcmp(replay_policy_name(*policies), name) == 0)
			return true;
	return false;
}

/* Returns an option that has no effect under these policies, or NULL. */
static const char *pointless_option(const struct options *options, const struct replay_policy **policies)
{
	if (options->rebuild && !has_policy(policies, "conservative"))
		return "--rebuild is for --policy conservative";
	if (options->keep && !has_policy(policies, "conservative") && !has_policy(policies, "easy"))
		return "--keep-reservations is for --policy easy and conservative";
	return NULL;
}

static void add_columns(struct table *table)
{
	static const char *const titles[] = { "policy",	      "jobs",	      "killed",
					      "makespan s",   "used",	      "mean wait s",
					      "max wait s",   "mean slowdown", "bounded, 10 s",
					      "bounded, 30 s", "slipped" };

	for (size_t i = 0; i < G_N_ELEMENTS(titles); i++)
		table_column(table, titles[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
}

static void add_row(struct table *table, const struct replay_policy *policy,
		    const struct replay_summary *summary)
{
	table_row(table);
	table_text(table, replay_policy_name(policy));
	table_integer(table, (int64_t)summary->nb_jobs_finished);
	table_integer(table, (int64_t)summary->nb_jobs_killed);
	table_number(table, summary->makespan_s, 0);
	table_textf(table, "%.1f %%", 100 * summary->utilization);
	table_number(table, summary->mean_waiting_time_s, 1);
	table_number(table, summary->max_waiting_time_s, 0);
	table_number(table, summary->mean_slowdown, 2);
	table_number(table, summary->mean_bounded_slowdown_10, 2);
	table_number(table, summary->mean_bounded_slowdown_30, 2);
	if (summary->nb_jobs_promised > 0)
		table_integer(table, (int64_t)summary->nb_jobs_slipped);
	else
		table_text(table, "-");
}

/* Prints the reservations that were started late, and the reason. */
static void print_slips(const char *name, const struct replay_setup *setup,
			const struct replay_summary *summary)
{
	const uint64_t count = summary->nb_jobs_slipped;

	if (count == 0)
		return;
	fprintf(stderr,
		"%s: %s: %" G_GUINT64_FORMAT " job%s started later than promised, job "
		"%" G_GINT64_FORMAT " the most, by %.0f s: %s%s%s\n",
		name, replay_policy_name(setup->policy), count, count == 1 ? "" : "s",
		summary->max_slip_job, summary->max_slip_s,
		setup->overrun ? "jobs ran on beyond their estimates (--overrun)" : "",
		setup->overrun && setup->rebuild ? ", or " : "",
		setup->rebuild ? "the schedule was made from nothing (--rebuild)" : "");
}

/* The progress line. */
struct progress {
	const char *policy;
	gint64 begun_us;
	gint64 shown_us; /* 0: not shown yet */
};

/* Overwrites the progress line, once the replay takes longer than a second. */
static void show_progress(uint32_t submitted, uint32_t jobs, void *data)
{
	struct progress *progress = data;
	const gint64 now_us = g_get_monotonic_time();
	const double elapsed_s = (double)(now_us - progress->begun_us) / G_TIME_SPAN_SECOND;

	if (submitted == 0 || elapsed_s < 1 || now_us - progress->shown_us < G_TIME_SPAN_SECOND / 5)
		return;
	progress->shown_us = now_us;
	fprintf(stderr, "\rreplaying under %s: %u of %u jobs, %.0f s left\033[K", progress->policy,
		submitted, jobs, elapsed_s * (jobs - submitted) / submitted);
}

static void replay_watched(struct replay_setup *setup, struct replay_result *ret_result)
{
	struct progress progress = { .policy = replay_policy_name(setup->policy),
				     .begun_us = g_get_monotonic_time() };

	setup->progress = isatty(STDERR_FILENO) ? show_progress : NULL;
	setup->data = &progress;
	replay_run(setup, ret_result);
	if (progress.shown_us > 0)
		fputs("\r\033[K", stderr);
}

/* Replays the trace under each policy, prints and writes the results. */
static int replay(const char *name, struct replay_setup *setup,
		  const struct replay_policy **policies, const struct options *options)
{
	g_autoptr(table_t) table = table_new();
	g_autoptr(json_t) list = json_array();
	g_autoptr(GError) error = NULL;

	add_columns(table);
	for (; *policies; policies++) {
		struct replay_result result;
		struct replay_summary summary;
		bool written = true;

		setup->policy = *policies;
		replay_watched(setup, &result);
		replay_summarize(setup, &result, &summary);
		print_slips(name, setup, &summary);
		add_row(table, *policies, &summary);
		json_array_append_new(list, replay_summary_json(setup, &summary));
		if (options->out)
			written = replay_write_csv(setup, &result, options->out, &error);
		replay_finish(&result);
		if (!written)
			return command_fail(COMMAND_FAILED, name, "%s", error->message);
	}
	if (options->json) {
		g_autofree char *text = json_pretty(list);

		puts(text);
	} else {
		printf("%u processor%s, %s estimates\n", setup->procs, setup->procs == 1 ? "" : "s",
		       setup->estimates == REPLAY_ESTIMATES_PERFECT ? "perfect" : "users'");
		table_print(table, 0, stdout);
	}
	return COMMAND_DONE;
}

static int run_replay(const char *name, const char *path, const struct options *options)
{
	const struct swf_filter filter = { .procs = options->procs, .first = options->first };
	g_autofree const struct replay_policy **policies = NULL;
	g_autofree char *wrong_policy = NULL;
	g_autoptr(swf_trace_t) trace = NULL;
	g_autoptr(GError) error = NULL;
	struct replay_setup setup;
	g_autofree char *wrong = check_options(options, &setup);
	const char *pointless;

	if (wrong)
		return command_fail(COMMAND_BAD, name, "%s", wrong);
	policies = find_policies(options->policies, &wrong_policy);
	if (!policies)
		return command_fail(COMMAND_BAD, name, "--policy: %s", wrong_policy);
	pointless = pointless_option(options, policies);
	if (pointless)
		return command_fail(COMMAND_BAD, name, "%s", pointless);
	trace = swf_read(path, &filter, &error);
	if (!trace)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	trace_notes_print(name, path, trace);
	if (trace->jobs_count == 0)
		return command_fail(COMMAND_BAD, name, "%s: no job that can be replayed", path);
	setup.trace = trace;
	setup.procs = trace->procs;
	return replay(name, &setup, policies, options);
}

int cmd_replay(int argc, char **argv)
{
	struct options options = { 0 };
	g_autoptr(GError) error = NULL;
	int status;

	if (!parse_options(&argc, &argv, &options, &error))
		status = command_fail(COMMAND_BAD, argv[0], "%s", error->message);
	else if (argc != 2)
		status = command_fail(COMMAND_BAD, argv[0], "give one trace");
	else
		status = run_replay(argv[0], argv[1], &options);
	g_free(options.policies);
	g_free(options.estimates);
	g_free(options.out);
	return status;
}
