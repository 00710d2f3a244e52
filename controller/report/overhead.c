/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/overhead.h"

#include <math.h>

#include "controller/backend/sim.h"
#include "controller/experiment/experiment.h"
#include "controller/experiment/simulation.h"
#include "controller/report/listing.h"

/* A policy under a limit. Counts are successful suspensions, means over repeats. */
struct row {
	const char *policy; /* borrowed from the summary */
	double limit;
	double measured_utility, with_utility, without_utility;
	double measured_suspensions, with_suspensions, without_suspensions;
	double change; /* of utility, with less without */
};

static const struct record_field fields[] = {
	{RECORD_AT(row, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(row, limit)},
	{RECORD_FIELD_REAL(row, measured_utility)},
	{RECORD_FIELD_REAL(row, with_utility)},
	{RECORD_FIELD_REAL(row, without_utility)},
	{RECORD_FIELD_REAL(row, measured_suspensions)},
	{RECORD_FIELD_REAL(row, with_suspensions)},
	{RECORD_FIELD_REAL(row, without_suspensions)},
	{RECORD_FIELD_REAL(row, change), .variants = LISTING_TABLE},
	{NULL},
};
static const struct record record = {.size = sizeof(struct row), .fields = fields};

struct overhead {
	uint32_t samples;
	bool profiled; /* the overheads come from a profile */
	GArray *rows;  /* of struct row */
};

void overhead_free(struct overhead *overhead)
{
	if (!overhead)
		return;
	g_array_unref(overhead->rows);
	g_free(overhead);
}

/* Overheads. */

static bool is_whole(const struct store_suspension *one)
{
	return isfinite(one->freeze_s) && isfinite(one->save_s) && isfinite(one->restore_s) &&
	       isfinite(one->resume_s);
}

/* Appends the recorded suspensions of a run. */
static bool collect_run(const struct summary *measured, int64_t run, GArray *list, GError **error)
{
	g_autoptr(GPtrArray) suspensions = store_suspensions(measured->store, run, error);

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct store_suspension *one = g_ptr_array_index(suspensions, i);
		const struct config_overhead sample = {
			.cluster = g_strdup(one->cluster),
			.freeze_s = one->freeze_s,
			.save_s = one->save_s,
			.restore_s = one->restore_s,
			.resume_s = one->resume_s,
		};

		if (is_whole(one))
			g_array_append_val(list, sample);
		else
			g_free(sample.cluster);
	}
	return suspensions != NULL;
}

/* Sets the configuration's overheads to those of the runs; the configuration frees them. */
static bool take_from_runs(const struct summary *measured, struct config *config, GError **error)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct config_overhead));
	bool good = true;

	for (guint i = 0; good && i < measured->runs->len; i++) {
		const struct store_run *run = g_ptr_array_index(measured->runs, i);

		good = collect_run(measured, run->run, list, error);
	}
	config->overheads_count = list->len;
	config->overheads = (struct config_overhead *)(void *)g_array_free(list, FALSE);
	return good;
}

/* Rows. */

static bool simulate(const struct experiment *experiment, const struct experiment_trial *trial,
		     const struct policy *policy, double limit_j, bool with, double *ret_utility,
		     double *ret_suspensions, GError **error)
{
	struct engine_setup setup = experiment_trial_setup(experiment, trial, policy, limit_j);
	g_autoptr(plugin_t) plugin = experiment_plugin_new(experiment, &setup);
	struct engine_result result;
	struct backend *backend;
	struct engine *engine;

	backend = with ? experiment_backend_new(experiment, trial, &setup)
		       : backend_sim_new(trial->whole ? trial->whole : trial->system,
					 workload_room(trial->workload));
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, &result);
	*ret_suspensions = 0;
	for (uint32_t i = 0; i < engine_tasks_count(engine); i++)
		*ret_suspensions += engine_task_at(engine, i)->suspensions;
	engine_free(engine);
	backend_destroy(backend);
	*ret_utility = result.utility;
	return experiment_check_outside(&setup, &result, error);
}

/* The mean over the runs of a cell. */
static bool count_measured(const struct summary *measured, const struct summary_cell *cell,
			   double *ret_suspensions, GError **error)
{
	g_autoptr(GPtrArray) runs = summary_cell_runs(measured, cell->policy, cell->limit);
	double sum = 0;

	for (guint i = 0; i < runs->len; i++) {
		const struct store_run *run = g_ptr_array_index(runs, i);
		g_autoptr(GPtrArray) list = store_suspensions(measured->store, run->run, error);

		if (!list)
			return false;
		for (guint j = 0; j < list->len; j++) {
			const struct store_suspension *one = g_ptr_array_index(list, j);

			sum += isfinite(one->suspended_s);
		}
	}
	*ret_suspensions = sum / runs->len;
	return true;
}

static bool add_row(struct overhead *overhead, const struct summary *measured,
		    const struct summary_cell *cell, const struct experiment *experiment,
		    const struct experiment_trial *trial, GError **error)
{
	struct row row = {
		.policy = cell->policy,
		.limit = cell->limit,
		.measured_utility = cell->utility_mean,
	};
	struct policy policy;
	char message[256];

	if (policy_parse(cell->policy, &policy, message, sizeof(message)) < 0)
		return true;
	if (!count_measured(measured, cell, &row.measured_suspensions, error))
		return false;
	if (!simulate(experiment, trial, &policy, cell->limit_j, true, &row.with_utility,
		      &row.with_suspensions, error) ||
	    !simulate(experiment, trial, &policy, cell->limit_j, false, &row.without_utility,
		      &row.without_suspensions, error))
		return false;
	row.change = row.with_utility - row.without_utility;
	g_array_append_val(overhead->rows, row);
	return true;
}

static bool add_rows(struct overhead *overhead, const struct summary *measured,
		     const struct config *config, GError **error)
{
	const struct store_run *run = g_ptr_array_index(measured->runs, 0);
	g_autofree const char **policies = g_new0(const char *, measured->policies->len + 1);
	g_autoptr(experiment_t) experiment = NULL;
	struct experiment_trial trial;
	struct policy policy;
	bool good = true;
	guint count = 0;

	/* Only policies that this build knows have rows. */
	for (guint i = 0; i < measured->policies->len; i++)
		if (policy_parse(measured->policies->pdata[i], &policy, NULL, 0) == 0)
			policies[count++] = measured->policies->pdata[i];
	if (count == 0)
		return true;
	experiment = experiment_new(config, policies, error);
	if (!experiment || !experiment_check_programs(experiment, error))
		return false;
	if (!experiment_trial_init(experiment, run->seed, 1, &trial, error))
		return false;
	for (guint i = 0; good && i < measured->cells_count; i++)
		if (measured->cells[i].runs)
			good = add_row(overhead, measured, &measured->cells[i], experiment, &trial,
				       error);
	experiment_trial_clear(&trial);
	return good;
}

bool overhead_is_known(const struct summary *measured)
{
	g_autoptr(config_t) config = summary_config(measured, NULL);

	if (config && config->overheads_count > 0)
		return true;
	for (guint i = 0; i < measured->runs->len; i++) {
		const struct store_run *run = g_ptr_array_index(measured->runs, i);
		g_autoptr(GPtrArray) list = store_suspensions(measured->store, run->run, NULL);

		for (guint k = 0; list && k < list->len; k++)
			if (is_whole(g_ptr_array_index(list, k)))
				return true;
	}
	return false;
}

struct overhead *overhead_new(const struct summary *measured, GError **error)
{
	g_autoptr(config_t) config = summary_config(measured, error);
	g_autoptr(overhead_t) overhead = g_new0(struct overhead, 1);

	overhead->rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	if (!config || !measured->runs->len)
		return NULL;
	overhead->profiled = config->overheads_count > 0;
	if (!overhead->profiled && !take_from_runs(measured, config, error))
		return NULL;
	overhead->samples = config->overheads_count;
	if (!overhead->samples || !add_rows(overhead, measured, config, error))
		return NULL;
	return g_steal_pointer(&overhead);
}

/* Output. */

static const struct listing_column columns[] = {
	{"limit %", "limit", 0, 100},
	{"policy", "policy"},
	{"suspended meas", "measured_suspensions", 1},
	{"sim with", "with_suspensions", 0},
	{"sim without", "without_suspensions", 0},
	{"utility meas", "measured_utility", 2},
	{"sim with", "with_utility", 2},
	{"sim without", "without_utility", 2},
	{"with - without", "change", 2},
	{NULL},
};

char *overhead_text(const struct overhead *overhead)
{
	g_autoptr(table_t) table = listing_table(columns, &record, overhead->rows, G_MAXUINT);
	g_autofree char *body = table_format(table, 2);

	return g_strdup_printf(
		"\nPreemption: what its overheads change, simulated on the measured arrivals\n%s"
		"  with: every suspension takes what one of %u took that %s recorded on its "
		"cluster; "
		"without: no time\n",
		body, overhead->samples, overhead->profiled ? "the profile" : "these runs");
}

json_t *overhead_json(const struct overhead *overhead)
{
	return json_pack("{s:i, s:s, s:o}", "samples", (int)overhead->samples, "from",
			 overhead->profiled ? "profile" : "runs", "rows",
			 listing_json(&record, overhead->rows));
}
