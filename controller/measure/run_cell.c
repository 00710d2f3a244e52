/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_cell.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "controller/run/run_finished.h"
#include "controller/session/run_record.h"
#include "controller/session/run_session_private.h"
#include "controller/store/store_records.h"

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

bool run_cell(struct run_series *series, const struct policy *policy, double limit, uint32_t repeat,
	      GError **error)
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
