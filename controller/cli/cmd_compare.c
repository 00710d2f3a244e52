/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/json.h"
#include "common/visible.h"
#include "controller/cli/commands.h"
#include "controller/report/compare.h"
#include "controller/report/compare_brief.h"
#include "controller/report/resampling.h"
#include "controller/report/overhead.h"

/* `overhead` may be NULL. */
static void print_comparison(const struct compare *compare, const struct overhead *overhead,
			     bool as_json)
{
	g_autoptr(json_t) document = as_json ? compare_json(compare) : NULL;
	g_autofree char *text = as_json ? NULL : compare_text(compare);
	g_autofree char *more = overhead && !as_json ? overhead_text(overhead) : NULL;

	if (as_json) {
		if (overhead)
			json_object_set_new(document, "overheads", overhead_json(overhead));
		command_print_json(document);
		return;
	}
	visible_print(text);
	if (more)
		visible_print(more);
}

/* Prints the comparison in ten lines. `compare` is NULL when the two have nothing in common. */
static void print_brief(const struct summary *measured, const struct summary *simulated,
			const struct compare *compare, bool as_json)
{
	g_autoptr(GPtrArray) lines = NULL;

	if (as_json) {
		g_autoptr(json_t) document = compare_brief_json(measured, simulated, compare);

		command_print_json(document);
		return;
	}
	lines = compare_brief_lines(measured, simulated, compare);
	for (guint i = 0; i < lines->len; i++) {
		visible_print(g_ptr_array_index(lines, i));
		putchar('\n');
	}
}

struct arguments {
	bool json, brief, trials;
};

static int compare_dirs(const char *name, const char *measured_dir, const char *simulated_dir,
			const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) measured = summary_load(measured_dir, &error);
	g_autoptr(summary_t) simulated = measured ? summary_load(simulated_dir, &error) : NULL;
	g_autoptr(GError) no_noise = NULL;
	g_autoptr(resampling_t) noise =
		simulated && measured->measured ? resampling_new(measured, &no_noise) : NULL;
	g_autoptr(compare_t) compare = NULL;
	g_autoptr(overhead_t) overhead = NULL;
	g_autoptr(GError) no_overhead = NULL;
	g_autofree char *unknown = NULL;

	if (simulated && (measured->service || simulated->service))
		return command_fail(COMMAND_BAD, name,
				    "%s is the directory of a service, which is no experiment that "
				    "could be compared",
				    measured->service ? measured_dir : simulated_dir);
	if (simulated)
		compare = compare_new(measured, simulated, noise ? resampling_compare(noise) : NULL,
				      arguments->trials, &error);
	if (arguments->brief &&
	    (compare || g_error_matches(error, COMPARE_ERROR, COMPARE_ERROR_NOTHING)))
		print_brief(measured, simulated, compare, arguments->json);
	if (!compare)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (no_noise)
		fprintf(stderr, "%s: warning: repeats cannot be simulated: %s\n", name,
			no_noise->message);
	unknown = noise ? resampling_unknown(noise) : NULL;
	if (unknown)
		fprintf(stderr,
			"%s: warning: repeats cannot be simulated of policies that this build does not "
			"know, nor are they on record: %s\n",
			name, unknown);
	if (arguments->brief)
		return COMMAND_DONE;
	overhead = overhead_new(measured, &no_overhead);
	if (no_overhead && !no_noise)
		fprintf(stderr, "%s: warning: overheads of preemption cannot be simulated: %s\n",
			name, no_overhead->message);
	print_comparison(compare, overhead, arguments->json);
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
		{NULL},
	};

	if (!command_parse(&argc, &argv, "MEASURED_DIR SIMULATED_DIR",
			   "Lays a measured run beside a simulated one: utility and energy, the "
			   "order of every\n"
			   "pair of policies with its interval, rank correlation, and one verdict.",
			   options))
		return COMMAND_BAD;
	if (argc != 3)
		return command_fail(COMMAND_BAD, argv[0],
				    "give two run directories, measured first");
	return compare_dirs(argv[0], argv[1], argv[2], &arguments);
}
