/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "controller/config/config_holes.h"
#include "controller/workload/dfrs.h"
#include "controller/workload/workload.h"

struct sched_demand workload_demand(const struct config_type *type,
				    const struct config_cluster *cluster)
{
	return (struct sched_demand){
		.vms = config_type_nodes(type, cluster),
		.cpu = type->cpu_need,
		.memory = 1.0 / config_cluster_places(cluster),
	};
}

uint32_t workload_cluster_nodes(const struct config_cluster *cluster)
{
	return cluster->shared ? cluster->hosts_count : cluster->nodes;
}

uint32_t workload_nodes(const struct config_type *type, const struct config_cluster *cluster)
{
	const struct sched_demand demand = workload_demand(type, cluster);

	return cluster->shared ? dfrs_whole_hosts(&demand) : config_type_nodes(type, cluster);
}

/* Fills in one pair. Returns false if its estimate is missing. */
static gboolean set_pair(struct sched_system *system, const struct config *config, uint32_t row,
			 uint32_t cluster, GError **error)
{
	const struct config_type *type = &config->types[row];
	const struct config_cluster *c = &config->clusters[cluster];
	const size_t cell = (size_t)row * system->columns_count + system->clusters[cluster].column;

	if (!config_type_fits(type, c) || config_is_hole(config, type, c))
		return TRUE;
	if (!config_expectation(config, type, c, &system->etc_s[cell], &system->eec_j[cell])) {
		g_set_error(
			error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM,
			"estimates: none for type \"%s\" on cluster \"%s\", where it fits; add it "
			"or run `virtbed profile`",
			type->name, c->name);
		return FALSE;
	}
	system->nodes[row * system->clusters_count + cluster] = workload_nodes(type, c);
	return TRUE;
}

static gboolean fill_system(struct sched_system *system, const struct config *config,
			    GError **error)
{
	g_autofree char *lacks = NULL;

	for (uint32_t row = 0; row < config->types_count; row++) {
		system->row_names[row] = config->types[row].name;
		for (uint32_t cluster = 0; cluster < config->clusters_count; cluster++)
			if (!set_pair(system, config, row, cluster, error))
				return FALSE;
	}
	lacks = config_lacks(config);
	if (lacks)
		g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM, "estimates: %s", lacks);
	return !lacks;
}

gboolean workload_finish_system(struct sched_system *system, const char *place, GError **error)
{
	uint32_t index = 0;
	const enum sched_system_fault fault = sched_system_finish(system, &index);

	if (fault == SCHED_SYSTEM_OK)
		return TRUE;
	g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM, "%s%s \"%s\": %s", place,
		    fault == SCHED_SYSTEM_CLUSTER ? "cluster" : "type",
		    fault == SCHED_SYSTEM_CLUSTER ? system->clusters[index].name
						  : system->row_names[index],
		    sched_system_fault_text(fault));
	return FALSE;
}

struct sched_system *workload_clusters_system(const struct config *config, uint32_t pstates,
					      uint32_t rows_count)
{
	g_autofree struct sched_cluster *clusters =
		g_new0(struct sched_cluster, config->clusters_count);
	struct sched_system *system;

	for (uint32_t i = 0; i < config->clusters_count; i++)
		clusters[i] = (struct sched_cluster){
			.name = config->clusters[i].name,
			.nodes = workload_cluster_nodes(&config->clusters[i]),
			.cores = config->clusters[i].cores,
			.pstates = pstates,
		};
	system = sched_system_new(clusters, config->clusters_count, rows_count);
	if (!system)
		g_error("out of memory");
	return system;
}

struct sched_system *workload_system_new(const struct config *config, GError **error)
{
	struct sched_system *system = workload_clusters_system(config, 1, config->types_count);

	if (fill_system(system, config, error) && workload_finish_system(system, "", error))
		return system;
	sched_system_free(system);
	return NULL;
}

struct sched_system *workload_shared_system_new(const struct config *config)
{
	struct sched_system *system = workload_clusters_system(config, 1, 0);

	if (sched_system_finish(system, NULL) != SCHED_SYSTEM_OK)
		g_error("hosts that make no system");
	system->shared = true;
	return system;
}
