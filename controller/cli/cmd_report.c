/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/report/plot.h"
#include "controller/report/report.h"

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

static char *text_of_all(GPtrArray *summaries)
{
	GString *all = g_string_new(NULL);

	for (guint i = 0; i < summaries->len; i++) {
		g_autofree char *text = report_text(summaries->pdata[i]);

		g_string_append_printf(all, "%s%s", i ? "\n" : "", text);
	}
	return g_string_free(all, FALSE);
}

/* The report in one of the text formats, or NULL. */
static char *render(GPtrArray *summaries, const char *format, GError **error)
{
	struct summary *const *all = (struct summary *const *)summaries->pdata;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;

	if (strcmp(format, "table") == 0)
		return text_of_all(summaries);
	if (strcmp(format, "csv") == 0)
		return report_csv(all, summaries->len);
	document = report_json(all, summaries->len, error);
	if (!document)
		return NULL;
	text = json_pretty(document);
	return g_strconcat(text, "\n", NULL);
}

/* To standard output, or to a file in `out`. */
static int put_text(const char *name, const char *text, const char *format, const char *out)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *file = NULL;
	g_autofree char *path = NULL;

	if (!out) {
		fputs(text, stdout);
		return COMMAND_DONE;
	}
	file = g_strconcat("report.", strcmp(format, "table") == 0 ? "txt" : format, NULL);
	path = g_build_filename(out, file, NULL);
	if (g_mkdir_with_parents(out, 0755) != 0)
		return command_fail(COMMAND_FAILED, name, "cannot make the directory \"%s\": %s",
				    out, g_strerror(errno));
	if (!g_file_set_contents(path, text, -1, &error))
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	puts(path);
	return COMMAND_DONE;
}

static int put_plot(const char *name, GPtrArray *summaries, int format, const char *dir)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = plot_utility((struct summary *const *)summaries->pdata,
					     summaries->len, dir, (enum plot_format)format, &error);

	if (!path)
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	puts(path);
	return COMMAND_DONE;
}

static bool is_text_format(const char *format)
{
	return strcmp(format, "table") == 0 || strcmp(format, "csv") == 0 ||
	       strcmp(format, "json") == 0;
}

static int report(const char *name, char **dirs, const char *format, const char *out)
{
	int plot = plot_format_parse(format);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) summaries = NULL;
	g_autofree char *plots = NULL;
	g_autofree char *text = NULL;

	if (plot < 0 && !is_text_format(format))
		return command_fail(COMMAND_BAD, name,
				    "unknown format \"%s\"; known: table csv json png svg pdf",
				    format);
	summaries = load(dirs, &error);
	if (!summaries)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	plots = g_build_filename(out ? out : dirs[0], out ? NULL : "plots", NULL);
	if (plot >= 0)
		return put_plot(name, summaries, plot, plots);
	text = render(summaries, format, &error);
	if (!text)
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	return put_text(name, text, format, out);
}

int cmd_report(int argc, char **argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new("RUN_DIR...");
	g_autoptr(GError) error = NULL;
	g_autofree char *format = NULL;
	g_autofree char *out = NULL;
	gboolean as_json = FALSE;
	const GOptionEntry entries[] = {
		{"format", 'f', 0, G_OPTION_ARG_STRING, &format,
		 "What to make: table (default), csv, json, png, svg, pdf", "FORMAT"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "The same as --format json", NULL},
		{"out", 'o', 0, G_OPTION_ARG_FILENAME, &out,
		 "Directory for what is made; plots go to RUN_DIR/plots by default", "DIR"},
		{NULL},
	};

	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_set_summary(
		context, "Utility, energy and tasks per policy and limit, as tables or as a plot "
			 "of utility\nagainst energy limit. Several runs are drawn side by side.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, argv[0], "%s", error->message);
	if (argc < 2)
		return command_fail(COMMAND_BAD, argv[0], "give one run directory or more");
	return report(argv[0], argv + 1, as_json ? "json" : format ? format : "table", out);
}
