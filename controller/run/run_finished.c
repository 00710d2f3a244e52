/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_finished.h"

#include <math.h>

#include "common/json.h"

bool run_has_ended(const struct store_run *row)
{
	return row->ended_by && !g_str_equal(row->ended_by, "aborted");
}

bool run_is_cell(const struct store_run *row, const struct policy *policy, double limit,
		 uint32_t repeat)
{
	return g_str_equal(row->policy, policy->name) && fabs(row->limit - limit) < 1e-9 &&
	       row->repeat == repeat;
}

char **run_policy_names(char *const *written)
{
	const guint count = g_strv_length((char **)written);
	char **names = g_new0(char *, count + 1);

	for (guint i = 0; i < count; i++) {
		struct policy policy;

		names[i] = g_strdup(policy_parse(written[i], &policy, NULL, 0) == 0 ? policy.name
										    : written[i]);
	}
	return names;
}

static bool has_ended(const GPtrArray *rows, const struct policy *policy, double limit,
		      uint32_t repeat)
{
	for (guint i = 0; i < rows->len; i++) {
		const struct store_run *row = g_ptr_array_index(rows, i);

		if (run_is_cell(row, policy, limit, repeat) && run_has_ended(row))
			return true;
	}
	return false;
}

static bool all_have_ended(const struct run_plan *plan, const GPtrArray *rows)
{
	struct policy policy;
	char message[512];

	for (char *const *name = plan->policies; *name; name++) {
		if (policy_parse(*name, &policy, message, sizeof(message)) < 0)
			return false;
		for (uint32_t i = 0; i < plan->limits_count; i++)
			for (uint32_t repeat = 1; repeat <= plan->repeats; repeat++)
				if (!has_ended(rows, &policy, plan->limits[i], repeat))
					return false;
	}
	return true;
}

/* Whether the verdict's end on record is that of the plan, which allows no more time. */
static bool verdict_has_ended(const struct run_plan *plan, struct store *store)
{
	g_autoptr(json_t) end = store_get_document(store, RUN_VERDICT_END);
	const char *why = json_string_value(json_object_get(end, "why"));

	if (!why || json_integer_value(json_object_get(end, "repeats")) != plan->repeats)
		return false;
	return g_str_equal(why, "decided") ||
	       (plan->most_h > 0 &&
		plan->most_h <= json_number_value(json_object_get(end, "most_h")));
}

bool run_is_finished(const struct run_plan *plan, const char *dir)
{
	g_autofree char *estimates = g_build_filename(dir, "estimates.yaml", NULL);
	g_autoptr(store_t) store = NULL;
	g_autoptr(GPtrArray) rows = NULL;
	g_autofree char *ended = NULL;

	if (!plan->run || (plan->profile && !g_file_test(estimates, G_FILE_TEST_EXISTS)))
		return false;
	store = store_open(dir, false, NULL);
	rows = store ? store_runs(store, NULL) : NULL;
	ended = rows ? store_get_meta(store, "ended_utc") : NULL;
	return ended &&
	       (plan->until_verdict ? verdict_has_ended(plan, store) : all_have_ended(plan, rows));
}
