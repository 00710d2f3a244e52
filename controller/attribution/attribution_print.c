/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/attribution_print.h"

#include <math.h>

#include "common/json.h"
#include "common/visible.h"
#include "controller/report/table.h"

/* Digits after the point, by measure. */
static const int decimals[ATTRIBUTION_MEASURES] = {
	[MEASURE_UTILITY] = 2, [MEASURE_ENERGY] = 0,   [MEASURE_COMPLETED] = 1,
	[MEASURE_STRETCH] = 3, [ATTRIBUTION_RANK] = 1,
};

static const struct attribution_cell *cell_at(const struct attribution *attribution, guint index)
{
	return &g_array_index(attribution->cells, struct attribution_cell, index);
}

static bool has_part(const struct attribution *attribution, enum cause cause)
{
	return attribution->causes >> cause & 1;
}

/* Sentences. */

/* What a policy did, of a difference of its measure. */
static void append_difference(GString *text, const struct attribution *attribution,
			      const struct attribution_split *split)
{
	const double gap = split->gap.value;
	const bool stretch = attribution->measure == MEASURE_STRETCH;
	const char *way = stretch ? (gap < 0 ? "lower" : "higher") : gap < 0 ? "less" : "more";

	g_string_append(text, stretch ? " had a stretch " : " earned ");
	if (split->simulated > 0)
		g_string_append_printf(text, "%.1f %% %s than simulated",
				       100 * fabs(gap) / split->simulated, way);
	else
		g_string_append_printf(text, "%.2f %s than simulated", fabs(gap), way);
}

/* A part in points of the simulated value, or as it is. */
static void append_part(GString *text, const struct attribution_split *split, double part)
{
	if (split->simulated > 0)
		g_string_append_printf(text, "%.1f points", 100 * fabs(part) / split->simulated);
	else
		g_string_append_printf(text, "%.2f", fabs(part));
}

/* Whether a part exceeds the difference that it is a part of: others cancel some of it. */
static bool is_cancelled(double part, double gap)
{
	return fabs(part) > fabs(gap) * (1 + 1e-9);
}

/* The title of the largest part against that of `first`, or of what remains; NULL: there is none. */
static const char *largest_against(const struct stats_interval parts[CAUSES], double remains,
				   int first, double *ret_part)
{
	const double sign = parts[first].value < 0 ? -1 : 1;
	const char *title = remains * sign < 0 ? "what remains" : NULL;

	*ret_part = title ? remains : 0;
	for (int c = 0; c < CAUSES; c++)
		if (parts[c].value * sign < 0 && fabs(parts[c].value) > fabs(*ret_part)) {
			title = cause_titles[c];
			*ret_part = parts[c].value;
		}
	return title;
}

/*
 * "84.0 points less because tasks took 1.20 times what is simulated, and 81.0 points more by all
 * others together, above all by launch (60.0 points)"
 */
static void append_cancelled(GString *text, const struct attribution *attribution,
			     const struct attribution_cell *cell, int first)
{
	const struct attribution_split *split = &cell->splits[attribution->measure];
	const double part = split->parts[first].value;
	double most;
	const char *title = largest_against(split->parts, split->remains.value, first, &most);

	g_string_append(text, "; causes cancel one another: ");
	append_part(text, split, part);
	g_string_append_printf(text, " %s because %s, and ", part < 0 ? "less" : "more",
			       cell->because[first] ?: cause_titles[first]);
	append_part(text, split, split->gap.value - part);
	g_string_append_printf(text, " %s by all others together", part < 0 ? "more" : "less");
	if (title) {
		g_string_append_printf(text, ", above all by %s (", title);
		append_part(text, split, most);
		g_string_append_c(text, ')');
	}
}

char *attribution_sentence(const struct attribution *attribution,
			   const struct attribution_cell *cell)
{
	const struct attribution_split *split = &cell->splits[attribution->measure];
	const double gap = split->gap.value;
	GString *text = g_string_new(NULL);
	const int first = split->known ? attribution_first(gap, split->parts, split->noise) : -1;

	g_string_append_printf(text, "%s at %g %%", cell->policy, 100 * cell->limit);
	if (!split->known || fabs(gap) <= 1e-9 * fmax(1, fabs(split->simulated))) {
		g_string_append(text, split->known ? " is as simulated." : ": not known.");
		return g_string_free(text, FALSE);
	}
	append_difference(text, attribution, split);
	if (first >= 0 && is_cancelled(split->parts[first].value, gap)) {
		append_cancelled(text, attribution, cell, first);
	} else if (first >= 0) {
		g_string_append(text, "; ");
		append_part(text, split, split->parts[first].value);
		g_string_append_printf(text, " of it because %s",
				       cell->because[first] ?: cause_titles[first]);
	} else {
		g_string_append(text, "; no cause stands out from the noise of measuring");
	}
	if (split->remains.value * gap > 0 && fabs(split->remains.value) > fabs(gap) / 2) {
		g_string_append(text, "; ");
		append_part(text, split, split->remains.value);
		g_string_append(text, " are due to none of the causes that can be simulated");
	}
	g_string_append_c(text, '.');
	return g_string_free(text, FALSE);
}

static const struct attribution_split *split_of(const struct attribution *attribution,
						const char *policy, double limit,
						const struct attribution_cell **ret_cell)
{
	for (guint i = 0; i < attribution->cells->len; i++) {
		const struct attribution_cell *cell = cell_at(attribution, i);

		if (g_str_equal(cell->policy, policy) && summary_same_limit(cell->limit, limit)) {
			*ret_cell = cell;
			return &cell->splits[attribution->measure];
		}
	}
	return NULL;
}

/* What the cause was in the runs of the policy of the pair that it changed more. */
static const char *pair_because(const struct attribution *attribution,
				const struct attribution_pair *pair)
{
	const struct attribution_cell *a = NULL, *b = NULL;
	const struct attribution_split *of_a =
		split_of(attribution, pair->pair->first, pair->pair->limit, &a);
	const struct attribution_split *of_b =
		split_of(attribution, pair->pair->second, pair->pair->limit, &b);
	const int first = pair->first;

	return fabs(of_a->parts[first].value) >= fabs(of_b->parts[first].value) ? a->because[first]
										: b->because[first];
}

/* The cancelled causes of a pair, as differences of the measure. */
static void append_cancelled_pair(GString *text, const struct attribution *attribution,
				  const struct attribution_pair *pair)
{
	const int places = decimals[attribution->measure];
	const double part = pair->parts[pair->first].value;
	double most;
	const char *title = largest_against(pair->parts, pair->remains, pair->first, &most);

	g_string_append_printf(text,
			       "measured and simulated differ by %.*f; causes cancel one another: "
			       "%+.*f because %s, and %+.*f by all others together",
			       places, pair->gap, places, part,
			       pair_because(attribution, pair) ?: cause_titles[pair->first], places,
			       pair->gap - part);
	if (title)
		g_string_append_printf(text, ", above all by %s (%+.*f)", title, places, most);
}

static char *pair_sentence(const struct attribution *attribution,
			   const struct attribution_pair *pair)
{
	GString *text = g_string_new(NULL);
	const int places = decimals[attribution->measure];

	g_string_append_printf(text, "%s - %s at %g %%: ", pair->pair->first, pair->pair->second,
			       100 * pair->pair->limit);
	if (pair->first < 0) {
		g_string_append_printf(text,
				       "measured and simulated differ by %.*f, and no cause stands "
				       "out from the noise of measuring",
				       places, pair->gap);
		return g_string_free(text, FALSE);
	}
	if (is_cancelled(pair->parts[pair->first].value, pair->gap))
		append_cancelled_pair(text, attribution, pair);
	else
		g_string_append_printf(text,
				       "of %.*f between measured and simulated %.*f because %s",
				       places, pair->gap, places, pair->parts[pair->first].value,
				       pair_because(attribution, pair)
					       ?: cause_titles[pair->first]);
	if (pair->pair->order == COMPARE_OPPOSITE)
		g_string_append(text, pair->alone[pair->first] == COMPARE_SAME
					      ? "; with that as measured they are ordered alike"
				      : pair->alone[pair->first] == COMPARE_NOISY
					      ? "; with that as measured the pair is too noisy"
					      : "; with that alone as measured they stay opposite");
	return g_string_free(text, FALSE);
}

char *attribution_verdict(const struct attribution *attribution)
{
	if (attribution->compare->verdict != COMPARE_DIFFER)
		return NULL;
	for (guint i = 0; i < attribution->pairs->len; i++) {
		const struct attribution_pair *pair =
			&g_array_index(attribution->pairs, struct attribution_pair, i);
		g_autofree char *sentence = NULL;

		if (pair->pair->order != COMPARE_OPPOSITE || pair->first < 0)
			continue;
		sentence = pair_sentence(attribution, pair);
		return g_strdup_printf("the first cause is %s: %s", cause_titles[pair->first],
				       sentence);
	}
	return NULL;
}

/* Tables. */

static bool shows(const struct attribution *attribution, int measure)
{
	for (guint i = 0; i < attribution->cells->len; i++)
		if (cell_at(attribution, i)->splits[measure].known)
			return true;
	return false;
}

static bool has_again(const struct attribution *attribution, int measure)
{
	for (guint i = 0; i < attribution->cells->len; i++)
		if (cell_at(attribution, i)->splits[measure].again != 0)
			return true;
	return false;
}

static void put_part(struct table *table, const struct stats_interval *part, int places)
{
	const double half = (part->high - part->low) / 2;

	if (isfinite(half) && half >= 0.5 * pow(10, -places))
		table_textf(table, "%+.*f +- %.*f", places, part->value, places, half);
	else
		table_textf(table, "%+.*f", places, part->value);
}

static struct table *measure_table(const struct attribution *attribution, int measure)
{
	struct table *table =
		table_with(">limit %", "<policy", ">meas", ">sim", ">difference", NULL);
	const bool again = has_again(attribution, measure);
	const int places = decimals[measure];
	double limit = NAN;

	for (enum cause c = 0; c < CAUSES; c++)
		if (has_part(attribution, c))
			table_column(table, cause_titles[c], TABLE_RIGHT);
	if (again)
		table_column(table, "simulated again", TABLE_RIGHT);
	table_column(table, "remains", TABLE_RIGHT);
	for (guint i = 0; i < attribution->cells->len; i++) {
		const struct attribution_cell *cell = cell_at(attribution, i);
		const struct attribution_split *split = &cell->splits[measure];

		if (!split->known)
			continue;
		if (i && cell->limit != limit)
			table_rule(table);
		limit = cell->limit;
		table_row(table);
		table_number(table, 100 * cell->limit, 0);
		table_text(table, cell->policy);
		table_number(table, split->measured, places);
		table_number(table, split->simulated, places);
		put_part(table, &split->gap, places);
		for (enum cause c = 0; c < CAUSES; c++)
			if (has_part(attribution, c))
				put_part(table, &split->parts[c], places);
		if (again)
			table_textf(table, "%+.*f", places, split->again);
		put_part(table, &split->remains, places);
	}
	return table;
}

/* The verdict that the simulation would have with one cause as it was measured. */
struct alone {
	guint orders[3]; /* pairs by enum compare_order */
	enum compare_verdict verdict;
};

static struct alone count_alone(const struct attribution *attribution, int cause)
{
	struct alone alone = {0};

	for (guint i = 0; i < attribution->pairs->len; i++) {
		const struct attribution_pair *pair =
			&g_array_index(attribution->pairs, struct attribution_pair, i);

		alone.orders[cause < 0 ? pair->pair->order : pair->alone[cause]]++;
	}
	alone.verdict = alone.orders[COMPARE_OPPOSITE] ? COMPARE_DIFFER
			: alone.orders[COMPARE_SAME]   ? COMPARE_AGREE
						       : COMPARE_TOO_NOISY;
	return alone;
}

static struct table *alone_table(const struct attribution *attribution)
{
	struct table *table =
		table_with("<as measured", ">same", ">opposite", ">too noisy", "<verdict", NULL);

	for (int c = -1; c < CAUSES; c++) {
		const struct alone alone = count_alone(attribution, c);

		if (c >= 0 && !has_part(attribution, (enum cause)c))
			continue;
		table_row(table);
		table_text(table, c < 0 ? "nothing" : cause_titles[c]);
		table_integer(table, alone.orders[COMPARE_SAME]);
		table_integer(table, alone.orders[COMPARE_OPPOSITE]);
		table_integer(table, alone.orders[COMPARE_NOISY]);
		table_text(table, compare_verdict_name(alone.verdict));
	}
	return table;
}

/* How the parts were computed. */
static char *basis_text(const struct attribution *attribution)
{
	GString *text = g_string_new("parts: Shapley values of the causes, ");

	if (attribution->orders)
		g_string_append_printf(text, "over %u orders that were drawn", attribution->orders);
	else
		g_string_append(text, "over all orders");
	g_string_append_printf(text, "; %u simulations", attribution->simulations);
	if (attribution->repeats)
		g_string_append_printf(text,
				       "; +-: 95 %%, of single runs by %u simulated repeats, else "
				       "over repeats",
				       attribution->repeats);
	else
		g_string_append(text, "; +-: 95 %, over repeats");
	if (!attribution->has_moments)
		g_string_append(text, "; the moments of decisions are not on record, so that what "
				      "they change is in what remains");
	return g_string_free(text, FALSE);
}

static const char *const alone_title =
	"Pairs, if the simulation had one cause alone as it was measured";

static char *measure_title_of(int measure)
{
	return g_strdup_printf("Why measured and simulated differ: %s",
			       attribution_measure_title(measure));
}

/* The order in which measures are shown: that which policies are ranked by comes first. */
static void order_measures(const struct attribution *attribution, int ret[ATTRIBUTION_MEASURES])
{
	int count = 0;

	ret[count++] = attribution->measure;
	for (int m = 0; m < ATTRIBUTION_MEASURES; m++)
		if (m != attribution->measure)
			ret[count++] = m;
}

/* Whether the pair is worth a sentence: it is not ordered alike. */
static bool is_told(const struct attribution_pair *pair)
{
	return pair->pair->order == COMPARE_OPPOSITE;
}

char *attribution_text(const struct attribution *attribution)
{
	GString *text = g_string_new(NULL);
	g_autofree char *basis = basis_text(attribution);
	g_autoptr(table_t) alone = alone_table(attribution);
	g_autofree char *body = table_format(alone, 2);
	int measures[ATTRIBUTION_MEASURES];

	order_measures(attribution, measures);
	for (int i = 0; i < ATTRIBUTION_MEASURES; i++) {
		g_autoptr(table_t) table = NULL;
		g_autofree char *formatted = NULL;
		g_autofree char *title = measure_title_of(measures[i]);

		if (!shows(attribution, measures[i]))
			continue;
		table = measure_table(attribution, measures[i]);
		formatted = table_format(table, 2);
		g_string_append_printf(text, "\n%s\n%s", title, formatted);
	}
	g_string_append_printf(text, "  %s\n\n%s\n%s\n", basis, alone_title, body);
	for (guint i = 0; i < attribution->cells->len; i++) {
		g_autofree char *sentence =
			attribution_sentence(attribution, cell_at(attribution, i));

		g_string_append_printf(text, "%s\n", sentence);
	}
	for (guint i = 0; i < attribution->pairs->len; i++) {
		const struct attribution_pair *pair =
			&g_array_index(attribution->pairs, struct attribution_pair, i);
		g_autofree char *sentence = is_told(pair) ? pair_sentence(attribution, pair) : NULL;

		if (sentence)
			g_string_append_printf(text, "%s.\n", sentence);
	}
	for (guint i = 0; i < attribution->left_out->len; i++)
		g_string_append_printf(text, "not attributed: %s: this build does not know it\n",
				       (char *)attribution->left_out->pdata[i]);
	return g_string_free(text, FALSE);
}

static void append_item(GString *text, const char *sentence)
{
	g_autofree char *shown = visible_lines(sentence);
	g_autofree char *escaped = g_markup_escape_text(shown, -1);

	g_string_append_printf(text, "<li>%s</li>\n", escaped);
}

char *attribution_html(const struct attribution *attribution)
{
	GString *text = g_string_new("<ul>\n");
	g_autofree char *basis = basis_text(attribution);
	g_autoptr(table_t) alone = alone_table(attribution);
	g_autofree char *alone_html = table_html(alone, alone_title);
	int measures[ATTRIBUTION_MEASURES];

	order_measures(attribution, measures);
	for (guint i = 0; i < attribution->cells->len; i++) {
		g_autofree char *sentence =
			attribution_sentence(attribution, cell_at(attribution, i));

		append_item(text, sentence);
	}
	for (guint i = 0; i < attribution->pairs->len; i++) {
		const struct attribution_pair *pair =
			&g_array_index(attribution->pairs, struct attribution_pair, i);
		g_autofree char *sentence = is_told(pair) ? pair_sentence(attribution, pair) : NULL;

		if (sentence)
			append_item(text, sentence);
	}
	g_string_append(text, "</ul>\n");
	for (int i = 0; i < ATTRIBUTION_MEASURES; i++) {
		g_autoptr(table_t) table = NULL;
		g_autofree char *title = measure_title_of(measures[i]);
		g_autofree char *html = NULL;

		if (!shows(attribution, measures[i]))
			continue;
		table = measure_table(attribution, measures[i]);
		html = table_html(table, title);
		g_string_append(text, html);
	}
	g_string_append(text, alone_html);
	g_string_append_printf(text, "<p>%s</p>\n", basis);
	return g_string_free(text, FALSE);
}

/* JSON. */

static json_t *interval_json(const struct stats_interval *interval)
{
	return json_pack("{s:o, s:o, s:o}", "value", json_number_or_null(interval->value), "low",
			 json_number_or_null(interval->low), "high",
			 json_number_or_null(interval->high));
}

static json_t *parts_json(const struct attribution *attribution, const struct stats_interval *parts,
			  const double *errors)
{
	json_t *object = json_object();

	for (enum cause c = 0; c < CAUSES; c++) {
		json_t *part;

		if (!has_part(attribution, c))
			continue;
		part = interval_json(&parts[c]);
		if (errors && attribution->orders)
			json_object_set_new(part, "error", json_number_or_null(errors[c]));
		json_object_set_new(object, cause_keys[c], part);
	}
	return object;
}

static json_t *cause_or_null(int cause)
{
	return cause < 0 ? json_null() : json_string(cause_keys[cause]);
}

static json_t *split_json(const struct attribution *attribution,
			  const struct attribution_split *split)
{
	json_t *alone = json_object();

	for (enum cause c = 0; c < CAUSES; c++)
		if (has_part(attribution, c))
			json_object_set_new(alone, cause_keys[c],
					    json_number_or_null(split->alone[c]));
	return json_pack("{s:f, s:f, s:o, s:o, s:f, s:o, s:o, s:o}", "measured", split->measured,
			 "simulated", split->simulated, "gap", interval_json(&split->gap), "parts",
			 parts_json(attribution, split->parts, split->errors), "simulated_again",
			 split->again, "remains", interval_json(&split->remains), "alone", alone,
			 "first",
			 cause_or_null(
				 attribution_first(split->gap.value, split->parts, split->noise)));
}

static json_t *cell_json(const struct attribution *attribution, const struct attribution_cell *cell)
{
	g_autofree char *sentence = attribution_sentence(attribution, cell);
	json_t *because = json_object();
	json_t *object =
		json_pack("{s:f, s:s, s:I, s:s, s:o}", "limit", cell->limit, "policy", cell->policy,
			  "runs", (json_int_t)cell->runs, "sentence", sentence, "because", because);

	for (int c = 0; c < CAUSES; c++)
		if (cell->because[c])
			json_object_set_new(because, cause_keys[c], json_string(cell->because[c]));
	for (int m = 0; m < ATTRIBUTION_MEASURES; m++)
		json_object_set_new(object, attribution_measure_key(m),
				    cell->splits[m].known
					    ? split_json(attribution, &cell->splits[m])
					    : json_null());
	return object;
}

static json_t *pair_json(const struct attribution *attribution, const struct attribution_pair *pair)
{
	g_autofree char *sentence = pair_sentence(attribution, pair);
	json_t *alone = json_object();

	for (enum cause c = 0; c < CAUSES; c++)
		if (has_part(attribution, c))
			json_object_set_new(alone, cause_keys[c],
					    json_string(compare_order_names[pair->alone[c]]));
	return json_pack("{s:f, s:s, s:s, s:s, s:f, s:o, s:f, s:o, s:o, s:s}", "limit",
			 pair->pair->limit, "first_policy", pair->pair->first, "second_policy",
			 pair->pair->second, "order", compare_order_names[pair->pair->order], "gap",
			 pair->gap, "parts", parts_json(attribution, pair->parts, NULL), "remains",
			 pair->remains, "first", cause_or_null(pair->first), "alone", alone,
			 "sentence", sentence);
}

static json_t *alone_json(const struct attribution *attribution)
{
	json_t *list = json_array();

	for (enum cause c = 0; c < CAUSES; c++) {
		const struct alone alone = count_alone(attribution, (int)c);

		if (has_part(attribution, c))
			json_array_append_new(
				list, json_pack("{s:s, s:i, s:i, s:i, s:s}", "cause", cause_keys[c],
						"same", (int)alone.orders[COMPARE_SAME], "opposite",
						(int)alone.orders[COMPARE_OPPOSITE], "too_noisy",
						(int)alone.orders[COMPARE_NOISY], "verdict",
						compare_verdict_name(alone.verdict)));
	}
	return list;
}

json_t *attribution_json(const struct attribution *attribution)
{
	json_t *causes = json_array();
	json_t *cells = json_array();
	json_t *pairs = json_array();

	for (enum cause c = 0; c < CAUSES; c++)
		if (has_part(attribution, c))
			json_array_append_new(causes, json_string(cause_keys[c]));
	for (guint i = 0; i < attribution->cells->len; i++)
		json_array_append_new(cells, cell_json(attribution, cell_at(attribution, i)));
	for (guint i = 0; i < attribution->pairs->len; i++)
		json_array_append_new(pairs, pair_json(attribution,
						       &g_array_index(attribution->pairs,
								      struct attribution_pair, i)));
	return json_pack("{s:s, s:o, s:b, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "measure",
			 attribution_measure_key(attribution->measure), "causes", causes, "exact",
			 (int)(attribution->orders == 0), "orders", (json_int_t)attribution->orders,
			 "simulations", (json_int_t)attribution->simulations, "repeats",
			 (json_int_t)attribution->repeats, "moments_known",
			 (int)attribution->has_moments, "cells", cells, "pairs", pairs, "alone",
			 alone_json(attribution), "not_attributed",
			 summary_texts_json(attribution->left_out));
}
