/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/benchmark.h"
#include "common/config_parts.h"

bool config_type_is_script(const struct config_type *type)
{
	return type->benchmark && benchmark_is_script(type->benchmark);
}

static bool can_expand(const struct config *config, const struct config_type *type)
{
	return config_type_is_script(type) && type->nodes > 0 && type->nodes_max >= type->nodes &&
	       type->nodes_max <= BENCHMARK_RANKS_MAX &&
	       config->types_count + type->nodes_max - type->nodes <= CONFIG_TYPES_MAX;
}

static char *name_of(const struct config_type *range, uint32_t nodes)
{
	return g_strdup_printf("%s.%u", range->name, nodes);
}

/* Memory is in proportion; more than there is on any machine is refused later, whatever the number. */
static struct config_type with_nodes(const struct config_type *range, uint32_t nodes)
{
	struct config_type type = *range;

	type.name = name_of(range, nodes);
	type.benchmark = g_strdup(range->benchmark);
	type.class_ = g_strdup(range->class_);
	type.nodes = nodes;
	type.nodes_max = 0;
	type.memory_mib = MIN(range->memory_mib, G_MAXUINT32) * nodes / range->nodes;
	return type;
}

static void expand(struct config *config, uint32_t index)
{
	const struct config_type range = config->types[index];
	char *name = name_of(&range, range.nodes);

	config->types = g_renew(struct config_type, config->types,
				config->types_count + range.nodes_max - range.nodes);
	for (uint32_t nodes = range.nodes + 1; nodes <= range.nodes_max; nodes++)
		config->types[config->types_count++] = with_nodes(&range, nodes);
	g_free(range.name);
	config->types[index].name = name;
	config->types[index].nodes_max = 0;
}

void config_expand_types(struct config *config)
{
	const uint32_t count = config->types_count;

	for (uint32_t i = 0; i < count; i++)
		if (can_expand(config, &config->types[i]))
			expand(config, i);
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
