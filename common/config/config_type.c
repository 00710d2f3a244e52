/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_type.h"

#include "common/benchmark.h"
#include "common/config/config.h"
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
