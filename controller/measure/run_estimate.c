/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_estimate.h"

#include <math.h>

/* Running mean and sum of squared differences (Welford, Technometrics 4(3), 1962). */
struct spread {
	uint32_t count;
	double mean;
	double squares;
};

static void spread_add(struct spread *spread, double value)
{
	double delta = value - spread->mean;

	spread->count++;
	spread->mean += delta / spread->count;
	spread->squares += delta * (value - spread->mean);
}

static double spread_sd(const struct spread *spread)
{
	return spread->count > 1 ? sqrt(spread->squares / (spread->count - 1)) : 0;
}

static void estimate_pair(const struct run_measurement *measurements, uint32_t count, uint32_t type,
			  uint32_t cluster, struct config_estimate *estimate)
{
	struct spread time = {0};
	struct spread energy = {0};

	for (uint32_t i = 0; i < count; i++) {
		if (measurements[i].type != type || measurements[i].cluster != cluster)
			continue;
		spread_add(&time, measurements[i].exec_s);
		if (!isnan(measurements[i].energy_j))
			spread_add(&energy, measurements[i].energy_j);
	}
	estimate->count = time.count;
	estimate->etc_s = time.mean;
	estimate->etc_sd_s = spread_sd(&time);
	estimate->eec_j = energy.mean;
	estimate->eec_sd_j = spread_sd(&energy);
}

struct config_estimate *run_estimate(const struct config *config,
				     const struct run_measurement *measurements, uint32_t count,
				     uint32_t *ret_count)
{
	uint32_t pairs = config->types_count * config->clusters_count;
	struct config_estimate *estimates = g_new0(struct config_estimate, MAX(pairs, 1));
	uint32_t used = 0;

	for (uint32_t i = 0; i < pairs; i++) {
		uint32_t type = i / config->clusters_count;
		uint32_t cluster = i % config->clusters_count;
		struct config_estimate *estimate = &estimates[used];

		estimate_pair(measurements, count, type, cluster, estimate);
		estimate->type = config->types[type].name;
		estimate->cluster = config->clusters[cluster].name;
		used += estimate->count > 0;
	}
	*ret_count = used;
	return estimates;
}
