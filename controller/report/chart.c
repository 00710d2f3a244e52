/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/chart.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#include "common/subprocess.h"
#include "common/visible.h"
#include "controller/report/provenance.h"

/* gnuplot draws in well under a second; a hanging gnuplot is given up after this time. */
#define GNUPLOT_TIMEOUT_S 60

/*
 * Pixels: a line of the heading and of the notes, a character of them, and the space above the
 * notes.
 */
enum { HEADING_LINE = 17, HEADING_CHARACTER = 7 };
enum { NOTES_LINE = 15, NOTES_CHARACTER = 6, NOTES_AIR = 8 };

G_DEFINE_QUARK(virtbed-chart, chart_error)

static const char *const format_names[] = {"png", "svg", "pdf"};

int chart_format_parse(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(format_names); i++)
		if (g_str_equal(format_names[i], name))
			return (int)i;
	return -1;
}

guint32 chart_colour(guint index)
{
	static const guint32 colours[] = {0xd55e00, 0x0072b2, 0x009e73,
					  0xcc79a7, 0xe69f00, 0x56b4e9};

	return colours[index % G_N_ELEMENTS(colours)];
}

char *chart_line(guint index)
{
	static const char *const dashes[] = {"1", "(14,4)", "(3,3)", "(14,4,3,4)"};
	/* Full shapes first, then open shapes, then shapes of lines. */
	static const guint marks[] = {5, 7, 9, 13, 11, 15, 4, 6, 8, 12, 10, 14, 2, 1, 3};

	return g_strdup_printf("lc rgb '#%06x' dt %s pt %u", chart_colour(index),
			       dashes[index % G_N_ELEMENTS(dashes)],
			       marks[index % G_N_ELEMENTS(marks)]);
}

/* A colour mixed with white. */
static guint32 pale(guint32 colour, double share)
{
	guint32 mixed = 0;

	for (int shift = 0; shift <= 16; shift += 8) {
		const double part = (double)(colour >> shift & 0xff);

		mixed |= (guint32)(255 - share * (255 - part) + 0.5) << shift;
	}
	return mixed;
}

char *chart_fill(guint index, double share)
{
	/* gnuplot's pattern 3 is solid. */
	static const guint patterns[] = {3, 4, 2, 5, 1, 6, 7};
	const guint pattern = patterns[index % G_N_ELEMENTS(patterns)];

	G_STATIC_ASSERT(G_N_ELEMENTS(patterns) == CHART_PATTERNS);
	return g_strdup_printf("fs transparent pattern %u border lc rgb '#%06x' lc rgb '#%06x'",
			       pattern, chart_colour(index), pale(chart_colour(index), share));
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
					    {2e9, 1e9, "GJ"},	{2e6, 1e6, "MJ"},
					    {2e4, 1e3, "kJ"},	{0, 1, "J"}};

	return find_unit(units, max_j, ret_scale);
}

const char *chart_time_unit(double max_s, double *ret_scale)
{
	static const struct unit units[] = {
		{4 * 86400, 86400, "days"}, {4 * 3600, 3600, "h"}, {1200, 60, "min"}, {0, 1, "s"}};

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

void chart_put_number(GString *script, const char *name, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_printf(script, "%s = %s\n", name,
			       g_ascii_formatd(number, sizeof(number), "%.15g", value));
}

void chart_put_panel(GString *script, guint top, guint height)
{
	g_string_append_printf(script,
			       "set tmargin at screen 1 - (top + %u) / (height * 1.0)\n"
			       "set bmargin at screen 1 - (top + %u) / (height * 1.0)\n",
			       top, top + height);
}

void chart_put_panels(GString *script, const char *left, const char *x_range, const char *grid)
{
	g_string_append_printf(script,
			       "set multiplot title heading font ',9'\n"
			       "set lmargin at screen %s\n"
			       "set rmargin at screen 0.98\n"
			       "set xrange %s\n"
			       "set yrange [0:*]\n"
			       "set grid%s lc rgb '#d0d0d0' lw 0.5\n"
			       "set border 3 lc rgb '#606060'\n"
			       "set tics nomirror\n",
			       left, x_range, grid);
}

void chart_put_time(GString *script, double end_s)
{
	double scale;
	const char *unit = chart_time_unit(end_s, &scale);

	chart_put_number(script, "time_scale", scale);
	g_string_append_printf(script, "since = 'since the start of the run, %s'\n", unit);
}

char *chart_time_range(double end_s)
{
	return g_strdup_printf("[0:time_scale * %.10g]", fmax(end_s, 1e-3));
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
	g_autofree char *plain = g_strdelimit(g_strdup(text), "\n\r", ' ');
	g_autofree char *line = visible_text(plain);
	g_auto(GStrv) parts = g_strsplit(line, "'", -1);
	g_autofree char *doubled = g_strjoinv("''", parts);

	return g_strdup_printf("'%s'", doubled);
}

char *chart_notes(const struct summary *summary)
{
	g_autoptr(provenance_t) origin = provenance_of_store(summary->store);
	g_autoptr(GPtrArray) notes = provenance_notes(origin, summary->measured, true);

	g_ptr_array_add(notes, NULL);
	return g_strjoinv("\n", (char **)notes->pdata);
}

/* The notes as one text. Single quotes do not know \n, so lines are joined in double quotes. */
static char *notes_text(const struct chart *chart, guint *ret_lines, guint *ret_longest)
{
	g_auto(GStrv) lines = g_strsplit(chart->notes, "\n", -1);
	GString *text = g_string_new(NULL);

	*ret_longest = 0;
	for (*ret_lines = 0; lines[*ret_lines]; (*ret_lines)++) {
		const char *line = lines[*ret_lines];
		g_autofree char *line_quoted = chart_quoted(line);

		g_string_append_printf(text, "%s%s", *ret_lines ? ".\"\\n\".\\\n\t" : "",
				       line_quoted);
		*ret_longest = MAX(*ret_longest, (guint)g_utf8_strlen(line, -1));
	}
	if (*ret_lines == 0)
		g_string_append(text, "''");
	return g_string_free(text, FALSE);
}

/* The drawing fills the space between heading and notes; panels compute their place from `top`. */
static char *preamble(const struct chart *chart)
{
	guint lines;
	guint longest;
	g_autofree char *notes = notes_text(chart, &lines, &longest);
	g_autofree char *line = g_strdelimit(g_strdup(chart->title), "\n\r", ' ');
	g_autofree char *title = visible_text(line);
	g_autofree char *heading = chart_quoted(title);
	const guint needed = MAX(HEADING_CHARACTER * (guint)g_utf8_strlen(title, -1),
				 NOTES_CHARACTER * longest);
	const guint width = MAX(chart->width, 40 + needed);
	const guint bottom = lines > 0 ? NOTES_LINE * lines + NOTES_AIR : 0;

	return g_strdup_printf(
		"# %s. Edit, then draw again:\n"
		"#   gnuplot %s.gp                    to %s.png\n"
		"#   gnuplot -e \"format='svg'\" %s.gp  to %s.svg (or pdf)\n"
		"if (exists(\"folder\")) cd folder\n"
		"if (!exists(\"format\")) format = 'png'\n"
		"if (!exists(\"image\")) image = '%s.'.format\n"
		"data = '%s.csv'\n"
		"heading = exists(\"bare\") ? '' : %s\n"
		"notes = exists(\"bare\") ? '' : %s\n"
		"width = exists(\"bare\") ? %u : %u\n"
		"top = exists(\"bare\") ? 0 : %u\n"
		"bottom = exists(\"bare\") ? 0 : %u\n"
		"height = top + %u + bottom\n"
		"set datafile separator ','\n"
		"set datafile columnheaders\n"
		"set format '%%.10g'\n\n"
		"if (format eq 'png') set terminal pngcairo noenhanced size width,height "
		"font 'DejaVu Sans,10'\n"
		"if (format eq 'svg') set terminal svg noenhanced size width,height "
		"font 'DejaVu Sans,13'\n"
		"if (format eq 'svg' && !exists(\"bare\")) set terminal svg noenhanced "
		"size width,height font 'DejaVu Sans,13' background rgb 'white'\n"
		"if (format eq 'pdf') set terminal pdfcairo noenhanced size width/40.0 cm, "
		"height/40.0 cm font 'DejaVu Sans,8'\n"
		"small = format eq 'svg' ? ',11' : format eq 'pdf' ? ',7' : ',8'\n"
		"set output image\n"
		"set label " CHART_NOTES
		" notes at screen 12.0 / width, (bottom - %u) / (height * 1.0) "
		"left font small textcolor rgb '#505050'\n"
		"set origin 0, bottom / (height * 1.0)\n"
		"set size 1, 1 - bottom / (height * 1.0)\n\n",
		title, chart->name, chart->name, chart->name, chart->name, chart->name, chart->name,
		heading, notes, chart->width, width, HEADING_LINE, bottom, chart->height,
		NOTES_LINE);
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

bool chart_gnuplot(const char *dir, const char *name, const char *settings, GError **error)
{
	g_autofree char *folder = chart_quoted(dir);
	g_autofree char *variables = g_strdup_printf("folder=%s; %s", folder, settings);
	g_autofree char *file = g_strconcat(name, ".gp", NULL);
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

	if (!chart_gnuplot(dir, chart->name, settings, error))
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

	if (!chart_gnuplot(dir, chart->name, settings, error))
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
