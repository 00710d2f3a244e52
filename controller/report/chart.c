/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/chart.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/subprocess.h"
#include "controller/report/origin.h"

/*
 * A drawing takes well under a second; a gnuplot that waits for something is not worth waiting for.
 */
#define GNUPLOT_TIMEOUT_S 60

/* Pixels of a line of the heading, and of a character of it. */
enum { HEADING_LINE = 17, HEADING_CHARACTER = 7 };

G_DEFINE_QUARK(virtbed-chart, chart_error)

static const char *const format_names[] = {"png", "svg", "pdf"};

int chart_format_parse(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(format_names); i++)
		if (g_str_equal(format_names[i], name))
			return (int)i;
	return -1;
}

const char *chart_format_name(enum chart_format format)
{
	return format_names[format];
}

guint32 chart_colour(guint index)
{
	static const guint32 colours[] = {0xd55e00, 0x0072b2, 0x009e73,
					  0xcc79a7, 0xe69f00, 0x56b4e9};

	return colours[index % G_N_ELEMENTS(colours)];
}

const char *chart_energy_unit(double max_j, double *ret_scale)
{
	static const struct {
		double from_j;
		double scale;
		const char *name;
	} units[] = {{2e6, 1e-6, "MJ"}, {2e4, 1e-3, "kJ"}, {0, 1, "J"}};
	gsize i = 0;

	while (i + 1 < G_N_ELEMENTS(units) && !(max_j >= units[i].from_j))
		i++;
	*ret_scale = units[i].scale;
	return units[i].name;
}

struct chart *chart_new(const char *format, ...)
{
	struct chart *chart = g_new0(struct chart, 1);
	va_list arguments;

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
	g_free(chart->notes);
	g_free(chart->caption);
	g_free(chart->csv);
	g_free(chart->script);
	g_free(chart);
}

char *chart_quoted(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "'", -1);
	g_autofree char *doubled = g_strjoinv("''", parts);

	g_strdelimit(doubled, "\n\r", ' ');
	return g_strdup_printf("'%s'", doubled);
}

char *chart_notes(const struct summary *summary)
{
	g_autoptr(origin_t) origin = origin_of_store(summary->store);
	g_autoptr(GPtrArray) notes = origin_notes(origin, summary->measured, true);

	g_ptr_array_add(notes, NULL);
	return g_strjoinv("\n", (char **)notes->pdata);
}

/* Title and notes; single quotes do not know \n: lines are joined in double quotes. */
static char *heading(const struct chart *chart, guint *ret_lines, guint *ret_longest)
{
	g_autofree char *all = g_strdup_printf("%s%s%s", chart->title, *chart->notes ? "\n" : "",
					       chart->notes);
	g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
	GString *text = g_string_new(NULL);

	*ret_longest = 0;
	for (*ret_lines = 0; lines[*ret_lines]; (*ret_lines)++) {
		const char *line = lines[*ret_lines];
		g_autofree char *line_quoted = chart_quoted(line);

		g_string_append_printf(text, "%s%s", *ret_lines ? ".\"\\n\".\\\n\t" : "",
				       line_quoted);
		*ret_longest = MAX(*ret_longest, (guint)g_utf8_strlen(line, -1));
	}
	return g_string_free(text, FALSE);
}

static char *preamble(const struct chart *chart)
{
	guint lines;
	guint longest;
	g_autofree char *text = heading(chart, &lines, &longest);
	g_autofree char *title = g_strdelimit(g_strdup(chart->title), "\n\r", ' ');
	guint width = MAX(chart->width, 40 + HEADING_CHARACTER * longest);
	guint top = HEADING_LINE * lines;

	return g_strdup_printf(
		"# %s. Edit, then draw again:\n"
		"#   gnuplot %s.gp                    to %s.png\n"
		"#   gnuplot -e \"format='svg'\" %s.gp  to %s.svg (or pdf)\n"
		"if (exists(\"folder\")) cd folder\n"
		"if (!exists(\"format\")) format = 'png'\n"
		"if (!exists(\"image\")) image = '%s.'.format\n"
		"data = '%s.csv'\n"
		"heading = exists(\"bare\") ? '' : %s\n"
		"width = exists(\"bare\") ? %u : %u\n"
		"top = exists(\"bare\") ? 0 : %u\n"
		"height = top + %u\n"
		"set datafile separator ','\n"
		"set datafile columnheaders\n\n"
		"if (format eq 'png') set terminal pngcairo noenhanced size width,height "
		"font 'DejaVu Sans,10'\n"
		"if (format eq 'svg') set terminal svg noenhanced size width,height "
		"font 'DejaVu Sans,13'\n"
		"if (format eq 'svg' && !exists(\"bare\")) set terminal svg noenhanced "
		"size width,height font 'DejaVu Sans,13' background rgb 'white'\n"
		"if (format eq 'pdf') set terminal pdfcairo noenhanced size width/40.0 cm, "
		"height/40.0 cm font 'DejaVu Sans,8'\n"
		"set output image\n\n",
		title, chart->name, chart->name, chart->name, chart->name, chart->name,
		chart->name, text, chart->width, width, top, chart->height);
}

static bool write_file(const char *dir, const char *name, const char *ending, const char *content,
		       GError **error)
{
	g_autofree char *file = g_strconcat(name, ending, NULL);
	g_autofree char *path = g_build_filename(dir, file, NULL);
	g_autoptr(GError) why = NULL;

	if (g_file_set_contents(path, content, -1, &why))
		return true;
	g_set_error(error, CHART_ERROR, CHART_ERROR_WRITE, "cannot write \"%s\": %s", path,
		    why->message);
	return false;
}

bool chart_write(const struct chart *chart, const char *dir, GError **error)
{
	g_autofree char *first = preamble(chart);
	g_autofree char *script = g_strconcat(first, chart->script, NULL);

	if (g_mkdir_with_parents(dir, 0755) != 0) {
		g_set_error(error, CHART_ERROR, CHART_ERROR_WRITE,
			    "cannot make the directory \"%s\": %s", dir, g_strerror(errno));
		return false;
	}
	return write_file(dir, chart->name, ".csv", chart->csv, error) &&
	       write_file(dir, chart->name, ".gp", script, error);
}

static bool run_gnuplot(const struct chart *chart, const char *dir, const char *settings,
			GError **error)
{
	g_autofree char *folder = chart_quoted(dir);
	g_autofree char *variables = g_strdup_printf("folder=%s; %s", folder, settings);
	g_autofree char *file = g_strconcat(chart->name, ".gp", NULL);
	g_autofree char *script = g_build_filename(dir, file, NULL);
	const char *const argv[] = {"gnuplot", "-e", variables, script, NULL};
	g_autoptr(GError) why = NULL;

	if (subprocess_run(argv, NULL, GNUPLOT_TIMEOUT_S, NULL, &why))
		return true;
	g_set_error(error, CHART_ERROR, CHART_ERROR_GNUPLOT, "cannot draw \"%s\": %s", script,
		    why->message);
	return false;
}

char *chart_draw(const struct chart *chart, const char *dir, enum chart_format format,
		 GError **error)
{
	g_autofree char *settings = g_strdup_printf("format='%s'", format_names[format]);
	g_autofree char *name = g_strconcat(chart->name, ".", format_names[format], NULL);

	if (!run_gnuplot(chart, dir, settings, error))
		return NULL;
	return g_build_filename(dir, name, NULL);
}

char *chart_draw_bare(const struct chart *chart, const char *dir, GError **error)
{
	g_autofree char *file = g_strdup_printf("%s.%d.svg", chart->name, (int)getpid());
	g_autofree char *path = g_build_filename(dir, file, NULL);
	g_autofree char *image = chart_quoted(file);
	g_autofree char *settings = g_strdup_printf("bare=1; format='svg'; image=%s", image);
	char *text = NULL;

	if (!run_gnuplot(chart, dir, settings, error))
		return NULL;
	g_file_get_contents(path, &text, NULL, error);
	g_unlink(path);
	return text;
}
