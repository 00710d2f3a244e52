/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/chart.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/subprocess.h"
#include "common/visible.h"
#include "controller/report/programs.h"
#include "controller/report/provenance.h"

/* gnuplot draws in well under a second; a hanging gnuplot is given up after this time. */
#define GNUPLOT_TIMEOUT_S 60

/* Pixels of a character of the heading and of the notes. */
enum { HEADING_CHARACTER = 7, NOTES_CHARACTER = 6 };

G_DEFINE_QUARK(virtbed_chart, chart_error)

static const char *const format_names[] = {"png", "svg", "pdf"};

int chart_format_parse(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(format_names); i++)
		if (g_str_equal(format_names[i], name))
			return (int)i;
	return -1;
}

/* A unit is used from `from` base units on, the largest first; it is `base` base units. */
struct unit {
	double from;
	double base;
	const char *name;
};

static const char *find_unit(const struct unit *units, double max, double *ret_scale)
{
	while (units->from > 0 && !(max >= units->from))
		units++;
	*ret_scale = 1 / units->base;
	return units->name;
}

const char *chart_energy_unit(double max_j, double *ret_scale)
{
	static const struct unit units[] = {{2e15, 1e15, "PJ"}, {2e12, 1e12, "TJ"},
					    {2e9, 1e9, "GJ"},   {2e6, 1e6, "MJ"},
					    {2e4, 1e3, "kJ"},   {0, 1, "J"}};

	return find_unit(units, max_j, ret_scale);
}

const char *chart_time_unit(double max_s, double *ret_scale)
{
	static const struct unit units[] = {{4 * 86400, 86400, "days"},
					    {4 * 3600, 3600, "h"},
					    {1200, 60, "min"},
					    {0, 1, "s"}};

	return find_unit(units, max_s, ret_scale);
}

const char *chart_power_unit(double max_w, double *ret_scale)
{
	static const struct unit units[] = {{2e7, 1e6, "MW"}, {2e4, 1e3, "kW"}, {0, 1, "W"}};

	return find_unit(units, max_w, ret_scale);
}

char *chart_energy_text(double joules)
{
	double scale;
	const char *unit = chart_energy_unit(joules, &scale);
	const double value = joules * scale;

	/* Three significant digits, or all before the point. */
	return g_strdup_printf("%.*f %s", value >= 100 ? 0 : value >= 10 ? 1 : 2, value, unit);
}

/*
 * Text in gnuplot's single quotes, where nothing but the quote itself is special, on one line.
 */
static void append_text(GString *program, const char *text)
{
	g_autofree char *plain = g_strdelimit(g_strdup(text), "\n\r", ' ');
	g_autofree char *line = visible_text(plain);
	g_auto(GStrv) parts = g_strsplit(line, "'", -1);
	g_autofree char *doubled = g_strjoinv("''", parts);

	g_string_append_printf(program, "'%s'", doubled);
}

static void append_number(GString *program, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append(program, isfinite(value)
					 ? g_ascii_formatd(number, sizeof(number), "%.15g", value)
					 : "NaN");
}

static void append_assignment(GString *program, const char *name, const char *text)
{
	g_string_append_printf(program, "%s = ", name);
	append_text(program, text);
	g_string_append_c(program, '\n');
}

/* An array of numbers or of texts; the other is NULL. */
static void append_array(GString *program, const char *name, const GArray *values,
			 const GPtrArray *texts)
{
	const guint count = values ? values->len : texts->len;

	g_string_append_printf(program, "array %s[%u] = [", name, MAX(count, 1));
	for (guint i = 0; i < MAX(count, 1); i++) {
		g_string_append(program, i ? ", " : "");
		if (values)
			append_number(program, i < count ? g_array_index(values, double, i) : NAN);
		else
			append_text(program, i < count ? texts->pdata[i] : "");
	}
	g_string_append(program, "]\n");
}

void chart_set_text(struct chart *chart, const char *name, const char *text)
{
	append_assignment(chart->variables, name, text);
}

void chart_set_number(struct chart *chart, const char *name, double value)
{
	g_string_append_printf(chart->variables, "%s = ", name);
	append_number(chart->variables, value);
	g_string_append_c(chart->variables, '\n');
}

void chart_set_numbers(struct chart *chart, const char *name, const GArray *values)
{
	append_array(chart->variables, name, values, NULL);
}

void chart_set_texts(struct chart *chart, const char *name, const GPtrArray *texts)
{
	append_array(chart->variables, name, NULL, texts);
}

void chart_set_unit(struct chart *chart, const char *name, chart_unit_f unit, double max)
{
	double scale;
	const char *text = unit(max, &scale);
	g_autofree char *scale_name = g_strconcat(name, "_scale", NULL);
	g_autofree char *unit_name = g_strconcat(name, "_unit", NULL);

	chart_set_number(chart, scale_name, scale);
	chart_set_text(chart, unit_name, text);
}

void chart_set_time(struct chart *chart, double end_s)
{
	chart_set_number(chart, "end_s", fmax(end_s, 1e-3));
	chart_set_unit(chart, "time", chart_time_unit, end_s);
}

/* The text of a program that is part of this one. The caller frees. */
static char *load_program(const char *kind)
{
	g_autofree char *path = g_strconcat("/virtbed/report/", kind, ".gp", NULL);
	g_autoptr(GBytes) bytes = g_resource_lookup_data(virtbed_programs_get_resource(), path,
							 G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

	g_assert(bytes);
	return g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

struct chart *chart_new(const char *kind, const char *format, ...)
{
	struct chart *chart = g_new0(struct chart, 1);
	va_list arguments;

	chart->variables = g_string_new(NULL);
	chart->program = load_program(kind);
	va_start(arguments, format);
	chart->name = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_strcanon(chart->name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-", '_');
	return chart;
}

void chart_free(struct chart *chart)
{
	if (!chart)
		return;
	g_free(chart->name);
	g_free(chart->title);
	g_clear_pointer(&chart->notes, g_ptr_array_unref);
	g_free(chart->caption);
	g_free(chart->csv);
	g_string_free(chart->variables, TRUE);
	g_free(chart->program);
	g_free(chart);
}

GPtrArray *chart_notes(const struct summary *summary)
{
	g_autoptr(provenance_t) origin = provenance_of_store(summary->store);

	return provenance_notes(origin, summary->measured, true);
}

/* The variables that all charts have, below a comment for people. */
static void append_head(GString *text, const struct chart *chart)
{
	g_autofree char *line = g_strdelimit(g_strdup(chart->title ?: chart->name), "\n\r", ' ');
	g_autofree char *title = visible_text(line);
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	const GPtrArray *notes = chart->notes ?: none;
	glong needed = chart->title ? HEADING_CHARACTER * g_utf8_strlen(title, -1) : 0;

	for (guint i = 0; i < notes->len; i++)
		needed = MAX(needed, NOTES_CHARACTER * g_utf8_strlen(notes->pdata[i], -1));
	g_string_append_printf(text,
			       "# %s. Edit, then draw again:\n"
			       "#   gnuplot %s.gp                    to %s.png\n"
			       "#   gnuplot -e \"format='svg'\" %s.gp  to %s.svg (or pdf)\n",
			       title, chart->name, chart->name, chart->name, chart->name);
	append_assignment(text, "name", chart->name);
	append_assignment(text, "heading", chart->title ?: "");
	append_array(text, "note", NULL, notes);
	g_string_append_printf(text, "width = %u\nheight = %u\ntext_width = %ld\n", chart->width,
			       chart->height, 40 + needed);
}

static bool write_file(const char *dir, const char *name, const char *ending, const char *content,
		       GError **error)
{
	g_autofree char *file = g_strconcat(name, ending, NULL);
	g_autofree char *path = g_build_filename(dir, file, NULL);
	g_autoptr(GError) why = NULL;

	if (g_file_set_contents(path, content, -1, &why))
		return true;
	return error_fail(error, CHART_ERROR, CHART_ERROR_WRITE, "cannot write \"%s\": %s", path,
			  why->message);
}

bool chart_write(const struct chart *chart, const char *dir, GError **error)
{
	g_autofree char *shared = load_program("chart");
	g_autoptr(GString) program = g_string_new(NULL);

	append_head(program, chart);
	g_string_append_printf(program, "%s\n%s\n%s", chart->variables->str, shared,
			       chart->program);
	if (g_mkdir_with_parents(dir, 0755) != 0)
		return error_fail(error, CHART_ERROR, CHART_ERROR_WRITE,
				  "cannot make the directory \"%s\": %s", dir, g_strerror(errno));
	return write_file(dir, chart->name, ".csv", chart->csv, error) &&
	       write_file(dir, chart->name, ".gp", program->str, error);
}

/* Runs gnuplot on DIR/NAME.gp. Returns the path of `image`, a file in `dir`, or NULL. */
static char *draw(const struct chart *chart, const char *dir, enum chart_format format,
		  const char *image, bool bare, GError **error)
{
	g_autoptr(GString) variables = g_string_new(bare ? "bare=1; " : NULL);
	g_autofree char *file = g_strconcat(chart->name, ".gp", NULL);
	g_autofree char *program = g_build_filename(dir, file, NULL);
	const char *argv[] = {"gnuplot", "-e", NULL, program, NULL};
	g_autoptr(GError) why = NULL;

	append_assignment(variables, "folder", dir);
	append_assignment(variables, "format", format_names[format]);
	append_assignment(variables, "image", image);
	argv[2] = g_strdelimit(variables->str, "\n", ';');
	if (subprocess_run(argv, NULL, GNUPLOT_TIMEOUT_S, NULL, &why))
		return g_build_filename(dir, image, NULL);
	return error_null(error, CHART_ERROR, CHART_ERROR_GNUPLOT, "cannot draw \"%s\": %s",
			  program, why->message);
}

char *chart_draw(const struct chart *chart, const char *dir, enum chart_format format,
		 GError **error)
{
	g_autofree char *image = g_strconcat(chart->name, ".", format_names[format], NULL);

	return draw(chart, dir, format, image, false, error);
}

char *chart_draw_bare(const struct chart *chart, const char *dir, GError **error)
{
	g_autofree char *image = g_strdup_printf("%s.%d.svg", chart->name, (int)getpid());
	g_autofree char *path = draw(chart, dir, CHART_SVG, image, true, error);
	char *text = NULL;

	if (!path)
		return NULL;
	g_file_get_contents(path, &text, NULL, error);
	g_unlink(path);
	return text;
}

char *chart_run_title(const struct summary *summary, const struct store_run *run)
{
	g_autofree char *name = store_get_meta(summary->store, "config_name");

	return g_strdup_printf("%s%s%s, %s at %g %%, %s %u",
			       summary->measured ? "measured" : "simulated", name ? ": " : "",
			       name ? name : "", run->policy, 100 * run->limit,
			       summary->measured ? "repeat" : "trial", run->repeat);
}

char *chart_run_stem(const struct store_run *run)
{
	return g_strdup_printf("%" G_GINT64_FORMAT "-%s-%g", run->run, run->policy,
			       100 * run->limit);
}
