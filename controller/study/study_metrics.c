/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_metrics.h"

#include "controller/config/config_environment.h"

bool study_shares(const struct config *config)
{
	return config_environment(config) && config_environment(config)->sharing;
}

bool study_prunes(const struct config *config)
{
	return config_environment(config) && config_environment(config)->pruning;
}

static void measure_sharing(const struct engine_result *result, double stretch_best,
			    double host_gib, double *values)
{
	const double pauses = (double)result->pauses;
	const double migrations = (double)result->migrations;
	const double hours = result->span_s / 3600;

	values[STUDY_DEGRADATION] =
		stretch_best > 0 ? result->stretch_max / stretch_best : STUDY_NONE;
	values[STUDY_STRETCH_MAX] = result->stretch_max;
	values[STUDY_STRETCH_MEAN] = result->stretch_mean;
	values[STUDY_PAUSES_PER_JOB] = pauses / result->tasks_completed;
	values[STUDY_MIGRATIONS_PER_JOB] = migrations / result->tasks_completed;
	values[STUDY_PAUSES_PER_HOUR] = pauses / hours;
	values[STUDY_MIGRATIONS_PER_HOUR] = migrations / hours;
	values[STUDY_PAUSE_GIB_S] = 2 * result->paused_memory * host_gib / result->span_s;
	values[STUDY_MIGRATION_GIB_S] = result->moved_memory * host_gib / result->span_s;
}

static void measure_pruning(const struct engine_result *result, double *values)
{
	const double percent = 100.0 * result->tasks_on_time / result->tasks_counted;

	values[STUDY_ROBUSTNESS] = percent;
	values[STUDY_VARIANCE] = 100 * result->type_variance;
	values[STUDY_COST] = percent > 0 ? result->cost / percent : STUDY_NONE;
}

void study_metrics(const struct engine_result *result, double stretch_best, double host_gib,
		   double ret_values[STUDY_METRICS])
{
	for (int m = 0; m < STUDY_METRICS; m++)
		ret_values[m] = STUDY_NONE;
	if (result->stretch_max > 0)
		measure_sharing(result, stretch_best, host_gib, ret_values);
	if (result->tasks_counted > 0)
		measure_pruning(result, ret_values);
	for (int m = 0; m < STUDY_METRICS; m++)
		if (isnan(ret_values[m]))
			ret_values[m] = STUDY_NONE;
	ret_values[STUDY_UTILITY] = result->utility;
	if (result->utility_max > 0)
		ret_values[STUDY_UTILITY_PERCENT] = 100 * result->utility / result->utility_max;
	ret_values[STUDY_ENERGY_J] = result->energy_j;
	ret_values[STUDY_COMPLETED] = result->tasks_completed;
	ret_values[STUDY_DROPPED] = result->tasks_dropped;
	ret_values[STUDY_COMPLETED_PERCENT] =
		100.0 * result->tasks_completed / result->tasks_arrived;
	ret_values[STUDY_BUSY_S] = result->busy_s;
}

void study_values_init(struct study_values *values)
{
	for (int m = 0; m < STUDY_METRICS; m++)
		values->of[m] = g_array_new(FALSE, FALSE, sizeof(double));
}

void study_values_add(struct study_values *values, const double metrics[STUDY_METRICS])
{
	for (int m = 0; m < STUDY_METRICS; m++)
		if (metrics[m] != STUDY_NONE)
			g_array_append_val(values->of[m], metrics[m]);
}

void study_values_clear(struct study_values *values)
{
	for (int m = 0; m < STUDY_METRICS; m++)
		g_array_unref(values->of[m]);
}
