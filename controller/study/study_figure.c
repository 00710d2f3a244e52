/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_figure.h"

#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/chart.h"
#include "controller/report/csv.h"
#include "controller/report/stats.h"
#include "controller/sched/policy.h"
#include "controller/study/study_metrics.h"

/* Confidence level of the intervals. */
#define LEVEL 0.95

G_DEFINE_QUARK(virtbed_study_figure, study_figure_error)

/* The kinds of studies, for the figures that each of them has. */
enum { PARALLEL = 1, SERIAL = 2, SHARING = 4, PRUNING = 8 };

static const struct quantity {
	enum study_metric metric;
	const char *name;  /* of the files */
	const char *label; /* of the y axis */
	unsigned kinds;
} quantities[] = {
	{STUDY_UTILITY, "utility", NULL, PARALLEL | SERIAL},
	{STUDY_ENERGY_J, "energy", "energy", PARALLEL},
	{STUDY_COMPLETED_PERCENT, "completed", "tasks completed, % of those that arrived", SERIAL},
	{STUDY_DEGRADATION, "degradation", "degradation factor of the largest stretch", SHARING},
	{STUDY_STRETCH_MAX, "stretch", "largest bounded stretch", SHARING},
	{STUDY_ROBUSTNESS, "robustness", "tasks on time, %", PRUNING},
	{STUDY_VARIANCE, "variance", "variance over the types of their tasks on time, %", PRUNING},
	{STUDY_COST, "cost", "cost per percent of tasks on time", PRUNING},
};

/* A mean with its interval. */
struct point {
	uint32_t series;
	double x;
	struct study_values values;
};

struct figure {
	const char *by;                   /* config_study(config)->x */
	const struct config_sweep *sweep; /* the sweep `by`, or NULL */
	const struct config_study *study;
	GPtrArray *series;        /* char *: names, in the order of the policies */
	GPtrArray *shared;        /* char *: modifiers that all policies have */
	GArray *points;           /* struct point */
	GHashTable *policies;     /* name as stored -> index + 1 in `order` */
	const char *const *order; /* the policies that are drawn */
	guint order_count;
	bool percent; /* the highest possible utility is known */
};

static unsigned kind_of(const struct config *config)
{
	if (study_shares(config))
		return SHARING;
	if (study_prunes(config))
		return PRUNING;
	return config_environment(config) && config_environment(config)->serial ? SERIAL : PARALLEL;
}

static void clear_point(gpointer data)
{
	study_values_clear(&((struct point *)data)->values);
}

static bool is_bar(const struct figure *figure)
{
	return g_str_equal(figure->by, "policy");
}

/* Whether a modifier has the value of the x axis. */
static bool is_x(const struct figure *figure, const char *modifier)
{
	return (g_str_equal(figure->by, "drop") && g_str_has_prefix(modifier, "drop:")) ||
	       (g_str_equal(figure->by, "leniency") && g_str_has_prefix(modifier, "filter:"));
}

/* "filter:task" of "filter:task:2.0"; NULL for +drop. The caller frees. */
static char *without_value(const char *modifier)
{
	const char *colon = strrchr(modifier, ':');

	return g_str_has_prefix(modifier, "filter:")
		       ? g_strndup(modifier, (gsize)(colon - modifier))
		       : NULL;
}

/* A policy's name in the key of the figure. The caller frees. */
static char *label(const struct figure *figure, const char *policy)
{
	g_auto(GStrv) parts = g_strsplit(policy, "+", -1);
	GString *text = g_string_new(parts[0]);

	for (char **part = parts + 1; *parts && *part; part++) {
		g_autofree char *bare =
			is_x(figure, *part) ? without_value(*part) : g_strdup(*part);

		if (bare &&
		    !g_ptr_array_find_with_equal_func(figure->shared, *part, g_str_equal, NULL))
			g_string_append_printf(text, "+%s", bare);
	}
	return g_string_free(text, FALSE);
}

/* Finds the modifiers that every policy has, except that of the x axis. */
static void find_shared(struct figure *figure)
{
	g_auto(GStrv) first = g_strsplit(figure->order[0], "+", -1);

	for (char **part = first + 1; figure->order_count > 1 && *first && *part; part++) {
		bool all = !is_x(figure, *part);

		for (guint i = 1; all && i < figure->order_count; i++) {
			g_auto(GStrv) parts = g_strsplit(figure->order[i], "+", -1);

			all = g_strv_contains((const char *const *)parts, *part);
		}
		if (all)
			g_ptr_array_add(figure->shared, g_strdup(*part));
	}
}

/* The index of a series, which is added if new. */
static uint32_t find_series(struct figure *figure, const char *policy)
{
	g_autofree char *name = label(figure, policy);
	guint i;

	if (g_ptr_array_find_with_equal_func(figure->series, name, g_str_equal, &i))
		return i;
	g_ptr_array_add(figure->series, g_steal_pointer(&name));
	return figure->series->len - 1;
}

/* The x of a value of the sweep: words have their index in the configuration. */
static double find_swept(const struct figure *figure, double value)
{
	for (uint32_t i = 0; config_sweep_words(figure->sweep) && i < figure->study->values_count;
	     i++)
		if (g_str_equal(figure->study->values[i],
				config_sweep_words(figure->sweep)[(gsize)value]))
			return i;
	return value * figure->sweep->scale;
}

/* Reads the value of the x axis's modifier. Returns whether the policy has it. */
static bool read_modifier(const char *by, const char *name, double *ret_value)
{
	struct policy policy;

	if (policy_parse(name, &policy, NULL, 0) != 0)
		return false;
	*ret_value = g_str_equal(by, "drop") ? policy.drop_threshold : policy.leniency;
	return g_str_equal(by, "drop") ? policy.drop_given : policy.filter != POLICY_FILTER_NONE;
}

bool study_figure_check(const struct config *config, const char *const *policies, GError **error)
{
	const char *by = config_study(config)->x;
	double value;

	if (!g_str_equal(by, "drop") && !g_str_equal(by, "leniency"))
		return true;
	for (; *policies; policies++) {
		if (read_modifier(by, *policies, &value))
			continue;
		return error_fail(error, STUDY_FIGURE_ERROR, STUDY_FIGURE_ERROR_POLICY,
				  "study.x: policy \"%s\" has no modifier for a figure by %s",
				  *policies, by);
	}
	return true;
}

/* The x of a row. */
static double find_x(const struct figure *figure, const struct study_row *row, uint32_t index)
{
	double value = NAN;

	if (is_bar(figure))
		return index;
	if (g_str_equal(figure->by, "limit"))
		return row->limit_j;
	if (g_str_equal(figure->by, "size"))
		return 100 * row->point.size;
	if (figure->sweep)
		return find_swept(figure, row->point.value);
	read_modifier(figure->by, row->policy, &value);
	return value;
}

static struct point *find_point(struct figure *figure, uint32_t series, double x)
{
	struct point point = {.series = series, .x = x};

	for (guint i = 0; i < figure->points->len; i++) {
		struct point *known = &g_array_index(figure->points, struct point, i);

		if (known->series == series && known->x == x)
			return known;
	}
	study_values_init(&point.values);
	g_array_append_val(figure->points, point);
	return &g_array_index(figure->points, struct point, figure->points->len - 1);
}

static void add_row(const struct study_row *row, void *data)
{
	struct figure *figure = data;
	gpointer index = g_hash_table_lookup(figure->policies, row->policy);
	const double x = find_x(figure, row, GPOINTER_TO_UINT(index) - 1);
	double metrics[STUDY_METRICS];

	if (isnan(x))
		return;
	study_metrics(&row->result, row->stretch_best, 0, metrics);
	/* In percent of the highest possible utility, where that is known. */
	if (metrics[STUDY_UTILITY_PERCENT] != STUDY_NONE) {
		metrics[STUDY_UTILITY] = metrics[STUDY_UTILITY_PERCENT];
		figure->percent = true;
	}
	study_values_add(&find_point(figure, find_series(figure, row->policy), x)->values, metrics);
}

static int compare_points(gconstpointer left, gconstpointer right)
{
	const struct point *a = left;
	const struct point *b = right;

	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return (a->x > b->x) - (a->x < b->x);
}

/* The data of the figure, a block per series. */
static char *data_text(const struct figure *figure, const struct quantity *quantity)
{
	GString *text = g_string_new("series,x,trials,mean,low,high\n");

	for (guint i = 0; i < figure->points->len; i++) {
		const struct point *point = &g_array_index(figure->points, struct point, i);
		const GArray *values = point->values.of[quantity->metric];
		const struct stats_interval interval =
			stats_t_interval(stats_values(values), values->len, LEVEL);
		const double numbers[] = {point->x, values->len, interval.value, interval.low,
					  interval.high};

		g_string_append_printf(text, "\"%s\"",
				       (char *)figure->series->pdata[point->series]);
		for (gsize n = 0; n < G_N_ELEMENTS(numbers); n++)
			if (isfinite(numbers[n]))
				csv_number(text, numbers[n]);
			else
				csv_text(text, "nan");
		csv_end(text);
	}
	return g_string_free(text, FALSE);
}

static const char *x_label(const struct figure *figure)
{
	static const char *const texts[][2] = {
		{"policy", ""},
		{"limit", "energy constraint"},
		{"size", "size of the system, %"},
		{"leniency", "leniency factor"},
		{"drop", "dropping threshold"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
		if (g_str_equal(texts[i][0], figure->by))
			return texts[i][1];
	return figure->sweep ? figure->sweep->axis : "";
}

/* The largest mean of a quantity, or the largest x. */
static double find_max(const struct figure *figure, const struct quantity *quantity, bool x)
{
	double max = 0;

	for (guint i = 0; i < figure->points->len; i++) {
		const struct point *point = &g_array_index(figure->points, struct point, i);
		const GArray *values = point->values.of[quantity->metric];
		const double mean = stats_mean(stats_values(values), values->len);

		max = fmax(max, x ? point->x : mean);
	}
	return max;
}

/* Sets the scales and labels of both axes; energies, in joules in the data, get a unit. */
static void set_axes(struct chart *chart, const struct figure *figure,
		     const struct quantity *quantity)
{
	const bool energies[] = {g_str_equal(figure->by, "limit"),
				 quantity->metric == STUDY_ENERGY_J};
	const char *const labels[] = {
		x_label(figure),
		quantity->label
			?: figure->percent ? "percentage of maximum utility"
					   : "utility",
	};

	for (int i = 0; i < 2; i++) {
		double scale = 1;
		const char *unit =
			energies[i] ? chart_energy_unit(find_max(figure, quantity, i == 0), &scale)
				    : NULL;
		g_autofree char *label =
			g_strdup_printf("%s%s%s", labels[i], unit ? ", " : "", unit ?: "");

		chart_set_number(chart, i ? "y_scale" : "x_scale", scale);
		chart_set_text(chart, i ? "y_label" : "x_label", label);
	}
}

static char *title_text(const struct figure *figure, const struct config *config)
{
	GString *text = g_string_new(config->name);

	g_string_append(text, ", simulated: means with 95 % confidence intervals");
	for (guint i = 0; i < figure->shared->len; i++)
		g_string_append_printf(text, "%s+%s", i ? " " : "; all ",
				       (char *)figure->shared->pdata[i]);
	return g_string_free(text, FALSE);
}

/*
 * Sets the kind of the drawing and its tics: bars have the labels of the policies; words, each a
 * group of bars, are their own; a line has one at each value of a sweep of numbers.
 */
static void set_kind(struct chart *chart, const struct figure *figure)
{
	const bool swept = figure->sweep && !is_bar(figure);
	const bool words = swept && config_sweep_words(figure->sweep);
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));

	for (guint i = 0; is_bar(figure) && i < figure->order_count; i++)
		g_ptr_array_add(texts, label(figure, figure->order[i]));
	for (uint32_t i = 0; swept && i < figure->study->values_count; i++) {
		double value = 0;
		const char *text = figure->study->values[i];

		g_ptr_array_add(texts, g_strdup(text));
		g_free(config_sweep_read(figure->sweep, text, &value));
		value *= figure->sweep->scale;
		g_array_append_val(values, value);
	}
	chart_set_text(chart, "kind", is_bar(figure) ? "bars" : words ? "groups" : "lines");
	chart_set_texts(chart, "series", figure->series);
	if (is_bar(figure) || words)
		chart_set_texts(chart, "tics", texts);
	else
		chart_set_numbers(chart, "tics", values);
}

/* Writes the figure's data and program and draws them. */
static bool write_figure(const struct figure *figure, const struct config *config, const char *dir,
			 const struct quantity *quantity, GError **error)
{
	g_autoptr(chart_t) chart = chart_new("figure", "%s", quantity->name);
	g_autofree char *title = title_text(figure, config);
	g_autofree char *png = NULL;
	g_autofree char *svg = NULL;

	chart->csv = data_text(figure, quantity);
	chart->width = is_bar(figure) ? MAX(760, 160 + 55 * figure->order_count) : 980;
	/* The key has a line per series. */
	chart->height = MAX(620, 120 + 19 * figure->series->len);
	chart_set_text(chart, "title", title);
	chart_set_number(chart, "font_png", 11);
	chart_set_number(chart, "logarithmic", quantity->kinds == SHARING);
	set_axes(chart, figure, quantity);
	set_kind(chart, figure);
	if (chart_write(chart, dir, error))
		png = chart_draw(chart, dir, CHART_PNG, error);
	if (png)
		svg = chart_draw(chart, dir, CHART_SVG, error);
	return svg;
}

/* Series are numbered in the order of the policies. */
static void begin_figure(struct figure *figure, const char *const *policies)
{
	for (guint i = 0; policies[i]; i++)
		g_hash_table_insert(figure->policies, (char *)policies[i], GUINT_TO_POINTER(i + 1));
	figure->order = policies;
	figure->order_count = g_strv_length((char **)policies);
	if (figure->order_count > 0)
		find_shared(figure);
	for (guint i = 0; i < figure->order_count; i++)
		find_series(figure, policies[i]);
}

static void end(struct figure *figure)
{
	g_ptr_array_unref(figure->series);
	g_ptr_array_unref(figure->shared);
	g_array_unref(figure->points);
	g_hash_table_unref(figure->policies);
}

static bool has_values(const struct figure *figure, const struct quantity *quantity)
{
	for (guint i = 0; i < figure->points->len; i++) {
		const struct point *point = &g_array_index(figure->points, struct point, i);

		if (point->values.of[quantity->metric]->len > 0)
			return true;
	}
	return false;
}

/* Draws all figures, and adds their names to `drawn`. */
static bool draw_all(const struct figure *figure, const struct config *config, const char *dir,
		     GStrvBuilder *drawn, GError **error)
{
	for (gsize q = 0; q < G_N_ELEMENTS(quantities); q++) {
		if (!(quantities[q].kinds & kind_of(config)) || !has_values(figure, &quantities[q]))
			continue;
		if (!write_figure(figure, config, dir, &quantities[q], error))
			return false;
		g_strv_builder_add(drawn, quantities[q].name);
	}
	return true;
}

char **study_figure_draw(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error)
{
	g_autoptr(GStrvBuilder) drawn = g_strv_builder_new();
	struct figure figure = {
		.by = config_study(config)->x,
		.sweep = config_sweep_find(config_study(config)->x),
		.study = config_study(config),
	};
	bool good;

	figure.series = g_ptr_array_new_with_free_func(g_free);
	figure.shared = g_ptr_array_new_with_free_func(g_free);
	figure.points = g_array_new(FALSE, FALSE, sizeof(struct point));
	figure.policies = g_hash_table_new(g_str_hash, g_str_equal);
	g_array_set_clear_func(figure.points, clear_point);
	begin_figure(&figure, policies);
	good = study_store_each_of(store, config, policies, add_row, &figure, error);
	g_array_sort(figure.points, compare_points);
	good = good && draw_all(&figure, config, dir, drawn, error);
	end(&figure);
	return good ? g_strv_builder_end(drawn) : NULL;
}
