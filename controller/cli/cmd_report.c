/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "common/visible.h"
#include "controller/attribution/attribution_print.h"
#include "controller/attribution/chart_causes.h"
#include "controller/cli/attribute.h"
#include "common/version/build_version.h"
#include "controller/cli/commands.h"
#include "controller/report/batsim_export.h"
#include "controller/report/charts.h"
#include "controller/report/page.h"
#include "controller/report/report.h"
#include "controller/report/swf_export.h"
#include "controller/room/room_report.h"

/* The command line as it is parsed. */
struct arguments {
	const char *name; /* of the command, for messages */
	const char *format, *out, *kinds, *runs;
	const char *table; /* name of the CSV table; NULL: the first one */
	bool attribute;    /* why two directories differ */
};

/* Why two directories differ, for the page and the images. All NULL: it was not asked for. */
struct causes {
	struct attributed attributed;
	GPtrArray *charts;
	char *html, *because;
};
typedef struct causes causes_t; /* for g_auto() */

static void causes_clear(struct causes *causes)
{
	attributed_clear(&causes->attributed);
	g_clear_pointer(&causes->charts, g_ptr_array_unref);
	g_free(causes->html);
	g_free(causes->because);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(causes_t, causes_clear)

/* Attributes the differences of the two directories, where that is asked for. */
static bool find_causes(const struct arguments *arguments, GPtrArray *summaries,
			struct causes *causes, GError **error)
{
	if (!arguments->attribute)
		return true;
	if (!attribute_directories(arguments->name, summaries->pdata[0], summaries->pdata[1], 0,
				   &causes->attributed, error)) {
		g_prefix_error(error, "--attribute: ");
		return false;
	}
	causes->charts = chart_causes(causes->attributed.attribution);
	causes->html = attribution_html(causes->attributed.attribution);
	causes->because = attribution_verdict(causes->attributed.attribution);
	return true;
}

static void free_summary(gpointer data)
{
	summary_free(data);
}

static GPtrArray *load(char **dirs, GError **error)
{
	g_autoptr(GPtrArray) summaries = g_ptr_array_new_with_free_func(free_summary);

	for (; *dirs; dirs++) {
		struct summary *summary = summary_load(*dirs, error);

		if (!summary)
			return NULL;
		g_ptr_array_add(summaries, summary);
	}
	return g_steal_pointer(&summaries);
}

static char *text_of_all(GPtrArray *summaries, GError **error)
{
	g_autoptr(GString) all = g_string_new(NULL);

	for (guint i = 0; i < summaries->len; i++) {
		g_autofree char *text = report_text(summaries->pdata[i], error);

		if (!text)
			return NULL;
		g_string_append_printf(all, "%s%s", i ? "\n" : "", text);
	}
	return visible_lines(all->str);
}

/* Returns the report in one of the text formats, or NULL. */
static char *render(GPtrArray *summaries, const struct arguments *arguments, GError **error)
{
	const char *format = arguments->format;
	struct summary *const *all = (struct summary *const *)summaries->pdata;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;

	if (strcmp(format, "table") == 0)
		return text_of_all(summaries, error);
	if (strcmp(format, "csv") == 0)
		return report_csv(all, summaries->len, arguments->table ?: "policies", error);
	document = report_json(all, summaries->len, error);
	if (!document)
		return NULL;
	text = json_pretty(document);
	return g_strconcat(text, "\n", NULL);
}

/* Writes a file into a directory, which is made, and prints its path. */
static bool write_file(const char *dir, const char *file, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(dir, file, NULL);

	if (g_mkdir_with_parents(dir, 0755) != 0)
		return error_fail(error, G_FILE_ERROR, g_file_error_from_errno(errno),
				  "cannot make the directory \"%s\": %s", dir, g_strerror(errno));
	if (!g_file_set_contents(path, text, -1, error))
		return false;
	puts(path);
	return true;
}

/* Prints the text, or writes it to a file in `out`. */
static bool write_text(const struct arguments *arguments, const char *text, GError **error)
{
	const char *format = arguments->format;
	g_autofree char *file =
		g_strconcat("report.", strcmp(format, "table") == 0 ? "txt" : format, NULL);

	if (arguments->out)
		return write_file(arguments->out, file, text, error);
	fputs(text, stdout);
	return true;
}

/* Charts. */

static bool write_images(const GPtrArray *list, enum chart_format format, const char *dir,
			 GError **error)
{
	for (guint i = 0; i < list->len; i++) {
		g_autofree char *path = NULL;

		if (chart_write(list->pdata[i], dir, error))
			path = chart_draw(list->pdata[i], dir, format, error);
		if (!path)
			return false;
		puts(path);
	}
	return true;
}

/* The rooms that were saved for the directories, as parts of a page. The caller frees. */
static char *rooms_html(GPtrArray *summaries)
{
	GString *html = g_string_new(NULL);

	for (guint i = 0; i < summaries->len; i++) {
		g_autoptr(room_report_t) room = room_report_load(summaries->pdata[i]);
		g_autofree char *part = room ? room_report_html(room) : NULL;

		g_string_append(html, part ?: "");
	}
	return g_string_free(html, FALSE);
}

static bool put_page(GPtrArray *summaries, const struct charts *charts, const GPtrArray *list,
		     const struct causes *causes, const char *dir, GError **error)
{
	const struct page_causes why = {causes->because, causes->html, causes->charts};
	g_autofree char *plots = g_build_filename(dir, "plots", NULL);
	g_autofree char *rooms = rooms_html(summaries);
	g_autofree char *text = NULL;

	for (guint i = 0; i < list->len; i++)
		if (!chart_write(list->pdata[i], plots, error))
			return false;
	text = page_html((struct summary *const *)summaries->pdata, summaries->len, charts,
			 causes->charts ? &why : NULL, plots, "plots", rooms, error);
	return text && write_file(dir, "index.html", text, error);
}

/* Prints the data of a single chart, or writes those of all charts to files. */
static bool write_data(const struct arguments *arguments, const GPtrArray *list, GError **error)
{
	for (guint i = 0; i < list->len; i++) {
		const struct chart *chart = list->pdata[i];
		g_autofree char *file = g_strconcat(chart->name, ".csv", NULL);

		if (!arguments->out)
			fputs(chart->csv, stdout);
		else if (!write_file(arguments->out, file, chart->csv, error))
			return false;
	}
	return true;
}

/* Reads numbers of runs; false where a word is no number, or there is none. */
static bool parse_runs(const char *text, GArray *runs)
{
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	if (!*text)
		return false;
	for (char **part = parts; *part; part++) {
		gint64 run;

		if (!read_number_integer(*part, 1, G_MAXINT64, &run))
			return false;
		g_array_append_val(runs, run);
	}
	return true;
}

/* Sets the choice of --chart and --run and checks it. It borrows from `kinds` and `runs`. */
static bool choose(const struct arguments *arguments, GPtrArray *summaries, GStrv kinds,
		   GArray *runs, struct charts_choice *ret_choice, GError **error)
{
	if (arguments->runs && !parse_runs(arguments->runs, runs))
		return error_fail(error, CHARTS_ERROR, CHARTS_ERROR_RUN,
				  "--run: \"%s\" is no list of run numbers such as 1,4",
				  arguments->runs);
	*ret_choice = (struct charts_choice){
		.kinds = kinds,
		.runs = (const gint64 *)(const void *)runs->data,
		.runs_count = runs->len,
	};
	return charts_choice_check(ret_choice, (struct summary *const *)summaries->pdata,
				   summaries->len, error);
}

static int put_charts(const struct arguments *arguments, GPtrArray *summaries,
		      const struct charts_choice *choice, const char *first_dir)
{
	struct summary *const *all = (struct summary *const *)summaries->pdata;
	const char *dir = arguments->out ?: first_dir;
	int image = chart_format_parse(arguments->format);
	g_autoptr(GError) error = NULL;
	g_autoptr(charts_t) charts = charts_new(all, summaries->len, choice, &error);
	g_autoptr(GPtrArray) list = charts ? charts_list(charts) : NULL;
	g_autofree char *plots = g_build_filename(dir, arguments->out ? NULL : "plots", NULL);
	const bool data = strcmp(arguments->format, "csv") == 0;
	g_auto(causes_t) causes = {0};

	if (charts && find_causes(arguments, summaries, &causes, &error) && causes.charts)
		g_ptr_array_extend(list, causes.charts, NULL, NULL);
	if (error)
		return command_fail(COMMAND_BAD, arguments->name, "%s", error->message);
	if (data && !arguments->out && list->len != 1)
		return command_fail(COMMAND_BAD, arguments->name,
				    "these are %u charts: choose one with --chart and --run, or "
				    "give a directory with --out",
				    list->len);
	if (data        ? write_data(arguments, list, &error)
	    : image < 0 ? put_page(summaries, charts, list, &causes, dir, &error)
			: write_images(list, (enum chart_format)image, plots, &error))
		return COMMAND_DONE;
	return command_fail(COMMAND_FAILED, arguments->name, "%s", error->message);
}

/* The one run that a trace or a schedule is of. Returns COMMAND_DONE, or what went wrong, told. */
static int choose_run(const struct arguments *arguments, GPtrArray *summaries, const GArray *runs,
		      const struct store_run **ret_run)
{
	const struct summary *summary = summaries->pdata[0];
	gint64 id = 0;

	if (arguments->runs && runs->len != 1)
		return command_fail(COMMAND_BAD, arguments->name,
				    "--run: \"%s\" is no run number such as 4", arguments->runs);
	if (runs->len == 1)
		id = g_array_index(runs, gint64, 0);
	*ret_run = swf_export_run(summary, id);
	if (summaries->len > 1 || !*ret_run)
		return command_fail(COMMAND_BAD, arguments->name,
				    "a %s is one run of one directory: choose one of the %u that "
				    "have ended with --run",
				    strcmp(arguments->format, "swf") == 0 ? "trace" : "schedule",
				    summary->runs->len);
	return COMMAND_DONE;
}

/* Writes one run as a trace. */
static int write_trace(const struct arguments *arguments, GPtrArray *summaries, const GArray *runs)
{
	const struct store_run *run;
	const int chosen = choose_run(arguments, summaries, runs, &run);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	if (chosen != COMMAND_DONE)
		return chosen;
	text = swf_export(summaries->pdata[0], run, &error);
	if (text && write_text(arguments, text, &error))
		return COMMAND_DONE;
	return command_fail(COMMAND_FAILED, arguments->name, "%s", error->message);
}

/* Writes one run in Batsim's files, and prints their paths. */
static int write_schedule(const struct arguments *arguments, GPtrArray *summaries,
			  const GArray *runs, const char *run_dir)
{
	const struct store_run *run;
	const int chosen = choose_run(arguments, summaries, runs, &run);
	g_autofree char *dir = arguments->out ? g_strdup(arguments->out)
					      : g_build_filename(run_dir, "batsim", NULL);
	g_autoptr(batsim_schedule_t) schedule = NULL;
	g_autoptr(GError) error = NULL;

	if (chosen != COMMAND_DONE)
		return chosen;
	schedule = batsim_export(summaries->pdata[0], run, build_version(), &error);
	if (!schedule || !batsim_schedule_write(schedule, dir, &error))
		return command_fail(COMMAND_FAILED, arguments->name, "%s", error->message);
	printf("%s/jobs.csv\n%s/schedule.json\n", dir, dir);
	return COMMAND_DONE;
}

/* The command. */

static bool is_text_format(const char *format)
{
	return strcmp(format, "table") == 0 || strcmp(format, "csv") == 0 ||
	       strcmp(format, "json") == 0;
}

/* Whether the format is of one run. */
static bool is_run_format(const char *format)
{
	return strcmp(format, "swf") == 0 || strcmp(format, "batsim") == 0;
}

/* Returns an option that has no effect in this format, with its use, or NULL. */
static const char *pointless_option(const struct arguments *arguments, bool drawn)
{
	const bool csv = strcmp(arguments->format, "csv") == 0;

	if (arguments->kinds && !drawn && !csv)
		return "--chart is for the formats png, svg, pdf, html and csv";
	if (arguments->runs && !drawn && !is_run_format(arguments->format) &&
	    !(csv && arguments->kinds))
		return "--run is for the formats png, svg, pdf, html, swf, batsim, and csv with "
		       "--chart";
	if (arguments->attribute && !drawn)
		return "--attribute is for the formats png, svg, pdf and html";
	if (arguments->table && (!csv || arguments->kinds))
		return "--table is for --format csv without --chart";
	return NULL;
}

static int report(const struct arguments *arguments, char **dirs)
{
	const char *format = arguments->format;
	const char *pointless;
	bool drawn = chart_format_parse(format) >= 0 || strcmp(format, "html") == 0;
	g_auto(GStrv) kinds = arguments->kinds ? g_strsplit(arguments->kinds, ",", -1) : NULL;
	g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) summaries = NULL;
	g_autofree char *text = NULL;
	struct charts_choice choice;

	if (!drawn && !is_text_format(format) && !is_run_format(format))
		return command_fail(COMMAND_BAD, arguments->name,
				    "unknown format \"%s\"; known: %s", format,
				    COMMAND_REPORT_FORMATS);
	if (arguments->table && !report_csv_known(arguments->table))
		return command_fail(COMMAND_BAD, arguments->name,
				    "--table: there is no table \"%s\"; known: %s",
				    arguments->table, REPORT_CSV_TABLES);
	summaries = load(dirs, &error);
	if (!summaries || !choose(arguments, summaries, kinds, runs, &choice, &error))
		return command_fail(COMMAND_BAD, arguments->name, "%s", error->message);
	pointless = pointless_option(arguments, drawn);
	if (pointless)
		return command_fail(COMMAND_BAD, arguments->name, "%s, not for %s", pointless,
				    format);
	if (arguments->attribute && summaries->len != 2)
		return command_fail(COMMAND_BAD, arguments->name,
				    "--attribute: give a measured and a simulated run directory");
	if (strcmp(format, "swf") == 0)
		return write_trace(arguments, summaries, runs);
	if (strcmp(format, "batsim") == 0)
		return write_schedule(arguments, summaries, runs, dirs[0]);
	if (drawn || kinds)
		return put_charts(arguments, summaries, &choice, dirs[0]);
	text = render(summaries, arguments, &error);
	if (text && write_text(arguments, text, &error))
		return COMMAND_DONE;
	return command_fail(COMMAND_FAILED, arguments->name, "%s", error->message);
}

int cmd_report(int argc, char **argv)
{
	struct arguments arguments = {.name = argv[0]};
	bool json = false;
	const struct command_option options[] = {
		{"format", 'f', COMMAND_TEXT, &arguments.format,
		 "What to make: table (default), csv, json, swf (a trace), batsim (its jobs.csv "
		 "and schedule.json), png, svg, pdf, html",
		 "FORMAT"},
		{"json", 0, COMMAND_FLAG, &json, "The same as --format json"},
		{"chart", 'c', COMMAND_TEXT, &arguments.kinds,
		 "Only these: utility, estimates, utility-time, energy-time, gantt, power",
		 "KIND,..."},
		{"table", 't', COMMAND_TEXT, &arguments.table,
		 "Which table as csv: policies (default), suspensions, suspension-steps, migrations, "
		 "migrations-by-policy, shares",
		 "TABLE"},
		{"run", 'r', COMMAND_TEXT, &arguments.runs,
		 "Single runs to draw (default: the first of every policy and limit); with swf or batsim, the "
		 "run",
		 "N,..."},
		{"attribute", 0, COMMAND_FLAG, &arguments.attribute,
		 "Also why a measured and a simulated directory differ, as compare --attribute; "
		 "simulates"},
		{"out", 'o', COMMAND_FILE, &arguments.out,
		 "Directory for what is made; by default plots go to RUN_DIR/plots, the page to "
		 "RUN_DIR/index.html, and Batsim's files to RUN_DIR/batsim",
		 "DIR"},
		{NULL},
	};

	if (!command_parse(
		    &argc, &argv, "RUN_DIR...",
		    "Utility, energy and tasks per policy and limit, and what was suspended, migrated and\n"
		    "shared, as tables, charts or one web page. Several runs are drawn side by side. Charts leave their data\n"
		    "(CSV) and gnuplot script beside the image; with --format csv, --chart gives a "
		    "chart's\ndata alone.",
		    options))
		return COMMAND_BAD;
	if (argc < 2)
		return command_fail(COMMAND_BAD, arguments.name, "give one run directory or more");
	if (json && arguments.format && strcmp(arguments.format, "json") != 0)
		return command_fail(COMMAND_BAD, arguments.name,
				    "give --json or --format %s, not both", arguments.format);
	arguments.format = json ? "json" : arguments.format ?: "table";
	return report(&arguments, argv + 1);
}
