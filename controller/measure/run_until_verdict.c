/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_until_verdict.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/read_number.h"
#include "controller/measure/run_cell.h"
#include "controller/report/resampling.h"
#include "controller/run/run_finished.h"
#include "controller/session/run_session_private.h"
#include "controller/verdict/verdict_plan.h"

/* In table meta: what the runs have taken so far, with all that is between them. */
#define USED_S "verdict_used_s"

#define HOUR_S 3600.0

static struct verdict_plan *new_plan(const struct run_series *series, GError **error)
{
	const struct run_session *session = series->session;
	const struct experiment *experiment = series->experiment;
	g_autofree const char **names = g_new(const char *, experiment->policies_count);
	const struct verdict_policies policies = {
		.written = (const char *const *)session->plan->policies,
		.names = names,
		.count = experiment->policies_count,
		.limits = session->plan->limits,
		.limits_count = session->plan->limits_count,
	};

	for (uint32_t i = 0; i < experiment->policies_count; i++)
		names[i] = experiment->policies[i].name;
	return verdict_plan_new(config_verdict(session->config), &policies, session->plan->repeats,
				error);
}

/* The plan on record, with the repeats that are wanted now; else a new one, recorded. */
static struct verdict_plan *find_plan(const struct run_series *series, GError **error)
{
	struct store *store = series->session->store;
	g_autoptr(verdict_plan_t) wanted = new_plan(series, error);
	g_autoptr(GError) reason = NULL;
	g_autoptr(verdict_plan_t) recorded = wanted ? verdict_plan_load(store, &reason) : NULL;

	if (!wanted)
		return NULL;
	if (reason) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return NULL;
	}
	if (recorded) {
		if (!verdict_plan_same(recorded, wanted, error))
			return NULL;
		recorded->repeats = wanted->repeats;
	} else {
		recorded = g_steal_pointer(&wanted);
	}
	return verdict_plan_save(recorded, store, error) ? g_steal_pointer(&recorded) : NULL;
}

/* Takes the noise of each cell from repeats that are simulated; what is not known stays so. */
static void simulate_noise(const struct run_session *session, struct verdict_plan *plan)
{
	g_autoptr(GError) trouble = NULL;
	g_autoptr(summary_t) summary = summary_load(session->dir, &trouble);
	g_autoptr(resampling_t) noise = summary ? resampling_new(summary, true, &trouble) : NULL;
	struct compare_resampling *known = resampling_compare(noise);

	for (uint32_t i = 0; known && i < plan->cells_count; i++) {
		struct verdict_cell *cell = &plan->cells[i];
		uint32_t repeats;

		if (!known->sd(known, COMPARE_BY_UTILITY, cell->policy, cell->limit,
			       &cell->utility_sd, &repeats))
			cell->utility_sd = NAN;
	}
	if (trouble)
		run_progress_note(session->progress, "verdict",
				  "the noise of measuring again cannot be simulated: %s; the "
				  "verdict takes more runs",
				  trouble->message);
	plan->noise_asked = true;
}

/* Notes that controls are decided: policies that are equal by design differ. */
static void note_controls(const struct run_session *session, const struct verdict_outcome *outcome)
{
	for (uint32_t i = 0; i < outcome->plan->pairs_count; i++) {
		const struct verdict_pair *pair = &outcome->plan->pairs[i];
		const struct verdict_finding *finding = &outcome->findings[i];
		const struct verdict_cell *cells = outcome->plan->cells;

		if (pair->control &&
		    (finding->state == VERDICT_FIRST || finding->state == VERDICT_SECOND))
			run_progress_note(session->progress, "control-differs",
					  "CONTROL: %s and %s at %.0f %% are equal by design, and "
					  "differ by %.2f (%.2f .. %.2f): something else than the "
					  "policies differs in this measurement",
					  cells[pair->first].policy, cells[pair->second].policy,
					  100 * cells[pair->first].limit, finding->difference,
					  finding->low, finding->high);
	}
}

static uint32_t count_open(const struct verdict_outcome *outcome)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < outcome->plan->pairs_count; i++)
		open += !outcome->plan->pairs[i].control &&
			outcome->findings[i].state == VERDICT_OPEN;
	return open;
}

/* Why the run is made, for its event. */
static char *choice_of(const struct verdict_outcome *outcome, uint32_t cell, uint32_t repeat)
{
	g_autoptr(json_t) pairs = json_array();
	g_autoptr(json_t) choice = NULL;

	for (uint32_t i = 0; i < outcome->plan->pairs_count; i++) {
		const struct verdict_pair *pair = &outcome->plan->pairs[i];
		const struct verdict_finding *finding = &outcome->findings[i];

		if (pair->control || finding->state != VERDICT_OPEN ||
		    (pair->first != cell && pair->second != cell))
			continue;
		json_array_append_new(pairs,
				      json_pack("{s:s, s:s, s:I, s:I}", "first",
						outcome->plan->cells[pair->first].policy, "second",
						outcome->plan->cells[pair->second].policy,
						"repeats", (json_int_t)finding->n, "needs",
						(json_int_t)finding->needs));
	}
	choice = json_pack("{s:s, s:f, s:I, s:I, s:O}", "policy", outcome->plan->cells[cell].policy,
			   "limit", outcome->plan->cells[cell].limit, "repeat", (json_int_t)repeat,
			   "runs", (json_int_t)outcome->made, "pairs", pairs);
	return json_text(choice);
}

/* Hours. */

static double used_s(struct store *store)
{
	g_autofree char *text = store_get_meta(store, USED_S);
	double s;

	return read_number(text, 0, DBL_MAX, &s) ? s : 0;
}

static bool add_used(struct store *store, double s, GError **error)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_dtostr(text, sizeof(text), used_s(store) + s);
	return store_set_meta(store, USED_S, text, error);
}

/* What a run under `limit` is expected to take, with all that is before and after it. */
static double expected_s(const struct run_series *series, const GPtrArray *rows, double limit)
{
	const double used = used_s(series->session->store);
	double all = 0, here = 0;
	uint32_t count = 0, count_here = 0;

	for (guint i = 0; i < rows->len; i++) {
		const struct store_run *row = g_ptr_array_index(rows, i);

		if (!run_has_ended(row))
			continue;
		all += row->ended_s;
		count++;
		if (fabs(row->limit - limit) > CONFIG_LIMITS_DIFFER)
			continue;
		here += row->ended_s;
		count_here++;
	}
	if (count_here > 0)
		return here / count_here + fmax(0, used - all) / count;
	return run_session_run_s(series->session);
}

/* The number of runs under `limit` for which the hours of the plan suffice, up to `most`. */
static uint32_t has_time_for(const struct run_series *series, const GPtrArray *rows, double limit,
			     uint32_t most)
{
	const double most_h = series->session->plan->most_h;
	const double left_s = most_h * HOUR_S - used_s(series->session->store);
	const double run_s = expected_s(series, rows, limit);

	if (!(most_h > 0) || !(run_s > 0))
		return most;
	return (uint32_t)fmin(most, fmax(0, left_s / run_s));
}

/* The end. */

static bool record_end(const struct run_series *series, const char *why, GError **error)
{
	const struct run_plan *plan = series->session->plan;
	g_autoptr(json_t) end =
		json_pack("{s:s, s:I, s:f, s:f}", "why", why, "repeats", (json_int_t)plan->repeats,
			  "most_h", plan->most_h, "used_s", used_s(series->session->store));
	g_autofree char *text = json_text(end);

	return store_set_meta(series->session->store, RUN_VERDICT_END, text, error);
}

/* A policy of the experiment; the pairs are of these (find_plan()). */
static const struct policy *policy_of(const struct run_series *series, const char *name)
{
	const struct experiment *experiment = series->experiment;
	uint32_t i = 0;

	while (i + 1 < experiment->policies_count &&
	       !g_str_equal(experiment->policies[i].name, name))
		i++;
	return &experiment->policies[i];
}

static bool make_run(struct run_series *series, const struct verdict_outcome *outcome,
		     const GPtrArray *rows, uint32_t cell, uint32_t repeat, GError **error)
{
	const struct run_session *session = series->session;
	const int64_t began_ns = platform_now_ns(session->platform);
	g_autofree char *choice = choice_of(outcome, cell, repeat);
	double took_s;
	bool good;

	series->chosen = choice;
	series->done = outcome->made;
	series->total =
		outcome->made + MAX(1, has_time_for(series, rows, outcome->plan->cells[cell].limit,
						    verdict_outcome_expected(outcome)));
	good = run_cell(series, policy_of(series, outcome->plan->cells[cell].policy),
			outcome->plan->cells[cell].limit, repeat, error);
	series->chosen = NULL;
	took_s = clock_elapsed_s(began_ns, platform_now_ns(session->platform));
	if (good)
		return add_used(session->store, took_s, error);
	/* An interrupted run took its time, too; why it ended is the error that counts. */
	add_used(session->store, took_s, NULL);
	return false;
}

/* Makes the next run. *ret_why is why there is none; NULL: there was one. */
static bool step(struct run_series *series, struct verdict_plan *plan, const char **ret_why,
		 GError **error)
{
	struct run_session *session = series->session;
	g_autoptr(GPtrArray) rows = store_runs(session->store, error);
	g_autoptr(verdict_outcome_t) outcome = rows ? verdict_outcome_new(plan, rows) : NULL;
	uint32_t cell, repeat;

	*ret_why = NULL;
	if (!outcome)
		return false;
	if (outcome->all_ran && !plan->noise_asked) {
		if (!run_session_commit(session, error))
			return false;
		simulate_noise(session, plan);
		return verdict_plan_save(plan, session->store, error);
	}
	if (!verdict_outcome_next(outcome, rows, &cell, &repeat))
		*ret_why = "decided";
	else if (has_time_for(series, rows, plan->cells[cell].limit, 1) == 0)
		*ret_why = "hours";
	if (!*ret_why)
		return make_run(series, outcome, rows, cell, repeat, error);
	series->done = series->total = outcome->made;
	note_controls(session, outcome);
	run_progress_note(
		session->progress, "verdict",
		"until the verdict: %s after %u runs, of the %u of the full design; %u of "
		"%u pairs are open",
		g_str_equal(*ret_why, "hours") ? "the hours are over" : "no further run is wanted",
		outcome->made, verdict_plan_full_runs(plan), count_open(outcome),
		plan->pairs_count);
	return true;
}

bool run_until_verdict(struct run_series *series, GError **error)
{
	g_autoptr(verdict_plan_t) plan = find_plan(series, error);
	const char *why = NULL;
	bool good = plan != NULL;

	while (good && !why)
		good = step(series, plan, &why, error);
	return good && record_end(series, why, error);
}
