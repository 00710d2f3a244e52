/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/benchmark.h"
#include "common/config.h"

bool config_type_is_script(const struct config_type *type)
{
	return type->benchmark && benchmark_is_script(type->benchmark);
}

static const struct config_type *find_type(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->types_count; i++)
		if (g_str_equal(config->types[i].name, name))
			return &config->types[i];
	return NULL;
}

/* Watts of a core that is busy there, the mean of all that was measured or given; 0: not known. */
static double core_w(const struct config *config, const struct config_cluster *cluster)
{
	double sum_w = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < config->estimates_count; i++) {
		const struct config_estimate *one = &config->estimates[i];
		const struct config_type *type = find_type(config, one->type);

		if (!type || !g_str_equal(one->cluster, cluster->name))
			continue;
		sum_w += one->eec_j / one->etc_s / config_type_cores(type, cluster);
		count++;
	}
	return count > 0 ? sum_w / count : 0;
}

bool config_expectation(const struct config *config, const struct config_type *type,
			const struct config_cluster *cluster, double *ret_etc_s, double *ret_eec_j)
{
	const struct config_estimate *estimate =
		config_estimate(config, type->name, cluster->name);

	if (estimate) {
		*ret_etc_s = estimate->etc_s;
		*ret_eec_j = estimate->eec_j;
		return true;
	}
	if (!config_type_is_script(type))
		return false;
	*ret_etc_s = type->time_s;
	*ret_eec_j = type->time_s * config_type_cores(type, cluster) * core_w(config, cluster);
	return true;
}
