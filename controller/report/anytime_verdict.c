/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/anytime_verdict.h"

#include <float.h>
#include <math.h>

#include "common/json.h"
#include "common/read_number.h"
#include "controller/report/table.h"

#define HOUR_S 3600.0

struct anytime_verdict *anytime_verdict_load(struct store *store, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autoptr(verdict_plan_t) plan = verdict_plan_load(store, &reason);
	g_autoptr(anytime_verdict_t) verdict = NULL;
	g_autoptr(json_t) end = NULL;
	g_autofree char *used = NULL;
	double used_s;

	if (!plan) {
		if (reason)
			g_propagate_error(error, g_steal_pointer(&reason));
		return NULL;
	}
	verdict = g_new0(struct anytime_verdict, 1);
	verdict->plan = g_steal_pointer(&plan);
	verdict->rows = store_runs(store, error);
	if (!verdict->rows)
		return NULL;
	verdict->outcome = verdict_outcome_new(verdict->plan, verdict->rows);
	end = store_get_document(store, "verdict_end");
	verdict->why = g_strdup(json_string_value(json_object_get(end, "why")));
	used = store_get_meta(store, "verdict_used_s");
	verdict->run_s = read_number(used, 0, DBL_MAX, &used_s) && verdict->outcome->made > 0
				 ? used_s / verdict->outcome->made
				 : (double)NAN;
	return g_steal_pointer(&verdict);
}

void anytime_verdict_free(struct anytime_verdict *verdict)
{
	if (!verdict)
		return;
	verdict_outcome_free(verdict->outcome);
	verdict_plan_free(verdict->plan);
	g_clear_pointer(&verdict->rows, g_ptr_array_unref);
	g_free(verdict->why);
	g_free(verdict);
}

/* The pair the other way round. */
static struct verdict_finding turned(struct verdict_finding finding)
{
	const double low = finding.low;

	finding.difference = -finding.difference;
	finding.low = -finding.high;
	finding.high = -low;
	finding.state = finding.state == VERDICT_FIRST    ? VERDICT_SECOND
			: finding.state == VERDICT_SECOND ? VERDICT_FIRST
							  : finding.state;
	return finding;
}

bool anytime_verdict_find(const struct anytime_verdict *verdict, const char *first,
			  const char *second, double limit, struct verdict_finding *ret_finding)
{
	for (uint32_t i = 0; i < verdict->plan->pairs_count; i++) {
		const struct verdict_pair *pair = &verdict->plan->pairs[i];
		const struct verdict_cell *a = &verdict->plan->cells[pair->first];
		const struct verdict_cell *b = &verdict->plan->cells[pair->second];
		const bool straight =
			g_str_equal(a->policy, first) && g_str_equal(b->policy, second);

		if (pair->control || fabs(a->limit - limit) > CONFIG_LIMITS_DIFFER ||
		    !(straight ||
		      (g_str_equal(a->policy, second) && g_str_equal(b->policy, first))))
			continue;
		*ret_finding = straight ? verdict->outcome->findings[i]
					: turned(verdict->outcome->findings[i]);
		return true;
	}
	return false;
}

static bool is_winner(enum verdict_state state)
{
	return state == VERDICT_FIRST || state == VERDICT_SECOND;
}

bool anytime_verdict_control_differs(const struct anytime_verdict *verdict)
{
	for (uint32_t i = 0; i < verdict->plan->pairs_count; i++)
		if (verdict->plan->pairs[i].control &&
		    is_winner(verdict->outcome->findings[i].state))
			return true;
	return false;
}

/* What the pairs came to; controls do not count. */
struct tally {
	uint32_t pairs, decided, equal, noisy, open, fail;
	uint64_t rest_runs;
	uint32_t never; /* pairs that fewer than VERDICT_NEVER repeats would not decide */
};

static struct tally tally_of(const struct anytime_verdict *verdict)
{
	const struct verdict_outcome *outcome = verdict->outcome;
	struct tally tally = {0};

	for (uint32_t i = 0; i < verdict->plan->pairs_count; i++) {
		const enum verdict_state state = outcome->findings[i].state;

		if (verdict->plan->pairs[i].control)
			continue;
		tally.pairs++;
		tally.decided += is_winner(state);
		tally.equal += state == VERDICT_EQUAL;
		tally.noisy += state == VERDICT_NOISY;
		tally.open += state == VERDICT_OPEN;
		tally.fail += state == VERDICT_FAILS;
	}
	tally.rest_runs =
		verdict_rest(&outcome->design, &outcome->runs, outcome->findings, &tally.never);
	return tally;
}

char *anytime_verdict_cost(const struct anytime_verdict *verdict)
{
	const struct tally tally = tally_of(verdict);
	GString *text = g_string_new(NULL);
	const uint32_t rest = tally.open + tally.noisy;

	g_string_append_printf(
		text, "%u of %u pairs decided%s after %u runs of the %u of the full design",
		tally.decided + tally.equal, tally.pairs, tally.equal ? " (some as equal)" : "",
		verdict->outcome->made, verdict_plan_full_runs(verdict->plan));
	if (g_strcmp0(verdict->why, "hours") == 0)
		g_string_append(text, ", when the hours were over");
	if (rest > tally.never) {
		g_string_append_printf(text,
				       "; the other %u would take about %" G_GUINT64_FORMAT " runs",
				       rest - tally.never, tally.rest_runs);
		if (isfinite(verdict->run_s))
			g_string_append_printf(text, " (%.1f h)",
					       (double)tally.rest_runs * verdict->run_s / HOUR_S);
		g_string_append(text, ", if they continue as so far");
	}
	if (tally.fail)
		g_string_append_printf(text, "; of %u the model does not hold", tally.fail);
	if (tally.never)
		g_string_append_printf(text, "; %u cannot be told apart by fewer than 100,000 runs",
				       tally.never);
	return g_string_free(text, FALSE);
}

static char *words_of(const struct verdict_pair *pair, const struct verdict_finding *finding,
		      const struct verdict_cell *cells)
{
	const char *winner =
		cells[finding->state == VERDICT_FIRST ? pair->first : pair->second].policy;

	switch (finding->state) {
	case VERDICT_FIRST:
	case VERDICT_SECOND:
		return pair->control ? g_strdup_printf("CONTROL DIFFERS: %s earns more", winner)
				     : g_strdup_printf("%s earns more", winner);
	case VERDICT_EQUAL:
		return g_strdup_printf("equal within %.2f", finding->margin);
	case VERDICT_NOISY:
		return g_strdup("too noisy");
	case VERDICT_FAILS:
		return g_strdup("MODEL DOES NOT HOLD");
	case VERDICT_OPEN:
		break;
	}
	return g_strdup("open");
}

/* The repeats that would decide an undecided pair. */
static void put_needs(struct table *table, const struct verdict_pair *pair,
		      const struct verdict_finding *finding)
{
	if (pair->control || is_winner(finding->state) || finding->state == VERDICT_EQUAL ||
	    finding->state == VERDICT_FAILS)
		table_text(table, NULL);
	else if (finding->needs >= VERDICT_NEVER)
		table_text(table, "never");
	else
		table_integer(table, finding->needs);
}

static void put_pair(struct table *table, const struct anytime_verdict *verdict, uint32_t i)
{
	const struct verdict_cell *cells = verdict->plan->cells;
	const struct verdict_pair *pair = &verdict->plan->pairs[i];
	const struct verdict_finding *finding = &verdict->outcome->findings[i];
	g_autofree char *words = words_of(pair, finding, cells);

	table_row(table);
	table_number(table, 100 * cells[pair->first].limit, 0);
	table_textf(table, "%s - %s%s", cells[pair->first].policy, cells[pair->second].policy,
		    pair->control ? " (control)" : "");
	table_integer(table, finding->n);
	table_number(table, finding->difference, 2);
	if (isfinite(finding->low))
		table_textf(table, "%.2f .. %.2f", finding->low, finding->high);
	else
		table_text(table, NULL);
	table_text(table, words);
	if (finding->decided)
		table_integer(table, finding->decided);
	else
		table_text(table, NULL);
	put_needs(table, pair, finding);
}

/* Whether the intervals of a pair, or a control, contradict one another. */
static bool has_failing(const struct anytime_verdict *verdict)
{
	for (uint32_t i = 0; i < verdict->plan->pairs_count; i++)
		if (verdict->outcome->findings[i].state == VERDICT_FAILS)
			return true;
	return false;
}

char *anytime_verdict_text(const struct anytime_verdict *verdict)
{
	g_autofree char *interval =
		g_strdup_printf("%g %% interval", 100 * (1 - verdict->plan->alpha));
	g_autoptr(table_t) table = table_with(">limit %", "<pair", ">repeats", ">difference", NULL);
	g_autofree char *cost = anytime_verdict_cost(verdict);
	g_autofree char *body = NULL;
	GString *text = g_string_new("\nUntil the verdict: utilities, pair by pair\n");

	table_columns(table, interval, "<verdict", "after", "needs", NULL);
	for (uint32_t i = 0; i < verdict->plan->pairs_count; i++)
		put_pair(table, verdict, i);
	body = table_format(table, 2);
	g_string_append_printf(
		text,
		"%s  The intervals hold for all of these pairs and after any number of runs "
		"together, with %g %%.\n  after: repeats of both when it was decided; needs: what "
		"would decide it, if it continues as so far\n  %s.\n",
		body, 100 * (1 - verdict->plan->alpha), cost);
	if (anytime_verdict_control_differs(verdict))
		g_string_append(text,
				"  ! A CONTROL DIFFERS: two policies that are equal by design "
				"earn different utilities here.\n  ! Something else than the "
				"policies differs in this measurement; trust none of it until "
				"that is found.\n");
	if (has_failing(verdict))
		g_string_append(
			text,
			"  ! MODEL DOES NOT HOLD: the intervals of a pair contradict one "
			"another, so that none of them is shown.\n  ! Its runs are not of one "
			"kind: look for what changed between them (headings, 'speed_changes'), "
			"and repeat them.\n");
	return g_string_free(text, FALSE);
}

static json_t *pair_json(const struct anytime_verdict *verdict, uint32_t i)
{
	const struct verdict_cell *cells = verdict->plan->cells;
	const struct verdict_pair *pair = &verdict->plan->pairs[i];
	const struct verdict_finding *finding = &verdict->outcome->findings[i];

	return json_pack("{s:f, s:s, s:s, s:b, s:s, s:o, s:o, s:o, s:I, s:o, s:o}", "limit",
			 cells[pair->first].limit, "first", cells[pair->first].policy, "second",
			 cells[pair->second].policy, "control", pair->control, "state",
			 verdict_state_names[finding->state], "utility_difference",
			 json_number_or_null(finding->difference), "low",
			 json_number_or_null(finding->low), "high",
			 json_number_or_null(finding->high), "repeats", (json_int_t)finding->n,
			 "decided_after",
			 finding->decided ? json_integer((json_int_t)finding->decided)
					  : json_null(),
			 "needs",
			 finding->needs && finding->needs < VERDICT_NEVER
				 ? json_integer((json_int_t)finding->needs)
				 : json_null());
}

json_t *anytime_verdict_json(const struct anytime_verdict *verdict)
{
	const struct tally tally = tally_of(verdict);
	g_autofree char *cost = anytime_verdict_cost(verdict);
	json_t *pairs = json_array();

	for (uint32_t i = 0; i < verdict->plan->pairs_count; i++)
		json_array_append_new(pairs, pair_json(verdict, i));
	return json_pack("{s:f, s:f, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:b, s:s, s:o}",
			 "alpha", verdict->plan->alpha, "equal_within", verdict->plan->equal_within,
			 "ended", verdict->why, "runs", (json_int_t)verdict->outcome->made,
			 "runs_full_design", (json_int_t)verdict_plan_full_runs(verdict->plan),
			 "pairs_decided", (json_int_t)(tally.decided + tally.equal), "pairs_never",
			 (json_int_t)tally.never, "pairs_model_does_not_hold",
			 (json_int_t)tally.fail, "rest_runs", (json_int_t)tally.rest_runs, "rest_h",
			 json_number_or_null((double)tally.rest_runs * verdict->run_s / HOUR_S),
			 "control_differs", anytime_verdict_control_differs(verdict), "sentence",
			 cost, "pairs", pairs);
}
