/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/compare_ratios.h"

#include <math.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "controller/report/table.h"

#define LEVEL 0.95

/* The measures with ratios, as they are titled; stretches where policies are ranked by them. */
static const struct {
	enum compare_measure measure;
	const char *title, *key;
} measures[] = {
	{COMPARE_BY_STRETCH, "stretch", "stretch"},
	{COMPARE_BY_UTILITY, "utility", "utility"},
	{COMPARE_ENERGY_J, "energy", "energy"},
};

static bool is_shown(const struct compare *compare, enum compare_measure measure)
{
	return measure != COMPARE_BY_STRETCH || compare->measure == COMPARE_BY_STRETCH;
}

/* The ratio of two values; NAN: unknown. */
static double ratio_of(double value, double base)
{
	return base > 0 ? value / base : (double)NAN;
}

/* The mean of the ratios of all runs of a side with the same repeat number. */
static struct stats_interval ratio_of_runs(const struct summary *summary,
					   enum compare_measure measure, const char *policy,
					   const char *baseline, double limit)
{
	g_autoptr(GPtrArray) a = summary_cell_runs(summary, policy, limit);
	g_autoptr(GPtrArray) b = summary_cell_runs(summary, baseline, limit);
	g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(double));
	struct stats_interval interval;
	guint i = 0, j = 0;

	while (i < a->len && j < b->len) {
		const struct store_run *one = a->pdata[i];
		const struct store_run *base = b->pdata[j];
		const double ratio = ratio_of(compare_run_value(measure, summary, one),
					      compare_run_value(measure, summary, base));

		if (one->repeat == base->repeat && isfinite(ratio))
			g_array_append_val(ratios, ratio);
		i += one->repeat <= base->repeat;
		j += base->repeat <= one->repeat;
	}
	interval = stats_t_interval(stats_values(ratios), ratios->len, LEVEL);
	/* It holds for a number of runs that was fixed beforehand. */
	if (summary->verdict)
		interval.low = interval.high = NAN;
	return interval;
}

/* The ratio on a side as it is compared: of one simulated run, or of all runs. */
static struct stats_interval ratio_on(const struct compare *compare, guint side,
				      enum compare_measure measure, const char *policy,
				      const char *baseline, double limit)
{
	if (side == 0 || !compare->same_arrivals)
		return ratio_of_runs(compare->sides->side[side].summary, measure, policy, baseline,
				     limit);
	return (struct stats_interval){
		.value = ratio_of(compare_value(compare, side, measure, policy, limit),
				  compare_value(compare, side, measure, baseline, limit)),
		.low = NAN,
		.high = NAN,
		.n = 1,
		.se = NAN,
		.df = NAN,
	};
}

static bool have_both(const struct compare *compare, const char *policy, double limit)
{
	return summary_cell(compare->sides->side[0].summary, policy, limit) &&
	       summary_cell(compare->sides->side[1].summary, policy, limit);
}

static void add_ratio(GArray *ratios, const struct compare *compare, const char *policy,
		      const char *baseline, double limit)
{
	struct compare_ratio ratio = {.limit = limit, .policy = policy};

	for (guint side = 0; side < 2; side++)
		for (gsize i = 0; i < G_N_ELEMENTS(measures); i++)
			ratio.of[side][measures[i].measure] =
				ratio_on(compare, side, measures[i].measure, policy, baseline,
					 limit);
	g_array_append_val(ratios, ratio);
}

/* The policies that both sides have at a limit, as a list of names. The caller frees. */
static char *common_names(const struct compare *compare)
{
	const struct summary *first = compare->sides->side[0].summary;
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	for (guint i = 0; i < first->cells_count; i++)
		if (have_both(compare, first->cells[i].policy, first->cells[i].limit))
			summary_note_name(names, first->cells[i].policy);
	g_ptr_array_add(names, NULL);
	return g_strjoinv(", ", (char **)names->pdata);
}

GArray *compare_ratios(const struct compare *compare, const char *baseline, GError **error)
{
	const struct summary *first = compare->sides->side[0].summary;
	g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(struct compare_ratio));
	g_autofree char *names = NULL;

	for (guint i = 0; i < first->cells_count; i++) {
		const struct summary_cell *cell = &first->cells[i];

		if (have_both(compare, cell->policy, cell->limit) &&
		    have_both(compare, baseline, cell->limit))
			add_ratio(ratios, compare, cell->policy, baseline, cell->limit);
	}
	if (ratios->len)
		return g_steal_pointer(&ratios);
	names = common_names(compare);
	return error_null(error, COMPARE_ERROR, COMPARE_ERROR_BASELINE,
			  "\"%s\" is not among the policies that both sides ran: %s", baseline,
			  names);
}

static void put_ratio(struct table *table, const struct stats_interval *ratio)
{
	if (isfinite(ratio->low))
		table_textf(table, "%.3f +- %.3f", ratio->value, (ratio->high - ratio->low) / 2);
	else
		table_number(table, ratio->value, 3);
}

/* The notes below the table: what its ratios are of, and the limits that it does not have. */
static void append_notes(GString *text, const struct compare *compare, const char *baseline)
{
	const struct summary *first = compare->sides->side[0].summary;

	g_string_append_printf(
		text,
		"  %smean of the ratios per repeat%s, with 95 %% intervals over these, "
		"Student's t\n",
		compare->same_arrivals ? "meas: " : "", compare->same_arrivals ? "" : " or trial");
	if (compare->same_arrivals)
		g_string_append(text,
				"  sim: ratio of the one simulated run each with the arrivals "
				"that were measured\n");
	for (guint i = 0; i < first->limits->len; i++) {
		const double limit = g_array_index(first->limits, double, i);

		if (!have_both(compare, baseline, limit))
			g_string_append_printf(text,
					       "  none at %g %%: not both sides have %s there\n",
					       100 * limit, baseline);
	}
}

char *compare_ratios_text(const struct compare *compare, const GArray *ratios, const char *baseline)
{
	g_autoptr(table_t) table = table_with(">limit %", "<policy", NULL);
	g_autofree char *body = NULL;
	GString *text = g_string_new(NULL);
	double limit = NAN;

	for (gsize i = 0; i < G_N_ELEMENTS(measures); i++) {
		for (guint side = 0; side < 2 && is_shown(compare, measures[i].measure); side++) {
			g_autofree char *title = g_strdup_printf("%s %s", measures[i].title,
								 compare->sides->side[side].column);

			table_column(table, title, TABLE_RIGHT);
		}
	}
	for (guint k = 0; k < ratios->len; k++) {
		const struct compare_ratio *ratio = &g_array_index(ratios, struct compare_ratio, k);

		if (k && ratio->limit != limit)
			table_rule(table);
		limit = ratio->limit;
		table_row(table);
		table_number(table, 100 * limit, 0);
		table_text(table, ratio->policy);
		for (gsize i = 0; i < G_N_ELEMENTS(measures); i++)
			for (guint side = 0; side < 2 && is_shown(compare, measures[i].measure);
			     side++)
				put_ratio(table, &ratio->of[side][measures[i].measure]);
	}
	body = table_format(table, 2);
	g_string_append_printf(text, "\nRelative to %s\n%s", baseline, body);
	append_notes(text, compare, baseline);
	return g_string_free(text, FALSE);
}

static json_t *side_json(const struct compare *compare, const struct compare_ratio *ratio,
			 guint side)
{
	json_t *object = json_object();

	for (gsize i = 0; i < G_N_ELEMENTS(measures); i++) {
		const struct stats_interval *one = &ratio->of[side][measures[i].measure];

		if (is_shown(compare, measures[i].measure))
			json_object_set_new(object, measures[i].key,
					    json_pack("{s:o, s:o, s:o, s:I}", "ratio",
						      json_number_or_null(one->value), "low",
						      json_number_or_null(one->low), "high",
						      json_number_or_null(one->high), "n",
						      (json_int_t)one->n));
	}
	return object;
}

json_t *compare_ratios_json(const struct compare *compare, const GArray *ratios,
			    const char *baseline)
{
	const struct summary *first = compare->sides->side[0].summary;
	json_t *missing = json_array();
	json_t *list = json_array();

	for (guint k = 0; k < ratios->len; k++) {
		const struct compare_ratio *ratio = &g_array_index(ratios, struct compare_ratio, k);
		json_t *object =
			json_pack("{s:f, s:s}", "limit", ratio->limit, "policy", ratio->policy);

		for (guint side = 0; side < 2; side++)
			json_object_set_new(object, compare->sides->side[side].key,
					    side_json(compare, ratio, side));
		json_array_append_new(list, object);
	}
	for (guint i = 0; i < first->limits->len; i++) {
		const double limit = g_array_index(first->limits, double, i);

		if (!have_both(compare, baseline, limit))
			json_array_append_new(missing, json_real(limit));
	}
	return json_pack("{s:s, s:o, s:o}", "policy", baseline, "ratios", list, "missing_limits",
			 missing);
}
