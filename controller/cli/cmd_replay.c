/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/duplicates.h"
#include "common/version/build_version.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"
#include "controller/cli/trace_notes.h"
#include "controller/replay/replay_batsim.h"
#include "controller/replay/replay_registry.h"
#include "controller/replay/replay_trials.h"
#include "controller/replay/trace_read.h"

/* The longest think time within a session, unless another one is given: 20 minutes. */
#define THINK_MOST_S 1200

/* The most seconds of --shake and --think-most. */
#define MOVE_MOST_S 1e9

/* The most joules of --energy-limit: more than a gigawatt for 30 years. */
#define ENERGY_LIMIT_MOST_J 1e18

struct arguments {
	const char *policies;  /* separated by commas; NULL: all but the orders of papers */
	const char *estimates; /* "user" or "perfect" */
	const char *out;       /* CSV file, or NULL */
	const char *left_out;  /* CSV file, or NULL */
	const char *batsim;    /* directory, or NULL */
	uint32_t procs;        /* 0: as in the trace's header */
	uint32_t skip;         /* 0: none */
	uint32_t first;        /* 0: all */
	double shake_s;        /* 0: none */
	uint32_t trials;       /* 0: not given */
	int64_t seed;
	double think_most_s; /* below 0: not given */
	bool json;
	struct replay_setup setup;
};

/* Checks the arguments and sets the estimates to plan by. Returns what is wrong, or NULL. */
static char *check_arguments(struct arguments *arguments)
{
	const bool perfect = strcmp(arguments->estimates, "perfect") == 0;

	if (!perfect && strcmp(arguments->estimates, "user") != 0)
		return g_strdup_printf("--estimates: \"%s\" is neither user nor perfect",
				       arguments->estimates);
	if (arguments->policies && *arguments->policies == '\0')
		return g_strdup("--policy: give at least one");
	if (arguments->setup.keep && arguments->setup.rebuild)
		return g_strdup("--keep-reservations and --rebuild exclude each other");
	if (arguments->setup.rlscheduler && arguments->setup.keep)
		return g_strdup("--rlscheduler and --keep-reservations exclude each other");
	if ((arguments->out || arguments->batsim) &&
	    (!arguments->policies || strchr(arguments->policies, ',')))
		return g_strdup_printf("--%s: give one --policy to go with it",
				       arguments->out ? "out" : "batsim");
	if (arguments->trials > 0 && arguments->shake_s <= 0)
		return g_strdup("--trials is for --shake: replays of one trace are all the same");
	if ((arguments->out || arguments->batsim) && arguments->trials > 1)
		return g_strdup_printf("--%s is of one replay, and not for --trials",
				       arguments->out ? "out" : "batsim");
	if (arguments->think_most_s >= 0 && !arguments->setup.semi_open)
		return g_strdup("--think-most is for --semi-open");
	arguments->setup.think_most_s =
		arguments->think_most_s >= 0 ? arguments->think_most_s : THINK_MOST_S;
	arguments->setup.overrun |= arguments->setup.rlscheduler;
	arguments->setup.estimates = perfect ? REPLAY_ESTIMATES_PERFECT : REPLAY_ESTIMATES_USER;
	return NULL;
}

/* The names of the policies that a fact is true of; NULL: of all. The caller frees. */
static char *name_policies(bool (*fact)(const struct replay_policy *policy), const char *between)
{
	uint32_t count;
	const struct replay_policy *const *all = replay_policies(&count);
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	for (uint32_t i = 0; i < count; i++)
		if (!fact || fact(all[i]))
			g_ptr_array_add(names, (gpointer)replay_policy_name(all[i]));
	g_ptr_array_add(names, NULL);
	return g_strjoinv(between, (char **)names->pdata);
}

/*
 * The policy of that name: one of replay's own, or one of the registry, which `owned` then frees.
 * NULL with what is wrong in *ret_wrong.
 */
static const struct replay_policy *find_policy(const char *name, GPtrArray *owned, char **ret_wrong)
{
	const struct replay_policy *policy = replay_policy_find(name);
	struct replay_policy *made;

	if (policy)
		return policy;
	made = replay_registry_new(name, ret_wrong);
	if (made) {
		g_ptr_array_add(owned, made);
		return made;
	}
	/* The message about an unknown name lists the names of both. */
	if (g_str_has_prefix(*ret_wrong, "unknown policy")) {
		g_autofree char *known = name_policies(NULL, " ");

		g_free(*ret_wrong);
		*ret_wrong =
			g_strdup_printf("unknown \"%s\"; known: %s, and the policies of "
					"`virtbed policies` that give tasks nodes of their own",
					name, known);
	}
	return NULL;
}

/*
 * Returns the chosen policies, NULL-terminated, or NULL with what is wrong in *ret_wrong.
 * `ordered`: only those with an order are meant where none is named. `owned`: as in find_policy().
 */
static const struct replay_policy **find_policies(const char *names, bool ordered, GPtrArray *owned,
						  char **ret_wrong)
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
		if (!replay_policy_is_order(all[i]) && (!ordered || replay_policy_ordered(all[i])))
			g_ptr_array_add(list, (gpointer)all[i]);
	for (char **name = split; *name; name++) {
		const struct replay_policy *policy = find_policy(*name, owned, ret_wrong);

		if (!policy)
			return NULL;
		g_ptr_array_add(list, (gpointer)policy);
	}
	g_ptr_array_add(list, NULL);
	return (const struct replay_policy **)g_ptr_array_free(g_steal_pointer(&list), FALSE);
}

/* Says so if an option has an effect only under other policies than these; else NULL. */
static char *check_option(const char *option, bool (*fact)(const struct replay_policy *policy),
			  const struct replay_policy **policies)
{
	g_autofree char *names = NULL;

	for (; *policies; policies++)
		if (fact(*policies))
			return NULL;
	names = name_policies(fact, " and ");
	return g_strdup_printf("%s is for --policy %s", option, names);
}

/* Returns why --rlscheduler cannot be with these policies, or NULL. The caller frees. */
static char *check_rlscheduler(const struct replay_policy **policies)
{
	for (; *policies; policies++)
		if (!replay_policy_ordered(*policies))
			return g_strdup_printf("--rlscheduler is for policies that take jobs in an "
					       "order, and not for %s",
					       replay_policy_name(*policies));
	return NULL;
}

/* Returns an option that has no effect under these policies, or NULL. The caller frees. */
static char *pointless_option(const struct replay_setup *setup,
			      const struct replay_policy **policies)
{
	char *wrong = NULL;

	if (setup->rebuild)
		wrong = check_option("--rebuild", replay_policy_compresses, policies);
	if (!wrong && setup->keep)
		wrong = check_option("--keep-reservations", replay_policy_reserves, policies);
	if (!wrong && setup->rlscheduler)
		wrong = check_rlscheduler(policies);
	return wrong;
}

/*
 * Returns why the machine is too large for a policy of the registry, or NULL. The caller frees.
 * `owned`: as in find_policy().
 */
static char *check_size(const GPtrArray *owned, uint32_t procs)
{
	if (owned->len == 0 || procs <= REPLAY_REGISTRY_PROCS_MAX)
		return NULL;
	return g_strdup_printf("--policy %s: a machine of %u processors is too large, at most %u "
			       "can be told apart; give --procs, or replay under fcfs, easy, "
			       "conservative or an order",
			       replay_policy_name(owned->pdata[0]), procs,
			       REPLAY_REGISTRY_PROCS_MAX);
}

static void fill_used(struct table *table, const json_t *replay, const json_t *document)
{
	table_textf(table, "%.1f %%", 100 * field_number(replay, "utilization"));
}

static struct table *table_of_replays(const json_t *document)
{
	static const struct tables_column columns[] = {
		{"<policy", "policy"},
		{">jobs", "nb_jobs_finished"},
		{">killed", "nb_jobs_killed"},
		{">makespan s", "makespan"},
		{">used", .fill = fill_used},
		{">mean wait s", "mean_waiting_time", 1},
		{">max wait s", "max_waiting_time"},
		{">mean slowdown", "mean_slowdown", 2},
		{">bounded, 10 s", "mean_bounded_slowdown_10", 2},
		{">deviation", "mean_bounded_slowdown_10_deviation", 2, .unless_0 = true},
		{">bounded, 30 s", "mean_bounded_slowdown_30", 2},
		{">slipped", "nb_jobs_slipped"},
		{">energy J", "consumed_joules", .unless_0 = true},
		{">max power W", "max_power", .unless_0 = true},
		{">within energy", "nb_jobs_within_energy"}, /* last: only with a limit */
	};
	const json_t *first = json_array_get(json_object_get(document, "replays"), 0);
	const bool limited = !json_is_null(json_object_get(first, "nb_jobs_within_energy"));

	return table_of_rows(columns, G_N_ELEMENTS(columns) - !limited, document, "replays");
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
	struct progress progress = {.policy = replay_policy_name(setup->policy),
				    .begun_us = g_get_monotonic_time()};

	setup->progress = isatty(STDERR_FILENO) ? show_progress : NULL;
	setup->data = &progress;
	replay_run(setup, ret_result);
	if (progress.shown_us > 0)
		fputs("\r\033[K", stderr);
}

static bool write_batsim(const struct replay_setup *setup, const struct replay_result *result,
			 const char *dir, GError **error)
{
	g_autoptr(batsim_schedule_t) schedule = replay_batsim(setup, result, build_version());

	return batsim_schedule_write(schedule, dir, error);
}

/*
 * Replays one trial, shaken or not, and writes what is wanted of it. Returns false with `error` if
 * that failed, or a job never started.
 */
static bool replay_trial(const struct arguments *arguments, const struct swf_trace *trace,
			 const struct replay_policy *policy, uint32_t trial,
			 struct replay_summary *ret_summary, GError **error)
{
	g_autoptr(swf_trace_t) shaken =
		arguments->shake_s > 0
			? replay_shake(trace, arguments->shake_s, (uint64_t)arguments->seed, trial)
			: NULL;
	struct replay_setup setup = arguments->setup;
	struct replay_result result;
	bool written;

	setup.trace = shaken ? shaken : trace;
	setup.policy = policy;
	replay_watched(&setup, &result);
	written = replay_check(&setup, &result, error);
	if (written)
		replay_summarize(&setup, &result, ret_summary);
	if (written && arguments->out)
		written = replay_write_csv(&setup, &result, arguments->out, error);
	if (written && arguments->batsim)
		written = write_batsim(&setup, &result, arguments->batsim, error);
	replay_finish(&result);
	return written;
}

/* Replays the trace under a policy, in all trials. Returns a new object, or NULL with `error`. */
static json_t *replay_policy(const char *name, const struct arguments *arguments,
			     const struct swf_trace *trace, const struct replay_policy *policy,
			     GError **error)
{
	const uint32_t trials = MAX(arguments->trials, 1);
	g_autofree struct replay_summary *summaries = g_new(struct replay_summary, trials);
	struct replay_setup setup = arguments->setup;
	struct replay_summary means;
	struct replay_summary deviations;
	json_t *object;

	for (uint32_t i = 0; i < trials; i++)
		if (!replay_trial(arguments, trace, policy, i + 1, &summaries[i], error))
			return NULL;
	replay_summary_means(summaries, trials, &means, &deviations);
	setup.policy = policy;
	print_slips(name, &setup, &means);
	object = replay_summary_json(&setup, &means);
	json_object_set_new(object, "shake", json_real(arguments->shake_s));
	json_object_set_new(object, "trials", json_integer(trials));
	if (trials > 1)
		replay_summary_add_deviations(object, &deviations);
	return object;
}

/* The line above the table. */
static void print_heading(const struct arguments *arguments, const json_t *first)
{
	const struct replay_setup *setup = &arguments->setup;

	printf("%u processor%s, %s estimates%s\n", setup->procs, setup->procs == 1 ? "" : "s",
	       setup->estimates == REPLAY_ESTIMATES_PERFECT ? "perfect" : "users'",
	       setup->rlscheduler ? ", as RLScheduler's program" : "");
	if (setup->semi_open)
		printf("semi-open: %.0f sessions, %.0f batches that follow one within %.0f s\n",
		       field_number(first, "nb_sessions"),
		       field_number(first, "nb_batches_followed"), setup->think_most_s);
	if (arguments->shake_s > 0)
		printf("submissions shaken by up to %.10g s: %s%u replay%s, seed %" G_GINT64_FORMAT
		       "\n",
		       arguments->shake_s, arguments->trials > 1 ? "means of " : "",
		       MAX(arguments->trials, 1), arguments->trials > 1 ? "s" : "",
		       arguments->seed);
}

/* Replays the trace under each policy, and prints the results. */
static int replay(const char *name, struct arguments *arguments, const struct swf_trace *trace,
		  const struct replay_policy **policies)
{
	g_autoptr(json_t) list = json_array();
	g_autoptr(json_t) document = json_pack("{s:O}", "replays", list);
	g_autoptr(table_t) table = NULL;
	g_autoptr(GError) error = NULL;

	for (; *policies; policies++) {
		json_t *object = replay_policy(name, arguments, trace, *policies, &error);

		if (!object)
			return command_fail(COMMAND_FAILED, name, "%s", error->message);
		json_array_append_new(list, object);
	}
	if (arguments->json) {
		command_print_json(list);
	} else {
		print_heading(arguments, json_array_get(list, 0));
		table = table_of_replays(document);
		table_print(table, 0, stdout);
	}
	return COMMAND_DONE;
}

static bool has_users(const struct swf_trace *trace)
{
	for (uint32_t i = 0; i < trace->jobs_count; i++)
		if (trace->jobs[i].user >= 0)
			return true;
	return false;
}

static int run_replay(const char *name, const char *path, struct arguments *arguments)
{
	const struct swf_filter filter = {.procs = arguments->procs,
					  .skip = arguments->skip,
					  .first = arguments->first,
					  .list = arguments->left_out};
	g_autoptr(GPtrArray) owned =
		g_ptr_array_new_with_free_func((GDestroyNotify)replay_registry_free);
	g_autofree const struct replay_policy **policies = NULL;
	g_autofree char *wrong_policy = NULL;
	g_autoptr(swf_trace_t) trace = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *wrong = check_arguments(arguments);
	g_autofree char *pointless = NULL;
	g_autofree char *large = NULL;

	if (wrong)
		return command_fail(COMMAND_BAD, name, "%s", wrong);
	policies = find_policies(arguments->policies, arguments->setup.rlscheduler, owned,
				 &wrong_policy);
	if (!policies)
		return command_fail(COMMAND_BAD, name, "--policy: %s", wrong_policy);
	pointless = pointless_option(&arguments->setup, policies);
	if (pointless)
		return command_fail(COMMAND_BAD, name, "%s", pointless);
	trace = trace_read(path, &filter, &error);
	if (!trace)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	large = check_size(owned, trace->procs);
	if (large)
		return command_fail(COMMAND_BAD, name, "%s", large);
	if (arguments->setup.energy_limit_j > 0 && trace->power_field == 0)
		return command_fail(COMMAND_BAD, name,
				    "--energy-limit: %s: no power of jobs (PowerField in the "
				    "header)",
				    path);
	trace_notes_print(name, path, trace);
	if (arguments->left_out && !replay_write_left_out(trace, arguments->left_out, &error))
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	if (trace->jobs_count == 0)
		return command_fail(COMMAND_BAD, name, "%s: no job that can be replayed", path);
	if (arguments->setup.semi_open && !has_users(trace))
		return command_fail(COMMAND_BAD, name,
				    "--semi-open: %s: no job has a user (field 12), so that every "
				    "job would be a session",
				    path);
	arguments->setup.trace = trace;
	arguments->setup.procs = trace->procs;
	return replay(name, arguments, trace, policies);
}

int cmd_replay(int argc, char **argv)
{
	struct arguments arguments = {.estimates = "user", .seed = 1, .think_most_s = -1};
	struct replay_setup *setup = &arguments.setup;
	const struct command_option options[] = {
		{"policy", 'p', COMMAND_TEXT, &arguments.policies,
		 "fcfs, easy, conservative (default: these three), or an order: sjf, spf, sqf, saf, wfp3, "
		 "unicef, f1, f2, f3, f4, each as it is or with +easy; or a policy of `virtbed policies`",
		 "NAME,..."},
		{"procs", 0, COMMAND_COUNT, &arguments.procs,
		 "processors of the machine (default: the trace's MaxProcs)", "P", 1, UINT32_MAX},
		{"estimates", 0, COMMAND_TEXT, &arguments.estimates,
		 "plan by the users' estimates (default) or by run times", "user|perfect"},
		{"skip", 0, COMMAND_COUNT, &arguments.skip,
		 "leave out the first N jobs that can be replayed", "N", 1, UINT32_MAX},
		{"first", 0, COMMAND_COUNT, &arguments.first,
		 "only the first N jobs that can be replayed, or of those that --skip leaves", "N",
		 1, UINT32_MAX},
		{"overrun", 0, COMMAND_FLAG, &setup->overrun,
		 "let jobs that outlive their estimates run on instead of killing them"},
		{"keep-reservations", 0, COMMAND_FLAG, &setup->keep,
		 "a reservation stays until its time instead of moving up"},
		{"rebuild", 0, COMMAND_FLAG, &setup->rebuild,
		 "conservative makes its schedule from nothing where it would compress it: promises "
		 "may slip"},
		{"rlscheduler", 0, COMMAND_FLAG, &setup->rlscheduler,
		 "events one by one, the first job of an order stays the first, and backfilling under "
		 "one bound, as in the tables of RLScheduler; with --overrun"},
		{"shake", 0, COMMAND_NUMBER, &arguments.shake_s,
		 "move every submission by a random time of up to S seconds, before or after", "S",
		 0, MOVE_MOST_S},
		{"trials", 0, COMMAND_COUNT, &arguments.trials,
		 "with --shake: so many replays, shaken otherwise each; their means", "N", 1,
		 100000},
		{"seed", 0, COMMAND_INTEGER, &arguments.seed, "of the shaking (1)", "N", 1,
		 (double)INT64_MAX},
		{"semi-open", 0, COMMAND_FLAG, &setup->semi_open,
		 "sessions begin as in the trace, and within them users wait for their jobs and think"},
		{"think-most", 0, COMMAND_NUMBER, &arguments.think_most_s,
		 "with --semi-open: after a longer think time a session begins (1200)", "S", 0,
		 MOVE_MOST_S},
		{"energy-limit", 0, COMMAND_NUMBER, &setup->energy_limit_j,
		 "count the jobs that end before they have used J joules in all; the trace has their "
		 "power (PowerField)",
		 "J", 0, ENERGY_LIMIT_MOST_J},
		{"out", 'o', COMMAND_FILE, &arguments.out,
		 "write one row per job; needs one policy", "jobs.csv"},
		{"batsim", 0, COMMAND_FILE, &arguments.batsim,
		 "write jobs.csv and schedule.json as Batsim does; needs one policy", "DIR"},
		{"left-out", 0, COMMAND_FILE, &arguments.left_out,
		 "write every line of the trace that is not replayed, with its number and why",
		 "lines.csv"},
		{"json", 0, COMMAND_FLAG, &arguments.json, "one JSON array"},
		{NULL},
	};

	if (!command_parse(&argc, &argv, "TRACE",
			   "Replays a trace in the Standard Workload Format, plain or gzipped, or "
			   "a workload of Batsim,\non one machine under batch policies. Public "
			   "tables of jobs with their power become traces\nby `python3 -m "
			   "virtbed.tables`.",
			   options))
		return COMMAND_BAD;
	if (argc != 2)
		return command_fail(COMMAND_BAD, argv[0], "give one trace");
	return run_replay(argv[0], argv[1], &arguments);
}
