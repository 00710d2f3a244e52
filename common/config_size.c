/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The most that a configuration may ask for. Every number is checked for its own meaning elsewhere;
 * here are the bounds beyond which a program would run out of memory, or never come to an end.
 */
#include "common/config_parts.h"

/* Far above the 5,000 to 40,000 tasks of the papers; a task takes about 200 bytes. */
#define TASKS_MAX 1e6
#define TASKS_OF_ENVIRONMENT_MAX 1e7
#define EVENTS_MAX 1e7
#define CLUSTERS_MAX 1000
#define NODES_MAX 1000000

/* A bound of one number. */
struct bound {
	const char *key;
	double value;
	double max;
};

static char *check_bounds(const struct bound *bounds, gsize count)
{
	for (gsize i = 0; i < count; i++)
		if (!(bounds[i].value <= bounds[i].max))
			return g_strdup_printf("%s: %g is more than %g", bounds[i].key,
					       bounds[i].value, bounds[i].max);
	return NULL;
}

static char *check_numbers(const struct config *config)
{
	const struct config_experiment *experiment = config->experiment;
	const struct config_workload *workload = config->workload;
	const struct bound bounds[] = {
		{ "experiment.duration_s", experiment->duration_s, 1e9 },
		{ "experiment.budget_j", experiment->budget_j, 1e18 },
		{ "experiment.baseline_s", experiment->baseline_s, 86400 },
		{ "experiment.task_deadline_s", experiment->task_deadline_s, 4e6 },
		{ "experiment.profile_repeats", experiment->profile_repeats, 10000 },
		{ "workload.duration_s", workload->duration_s, 1e9 },
		{ "workload.constant_until", workload->constant_until, 1e6 },
		{ "workload.zero_at", workload->zero_at, 1e6 },
	};

	return check_bounds(bounds, G_N_ELEMENTS(bounds));
}

static char *check_estimates(const struct config *config)
{
	for (uint32_t i = 0; i < config->estimates_count; i++) {
		const struct config_estimate *estimate = &config->estimates[i];
		g_autofree char *etc = g_strdup_printf("estimates[%u].etc_s", i);
		g_autofree char *eec = g_strdup_printf("estimates[%u].eec_j", i);
		const struct bound bounds[] = {
			{ etc, estimate->etc_s, 1e9 },
			{ eec, estimate->eec_j, 1e15 },
		};
		char *wrong = check_bounds(bounds, G_N_ELEMENTS(bounds));

		if (wrong)
			return wrong;
	}
	return NULL;
}

/* Products: what takes memory and time. */
static char *check_work(const struct config *config)
{
	const struct config_experiment *experiment = config->experiment;
	const struct config_workload *workload = config->workload;
	const double tasks = workload->load > 0 ? workload->tasks
						: workload->duration_s / workload->arrival_mean_s;
	const double events = config_times_known(config)
				      ? experiment->duration_s / experiment->mapping_interval_s
				      : 0;

	if (config->environment && !(tasks <= TASKS_OF_ENVIRONMENT_MAX))
		return g_strdup_printf("environment.tasks_per_day: %g tasks in all are more than "
				       "%.0f; lower it, or experiment.duration_s",
				       tasks, TASKS_OF_ENVIRONMENT_MAX);
	if (!config->environment && !(tasks <= TASKS_MAX))
		return g_strdup_printf("workload.arrival_mean_s: %g tasks in all are more than "
				       "%.0f; raise it, or lower workload.duration_s",
				       tasks, TASKS_MAX);
	if (!(events <= EVENTS_MAX))
		return g_strdup_printf("experiment.mapping_interval_s: %g mapping events in all are "
				       "more than %.0f; raise it, or lower experiment.duration_s",
				       events, EVENTS_MAX);
	return NULL;
}

static char *check_system(const struct config *config)
{
	double nodes = 0;
	double largest = 1;

	for (uint32_t c = 0; c < config->clusters_count; c++)
		nodes += config->clusters[c].nodes;
	for (uint32_t i = 0; i < config->study->sizes_count; i++)
		largest = MAX(largest, config->study->sizes[i]);
	if (nodes * largest > NODES_MAX)
		return g_strdup_printf("clusters: %.0f nodes in all, at the largest of study.sizes, "
				       "are more than %d",
				       nodes * largest, NODES_MAX);
	if (config->clusters_count > CLUSTERS_MAX)
		return g_strdup_printf("clusters: %u are more than %d", config->clusters_count,
				       CLUSTERS_MAX);
	if (config->types_count > CONFIG_TYPES_MAX)
		return g_strdup_printf("types: %u are more than %d", config->types_count, CONFIG_TYPES_MAX);
	return NULL;
}

char *config_size_check(const struct config *config)
{
	static char *(*const checks[])(const struct config *config) = {
		check_system,
		check_numbers,
		check_estimates,
		check_work,
	};

	for (gsize i = 0; i < G_N_ELEMENTS(checks); i++) {
		char *wrong = checks[i](config);

		if (wrong)
			return wrong;
	}
	return NULL;
}
