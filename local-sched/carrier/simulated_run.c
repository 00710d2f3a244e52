/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/carrier/simulated_run.h"

#include <math.h>

#include "common/random.h"

/* No task takes less than this share of the mean, however it is drawn. */
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
	const struct config_estimate *estimate =
		config_estimate(config, task->type, cluster->name);
	struct random_stream random;
	double time_s;

	if (!estimate)
		return false;
	random_stream_init(&random, cluster->simulated->seed, g_str_hash(task->id));
	time_s = fmax(estimate->etc_s + estimate->etc_sd_s * normal(&random),
		      SHORTEST * estimate->etc_s);
	ret_run->time_s = time_s / cluster->simulated->speed;
	ret_run->watts = estimate->eec_j / ret_run->time_s;
	return true;
}
