/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_estimate.h"

#include "common/config/config.h"

static const struct config_key estimate_keys[] = {
	{CONFIG_TEXT(estimate, type), .needed = true, .help = "name of a type."},
	{CONFIG_TEXT(estimate, cluster), .needed = true, .help = "name of a cluster that it fits."},
	{CONFIG_NUMBER(estimate, etc_s), .needed = true, .max = 1e9, .above_min = true,
	 .range = CONFIG_RANGE_MOST, .help = "mean execution time."},
	{CONFIG_NUMBER(estimate, etc_sd_s), CONFIG_MOST(0, INFINITY),
	 .help = "its standard deviation."},
	{CONFIG_NUMBER(estimate, eec_j), .needed = true, CONFIG_MOST(0, 1e15),
	 .help = "mean energy above idle."},
	{CONFIG_NUMBER(estimate, eec_sd_j), CONFIG_MOST(0, INFINITY),
	 .help = "its standard deviation."},
	{CONFIG_UINT(estimate, count), .help = "measurements behind the entry. 0: it was given."},
	{NULL},
};

const struct config_section config_estimate_section = {
	estimate_keys, sizeof(struct config_estimate),
	"What a type takes on a cluster. `virtbed profile` measures it."};

static const struct config_key unmeasured_keys[] = {
	{CONFIG_TEXT(unmeasured, type), .needed = true, .help = "name of a type."},
	{CONFIG_TEXT(unmeasured, cluster), .needed = true, .help = "name of a cluster."},
	{CONFIG_TEXT(unmeasured, reason), .needed = true, .help = "why, for headings."},
	{NULL},
};

const struct config_section config_unmeasured_section = {
	unmeasured_keys, sizeof(struct config_unmeasured),
	"Pairs of type and cluster that could not be measured, as `virtbed profile` writes them: they have no "
	"entry in `estimates`, and no task of the type is placed on the cluster. Other pairs need an estimate, but "
	"for those of types with a `share` of 0; and a type with a share above 0 needs one on some cluster."};

static const struct config_key overhead_keys[] = {
	{CONFIG_TEXT(overhead, cluster), .needed = true, .help = "name of a cluster."},
	{CONFIG_NUMBER(overhead, freeze_s), .needed = true, CONFIG_MOST(0, INFINITY),
	 .help = "until all VMs were frozen."},
	{CONFIG_NUMBER(overhead, save_s), .needed = true, CONFIG_MOST(0, INFINITY),
	 .help = "until they were off the nodes."},
	{CONFIG_NUMBER(overhead, restore_s), .needed = true, CONFIG_MOST(0, INFINITY),
	 .help = "until they were on nodes again."},
	{CONFIG_NUMBER(overhead, resume_s), .needed = true, CONFIG_MOST(0, INFINITY),
	 .help = "until they ran again."},
	{CONFIG_TEXT(overhead, keep), .help = "where the VMs were meanwhile, memory or disk."},
	{CONFIG_NUMBER(overhead, skew_s), CONFIG_MOST(0, INFINITY),
	 .help = "between the first and the last VM frozen, part of `freeze_s`."},
	{NULL},
};

const struct config_section config_overhead_section = {overhead_keys,
						       sizeof(struct config_overhead),
						       "What one suspension took, step by step."};

static const struct config_key measured_keys[] = {
	{CONFIG_SECTIONS(measured, estimates, config_estimate_section), .needed = true},
	{CONFIG_SECTIONS(measured, overheads, config_overhead_section)},
	{CONFIG_SECTIONS(measured, unmeasured, config_unmeasured_section)},
	{NULL},
};

const struct config_section config_measured_section = {measured_keys,
						       sizeof(struct config_measured)};

const struct config_estimate *config_estimate(const struct config *config, const char *type,
					      const char *cluster)
{
	return CONFIG_FIND(config, estimates, type, cluster);
}

const struct config_unmeasured *config_unmeasured(const struct config *config, const char *type,
						  const char *cluster)
{
	return CONFIG_FIND(config, unmeasured, type, cluster);
}

/* Watts of a core that is busy there, the mean of all that was measured or given; 0: not known. */
static double core_w(const struct config *config, const struct config_cluster *cluster)
{
	double sum_w = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < config->estimates_count; i++) {
		const struct config_estimate *one = &config->estimates[i];
		const struct config_type *type = config_type_find(config, one->type);

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
	const struct config_estimate *estimate = config_estimate(config, type->name, cluster->name);

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

bool config_is_hole(const struct config *config, const struct config_type *type,
		    const struct config_cluster *cluster)
{
	double etc_s;
	double eec_j;

	return config_type_fits(type, cluster) &&
	       !config_expectation(config, type, cluster, &etc_s, &eec_j) &&
	       (!(type->share > 0) || config_unmeasured(config, type->name, cluster->name));
}
