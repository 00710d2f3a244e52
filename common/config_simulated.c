/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a configuration that are only simulated: an environment, and a study. */
#include <math.h>

#include "common/config_parts.h"

#define PSTATES_MAX 64
#define TASKS_PER_DAY_MAX 1e6
#define TRIALS_MAX 1000000
#define SIZE_MAX_SHARE 100.0

static bool is_cluster(const struct config *config, const char *name)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (g_str_equal(config->clusters[c].name, name))
			return true;
	return false;
}

static char *check_special(const struct config *config)
{
	const struct config_environment *environment = config->environment;

	for (uint32_t i = 0; i < environment->special_count; i++) {
		if (!is_cluster(config, environment->special[i]))
			return g_strdup_printf("environment.special[%u]: no cluster '%s' in "
					       "clusters",
					       i, environment->special[i]);
		for (uint32_t j = 0; j < i; j++)
			if (g_str_equal(environment->special[i], environment->special[j]))
				return g_strdup_printf("environment.special[%u]: '%s' appears twice",
						       i, environment->special[i]);
	}
	if (environment->special_count >= config->clusters_count)
		return g_strdup("environment.special: leave at least one general cluster");
	return NULL;
}

static char *check_times(const struct config *config)
{
	const struct config_environment *environment = config->environment;
	const struct config_experiment *experiment = config->experiment;
	const double events = environment->lead_s / experiment->mapping_interval_s;

	if (!environment->trace &&
	    !(environment->tasks_per_day > 0 && environment->tasks_per_day <= TASKS_PER_DAY_MAX))
		return g_strdup_printf("environment.tasks_per_day: %g is outside (0, %.0f]",
				       environment->tasks_per_day, TASKS_PER_DAY_MAX);
	if (!(environment->lead_s >= 0 && environment->lead_s < experiment->duration_s) ||
	    events != floor(events))
		return g_strdup_printf("environment.lead_s: %g s must be shorter than "
				       "experiment.duration_s and a multiple of mapping_interval_s",
				       environment->lead_s);
	if (!(experiment->budget_j > 0))
		return g_strdup_printf("experiment.budget_j: %g is not a positive number; an "
				       "environment needs one",
				       experiment->budget_j);
	return NULL;
}

char *config_environment_check(const struct config *config)
{
	const struct config_environment *environment = config->environment;
	char *wrong;

	if (config->types_count > 0 || config->estimates_count > 0)
		return g_strdup("types: an environment draws its own; leave types and estimates "
				"empty");
	if (environment->pstates > PSTATES_MAX)
		return g_strdup_printf("environment.pstates: %u is more than %d",
				       environment->pstates, PSTATES_MAX);
	if (!(environment->sine_amplitude >= 0 && environment->sine_amplitude <= 1))
		return g_strdup_printf("environment.sine_amplitude: %g is outside 0 to 1",
				       environment->sine_amplitude);
	wrong = check_special(config);
	return wrong ? wrong : check_times(config);
}

static char *check_sizes(const struct config_study *study)
{
	for (uint32_t i = 0; i < study->sizes_count; i++) {
		if (!(study->sizes[i] > 0 && study->sizes[i] <= SIZE_MAX_SHARE))
			return g_strdup_printf("study.sizes[%u]: %g is outside (0, %g]", i,
					       study->sizes[i], SIZE_MAX_SHARE);
		for (uint32_t j = 0; j < i; j++)
			if (fabs(study->sizes[i] - study->sizes[j]) < CONFIG_LIMITS_DIFFER)
				return g_strdup_printf("study.sizes[%u]: %g appears twice", i,
						       study->sizes[i]);
	}
	return NULL;
}

char *config_study_check(const struct config *config)
{
	static const char *const known[] = { "policy", "limit", "leniency", "drop", "size", NULL };
	const struct config_study *study = config->study;

	if (!g_strv_contains(known, study->x))
		return g_strdup_printf("study.x: '%s' is none of policy, limit, leniency, drop, size",
				       study->x);
	if (config->experiment->limits_count > 1 && !g_str_equal(study->x, "limit"))
		return g_strdup_printf("study.x: '%s' with several experiment.limits; give one of "
				       "them, or x: limit",
				       study->x);
	if (study->sizes_count > 1 && !g_str_equal(study->x, "size"))
		return g_strdup_printf("study.x: '%s' with several study.sizes; give one of them, "
				       "or x: size",
				       study->x);
	if (study->trials > TRIALS_MAX)
		return g_strdup_printf("study.trials: %u is more than %d", study->trials,
				       TRIALS_MAX);
	return check_sizes(study);
}
