/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The most that a configuration may ask for. Every number is checked for its own meaning elsewhere;
 * here are the bounds beyond which a program would run out of memory, or never come to an end.
 */
#include "common/config/config_parts.h"

/* Far above the 5,000 to 40,000 tasks of the papers; a task takes about 200 bytes. */
#define TASKS_MAX ((double)CONFIG_TASKS_MAX)
#define EVENTS_MAX 1e7

/* Products: what takes memory and time. */
char *config_size_check(const struct config *config)
{
	const struct config_experiment *experiment = config->experiment;
	const struct config_workload *workload = config->workload;
	double tasks, events = 0;

	if (!workload)
		return NULL;
	tasks = config_workload_is_given(workload) ? workload->list_count
		: workload->users > 0              ? 0 /* CONFIG_TASKS_MAX at the most */
		: workload->load > 0               ? workload->tasks
				     : workload->duration_s / workload->arrival_mean_s;
	if (config_times_known(config))
		events = experiment->duration_s / experiment->mapping_interval_s;
	if (!config->is_drawn && !(tasks <= TASKS_MAX))
		return g_strdup_printf(
			"workload.arrival_mean_s: %g tasks in all are more than %.0f; raise it, or "
			"lower workload.duration_s",
			tasks, TASKS_MAX);
	if (!(events <= EVENTS_MAX))
		return g_strdup_printf(
			"experiment.mapping_interval_s: %g mapping events in all are more than %.0f; "
			"raise it, or lower %s",
			events, EVENTS_MAX, config_times_source(config, "experiment.duration_s"));
	return NULL;
}
