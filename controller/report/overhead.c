/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/overhead.h"

#include <math.h>

#include "controller/backend/sim.h"
#include "controller/config/config_controller.h"
#include "controller/engine/experiment.h"
#include "controller/report/table.h"

struct overhead {
	uint32_t samples;
	bool profiled; /* the overheads come from a profile */
	GArray *rows;  /* of struct overhead_row */
};

static void clear_row(gpointer data)
{
	g_free(((struct overhead_row *)data)->policy);
}

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

static double simulate(const struct experiment *experiment, const struct experiment_trial *trial,
		       const struct policy *policy, double limit_j, bool with,
		       double *ret_suspensions)
{
	struct engine_setup setup = experiment_trial_setup(experiment, trial, policy, limit_j);
	const uint32_t count = trial->workload->tasks_count;
	struct engine_result result;
	struct backend *backend;
	struct engine *engine;

	backend = with ? experiment_backend_new(experiment, trial, &setup)
		       : backend_sim_new(trial->whole ? trial->whole : trial->system, count);
	engine = engine_new(&setup, backend);
	engine_run(engine, &result);
	*ret_suspensions = 0;
	for (uint32_t i = 0; i < count; i++)
		*ret_suspensions += engine_task(engine, i)->suspensions;
	engine_free(engine);
	backend_destroy(backend);
	return result.utility;
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
	struct overhead_row row = {
		.limit = cell->limit,
		.measured_utility = cell->utility_mean,
	};
	struct policy policy;
	char message[256];

	if (policy_parse(cell->policy, &policy, message, sizeof(message)) < 0)
		return true;
	if (!count_measured(measured, cell, &row.measured_suspensions, error))
		return false;
	row.policy = g_strdup(cell->policy);
	row.with_utility = simulate(experiment, trial, &policy, cell->limit_j, true,
				    &row.with_suspensions);
	row.without_utility = simulate(experiment, trial, &policy, cell->limit_j, false,
				       &row.without_suspensions);
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
	if (!experiment)
		return false;
	if (!experiment_trial_init(experiment, run->seed, 1, &trial, error))
		return false;
	for (guint i = 0; good && i < measured->policies->len * measured->limits->len; i++)
		if (measured->cells[i].runs)
			good = add_row(overhead, measured, &measured->cells[i], experiment,
				       &trial, error);
	experiment_trial_clear(&trial);
	return good;
}

struct overhead *overhead_new(const struct summary *measured, GError **error)
{
	g_autofree char *path = g_build_filename(measured->path, "config.yaml", NULL);
	g_autoptr(config_t) config = config_controller_load(path, error);
	g_autoptr(overhead_t) overhead = g_new0(struct overhead, 1);

	overhead->rows = g_array_new(FALSE, FALSE, sizeof(struct overhead_row));
	g_array_set_clear_func(overhead->rows, clear_row);
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

static const char *const columns[] = {
	"limit %",  "policy",       "suspended meas", "sim with", "sim without",
	"utility meas", "sim with", "sim without",    "with - without",
};

char *overhead_text(const struct overhead *overhead)
{
	g_autoptr(table_t) table = table_new();
	g_autofree char *body = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(columns); i++)
		table_column(table, columns[i], i == 1 ? TABLE_LEFT : TABLE_RIGHT);
	for (guint i = 0; i < overhead->rows->len; i++) {
		const struct overhead_row *row =
			&g_array_index(overhead->rows, struct overhead_row, i);

		table_row(table);
		table_number(table, 100 * row->limit, 0);
		table_text(table, row->policy);
		table_number(table, row->measured_suspensions, 1);
		table_number(table, row->with_suspensions, 0);
		table_number(table, row->without_suspensions, 0);
		table_number(table, row->measured_utility, 2);
		table_number(table, row->with_utility, 2);
		table_number(table, row->without_utility, 2);
		table_number(table, row->with_utility - row->without_utility, 2);
	}
	body = table_format(table, 2);
	return g_strdup_printf(
		"\nPreemption: what its overheads change, simulated on the measured arrivals\n%s"
		"  with: every suspension takes what one of %u took that %s recorded on its "
		"cluster; "
		"without: no time\n",
		body, overhead->samples, overhead->profiled ? "the profile" : "these runs");
}

json_t *overhead_json(const struct overhead *overhead)
{
	json_t *list = json_array();

	for (guint i = 0; i < overhead->rows->len; i++) {
		const struct overhead_row *row =
			&g_array_index(overhead->rows, struct overhead_row, i);

		json_array_append_new(
			list,
			json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "policy", row->policy,
				  "limit", row->limit, "measured_utility", row->measured_utility,
				  "with_utility", row->with_utility, "without_utility",
				  row->without_utility, "measured_suspensions",
				  row->measured_suspensions, "with_suspensions",
				  row->with_suspensions, "without_suspensions",
				  row->without_suspensions));
	}
	return json_pack("{s:i, s:s, s:o}", "samples", (int)overhead->samples, "from",
			 overhead->profiled ? "profile" : "runs", "rows", list);
}
