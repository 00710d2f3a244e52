/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/verdict/verdict_plan.h"

#include <math.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/record/record.h"

/* The key of the plan in table meta. */
#define KEY "verdict"

/* The most repeats of a cell, and runs of the full design. */
#define REPEATS_MAX 1000000
#define RUNS_MAX 10000000

G_DEFINE_QUARK(virtbed_verdict, verdict_error)

static const struct record_field cell_fields[] = {
	{RECORD_FIELD_TEXT(verdict_cell, policy)},
	{RECORD_FIELD_REAL(verdict_cell, limit)},
	{RECORD_FIELD_REAL(verdict_cell, utility_sd)},
	{NULL},
};
static const struct record cell_record = {.size = sizeof(struct verdict_cell),
					  .fields = cell_fields};

static const struct record_field pair_fields[] = {
	{RECORD_FIELD_U32(verdict_pair, first)},
	{RECORD_FIELD_U32(verdict_pair, second)},
	{RECORD_FIELD_BOOL(verdict_pair, control)},
	{NULL},
};
static const struct record pair_record = {.size = sizeof(struct verdict_pair),
					  .fields = pair_fields};

static const struct record_field plan_fields[] = {
	{RECORD_FIELD_ARRAY(verdict_plan, cells, cells_count, cell_record)},
	{RECORD_FIELD_ARRAY(verdict_plan, pairs, pairs_count, pair_record)},
	{RECORD_FIELD_U32(verdict_plan, repeats)},
	{RECORD_FIELD_REAL(verdict_plan, alpha)},
	{RECORD_FIELD_REAL(verdict_plan, equal_within)},
	{RECORD_FIELD_BOOL(verdict_plan, noise_asked)},
	{NULL},
};
static const struct record plan_record = {.size = sizeof(struct verdict_plan),
					  .fields = plan_fields,
					  .open = true};
RECORD_DEFINE_FREE(verdict_plan, plan_record)

static bool same_limit(double a, double b)
{
	return fabs(a - b) < CONFIG_LIMITS_DIFFER;
}

/* Making a plan. */

static void add_pair(GArray *pairs, const struct verdict_policies *policies, uint32_t a, uint32_t b,
		     uint32_t limit, bool control)
{
	const struct verdict_pair pair = {
		.first = limit * policies->count + MIN(a, b),
		.second = limit * policies->count + MAX(a, b),
		.control = control,
	};

	g_array_append_val(pairs, pair);
}

static uint32_t find_policy(const struct verdict_policies *policies, const char *name)
{
	uint32_t i = 0;

	while (i < policies->count && !g_str_equal(policies->written[i], name) &&
	       !g_str_equal(policies->names[i], name))
		i++;
	return i;
}

static bool is_asked(const struct config_verdict_pair *pair, double limit)
{
	for (uint32_t i = 0; i < pair->limits_count; i++)
		if (same_limit(pair->limits[i], limit))
			return true;
	return pair->limits_count == 0;
}

/* Adds a pair of the configuration at all of its limits. */
static bool add_configured(GArray *pairs, const struct config_verdict_pair *pair, bool control,
			   const struct verdict_policies *policies, GError **error)
{
	const uint32_t a = find_policy(policies, pair->policies[0]);
	const uint32_t b = find_policy(policies, pair->policies[1]);
	uint32_t limits = 0;

	if (a == policies->count || b == policies->count)
		return error_fail(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS,
				  "the pair '%s' and '%s' of section verdict: '%s' is none of the "
				  "policies of this run",
				  pair->policies[0], pair->policies[1],
				  pair->policies[a == policies->count ? 0 : 1]);
	for (uint32_t limit = 0; limit < policies->limits_count; limit++) {
		if (!is_asked(pair, policies->limits[limit]))
			continue;
		add_pair(pairs, policies, a, b, limit, control);
		limits++;
	}
	return limits >= MAX(1, pair->limits_count) ||
	       error_fail(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS,
			  "the pair '%s' and '%s' of section verdict: not all of its limits are "
			  "those of this run",
			  pair->policies[0], pair->policies[1]);
}

static bool add_section(GArray *pairs, const struct config_verdict *verdict,
			const struct verdict_policies *policies, GError **error)
{
	for (uint32_t i = 0; i < verdict->pairs_count; i++)
		if (!add_configured(pairs, &verdict->pairs[i], false, policies, error))
			return false;
	for (uint32_t i = 0; i < verdict->controls_count; i++)
		if (!add_configured(pairs, &verdict->controls[i], true, policies, error))
			return false;
	return true;
}

static void add_all(GArray *pairs, const struct verdict_policies *policies)
{
	for (uint32_t limit = 0; limit < policies->limits_count; limit++)
		for (uint32_t i = 0; i < policies->count; i++)
			for (uint32_t j = i + 1; j < policies->count; j++)
				add_pair(pairs, policies, i, j, limit, false);
}

struct verdict_plan *verdict_plan_new(const struct config_verdict *verdict,
				      const struct verdict_policies *policies, uint32_t repeats,
				      GError **error)
{
	g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(struct verdict_pair));
	struct verdict_plan *plan;
	gsize count;

	if (verdict && verdict->pairs_count > 0) {
		if (!add_section(pairs, verdict, policies, error))
			return NULL;
	} else {
		add_all(pairs, policies);
	}
	if ((uint64_t)policies->count * policies->limits_count * repeats > RUNS_MAX ||
	    repeats > REPEATS_MAX)
		return error_null(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS,
				  "a verdict on %u policies at %u limits with %u repeats: the full "
				  "design may have %d runs, and %d repeats; ask for fewer repeats",
				  policies->count, policies->limits_count, repeats, RUNS_MAX,
				  REPEATS_MAX);
	if (pairs->len == 0)
		return error_null(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS,
				  "a verdict needs two policies; this run has %u", policies->count);
	plan = g_new0(struct verdict_plan, 1);
	plan->cells_count = policies->count * policies->limits_count;
	plan->cells = g_new(struct verdict_cell, plan->cells_count);
	for (uint32_t i = 0; i < plan->cells_count; i++)
		plan->cells[i] = (struct verdict_cell){
			.policy = g_strdup(policies->names[i % policies->count]),
			.limit = policies->limits[i / policies->count],
			.utility_sd = NAN,
		};
	plan->pairs = g_array_steal(pairs, &count);
	plan->pairs_count = (uint32_t)count;
	plan->repeats = repeats;
	plan->alpha = verdict ? verdict->alpha : VERDICT_ALPHA;
	plan->equal_within = verdict ? verdict->equal_within : VERDICT_EQUAL_WITHIN;
	return plan;
}

/* The record. */

/* The most repeats of a cell of a plan. */
static uint32_t repeats_max(uint32_t cells)
{
	return (uint32_t)MIN(REPEATS_MAX, RUNS_MAX / cells);
}

/* Whether what was read is a plan, so that no index is out of bounds, and it fits into memory. */
static bool makes_sense(const struct verdict_plan *plan)
{
	bool good = plan->cells_count > 0 && plan->pairs_count > 0 && plan->repeats > 0 &&
		    plan->repeats <= repeats_max(plan->cells_count) && plan->alpha > 0 &&
		    plan->alpha < 1;

	for (uint32_t i = 0; i < plan->pairs_count; i++)
		good = good && plan->pairs[i].first < plan->cells_count &&
		       plan->pairs[i].second < plan->cells_count &&
		       plan->pairs[i].first != plan->pairs[i].second;
	return good;
}

struct verdict_plan *verdict_plan_load(struct store *store, GError **error)
{
	g_autofree char *text = store_get_meta(store, KEY);
	g_autoptr(verdict_plan_t) plan = NULL;
	g_autoptr(json_t) json = NULL;
	g_autoptr(GError) reason = NULL;

	if (!text)
		return NULL;
	json = json_parse(text, strlen(text), KEY, &reason);
	plan = record_new(&plan_record);
	if (json && record_from_json(&plan_record, json, plan, &reason) && makes_sense(plan))
		return g_steal_pointer(&plan);
	return error_null(error, VERDICT_ERROR, VERDICT_ERROR_RECORD,
			  "the pairs of the verdict on record cannot be read: %s",
			  reason ? reason->message : "they make no sense");
}

bool verdict_plan_save(const struct verdict_plan *plan, struct store *store, GError **error)
{
	g_autoptr(json_t) json = record_to_json(&plan_record, plan);
	g_autofree char *text = json_text(json);

	return store_set_meta(store, KEY, text, error);
}

static bool same_cell(const struct verdict_cell *a, const struct verdict_cell *b)
{
	return g_str_equal(a->policy, b->policy) && same_limit(a->limit, b->limit);
}

bool verdict_plan_same(const struct verdict_plan *recorded, const struct verdict_plan *wanted,
		       GError **error)
{
	bool same = recorded->pairs_count == wanted->pairs_count &&
		    recorded->alpha == wanted->alpha &&
		    recorded->equal_within == wanted->equal_within;

	for (uint32_t i = 0; same && i < recorded->pairs_count; i++) {
		const struct verdict_pair *a = &recorded->pairs[i];
		const struct verdict_pair *b = &wanted->pairs[i];

		same = a->control == b->control &&
		       same_cell(&recorded->cells[a->first], &wanted->cells[b->first]) &&
		       same_cell(&recorded->cells[a->second], &wanted->cells[b->second]);
	}
	return same || error_fail(error, VERDICT_ERROR, VERDICT_ERROR_CHANGED,
				  "the pairs of section verdict were fixed when these runs began, "
				  "and are others now; start another run, with another --out");
}

uint32_t verdict_plan_full_runs(const struct verdict_plan *plan)
{
	g_autofree bool *used = g_new0(bool, plan->cells_count);
	uint32_t cells = 0;

	for (uint32_t i = 0; i < plan->pairs_count; i++)
		used[plan->pairs[i].first] = used[plan->pairs[i].second] = true;
	for (uint32_t i = 0; i < plan->cells_count; i++)
		cells += used[i];
	return cells * plan->repeats;
}

/* Judging. */

static bool has_ended(const struct store_run *row)
{
	return row->ended_by && !g_str_equal(row->ended_by, "aborted");
}

/* The cell of a run; their number: none. */
static uint32_t cell_of(const struct verdict_plan *plan, const struct store_run *row)
{
	uint32_t i = 0;

	while (i < plan->cells_count && !(g_str_equal(plan->cells[i].policy, row->policy) &&
					  same_limit(plan->cells[i].limit, row->limit)))
		i++;
	return i;
}

static void take_runs(struct verdict_outcome *outcome, const GPtrArray *rows)
{
	const struct verdict_plan *plan = outcome->plan;
	const uint32_t repeats = outcome->design.repeats;
	g_autofree bool *ended = g_new0(bool, (gsize)plan->cells_count *repeats);

	for (gsize i = 0; i < (gsize)plan->cells_count * repeats; i++)
		outcome->runs.utility[i] = NAN;
	for (guint i = 0; i < rows->len; i++) {
		const struct store_run *row = g_ptr_array_index(rows, i);
		const uint32_t cell = cell_of(plan, row);

		if (!has_ended(row) || cell == plan->cells_count || row->repeat < 1 ||
		    row->repeat > repeats)
			continue;
		outcome->made += !ended[cell * repeats + row->repeat - 1];
		ended[cell * repeats + row->repeat - 1] = true;
		outcome->runs.utility[cell * repeats + row->repeat - 1] = row->utility;
	}
	for (uint32_t cell = 0; cell < plan->cells_count; cell++)
		while (outcome->runs.done[cell] < repeats &&
		       ended[cell * repeats + outcome->runs.done[cell]])
			outcome->runs.done[cell]++;
}

/* The most repeats that are on record: a design that was reduced keeps them. */
static uint32_t most_repeats(const struct verdict_plan *plan, const GPtrArray *rows)
{
	uint32_t most = plan->repeats;

	for (guint i = 0; i < rows->len; i++) {
		const struct store_run *row = g_ptr_array_index(rows, i);

		if (has_ended(row) && cell_of(plan, row) < plan->cells_count &&
		    row->repeat <= repeats_max(plan->cells_count))
			most = MAX(most, row->repeat);
	}
	return most;
}

struct verdict_outcome *verdict_outcome_new(const struct verdict_plan *plan, const GPtrArray *rows)
{
	struct verdict_outcome *outcome = g_new0(struct verdict_outcome, 1);
	const uint32_t repeats = most_repeats(plan, rows);

	outcome->plan = plan;
	outcome->noise = g_new(double, plan->cells_count);
	for (uint32_t i = 0; i < plan->cells_count; i++)
		outcome->noise[i] = plan->cells[i].utility_sd;
	outcome->design = (struct verdict_design){
		.cells = plan->cells_count,
		.repeats = repeats,
		.pairs = plan->pairs,
		.pairs_count = plan->pairs_count,
		.alpha = plan->alpha,
		.equal_within = plan->equal_within,
		.noise = outcome->noise,
		.noise_df = VERDICT_NOISE_DF,
	};
	outcome->runs.done = g_new0(uint32_t, plan->cells_count);
	outcome->runs.utility = g_new(double, (gsize)plan->cells_count *repeats);
	take_runs(outcome, rows);
	outcome->findings = g_new(struct verdict_finding, plan->pairs_count);
	verdict_judge(&outcome->design, &outcome->runs, outcome->findings);
	outcome->all_ran = true;
	for (uint32_t i = 0; i < plan->pairs_count; i++)
		outcome->all_ran = outcome->all_ran &&
				   outcome->runs.done[plan->pairs[i].first] > 0 &&
				   outcome->runs.done[plan->pairs[i].second] > 0;
	return outcome;
}

void verdict_outcome_free(struct verdict_outcome *outcome)
{
	if (!outcome)
		return;
	g_free(outcome->noise);
	g_free(outcome->runs.done);
	g_free(outcome->runs.utility);
	g_free(outcome->findings);
	g_free(outcome);
}

bool verdict_outcome_next(const struct verdict_outcome *outcome, const GPtrArray *rows,
			  uint32_t *ret_cell, uint32_t *ret_repeat)
{
	for (guint i = rows->len; i > 0; i--) {
		const struct store_run *row = g_ptr_array_index(rows, i - 1);
		const uint32_t cell = cell_of(outcome->plan, row);

		if (has_ended(row) || cell == outcome->plan->cells_count ||
		    row->repeat != outcome->runs.done[cell] + 1 ||
		    row->repeat > outcome->plan->repeats)
			continue;
		*ret_cell = cell;
		*ret_repeat = row->repeat;
		return true;
	}
	if (!verdict_choose(&outcome->design, &outcome->runs, outcome->findings, ret_cell))
		return false;
	*ret_repeat = outcome->runs.done[*ret_cell] + 1;
	return true;
}

uint32_t verdict_outcome_expected(const struct verdict_outcome *outcome)
{
	const struct verdict_plan *plan = outcome->plan;
	g_autofree uint32_t *needs = g_new0(uint32_t, plan->cells_count);
	uint32_t expected = 0;

	for (uint32_t i = 0; i < plan->pairs_count; i++) {
		const struct verdict_pair *pair = &plan->pairs[i];
		const struct verdict_finding *finding = &outcome->findings[i];
		const uint32_t least = pair->control || finding->state != VERDICT_OPEN
					       ? 1
					       : MIN(finding->needs, outcome->design.repeats);

		needs[pair->first] = MAX(needs[pair->first], least);
		needs[pair->second] = MAX(needs[pair->second], least);
	}
	for (uint32_t cell = 0; cell < plan->cells_count; cell++)
		expected += needs[cell] > outcome->runs.done[cell]
				    ? needs[cell] - outcome->runs.done[cell]
				    : 0;
	return expected;
}
