/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/plot.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/subprocess.h"
#include "controller/report/arrivals.h"

/*
 * A drawing takes well under a second; a gnuplot that waits for something is not worth waiting for.
 */
#define GNUPLOT_TIMEOUT_S 60

/* Bars of one group take this share of the room between two limits. */
#define GROUP_WIDTH 0.84

G_DEFINE_QUARK(virtbed-plot, plot_error)

static const char *const format_names[] = {"png", "svg", "pdf"};

/*
 * Okabe and Ito's colours, which people with any colour vision tell apart; black and yellow left
 * out.
 */
static const guint32 colours[] = {0xd55e00, 0x0072b2, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9};

int plot_format_parse(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(format_names); i++)
		if (g_str_equal(format_names[i], name))
			return (int)i;
	return -1;
}

/* What is drawn: all policies and limits that occur in any of the runs. */
struct figure {
	struct summary *const *summaries;
	guint count;
	GPtrArray *policies; /* const char *, borrowed */
	GArray *limits;      /* double */
	const struct summary *measured; /* with `same`: whose arrivals were simulated */
	int same;                       /* the run that has them too, drawn as points; -1: none */
};

static void add_policy(struct figure *figure, const char *policy)
{
	for (guint i = 0; i < figure->policies->len; i++)
		if (g_str_equal(figure->policies->pdata[i], policy))
			return;
	g_ptr_array_add(figure->policies, (char *)policy);
}

static void add_limit(struct figure *figure, double limit)
{
	for (guint i = 0; i < figure->limits->len; i++)
		if (summary_same_limit(g_array_index(figure->limits, double, i), limit))
			return;
	g_array_append_val(figure->limits, limit);
}

/* The first simulation of the arrivals of the first measurement. */
static void find_same(struct figure *figure)
{
	figure->measured = NULL;
	figure->same = -1;
	for (guint i = 0; i < figure->count && !figure->measured; i++)
		if (figure->summaries[i]->measured)
			figure->measured = figure->summaries[i];
	for (guint i = 0; figure->measured && figure->same < 0 && i < figure->count; i++)
		if (!figure->summaries[i]->measured && figure->summaries[i]->repeats > 1 &&
		    arrivals_are_same(figure->measured, figure->summaries[i]))
			figure->same = (int)i;
}

static void figure_init(struct figure *figure, struct summary *const *summaries, guint count)
{
	figure->summaries = summaries;
	figure->count = count;
	figure->policies = g_ptr_array_new();
	figure->limits = g_array_new(FALSE, FALSE, sizeof(double));
	for (guint i = 0; i < count; i++) {
		for (guint j = 0; j < summaries[i]->policies->len; j++)
			add_policy(figure, summaries[i]->policies->pdata[j]);
		for (guint j = 0; j < summaries[i]->limits->len; j++)
			add_limit(figure, g_array_index(summaries[i]->limits, double, j));
	}
	find_same(figure);
}

static void figure_clear(struct figure *figure)
{
	g_ptr_array_unref(figure->policies);
	g_array_unref(figure->limits);
}

/* The width of one bar, with a little air between policies. */
static double bar_width(const struct figure *figure)
{
	return GROUP_WIDTH / (figure->policies->len * (figure->count + 0.25));
}

/* The middle of a bar; limit i stands at x = i. */
static double bar_x(const struct figure *figure, guint limit, guint policy, guint run)
{
	double width = bar_width(figure);
	double slot = width * (figure->count + 0.25);
	double first = limit - GROUP_WIDTH / 2 + slot * policy + 0.125 * width;

	return first + width * (run + 0.5);
}

/* "measured", or the directory's name where two of a kind are drawn. */
static char *run_name(const struct figure *figure, guint run)
{
	const struct summary *summary = figure->summaries[run];

	for (guint i = 0; i < figure->count; i++)
		if (i != run && figure->summaries[i]->measured == summary->measured)
			return g_path_get_basename(summary->dir);
	return g_strdup(summary->measured ? "measured" : "simulated");
}

/* Text in gnuplot's single quotes, on one line. */
static char *quoted(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "'", -1);
	g_autofree char *doubled = g_strjoinv("''", parts);

	g_strdelimit(doubled, "\n\r", ' ');
	return g_strdup_printf("'%s'", doubled);
}

static void append_number(GString *text, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	if (isfinite(value))
		g_string_append_printf(text, " %s", g_ascii_formatd(number, sizeof(number), "%.6f",
								     value));
	else
		g_string_append(text, " NaN");
}

/* The last block: what the simulation of the measured arrivals earned. */
static void append_same(GString *text, const struct figure *figure)
{
	const struct summary *simulated = figure->summaries[figure->same];

	g_string_append(text, "# simulated on the measured arrivals\n");
	for (guint i = 0; i < figure->policies->len * figure->limits->len; i++) {
		guint policy = i % figure->policies->len;
		guint limit_index = i / figure->policies->len;
		double limit = g_array_index(figure->limits, double, limit_index);
		const struct store_run *run = arrivals_run(figure->measured, simulated,
							   figure->policies->pdata[policy], limit);

		append_number(text, bar_x(figure, limit_index, policy, (guint)figure->same));
		append_number(text, run ? run->utility : NAN);
		append_number(text, NAN);
		append_number(text, limit);
		append_number(text, run ? run->energy_j : NAN);
		g_string_append_c(text, '\n');
	}
}

/* A block per policy and run, in the order in which the script draws them. */
static char *data_text(const struct figure *figure)
{
	GString *text =
		g_string_new("# x, utility, its standard deviation, limit (fraction), energy J\n");

	for (guint policy = 0; policy < figure->policies->len; policy++) {
		for (guint run = 0; run < figure->count; run++) {
			const char *name = figure->policies->pdata[policy];
			g_autofree char *title = run_name(figure, run);

			g_string_append_printf(text, "# %s, %s\n", name, title);
			for (guint i = 0; i < figure->limits->len; i++) {
				double limit = g_array_index(figure->limits, double, i);
				const struct summary_cell *cell =
					summary_cell(figure->summaries[run], name, limit);

				append_number(text, bar_x(figure, i, policy, run));
				append_number(text, cell ? cell->utility_mean : NAN);
				append_number(text, cell ? cell->utility_sd : NAN);
				append_number(text, limit);
				append_number(text, cell ? cell->energy_j_mean : NAN);
				g_string_append_c(text, '\n');
			}
			g_string_append(text, "\n\n");
		}
	}
	if (figure->same >= 0)
		append_same(text, figure);
	return g_string_free(text, FALSE);
}

/* Measured bars are full, the others lighter the further right they stand. */
static guint32 bar_colour(const struct figure *figure, guint policy, guint run)
{
	guint32 colour = colours[policy % G_N_ELEMENTS(colours)];
	double white = figure->count > 1 ? 0.6 * run / (figure->count - 1) : 0;
	guint32 mixed = 0;

	for (int shift = 16; shift >= 0; shift -= 8) {
		double part = (colour >> shift) & 0xff;

		mixed |= (guint32)(part + white * (255 - part)) << shift;
	}
	return mixed;
}

static void append_plot(GString *text, const struct figure *figure)
{
	guint block = 0;

	g_string_append(text, "plot \\\n");
	for (guint policy = 0; policy < figure->policies->len; policy++) {
		for (guint run = 0; run < figure->count; run++, block++) {
			g_autofree char *name = run_name(figure, run);
			g_autofree char *title = g_strdup_printf(
				"%s, %s", (char *)figure->policies->pdata[policy], name);
			g_autofree char *title_quoted = quoted(title);

			g_string_append_printf(
				text,
				"  data index %u using 1:2:(width) with boxes fs solid 1 "
				"border lc rgb '#%06x' lc rgb '#%06x' title %s, \\\n",
				block, colours[policy % G_N_ELEMENTS(colours)],
				bar_colour(figure, policy, run), title_quoted);
		}
	}
	/* Arrows with square heads: gnuplot's own error bars clear a spot in their middle. */
	for (guint i = 0; i < block; i++)
		g_string_append_printf(
			text,
			"  data index %u using 1:($2-$3):(0):(2*$3) with vectors heads "
			"size graph 0.006,90 lc rgb '#303030' lw 1.2 notitle%s\n",
			i, i + 1 < block || figure->same >= 0 ? ", \\" : "");
	if (figure->same >= 0)
		g_string_append_printf(
			text,
			"  data index %u using 1:2 with points pt 13 ps 1.4 lc rgb '#000000' "
			"title 'simulated on the measured arrivals'\n",
			block);
}

/* Heading: the warnings of all runs, each once. */
static char *subtitle(const struct figure *figure)
{
	GString *text = g_string_new("'Utility earned under each limit of energy'");

	for (guint i = 0; i < figure->count; i++) {
		g_autoptr(GPtrArray) lines = summary_heading(figure->summaries[i]);

		for (guint j = 0; j < lines->len; j++) {
			g_autofree char *line = quoted(lines->pdata[j]);

			/* Single quotes do not know \n: lines are joined in double quotes. */
			g_string_append_printf(text, ".\"\\n\".%s", line);
		}
	}
	return g_string_free(text, FALSE);
}

static void append_tics(GString *text, const struct figure *figure)
{
	g_string_append(text, "set xtics (");
	for (guint i = 0; i < figure->limits->len; i++)
		g_string_append_printf(text, "%s'%g %%%%' %u", i ? ", " : "",
				       100 * g_array_index(figure->limits, double, i), i);
	g_string_append(text, ") scale 0\n");
}

/* "2.8 MJ": what 100 % is, if the runs agree on it. */
static char *budget(const struct figure *figure)
{
	double budget_j = NAN;

	for (guint i = 0; i < figure->count; i++) {
		const struct summary_cell *cell = &figure->summaries[i]->cells[0];
		double one_j = cell->limit_j / cell->limit;

		if (i > 0 && !(fabs(one_j - budget_j) <= 0.005 * budget_j))
			return g_strdup("100 %");
		budget_j = one_j;
	}
	if (!(budget_j > 0))
		return g_strdup("100 %");
	if (budget_j >= 1e6)
		return g_strdup_printf("%.3g MJ", budget_j / 1e6);
	if (budget_j >= 1e4)
		return g_strdup_printf("%.3g kJ", budget_j / 1e3);
	return g_strdup_printf("%.0f J", budget_j);
}

/* Lines of the heading, and the characters of the longest. */
static guint heading_lines(const struct figure *figure, glong *ret_longest)
{
	guint lines = 1;

	*ret_longest = 0;
	for (guint i = 0; i < figure->count; i++) {
		g_autoptr(GPtrArray) heading = summary_heading(figure->summaries[i]);

		lines += heading->len;
		for (guint j = 0; j < heading->len; j++)
			*ret_longest = MAX(*ret_longest, g_utf8_strlen(heading->pdata[j], -1));
	}
	return lines;
}

/* A single run has none. */
static bool has_deviations(const struct figure *figure)
{
	for (guint i = 0; i < figure->count; i++)
		if (figure->summaries[i]->repeats > 1)
			return true;
	return false;
}

static char *script_text(const struct figure *figure)
{
	GString *text = g_string_new(NULL);
	g_autofree char *heading = subtitle(figure);
	g_autofree char *hundred = budget(figure);
	guint bars = figure->policies->len * figure->count * figure->limits->len;
	glong longest;
	guint height = 520 + 17 * heading_lines(figure, &longest) + 20 * figure->policies->len;
	/* Pixels: 34 for a bar, 7 for a character of the heading. */
	guint width = MAX(MAX(860, 300 + 34 * bars), 40 + 7 * (guint)longest);

	g_string_append_printf(
		text,
		"# Utility earned under each energy limit. Edit, then draw again:\n"
		"#   gnuplot utility.gp                    to utility.png\n"
		"#   gnuplot -e \"format='svg'\" utility.gp  to utility.svg (or pdf)\n"
		"if (exists(\"folder\")) cd folder\n"
		"if (!exists(\"format\")) format = 'png'\n"
		"data = 'utility.dat'\n"
		"width = %s\n\n"
		"if (format eq 'png') set terminal pngcairo noenhanced size %u,%u font 'DejaVu "
		"Sans,11'\n"
		"if (format eq 'svg') set terminal svg noenhanced size %u,%u font 'DejaVu Sans,13' "
		"background rgb 'white'\n"
		"if (format eq 'pdf') set terminal pdfcairo noenhanced size %ucm,%ucm "
		"font 'DejaVu Sans,9'\n"
		"set output 'utility.'.format\n\n"
		"set title %s font ',9'\n"
		"set ylabel 'utility earned%s'\n"
		/* The empty line keeps the key off the label. */
		"set xlabel \"limit of dynamic energy, %% of %s\\n \"\n",
		g_ascii_formatd((char[G_ASCII_DTOSTR_BUF_SIZE]){0}, G_ASCII_DTOSTR_BUF_SIZE, "%.6f",
				bar_width(figure)),
		width, height, width, height, width / 40, height / 40, heading,
		has_deviations(figure) ? " (mean and standard deviation)" : "", hundred);
	append_tics(text, figure);
	g_string_append_printf(text,
			       "set xrange [-0.5:%u.5]\n"
			       "set yrange [0:*]\n"
			       "set grid ytics lc rgb '#d0d0d0' lw 0.5\n"
			       "set border 3 lc rgb '#606060'\n"
			       "set tics nomirror\n"
			       "set key outside bottom center horizontal Left reverse samplen 1.5 "
			       "maxcols %u\n\n",
			       figure->limits->len - 1, figure->count);
	append_plot(text, figure);
	return g_string_free(text, FALSE);
}

static bool write_file(const char *dir, const char *name, const char *content, GError **error)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	g_autoptr(GError) why = NULL;

	if (g_file_set_contents(path, content, -1, &why))
		return true;
	g_set_error(error, PLOT_ERROR, PLOT_ERROR_WRITE, "cannot write \"%s\": %s", path,
		    why->message);
	return false;
}

static bool write_files(const struct figure *figure, const char *dir, GError **error)
{
	g_autofree char *script = script_text(figure);
	g_autofree char *data = data_text(figure);

	if (g_mkdir_with_parents(dir, 0755) != 0) {
		g_set_error(error, PLOT_ERROR, PLOT_ERROR_WRITE,
			    "cannot make the directory \"%s\": %s", dir, g_strerror(errno));
		return false;
	}
	return write_file(dir, "utility.gp", script, error) &&
	       write_file(dir, "utility.dat", data, error);
}

static bool draw(const char *dir, const char *format, GError **error)
{
	g_autofree char *folder = quoted(dir);
	g_autofree char *variables = g_strdup_printf("folder=%s; format='%s'", folder, format);
	g_autofree char *script = g_build_filename(dir, "utility.gp", NULL);
	const char *const argv[] = {"gnuplot", "-e", variables, script, NULL};
	g_autoptr(GError) why = NULL;

	if (subprocess_run(argv, NULL, GNUPLOT_TIMEOUT_S, NULL, &why))
		return true;
	g_set_error(error, PLOT_ERROR, PLOT_ERROR_GNUPLOT, "cannot draw \"%s\": %s", script,
		    why->message);
	return false;
}

char *plot_utility(struct summary *const *summaries, guint count, const char *dir,
		   enum plot_format format, GError **error)
{
	g_autofree char *name = g_strconcat("utility.", format_names[format], NULL);
	struct figure figure;
	bool done;

	figure_init(&figure, summaries, count);
	done = write_files(&figure, dir, error) && draw(dir, format_names[format], error);
	figure_clear(&figure);
	return done ? g_build_filename(dir, name, NULL) : NULL;
}
