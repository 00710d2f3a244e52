/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_driver.h"

#include <float.h>

#include "common/read_number.h"
#include "controller/measure/run_cell.h"
#include "controller/measure/run_until_verdict.h"
#include "controller/plugin/plugin_config.h"
#include "controller/session/run_session_private.h"

static bool do_cells(struct run_series *series, GError **error)
{
	const struct run_plan *plan = series->session->plan;

	for (uint32_t repeat = 1; repeat <= plan->repeats; repeat++)
		for (uint32_t i = 0; i < plan->limits_count; i++)
			for (uint32_t j = 0; j < series->experiment->policies_count; j++)
				if (!run_cell(series, &series->experiment->policies[j],
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

/*
 * Whether the programs of policies from outside start, before anything is measured; not where runs
 * continue.
 */
static bool check_programs(const struct run_series *series, GError **error)
{
	const struct experiment *experiment = series->experiment;
	g_autoptr(GPtrArray) begun = store_runs(series->session->store, error);

	if (!begun)
		return false;
	for (uint32_t i = 0; i < experiment->policies_count && begun->len == 0; i++) {
		const struct policy *policy = &experiment->policies[i];
		const struct engine_setup setup =
			experiment_trial_setup(experiment, &series->trial, policy, 0);
		const struct plugin_settings settings =
			plugin_config_run(experiment->config, setup.system);

		if (!plugin_check(policy, &settings, setup.system, setup.seed, error))
			return false;
	}
	return true;
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
	good = good && check_programs(&series, error) && find_budget(&series, error) &&
	       (session->plan->until_verdict ? run_until_verdict(&series, error)
					     : do_cells(&series, error));
	series_clear(&series);
	return good;
}
