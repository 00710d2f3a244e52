/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clusters that are simulated behind their local scheduler's API. */
#include <math.h>

#include "common/config_parts.h"

#define SPEED_MAX 1e6

void config_cluster_simulate(struct config_cluster *cluster)
{
	if (cluster->simulated->speed == 0)
		cluster->simulated->speed = 1;
	if (cluster->simulated->seed == 0)
		cluster->simulated->seed = 1;
	if (cluster->hosts_count == 0) {
		cluster->hosts = g_new0(struct config_host, 1);
		cluster->hosts_count = 1;
	}
	for (uint32_t h = 0; h < cluster->hosts_count; h++) {
		struct config_host *host = &cluster->hosts[h];

		if (host->meter)
			continue;
		host->meter = g_new0(struct config_meter, 1);
		host->meter->kind = CONFIG_METER_SIMULATED;
	}
}

char *config_cluster_check_served(const struct config *config, uint32_t index)
{
	const struct config_cluster *cluster = &config->clusters[index];

	if (index >= CONFIG_SERVED_CLUSTERS_MAX)
		return g_strdup_printf("clusters[%u]: local schedulers serve %d clusters at the most; leave some out",
				       index, CONFIG_SERVED_CLUSTERS_MAX);
	if (cluster->nodes > CONFIG_SERVED_NODES_MAX)
		return g_strdup_printf("clusters[%u].nodes: a local scheduler serves 1 to %d nodes, and cluster '%s' has "
				       "%u; give fewer, or make two clusters of it",
				       index, CONFIG_SERVED_NODES_MAX, cluster->name, cluster->nodes);
	if (cluster->cores > CONFIG_SERVED_CORES_MAX)
		return g_strdup_printf("clusters[%u].cores: nodes that a local scheduler serves have 1 to %d cores, not "
				       "%u; give fewer",
				       index, CONFIG_SERVED_CORES_MAX, cluster->cores);
	if (cluster->hosts_count > cluster->nodes)
		return g_strdup_printf("clusters[%u].hosts: %u hosts for %u nodes; give no more hosts than nodes", index,
				       cluster->hosts_count, cluster->nodes);
	return NULL;
}

char *config_cluster_check_simulated(const struct config_cluster *cluster)
{
	const struct config_simulated *simulated = cluster->simulated;

	if (!(simulated->speed > 0 && simulated->speed <= SPEED_MAX))
		return g_strdup_printf("simulated.speed: %g is not above 0 and at most %g",
				       simulated->speed, SPEED_MAX);
	if (!(isfinite(simulated->idle_w) && simulated->idle_w >= 0))
		return g_strdup_printf("simulated.idle_w: %g is negative or not a number",
				       simulated->idle_w);
	if (cluster->local_scheduler)
		return g_strdup("local_scheduler: one that runs already says itself whether it "
				"simulates; leave out simulated");
	if (cluster->shared)
		return g_strdup("shared: hosts of a simulated cluster cannot be shared; leave one "
				"of the two out");
	if (cluster->migration_tls)
		return g_strdup("migration_tls: a simulated cluster has no VMs that are moved; leave one "
				"of the two out");
	if (cluster->max_mhz > 0 || cluster->max_cstate)
		return g_strdup("simulated: tasks take what the estimates say, so caps cap nothing; "
				"leave out max_mhz and max_cstate");
	for (uint32_t h = 0; h < cluster->hosts_count; h++) {
		const struct config_host *host = &cluster->hosts[h];

		if (host->uri || host->blade)
			return g_strdup_printf("hosts[%u]: a simulated cluster reaches no hosts; "
					       "leave out uri and blade",
					       h);
		if (host->meter->kind != CONFIG_METER_SIMULATED &&
		    host->meter->kind != CONFIG_METER_NONE)
			return g_strdup_printf("hosts[%u].meter.kind: a host of a simulated "
					       "cluster has a simulated meter, or none",
					       h);
	}
	return NULL;
}
