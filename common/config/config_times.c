/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times that follow from the estimates: a workload says how much of the clusters' capacity its
 * tasks ask for (workload.load, workload.tasks) and an experiment its times in those of tasks and
 * arrivals (experiment.mapping_interval, experiment.duration). The same experiment then comes out
 * wherever tasks take longer or shorter.
 *
 * Every time is rounded to three significant digits, so that the figures printed are the figures
 * used.
 */
#include <math.h>
#include <string.h>

#include "common/config/config_parts.h"

/*
 * Tasks per second that a cluster completes while its nodes are busy, and the seconds that one
 * takes there.
 */
struct rate {
	double tasks_per_s;
	double etc_s;
};

/*
 * Means over the types that arrive and have an estimate on the cluster, weighted by their shares.
 */
static struct rate cluster_rate(const struct config *config, const struct config_cluster *cluster)
{
	double share = 0;
	double etc_s = 0;
	double width = 0;
	double cpu_need = 0;

	for (uint32_t t = 0; t < config->types_count; t++) {
		const struct config_type *type = &config->types[t];
		const struct config_estimate *estimate =
			config_estimate(config, type->name, cluster->name);

		/* The checks come later: cores and nodes may still be 0. */
		if (!estimate || !(type->share > 0) || cluster->cores == 0 ||
		    config_type_nodes(type, cluster) == 0)
			continue;
		share += type->share;
		etc_s += type->share * estimate->etc_s;
		width += type->share * config_type_nodes(type, cluster);
		cpu_need += type->share * type->cpu_need;
	}
	if (!(etc_s > 0))
		return (struct rate){0};
	width /= share; /* tasks that the cluster runs at the same time are so many VMs wide */
	return (struct rate){
		.tasks_per_s =
			(cluster->shared ? cluster->hosts_count / (width * (cpu_need / share))
					 : cluster->nodes / width) /
			(etc_s / share),
		.etc_s = etc_s / share,
	};
}

/* Of all clusters together; the time is the mean over the tasks that they complete. */
static struct rate system_rate(const struct config *config)
{
	struct rate sum = {0};

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct rate one = cluster_rate(config, &config->clusters[c]);

		sum.tasks_per_s += one.tasks_per_s;
		sum.etc_s += one.tasks_per_s * one.etc_s;
	}
	if (sum.tasks_per_s > 0)
		sum.etc_s /= sum.tasks_per_s;
	return sum;
}

static double three_digits(double value)
{
	const double unit = pow(10, floor(log10(value)) - 2);

	return round(value / unit) * unit;
}

bool config_times_follow(const struct config *config)
{
	return (config->workload && config->workload->load > 0) ||
	       config->experiment->duration > 0 || config->experiment->mapping_interval > 0;
}

bool config_times_known(const struct config *config)
{
	const struct config_workload *workload = config->workload;

	return workload &&
	       (config_workload_is_given(workload) ||
		((workload->users > 0 || workload->arrival_mean_s > 0) &&
		 workload->duration_s > 0)) &&
	       config->experiment->mapping_interval_s > 0 && config->experiment->duration_s > 0;
}

void config_times_derive(struct config *config)
{
	struct config_workload *workload = config->workload;
	struct config_experiment *experiment = config->experiment;
	const bool follow = workload && config_times_follow(config);
	const struct rate rate = follow ? system_rate(config) : (struct rate){0};

	if (rate.tasks_per_s > 0 && workload->load > 0 && workload->tasks > 0) {
		workload->arrival_mean_s = three_digits(1 / (workload->load * rate.tasks_per_s));
		workload->duration_s = three_digits(workload->tasks * workload->arrival_mean_s);
	}
	if (rate.tasks_per_s > 0 && experiment->mapping_interval > 0)
		experiment->mapping_interval_s =
			three_digits(experiment->mapping_interval * rate.etc_s);
	if (config->service && config->service_follows)
		config->service->mapping_interval_s = experiment->mapping_interval_s;
	if (follow && config_workload_duration_s(workload) > 0 && experiment->duration > 0)
		experiment->duration_s =
			three_digits(experiment->duration * config_workload_duration_s(workload));
}

/* A time in seconds, and the key from which it follows where the file gives that. */
struct time {
	const char *key;
	double seconds;
	const char *source;
	double multiple;
};
#define TIMES 4

static void list_times(const struct config *config, struct time ret_times[TIMES])
{
	const struct config_workload *workload = config->workload;
	const struct config_experiment *experiment = config->experiment;
	const struct time times[TIMES] = {
		{"workload.arrival_mean_s", workload->arrival_mean_s, "workload.load",
		 workload->load},
		{"workload.duration_s", workload->duration_s, "workload.tasks", workload->tasks},
		{"experiment.mapping_interval_s", experiment->mapping_interval_s,
		 "experiment.mapping_interval", experiment->mapping_interval},
		{"experiment.duration_s", experiment->duration_s, "experiment.duration",
		 experiment->duration},
	};

	memcpy(ret_times, times, sizeof(times));
}

const char *config_times_source(const struct config *config, const char *key)
{
	struct time times[TIMES];

	if (config->service_follows && g_str_equal(key, "service.mapping_interval_s"))
		key = "experiment.mapping_interval_s";
	if (!config->workload)
		return key;
	list_times(config, times);
	for (gsize i = 0; i < TIMES; i++)
		if (times[i].multiple > 0 && g_str_equal(key, times[i].key))
			return times[i].source;
	return key;
}

char *config_times_check(const struct config *config)
{
	const struct config_workload *workload = config->workload;
	struct time times[TIMES];

	list_times(config, times);
	if (workload->users > 0 && !(workload->duration_s > 0))
		return g_strdup("workload.duration_s: missing; users submit tasks in this time");
	/* Those of the workload come first. */
	for (gsize i = config_workload_is_given(workload) || workload->users > 0 ? 2 : 0; i < TIMES;
	     i++)
		if (!(times[i].seconds > 0) && !(times[i].multiple > 0))
			return g_strdup_printf("%s: missing; give it in seconds, or give %s",
					       times[i].key, times[i].source);
	if ((workload->load > 0) != (workload->tasks > 0))
		return g_strdup_printf(
			"workload.%s: goes with %s; give both, or arrival_mean_s and duration_s",
			workload->load > 0 ? "load" : "tasks",
			workload->load > 0 ? "tasks" : "load");
	if (workload->list_count > 0 && !(config_workload_duration_s(workload) > 0) &&
	    !(config->experiment->duration_s > 0))
		return g_strdup("experiment.duration: a multiple of the time until the last task "
				"arrives, which is 0; give duration_s instead");
	return NULL;
}
