/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_driver.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/read_number.h"
#include "controller/measure/run_measured.h"
#include "controller/run/run_finished.h"
#include "controller/session/run_record.h"
#include "controller/session/run_session_private.h"
#include "controller/store/store_records.h"

/* The runs of the plan. */

static bool can_continue(const struct run_series *series, const struct store_run *row)
{
	g_autofree char *boot_id = platform_boot_id(series->session->platform);
	g_autoptr(json_t) baseline = run_record_find_baseline(series->session->store, row->run);

	/* Tasks on shared hosts cannot be restored (engine.h). */
	return series->session->go_on && baseline && !series->experiment->shared &&
	       g_strcmp0(row->boot_id, boot_id) == 0;
}

static bool close_aborted(struct run_series *series, struct store_run *row, GError **error)
{
	row->ended_by = g_strdup("aborted");
	run_progress_note(series->session->progress, "run-aborted",
			  "run %" PRId64 " (%s at %.0f %%) was interrupted and is repeated",
			  row->run, row->policy, 100 * row->limit);
	return store_update_run(series->session->store, row, error) &&
	       store_add_event(series->session->store, row->run, row->ended_s, "aborted",
			       "{\"text\":\"interrupted\"}", error);
}

/*
 * Sets *ret_ended if the run has ended already, or fills *ret_row from a run that can continue;
 * closes runs that cannot.
 */
static bool find_cell(struct run_series *series, const struct policy *policy, double limit,
		      uint32_t repeat, bool *ret_ended, struct store_run *ret_row, GError **error)
{
	g_autoptr(GPtrArray) rows = store_runs(series->session->store, error);

	*ret_ended = false;
	if (!rows)
		return false;
	for (guint i = 0; i < rows->len; i++) {
		struct store_run *row = g_ptr_array_index(rows, i);

		if (!run_is_cell(row, policy, limit, repeat))
			continue;
		if (row->ended_by)
			*ret_ended = *ret_ended || run_has_ended(row);
		else if (can_continue(series, row))
			record_copy_to(&store_run_record, row, ret_row);
		else if (!close_aborted(series, row, error))
			return false;
	}
	return true;
}

static struct store_run new_row(const struct run_series *series, const struct policy *policy,
				double limit, uint32_t repeat)
{
	return (struct store_run){
		.policy = g_strdup(policy->name),
		.limit = limit,
		.limit_j = limit * series->budget_j,
		.repeat = repeat,
		.seed = series->trial.workload->seed,
		.measured = true,
		.host_load = (double)NAN,
	};
}

static bool do_cell(struct run_series *series, const struct policy *policy, double limit,
		    uint32_t repeat, GError **error)
{
	const int64_t began_ns = platform_now_ns(series->session->platform);
	struct store_run row = {0};
	bool ended;
	bool good = find_cell(series, policy, limit, repeat, &ended, &row, error);

	if (good && !ended) {
		if (!row.run)
			row = new_row(series, policy, limit, repeat);
		good = run_measured(series, policy, &row, error);
		series->timed++;
		series->timed_s +=
			clock_elapsed_s(began_ns, platform_now_ns(series->session->platform));
	}
	series->session->run = 0;
	series->done += good;
	record_clear(&store_run_record, &row);
	return good;
}

static bool do_cells(struct run_series *series, GError **error)
{
	const struct run_plan *plan = series->session->plan;

	for (uint32_t repeat = 1; repeat <= plan->repeats; repeat++)
		for (uint32_t i = 0; i < plan->limits_count; i++)
			for (uint32_t j = 0; j < series->experiment->policies_count; j++)
				if (!do_cell(series, &series->experiment->policies[j],
					     plan->limits[i], repeat, error))
					return false;
	return true;
}

/* The budget of the first controller is kept, so that a continued run keeps its limit. */
static bool find_budget(struct run_series *series, GError **error)
{
	struct store *store = series->session->store;
	g_autofree char *known = store_get_meta(store, "budget_j");
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	if (read_number(known, 0, DBL_MAX, &series->budget_j))
		return true;
	series->budget_j = experiment_budget_j(series->experiment, 0, error);
	if (!(series->budget_j > 0))
		return false;
	g_ascii_dtostr(text, sizeof(text), series->budget_j);
	return store_set_meta(store, "budget_j", text, error);
}

static void series_clear(struct run_series *series)
{
	experiment_trial_clear(&series->trial);
	experiment_free(series->experiment);
}

bool run_driver(struct run_session *session, GError **error)
{
	struct run_series series = {.session = session};
	bool good;

	series.experiment = experiment_new(session->config,
					   (const char *const *)session->plan->policies, error);
	if (!series.experiment)
		return false;
	good = experiment_trial_init(series.experiment, 0, 1, &series.trial, error);
	series.total = run_session_runs(session);
	good = good && find_budget(&series, error) && do_cells(&series, error);
	series_clear(&series);
	return good;
}
