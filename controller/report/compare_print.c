/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "common/json.h"
#include "common/read_number.h"
#include "controller/report/accuracy.h"
#include "controller/report/compare.h"
#include "controller/report/deviation.h"
#include "controller/report/listing.h"
#include "controller/report/plugins.h"

static void append_heading(GString *text, const struct compare *compare,
			   const struct compare_side *side)
{
	g_autoptr(GPtrArray) lines = summary_heading(side->summary);

	if (!compare->sides->mixed)
		g_string_append_printf(text, "%s: ", side->label);
	for (guint i = 0; i < lines->len; i++)
		g_string_append_printf(text, "%s%s\n", i ? "  ! " : "", (char *)lines->pdata[i]);
}

static void append_table(GString *text, const char *title, const struct table *table)
{
	g_autofree char *body = table_format(table, 2);

	g_string_append_printf(text, "\n%s\n%s", title, body);
}

/* The measures of the cells; stretches are shown where policies are ranked by them. */
static const struct shown {
	enum compare_measure measure;
	const char *title;
	int decimals;
} shown[] = {
	{COMPARE_BY_STRETCH, "stretch", 3},
	{COMPARE_BY_UTILITY, "utility", 2},
	{COMPARE_ENERGY_J, "energy J", 0},
};

static bool shows(const struct compare *compare, const struct shown *one)
{
	return one->measure != COMPARE_BY_STRETCH || compare->measure == COMPARE_BY_STRETCH;
}

static void add_cell_columns(struct table *table, const struct compare *compare)
{
	const struct compare_side *sides = compare->sides->side;
	g_autofree char *ended_a = g_strdup_printf("<ended by %s", sides[0].column);
	g_autofree char *ended_b = g_strdup_printf("<ended by %s", sides[1].column);

	table_columns(table, "limit %", "<policy", NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(shown); i++) {
		const char *largest = shown[i].measure == COMPARE_BY_STRETCH ? "largest" : NULL;
		g_autofree char *title = g_strdup_printf("%s %s", shown[i].title, sides[0].column);

		if (!shows(compare, &shown[i]))
			continue;
		table_columns(table, title, "sd", largest, NULL);
		if (compare->same_arrivals)
			table_columns(table, "sim same", NULL);
		table_columns(table, compare->sides->mixed ? "sim trials" : sides[1].column, "sd",
			      largest, NULL);
	}
	table_columns(table, ended_a, ended_b, NULL);
}

/* The mean of a measure and its deviation, and of stretches the largest. */
static void put_side(struct table *table, const struct shown *one, const struct summary_cell *cell)
{
	const bool stretch = one->measure == COMPARE_BY_STRETCH;

	table_number(table, compare_cell_value(one->measure, cell), one->decimals);
	table_number(table,
		     stretch                              ? cell->stretch_sd
		     : one->measure == COMPARE_BY_UTILITY ? cell->utility_sd
							  : cell->energy_j_sd,
		     one->decimals);
	if (stretch)
		table_number(table, cell->stretch_max, 2);
}

static void put_cell(struct table *table, const struct compare *compare,
		     const struct summary_cell *a, const struct summary_cell *b)
{
	g_autofree char *ended_a = summary_ended_by(a);
	g_autofree char *ended_b = summary_ended_by(b);

	table_row(table);
	table_number(table, 100 * a->limit, 0);
	table_text(table, a->policy);
	for (gsize i = 0; i < G_N_ELEMENTS(shown); i++) {
		if (!shows(compare, &shown[i]))
			continue;
		put_side(table, &shown[i], a);
		if (compare->same_arrivals)
			table_number(table,
				     compare_value(compare, 1, shown[i].measure, a->policy,
						   a->limit),
				     shown[i].decimals);
		put_side(table, &shown[i], b);
	}
	table_text(table, ended_a);
	table_text(table, ended_b);
}

/* The number of tasks of a side that count although they did not complete. */
static guint unfinished(const struct summary *summary)
{
	guint count = 0;

	for (guint i = 0; i < summary->cells_count; i++)
		count += summary->cells[i].unfinished;
	return count;
}

static void append_stretch_notes(GString *text, const struct compare *compare)
{
	const struct compare_side *sides = compare->sides->side;
	const guint count_a = unfinished(sides[0].summary);
	const guint count_b = unfinished(sides[1].summary);

	g_string_append(text,
			"  stretch: mean of max(turn-around, 30 s) / max(time alone, 30 s) over "
			"the tasks, "
			"less is better;\n    largest: of a run, mean over runs\n");
	if (count_a + count_b)
		g_string_append_printf(text,
				       "  %u %s%s and %u %s%s tasks did not complete and "
				       "count as if they had when their run ended\n",
				       count_a, compare->sides->mixed ? "" : "of ", sides[0].label,
				       count_b, compare->sides->mixed ? "" : "of ", sides[1].label);
}

/* What the columns of the cells are means of. */
static void append_cell_notes(GString *text, const struct compare *compare)
{
	const struct compare_side *sides = compare->sides->side;

	if (compare->sides->mixed) {
		g_string_append(text, "  meas: mean over repeats, sim trials: mean over trials; "
				      "sd: standard deviation over them\n");
		if (compare->same_arrivals)
			g_string_append(text, "  sim same: the one simulated run with the arrivals "
					      "that were measured\n");
		return;
	}
	for (int i = 0; i < 2; i++) {
		g_autofree char *over = summary_over(sides[i].summary);

		g_string_append_printf(text, "  %s: mean over %s%s\n", sides[i].label, over,
				       i ? "; sd: standard deviation over them" : "");
	}
	g_string_append(text,
			compare->equal_arrivals
				? "  both sides have runs on the same arrivals\n"
				: "  the sides ran other arrivals: what differs may be due to "
				  "these\n");
}

static void append_cells(GString *text, const struct compare *compare)
{
	g_autoptr(table_t) table = table_new();
	const struct summary *first = compare->sides->side[0].summary;
	guint policies = first->policies->len;

	add_cell_columns(table, compare);
	for (guint i = 0; i < policies * first->limits->len; i++) {
		const struct summary_cell *a = &first->cells[i];
		const struct summary_cell *b =
			summary_cell(compare->sides->side[1].summary, a->policy, a->limit);

		if (i && i % policies == 0)
			table_rule(table);
		if (a->runs && b)
			put_cell(table, compare, a, b);
	}
	append_table(text, "Per policy and limit", table);
	if (compare->measure == COMPARE_BY_STRETCH)
		append_stretch_notes(text, compare);
	append_cell_notes(text, compare);
}

static void put_interval(struct table *table, const struct compare *compare,
			 const struct compare_difference *difference)
{
	const struct stats_interval *interval = &difference->interval;
	const int decimals = compare->measure == COMPARE_BY_STRETCH ? 3 : 2;

	table_number(table, interval->value, decimals);
	if (isfinite(interval->low))
		table_textf(table, "%.*f .. %.*f", decimals, interval->low, decimals,
			    interval->high);
	else
		table_text(table, NULL);
}

static void put_difference(struct table *table, const struct compare *compare,
			   const struct compare_difference *difference)
{
	put_interval(table, compare, difference);
	table_text(table, compare_basis_name(difference->basis));
}

static void append_pairs(GString *text, const struct compare *compare)
{
	const struct compare_side *sides = compare->sides->side;
	g_autoptr(table_t) table =
		table_with("limit %", "<pair", sides[0].label, "95 % interval", "<from",
			   sides[1].label, "95 % interval", "<from", "<order", NULL);
	g_autofree char *title = NULL;
	double limit = NAN;

	if (compare->same_arrivals)
		table_columns(table, "sim trials", "95 % interval", NULL);
	for (guint i = 0; i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		if (pair->limit != limit)
			table_rule(table);
		limit = pair->limit;
		table_row(table);
		table_number(table, 100 * pair->limit, 0);
		table_textf(table, "%s - %s", pair->first, pair->second);
		put_difference(table, compare, &pair->sides[0]);
		put_difference(table, compare, &pair->sides[1]);
		table_text(table, compare_order_names[pair->order]);
		if (compare->same_arrivals)
			put_interval(table, compare, &pair->trials);
	}
	title = g_strdup_printf("Differences of %s, pair by pair%s%s",
				compare_measure_name(compare->measure),
				compare->measure == COMPARE_BY_STRETCH
					? " (below 0: the first is better)"
					: "",
				!compare->sides->mixed   ? ""
				: compare->same_arrivals ? "; simulated: on the measured arrivals"
							 : "; simulated: over trials");
	append_table(text, title, table);
}

/* Adds a line for each basis that occurs. */
static void append_bases(GString *text, const struct compare *compare)
{
	static const char *const notes[] = {
		[COMPARE_BASIS_NONE] = "none: too little to form an interval from",
		[COMPARE_BASIS_REPEATS] =
			"repeats: paired over repeats of one workload, Student's t",
		[COMPARE_BASIS_TRIALS] = "trials: paired over trials, a workload each, Student's t",
		[COMPARE_BASIS_SIMULATED] =
			"simulated repeats: one run cannot tell its own noise; it is that of "
			"repeats "
			"simulated with the\n    measured deviations of execution time and energy",
		[COMPARE_BASIS_VERDICT] =
			"verdict: holds whenever the runs stop, for all of its pairs together",
		[COMPARE_BASIS_TASKS] = "tasks: one run cannot tell its own noise; it is that of "
					"its tasks, by block "
					"bootstrap",
	};

	for (gsize basis = 0; basis < G_N_ELEMENTS(notes); basis++) {
		for (guint i = 0; i < compare->pairs->len; i++) {
			const struct compare_pair *pair =
				&g_array_index(compare->pairs, struct compare_pair, i);

			if (pair->sides[0].basis != basis && pair->sides[1].basis != basis)
				continue;
			g_string_append_printf(text, "  from %s\n", notes[basis]);
			break;
		}
	}
}

/* A rank over all limits has none. */
static const struct record_field rank_fields[] = {
	{RECORD_FIELD_REAL(compare_rank, limit)},
	{RECORD_FIELD_U32(compare_rank, policies)},
	{RECORD_FIELD_REAL(compare_rank, tau_b)},
	{NULL},
};
static const struct record rank_record = {.size = sizeof(struct compare_rank),
					  .fields = rank_fields};

static void append_ranks(GString *text, const struct compare *compare)
{
	static const struct listing_column columns[] = {
		{"limit %", "limit", 0, 100, "all"},
		{"policies", "policies"},
		{"tau-b", "tau_b", 3},
		{NULL},
	};
	g_autoptr(table_t) table = listing_table(columns, &rank_record, compare->ranks, G_MAXUINT);
	g_autofree char *title =
		g_strdup_printf("Kendall's rank correlation of %s, %s against %s",
				compare->measure == COMPARE_BY_STRETCH ? "mean stretches"
								       : "utilities",
				compare->sides->side[0].label, compare->sides->side[1].label);

	append_table(text, title, table);
}

static void append_speeds(GString *text, const GArray *accuracies)
{
	for (guint i = 0; i < accuracies->len; i++) {
		const struct accuracy *accuracy = &g_array_index(accuracies, struct accuracy, i);

		if (accuracy->speed != 1)
			g_string_append_printf(text,
					       "  %s: simulated, %g times as fast: its times are "
					       "in simulated seconds, all else went by real ones\n",
					       accuracy->cluster, accuracy->speed);
	}
}

/* Accuracies over all clusters have none. */
static const struct record_field accuracy_fields[] = {
	{RECORD_FIELD_TEXT(accuracy, cluster)},
	{.name = "tasks", .offset = offsetof(struct accuracy, n), .type = RECORD_U32},
	{RECORD_FIELD_REAL(accuracy, median_error)},
	{RECORD_FIELD_REAL(accuracy, median_ratio)},
	{.name = "median_error_apart",
	 .offset = offsetof(struct accuracy, median_apart),
	 .type = RECORD_REAL,
	 .null = RECORD_NULL_NAN},
	{NULL},
};
static const struct record accuracy_record = {.size = sizeof(struct accuracy),
					      .fields = accuracy_fields};

/* The accuracies of a measured side. */
static void append_accuracies(GString *text, const struct compare *compare, guint number)
{
	const struct compare_side *side = &compare->sides->side[number];
	const struct summary *measured = side->summary;
	static const struct listing_column columns[] = {
		{"cluster", "cluster", .none = "all"},
		{"tasks", "tasks"},
		{"median |measured/ETC - 1| %", "median_error", 1, 100},
		{"median measured/ETC", "median_ratio", 3},
		{"apart from the others %", "median_error_apart", 1, 100},
		{NULL},
	};
	g_autoptr(table_t) table =
		listing_table(columns, &accuracy_record, compare->accuracies[number], G_MAXUINT);
	g_autofree char *profile = store_get_meta(measured->store, "profile_host_load");
	g_autofree char *title = g_strdup_printf(
		"Execution times against their estimates, completed tasks of all %s%s",
		compare->sides->mixed ? "measured runs" : "runs of ",
		compare->sides->mixed ? "" : side->label);
	double profile_load;

	append_table(text, title, table);
	g_string_append(text,
			"  apart from the others: the median error beside what tasks on other "
			"clusters met at the same\n    time; what all of them meet alike is "
			"the machine's own speed, which no estimate knows\n");
	append_speeds(text, compare->accuracies[number]);
	if (isfinite(measured->host_load))
		g_string_append_printf(text,
				       "  this machine's load: %.2f busy cores during the runs",
				       measured->host_load);
	if (isfinite(measured->host_load) && read_number(profile, 0, DBL_MAX, &profile_load))
		g_string_append_printf(text, ", %.2f while the estimates were measured",
				       profile_load);
	if (isfinite(measured->host_load))
		g_string_append_c(text, '\n');
}

char *compare_sentence(const struct compare *compare)
{
	const struct compare_rank *all =
		&g_array_index(compare->ranks, struct compare_rank, compare->ranks->len - 1);
	GString *text = g_string_new(NULL);

	g_string_append_printf(text,
			       "%s: of %u pairs %u have the same order%s %s%s and %s%s, %u the "
			       "opposite one, %u are too noisy to tell",
			       compare_verdict_name(compare->verdict), compare->pairs->len,
			       compare->same,
			       compare->measure == COMPARE_BY_STRETCH ? " by stretch" : "",
			       compare->sides->mixed ? "" : "in ", compare->sides->side[0].label,
			       compare->sides->side[1].label,
			       compare->same_arrivals ? " on the same arrivals" : "",
			       compare->opposite, compare->noisy);
	if (isfinite(all->tau_b))
		g_string_append_printf(text, "; Kendall's tau-b %.3f", all->tau_b);
	if (compare->because)
		g_string_append_printf(text, "; %s", compare->because);
	return g_string_free(text, FALSE);
}

char *compare_advice(const struct compare *compare)
{
	guint count = 0, by_trials = 0;

	for (guint i = 0; i < compare->pairs->len && compare->sides->mixed; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		if (stats_interval_sign(&pair->sides[0].interval) == STATS_SIGN_UNCLEAR ||
		    stats_interval_sign(&pair->sides[1].interval) != STATS_SIGN_UNCLEAR)
			continue;
		count++;
		by_trials += stats_interval_sign(&pair->trials.interval) != STATS_SIGN_UNCLEAR;
	}
	if (compare->verdict != COMPARE_TOO_NOISY || count == 0)
		return NULL;
	return g_strdup_printf(
		"more repeats do not help in %u of %u pairs, of which the measured interval leaves "
		"out 0 and the simulated one does not: %s",
		count, compare->pairs->len,
		!compare->same_arrivals ? "simulate --trials N with more trials narrows that"
		: by_trials > 0
			? "compare --trials judges the simulation by the mean of its trials"
			: "compare --trials judges the simulation by the mean of its trials, of "
			  "which it needs more (simulate --trials N)");
}

/* The verdict of a side whose runs were made until it. */
static void append_verdict(GString *text, const struct compare *compare,
			   const struct compare_side *side)
{
	g_autofree char *verdict =
		side->summary->verdict ? anytime_verdict_text(side->summary->verdict) : NULL;

	if (verdict)
		g_string_append_printf(text, "%s%s%s", compare->sides->mixed ? "" : "\n",
				       compare->sides->mixed ? "" : side->label, verdict);
}

/* In how many events policies from outside were used, where a fallback decided some. */
static void append_fallbacks(GString *text, const struct compare *compare)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	for (int i = 0; i < 2; i++)
		if (i == 0 || !compare->sides->mixed)
			plugins_add_lines(compare->sides->side[i].summary, lines);
	for (guint i = 0; i < lines->len; i++)
		g_string_append_printf(text, "%s%s\n", i ? "" : "\n", (char *)lines->pdata[i]);
}

char *compare_text(const struct compare *compare)
{
	GString *text = g_string_new(NULL);
	g_autofree char *sentence = compare_sentence(compare);
	g_autofree char *advice = compare_advice(compare);
	g_autofree char *deviations = deviation_text(compare->sides, compare->deviations);

	for (int i = 0; i < 2; i++)
		append_heading(text, compare, &compare->sides->side[i]);
	append_cells(text, compare);
	append_pairs(text, compare);
	append_bases(text, compare);
	for (int i = 0; i < 2; i++)
		append_verdict(text, compare, &compare->sides->side[i]);
	append_ranks(text, compare);
	g_string_append(text, deviations);
	for (guint i = 0; i < 2; i++)
		if (compare->accuracies[i])
			append_accuracies(text, compare, i);
	for (guint i = 0; i < compare->missing->len; i++)
		g_string_append_printf(text, "%snot compared: %s\n", i ? "" : "\n",
				       (char *)compare->missing->pdata[i]);
	append_fallbacks(text, compare);
	g_string_append_printf(text, "\nVerdict: %s.\n", sentence);
	if (advice)
		g_string_append_printf(text, "What may decide it: %s.\n", advice);
	return g_string_free(text, FALSE);
}

/* Under the name of the measure: {"utility_difference", "low", "high", "from", "n"}. */
static json_t *difference_json(const struct record_field *field, const void *data,
			       const void *context)
{
	const struct compare_difference *difference = record_place(field, data);
	const struct stats_interval *interval = &difference->interval;
	const struct compare *compare = context;

	return json_pack("{s:o, s:o, s:o, s:s, s:I}",
			 compare->measure == COMPARE_BY_STRETCH ? "stretch_difference"
								: "utility_difference",
			 json_number_or_null(interval->value), "low",
			 json_number_or_null(interval->low), "high",
			 json_number_or_null(interval->high), "from",
			 compare_basis_name(difference->basis), "n", (json_int_t)interval->n);
}

/* The variants of pairs: of a measured and a simulated side, and of two of a kind. */
enum { PAIR_MIXED = 1, PAIR_ALIKE = 2 };

#define DIFFERENCE(name_, field_, variants_)                                                       \
	{                                                                                          \
		.name = (name_), .offset = offsetof(struct compare_pair, field_),                  \
		.variants = (variants_), .write = difference_json                                  \
	}
static const struct record_field pair_fields[] = {
	{RECORD_FIELD_REAL(compare_pair, limit)},
	{RECORD_AT(compare_pair, first), .type = RECORD_BORROWED},
	{RECORD_AT(compare_pair, second), .type = RECORD_BORROWED},
	DIFFERENCE("measured", sides[0], PAIR_MIXED),
	DIFFERENCE("simulated", sides[1], PAIR_MIXED),
	DIFFERENCE("trials", trials, PAIR_MIXED),
	DIFFERENCE("a", sides[0], PAIR_ALIKE),
	DIFFERENCE("b", sides[1], PAIR_ALIKE),
	{RECORD_FIELD_WORD(compare_pair, order, compare_order_names)},
	{NULL},
};
static const struct record pair_record = {.size = sizeof(struct compare_pair),
					  .fields = pair_fields};

static json_t *pairs_json(const struct compare *compare)
{
	json_t *array = json_array();

	for (guint i = 0; i < compare->pairs->len; i++)
		json_array_append_new(
			array,
			record_write(&pair_record,
				     &g_array_index(compare->pairs, struct compare_pair, i),
				     compare->sides->mixed ? PAIR_MIXED : PAIR_ALIKE, compare));
	return array;
}

/* A side of two of a kind has its label and its accuracies with it. */
static json_t *side_json(const struct compare *compare, guint number)
{
	const struct compare_side *side = &compare->sides->side[number];
	json_t *object = summary_json(side->summary);

	if (compare->sides->mixed)
		return object;
	json_object_set_new(object, "label", json_string(side->label));
	if (compare->accuracies[number])
		json_object_set_new(object, "accuracy",
				    listing_json(&accuracy_record, compare->accuracies[number]));
	return object;
}

json_t *compare_json(const struct compare *compare)
{
	g_autofree char *sentence = compare_sentence(compare);
	g_autofree char *advice = compare_advice(compare);
	const bool mixed = compare->sides->mixed;
	json_t *object =
		json_pack("{s:s, s:s, s:s?, s:s}", "verdict",
			  compare_verdict_name(compare->verdict), "sentence", sentence, "advice",
			  advice, "ranked_by", compare_measure_name(compare->measure));

	if (mixed)
		json_object_set_new(object, "simulated_on",
				    json_string(compare->same_arrivals ? "same arrivals"
								       : "trials"));
	else
		json_object_set_new(object, "same_arrivals", json_boolean(compare->equal_arrivals));
	json_object_set_new(object, "pairs_same", json_integer(compare->same));
	json_object_set_new(object, "pairs_opposite", json_integer(compare->opposite));
	json_object_set_new(object, "pairs_too_noisy", json_integer(compare->noisy));
	for (guint i = 0; i < 2; i++)
		json_object_set_new(object, compare->sides->side[i].key, side_json(compare, i));
	json_object_set_new(object, "pairs", pairs_json(compare));
	json_object_set_new(object, "ranks", listing_json(&rank_record, compare->ranks));
	if (mixed)
		json_object_set_new(object, "accuracy",
				    listing_json(&accuracy_record, compare->accuracies[0]));
	json_object_set_new(object, "deviations",
			    deviation_json(compare->sides, compare->deviations));
	json_object_set_new(object, "not_compared", summary_texts_json(compare->missing));
	return object;
}
