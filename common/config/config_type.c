/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_type.h"

#include "common/benchmark.h"
#include "common/config/config_parts.h"

static const struct config_key type_keys[] = {
	{CONFIG_TEXT(type, name), .needed = true, .once = true,
	 .help = "a name, unlike those of the others."},
	{CONFIG_TEXT(type, benchmark), .needed = true,
	 .help = "cg, ep, is, is_cg or mg; or script: what people bring along."},
	{.name = "class",
	 .offset = offsetof(struct config_type, class_),
	 .size = sizeof(char *),
	 .kind = CONFIG_KIND_TEXT,
	 .help = "problem class, one of S, W, A, B and C; needed, but for scripts."},
	{CONFIG_UINT(type, cores),
	 .help = "cores, as many as MPI ranks; for cg, is and is_cg a power of two. "
		 "Needed, unless a script has `nodes`."},
	{CONFIG_UINT(type, nodes), CONFIG_TO(1, BENCHMARK_RANKS_MAX),
	 .says = "# nodes; give a task @",
	 .help = "scripts: so many whole nodes instead, whatever their cores."},
	{CONFIG_UINT(type, nodes_max),
	 .help = "scripts: the entry stands for a type of each number of nodes from `nodes` to this, at most 4096, "
		 "whose names end in it (`any.1`, `any.2`). `memory_mib` is that of the first, the others' in proportion."},
	{CONFIG_UINT(type, repetitions), .fallback = 1, CONFIG_NOT_ZERO,
	 .help = "of the benchmark's timed section."},
	{CONFIG_UINT(type, memory_mib), .needed = true,
	 .help = "least memory, RAM and swap, over all nodes of the task. It decides which clusters the type fits."},
	{CONFIG_NUMBER(type, share), .needed = true, CONFIG_TO(0, 1),
	 .help = "fraction of arrivals; 0 for scripts. All sum to 1."},
	{CONFIG_NUMBER(type, time_s),
	 .help = "scripts only, and needed there: the longest that one may run, and "
		 "what is expected of it where there is no estimate."},
	{CONFIG_FLAG(type, may_preempt),
	 .help = "its tasks may take the nodes of preemptible ones."},
	{CONFIG_FLAG(type, preemptible), .help = "its tasks may be suspended for others."},
	{CONFIG_UINT(type, utility_max), .help = "utility of its tasks. 0: the workload's."},
	{CONFIG_NUMBER(type, constant_until), CONFIG_NOT_ZERO, .max = INFINITY,
	 .says = "# is not positive; constant_until and zero_at are positive numbers",
	 .help = "as in `workload`, for this type. 0: the workload's."},
	{CONFIG_NUMBER(type, zero_at), CONFIG_NOT_ZERO, .max = INFINITY,
	 .says = "# is not positive; constant_until and zero_at are positive numbers",
	 .help = "as in `workload`, for this type. 0: the workload's."},
	{CONFIG_NUMBER(type, cpu_need), .fallback = 1, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1),
	 .says = "# is not above 0 and at most 1, share of a host",
	 .help = "on shared hosts: what each VM needs of a host's CPU."},
	{NULL},
};

const struct config_section config_type_section = {type_keys, sizeof(struct config_type),
						   "A task type."};

const struct config_type *config_type_find(const struct config *config, const char *name)
{
	return CONFIG_FIND(config, types, name, NULL);
}

GHashTable *config_types_by_name(const struct config *config)
{
	GHashTable *types = g_hash_table_new(g_str_hash, g_str_equal);

	for (uint32_t t = 0; t < config->types_count; t++)
		g_hash_table_insert(types, config->types[t].name, &config->types[t]);
	return types;
}

uint32_t config_type_nodes(const struct config_type *type, const struct config_cluster *cluster)
{
	if (type->nodes > 0)
		return type->nodes;
	return type->cores / cluster->cores + (type->cores % cluster->cores != 0);
}

uint32_t config_type_cores(const struct config_type *type, const struct config_cluster *cluster)
{
	return type->nodes > 0 ? type->nodes * cluster->cores : type->cores;
}

bool config_type_fits(const struct config_type *type, const struct config_cluster *cluster)
{
	const uint32_t nodes = config_type_nodes(type, cluster);
	const double need = type->cpu_need > 0 ? type->cpu_need : 1;
	/* VMs of the type on each host that is shared, alone there with all that they need. */
	const uint32_t each = (uint32_t)fmin(1 / need + 1e-9, config_cluster_places(cluster));

	return nodes <= cluster->nodes && config_type_cores(type, cluster) <= BENCHMARK_RANKS_MAX &&
	       (!cluster->shared || nodes <= (uint64_t)each * cluster->hosts_count) &&
	       type->memory_mib <= nodes * (cluster->memory_mib + cluster->swap_mib);
}

bool config_type_is_script(const struct config_type *type)
{
	return type->benchmark && benchmark_is_script(type->benchmark);
}

/*
 * Memory is in proportion; more than there is on any machine is refused later, whatever the number.
 */
static struct config_type with_nodes(const struct config_type *range, uint32_t nodes)
{
	struct config_type type = *range;

	type.name = g_strdup_printf("%s.%u", range->name, nodes);
	type.benchmark = g_strdup(range->benchmark);
	type.class_ = g_strdup(range->class_);
	type.nodes = nodes;
	type.nodes_max = 0;
	type.memory_mib = MIN(range->memory_mib, G_MAXUINT32) * nodes / range->nodes;
	return type;
}

void config_expand_types(struct config *config)
{
	const uint32_t count = config->types_count;

	for (uint32_t i = 0; i < count; i++) {
		struct config_type range = config->types[i];

		if (!config_type_is_script(&range) || range.nodes == 0 ||
		    range.nodes_max < range.nodes || range.nodes_max > BENCHMARK_RANKS_MAX ||
		    config->types_count + range.nodes_max - range.nodes > CONFIG_TYPES_MAX)
			continue;
		config->types = g_renew(struct config_type, config->types,
					config->types_count + range.nodes_max - range.nodes);
		config->types[i].name = g_strdup_printf("%s.%u", range.name, range.nodes);
		config->types[i].nodes_max = 0;
		for (uint32_t nodes = range.nodes + 1; nodes <= range.nodes_max; nodes++)
			config->types[config->types_count++] = with_nodes(&range, nodes);
		g_free(range.name);
	}
}
