/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/simulated_run.h"

#include <math.h>

#include "common/random.h"

/* The shortest time of a task, as a part of the mean. */
#define SHORTEST 0.1

/* A standard normal variate (Box and Muller). */
static double normal(struct random_stream *random)
{
	const double radius = sqrt(-2 * log(1 - random_stream_uniform(random)));

	return radius * cos(2 * G_PI * random_stream_uniform(random));
}

bool simulated_run_find(const struct config *config, const struct config_cluster *cluster,
			const struct task *task, struct simulated_run *ret_run)
{
	const struct config_type *type = config_type_find(config, task->type);
	const struct config_estimate *estimate = config_estimate(config, task->type, cluster->name);
	const double etc_sd_s = estimate ? estimate->etc_sd_s : 0;
	struct random_stream random;
	double etc_s;
	double eec_j;
	double time_s;

	if (!type || !config_expectation(config, type, cluster, &etc_s, &eec_j))
		return false;
	random_stream_init(&random, cluster->simulated->seed, g_str_hash(task->id));
	time_s = fmax(etc_s + etc_sd_s * normal(&random), SHORTEST * etc_s);
	ret_run->time_s = time_s / cluster->simulated->speed;
	ret_run->watts = eec_j / ret_run->time_s;
	return true;
}
