/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "common/json.h"
#include "common/visible.h"
#include "controller/attribution/attribution.h"
#include "controller/attribution/attribution_print.h"
#include "controller/cli/attribute.h"
#include "controller/cli/commands.h"
#include "controller/plugin/plugin.h"
#include "controller/report/compare.h"
#include "controller/report/compare_brief.h"
#include "controller/report/compare_ratios.h"
#include "controller/report/resampling.h"
#include "controller/report/overhead.h"
#include "controller/room/room_report.h"

#define JOBS_MAX 1024

/* What is printed with a comparison. */
struct additions {
	const char *baseline;            /* of `ratios` */
	GArray *ratios;                  /* NULL: none were asked for */
	struct overhead *overhead;       /* NULL: none */
	struct room_report *room;        /* NULL: it was not asked for */
	struct attribution *attribution; /* NULL: it was not asked for */
};

static void additions_clear(struct additions *additions)
{
	g_clear_pointer(&additions->ratios, g_array_unref);
	g_clear_pointer(&additions->overhead, overhead_free);
	g_clear_pointer(&additions->room, room_report_free);
	g_clear_pointer(&additions->attribution, attribution_free);
}
typedef struct additions additions_t; /* for g_auto() */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(additions_t, additions_clear)

static void print_comparison(const struct compare *compare, const struct additions *additions,
			     bool as_json)
{
	const struct overhead *overhead = additions->overhead;
	g_autoptr(json_t) document = as_json ? compare_json(compare) : NULL;
	g_autofree char *text = as_json ? NULL : compare_text(compare);
	g_autofree char *more = overhead && !as_json ? overhead_text(overhead) : NULL;
	g_autofree char *ratios =
		additions->ratios && !as_json
			? compare_ratios_text(compare, additions->ratios, additions->baseline)
			: NULL;
	g_autofree char *room =
		additions->room && !as_json ? room_report_text(additions->room) : NULL;
	g_autofree char *causes = additions->attribution && !as_json
					  ? attribution_text(additions->attribution)
					  : NULL;

	if (as_json) {
		if (additions->attribution)
			json_object_set_new(document, "attribution",
					    attribution_json(additions->attribution));
		if (overhead)
			json_object_set_new(document, "overheads", overhead_json(overhead));
		if (additions->ratios)
			json_object_set_new(document, "baseline",
					    compare_ratios_json(compare, additions->ratios,
								additions->baseline));
		if (additions->room)
			json_object_set_new(document, "room", room_report_json(additions->room));
		command_print_json(document);
		return;
	}
	visible_print(text);
	if (ratios)
		visible_print(ratios);
	if (more)
		visible_print(more);
	if (room)
		visible_print(room);
	if (causes)
		visible_print(causes);
}

/* Prints the comparison in ten lines. `compare` is NULL when the two have nothing in common. */
static void print_brief(const struct compare_sides *sides, const struct compare *compare,
			bool as_json)
{
	g_autoptr(GPtrArray) lines = NULL;

	if (as_json) {
		g_autoptr(json_t) document = compare_brief_json(sides, compare);

		command_print_json(document);
		return;
	}
	lines = compare_brief_lines(sides, compare);
	for (guint i = 0; i < lines->len; i++) {
		visible_print(g_ptr_array_index(lines, i));
		putchar('\n');
	}
}

typedef struct directory directory_t; /* for g_auto() */

struct arguments {
	bool json, brief, trials, simulate, room, attribute;
	const char *baseline; /* NULL: no ratios */
	uint32_t room_trials; /* 0: not given */
	uint32_t jobs;        /* 0: not given */
};

/* Trials behind a room, unless the command line says otherwise, and the most. */
#define ROOM_TRIALS 60
#define ROOM_TRIALS_MAX 1000000

/* A directory that is compared. */
struct directory {
	const char *dir;
	struct summary *summary;
	struct resampling *noise; /* of measured runs; NULL: unknown */
	GError *no_noise;         /* why; NULL: nothing is wrong */
};

static void directory_clear(struct directory *directory)
{
	resampling_free(directory->noise);
	summary_free(directory->summary);
	g_clear_error(&directory->no_noise);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(directory_t, directory_clear)

/* `simulate`: noise that is not on record is simulated. */
static bool directory_load(struct directory *directory, bool simulate, GError **error)
{
	directory->summary = summary_load(directory->dir, error);
	if (directory->summary && directory->summary->measured && !directory->summary->service)
		directory->noise =
			resampling_new(directory->summary, simulate, &directory->no_noise);
	return directory->summary != NULL;
}

/* Whether a policy was run only once at a limit. */
static bool has_single_runs(const struct summary *summary)
{
	for (guint i = 0; i < summary->cells_count; i++)
		if (summary->cells[i].runs == 1)
			return true;
	return false;
}

/* The exit status of what was to be simulated: a policy that does not decide is no bad input. */
static int status_of(const GError *error)
{
	return g_error_matches(error, PLUGIN_ERROR, PLUGIN_ERROR_DECIDE) ? COMMAND_FAILED
									 : COMMAND_BAD;
}

/*
 * Warns of noise that is not known, where the comparison would rest on it. `simulate`: what is not
 * on record was to be simulated.
 */
static void warn_of_noise(const char *name, const struct directory *directory,
			  const struct compare *compare, bool simulate)
{
	g_autofree char *unknown = directory->noise ? resampling_unknown(directory->noise) : NULL;

	const bool single = has_single_runs(directory->summary);
	/* A simulated run on the measured arrivals would have the noise of the measured side. */
	const bool trials = compare->sides->mixed && compare->equal_arrivals;

	if (!trials && !single)
		return;
	if (g_error_matches(directory->no_noise, RESAMPLING_ERROR, RESAMPLING_ERROR_RECORD))
		fprintf(stderr,
			"%s: warning: %s, so %s%s%s; with --simulate, repeats are simulated, by "
			"this build\n",
			name, directory->no_noise->message,
			single ? "single runs are judged by their tasks" : "",
			single && trials ? ", and " : "",
			trials ? "the simulation is judged by its trials" : "");
	else if (directory->no_noise)
		fprintf(stderr, "%s: warning: repeats cannot be simulated: %s\n", name,
			directory->no_noise->message);
	if (unknown)
		fprintf(stderr, "%s: warning: %s: no repeats are on record of %s; %s\n", name,
			directory->summary->dir, unknown,
			simulate ? "nor can this build simulate them"
				 : "with --simulate, they are simulated, by this build");
}

/*
 * The effect of the overheads of preemption, where it is simulated. NULL: it is not, or there is
 * none; with `error`: a policy from outside failed.
 */
static struct overhead *find_overhead(const char *name, const struct directory *measured,
				      bool simulate, GError **ret_error)
{
	g_autoptr(GError) error = NULL;
	struct overhead *overhead = NULL;

	if (simulate)
		overhead = overhead_new(measured->summary, &error);
	else if (overhead_is_known(measured->summary))
		fprintf(stderr,
			"%s: overheads of preemption are on record; with --simulate, what they "
			"change is simulated, by this build\n",
			name);
	if (error && error->domain == PLUGIN_ERROR)
		g_propagate_error(ret_error, g_steal_pointer(&error));
	else if (error && !measured->no_noise)
		fprintf(stderr, "%s: warning: overheads of preemption cannot be simulated: %s\n",
			name, error->message);
	return overhead;
}

/* The room. */

/* Its progress, for a person. */
struct watching {
	const char *name;
	bool watched; /* standard error is a terminal */
	uint64_t most_runs;
};

static void begin_room(uint64_t most_runs, uint32_t pairs, void *data)
{
	struct watching *watching = data;

	watching->most_runs = most_runs;
	fprintf(stderr, "%s: --room: at most %" G_GUINT64_FORMAT " simulated runs for %u pairs\n",
		watching->name, most_runs, pairs);
}

/* Overwrites the progress line. */
static bool show_room(uint64_t done, enum room_kind kind, void *data)
{
	const struct watching *watching = data;

	if (watching->watched)
		fprintf(stderr,
			"\rroom: %s, %" G_GUINT64_FORMAT " of at most %" G_GUINT64_FORMAT
			" simulated runs ",
			room_kind_names[kind], done, watching->most_runs);
	return true;
}

/*
 * Simulates the room of the winners of `simulated`, beside what was measured in `measured`, and
 * saves it in the directory of `keeper` for its page. `measured` and `compare` may be NULL. NULL
 * with `error`.
 */
static struct room_report *find_room(const char *name, const struct summary *simulated,
				     const struct summary *measured, const struct compare *compare,
				     const struct summary *keeper,
				     const struct arguments *arguments, GError **error)
{
	struct watching watching = {.name = name, .watched = isatty(STDERR_FILENO)};
	const struct room_request request = {
		.simulated = simulated,
		.measured = measured,
		.compare = compare,
		.trials = arguments->room_trials ? arguments->room_trials : ROOM_TRIALS,
		.jobs = arguments->jobs ? arguments->jobs : g_get_num_processors(),
		.begin = begin_room,
		.progress = show_room,
		.data = &watching,
	};
	g_autoptr(GError) trouble = NULL;
	struct room_report *room = room_report_new(&request, error);

	if (watching.watched && watching.most_runs > 0)
		fputs("\r\033[K", stderr);
	if (room && !room_report_save(room, keeper, &trouble))
		fprintf(stderr, "%s: warning: the page of %s will lack the room: %s\n", name,
			keeper->dir, trouble->message);
	return room;
}

/* The room of one directory. */
static int room_of_dir(const char *name, const char *dir, const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) summary = summary_load(dir, &error);
	g_autoptr(room_report_t) room = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;

	if (!summary)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (summary->service)
		return command_fail(COMMAND_BAD, name,
				    "%s is the directory of a service, which has no winners", dir);
	room = find_room(name, summary, summary->measured ? summary : NULL, NULL, summary,
			 arguments, &error);
	if (!room)
		return command_fail(status_of(error), name, "--room: %s", error->message);
	if (arguments->json) {
		document = json_pack("{s:o}", "room", room_report_json(room));
		command_print_json(document);
		return COMMAND_DONE;
	}
	text = room_report_text(room);
	visible_print(text + 1); /* without the empty line before it */
	return COMMAND_DONE;
}

/* The room of a comparison: of what the simulated side, or else the first one, simulates. */
static struct room_report *room_of_sides(const char *name, const struct compare *compare,
					 const struct arguments *arguments, GError **error)
{
	const struct compare_side *sides = compare->sides->side;
	const struct summary *first = sides[0].summary;

	return find_room(name, compare->sides->mixed ? sides[1].summary : first,
			 first->measured ? first : NULL, compare, first, arguments, error);
}

static int compare_dirs(const char *name, const char *dir_a, const char *dir_b,
			const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_auto(directory_t) a = {.dir = dir_a};
	g_auto(directory_t) b = {.dir = dir_b};
	g_auto(compare_sides_t) sides = {0};
	g_autoptr(compare_t) compare = NULL;
	g_auto(additions_t) additions = {.baseline = arguments->baseline};
	const GError *failure;

	if (!directory_load(&a, arguments->simulate, &error) ||
	    !directory_load(&b, arguments->simulate, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (a.summary->service || b.summary->service)
		return command_fail(COMMAND_BAD, name,
				    "%s is the directory of a service, which is no experiment that "
				    "could be compared",
				    a.summary->service ? dir_a : dir_b);
	compare_sides_init(&sides, a.summary, resampling_compare(a.noise), b.summary,
			   resampling_compare(b.noise));
	compare = compare_new(&sides, arguments->trials, &error);
	failure = resampling_failure(a.noise) ?: resampling_failure(b.noise);
	if (failure)
		return command_fail(status_of(failure), name, "--simulate: %s", failure->message);
	if (compare && arguments->attribute) {
		additions.attribution = attribute(name, compare, arguments->jobs, &error);
		if (!additions.attribution)
			return command_fail(status_of(error), name, "--attribute: %s",
					    error->message);
		compare->because = attribution_verdict(additions.attribution);
	}
	if (arguments->brief &&
	    (compare || g_error_matches(error, COMPARE_ERROR, COMPARE_ERROR_NOTHING)))
		print_brief(&sides, compare, arguments->json);
	if (!compare)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (arguments->baseline)
		additions.ratios = compare_ratios(compare, arguments->baseline, &error);
	if (error)
		return command_fail(COMMAND_BAD, name, "--baseline: %s", error->message);
	warn_of_noise(name, &a, compare, arguments->simulate);
	warn_of_noise(name, &b, compare, arguments->simulate);
	if (arguments->brief)
		return COMMAND_DONE;
	if (sides.mixed)
		additions.overhead = find_overhead(name, a.summary->measured ? &a : &b,
						   arguments->simulate, &error);
	if (error)
		return command_fail(status_of(error), name, "--simulate: %s", error->message);
	if (arguments->room)
		additions.room = room_of_sides(name, compare, arguments, &error);
	if (error)
		return command_fail(status_of(error), name, "--room: %s", error->message);
	print_comparison(compare, &additions, arguments->json);
	return COMMAND_DONE;
}

int cmd_compare(int argc, char **argv)
{
	struct arguments arguments = {0};
	const struct command_option options[] = {
		{"json", 0, COMMAND_FLAG, &arguments.json, "Print one JSON document"},
		{"brief", 0, COMMAND_FLAG, &arguments.brief,
		 "In ten lines: what ran, which ranking holds, how sure that is, what limits it"},
		{"trials", 0, COMMAND_FLAG, &arguments.trials,
		 "Judge the simulation by the mean of its trials, also where it ran the measured "
		 "arrivals"},
		{"baseline", 0, COMMAND_TEXT, &arguments.baseline,
		 "Also each policy's measures relative to those of this one, on both sides",
		 "NAME"},
		{"simulate", 0, COMMAND_FLAG, &arguments.simulate,
		 "Simulate what is not on record: repeats of single runs, and what the overheads of "
		 "preemption change"},
		{"room", 0, COMMAND_FLAG, &arguments.room,
		 "Simulate how large errors of estimates, noise, load and overhead have to be until "
		 "another policy wins, beside those that were measured; DIR alone will do"},
		{"room-trials", 0, COMMAND_COUNT, &arguments.room_trials,
		 "workloads behind --room (default 60)", "N", 2, ROOM_TRIALS_MAX},
		{"attribute", 0, COMMAND_FLAG, &arguments.attribute,
		 "Divide the differences of a measured and a simulated directory over their causes, "
		 "by simulations"},
		{"jobs", 'j', COMMAND_COUNT, &arguments.jobs,
		 "Threads of --room and --attribute (default: one per core); results do not depend on it",
		 "N", 1, JOBS_MAX},
		{NULL},
	};

	if (!command_parse(&argc, &argv, "DIR [DIR]",
			   "Lays a measured run beside a simulated one, or two of a kind side by "
			   "side: utility and\n"
			   "energy, the order of every pair of policies with its interval, rank "
			   "correlation, and one\n"
			   "verdict. What is on record is compared; nothing is simulated without "
			   "--simulate,\n--room or --attribute.",
			   options))
		return COMMAND_BAD;
	if (arguments.brief && arguments.baseline)
		return command_fail(COMMAND_BAD, argv[0],
				    "--baseline: its table is not of --brief");
	if (arguments.brief && arguments.room)
		return command_fail(COMMAND_BAD, argv[0], "--room: its table is not of --brief");
	if (!arguments.room && arguments.room_trials)
		return command_fail(COMMAND_BAD, argv[0], "--room-trials is for --room");
	if (!arguments.room && !arguments.attribute && arguments.jobs)
		return command_fail(COMMAND_BAD, argv[0], "--jobs is for --room and --attribute");
	if (argc == 2 && arguments.room)
		return room_of_dir(argv[0], argv[1], &arguments);
	if (argc != 3)
		return command_fail(COMMAND_BAD, argv[0],
				    "give two run directories, measured or simulated");
	return compare_dirs(argv[0], argv[1], argv[2], &arguments);
}
