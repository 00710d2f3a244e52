/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_cluster.h"

#include "common/config/config.h"
#include "common/config/config_parts.h"

static const char *const keeps[] = {"auto", "memory", "disk", NULL};

static const struct config_key preemption_keys[] = {
	{CONFIG_WORD(preemption, keep, keeps),
	 .help = "where the VMs of a suspended task go: `memory`, `disk`, or "
		 "`auto`: into memory as long as it suffices."},
	{CONFIG_UINT(preemption, spares), CONFIG_TO(0, 200), .says = "# VMs; give @",
	 .help = "VMs per host beyond its nodes, booted beforehand."},
	{CONFIG_UINT(preemption, memory_mib), CONFIG_TO(0, 67108864),
	 .says = "# MiB is too much; give @",
	 .help = "RAM that suspended VMs may hold on each host. 0: as much as its nodes."},
	{NULL},
};

static const struct config_section config_preemption_section = {preemption_keys,
								sizeof(struct config_preemption)};

static const struct config_key simulated_keys[] = {
	{CONFIG_NUMBER(simulated, speed), .fallback = 1, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .says = "# is not above 0 and at most 1e+06",
	 .help = "how many times as fast as the estimates. It is of "
		 "the cluster's local scheduler: `virtbed simulate` warns that it goes by the estimates alone, `compare` and "
		 "`report` hold execution times against these in simulated seconds."},
	{CONFIG_NUMBER(simulated, idle_w), .needed = true, CONFIG_MOST(0, INFINITY),
	 .help = "watts of each host when idle."},
	{CONFIG_UINT(simulated, seed), .fallback = 1, CONFIG_NOT_ZERO,
	 .help = "of the execution times, which vary by `etc_sd_s`."},
	{CONFIG_NUMBER(simulated, operation_s), CONFIG_MOST(0, 3600),
	 .help = "simulated seconds that a start, suspension, resumption or migration takes, in which the task does not run."},
	{NULL},
};

static const struct config_section config_simulated_section = {simulated_keys,
							       sizeof(struct config_simulated)};

static const struct config_key cluster_keys[] = {
	{CONFIG_TEXT(cluster, name), .needed = true, .once = true,
	 .help = "a name, unlike those of the others."},
	{CONFIG_UINT(cluster, nodes), .needed = true, CONFIG_TO(1, 65536),
	 .says = "cluster '~' has # nodes; give @",
	 .help = "VMs, spread over the hosts in blocks. A local scheduler serves 239 at the most; more can be "
		 "simulated."},
	{CONFIG_UINT(cluster, cores), .needed = true, CONFIG_TO(1, 1024),
	 .says = "# cores per node; give @",
	 .help = "virtual CPUs of each node; a local scheduler serves 30 at the most."},
	{CONFIG_UINT(cluster, memory_mib), .needed = true, CONFIG_TO(1, 67108864),
	 .says = "# MiB; give @",
	 .help = "RAM of each node. What all VMs that run on one machine need together, it has to have."},
	{CONFIG_UINT(cluster, swap_mib), CONFIG_TO(0, 67108864),
	 .says = "# MiB is too much; give @", .help = "swap disk of each node."},
	{CONFIG_UINT(cluster, max_mhz),
	 .help = "P-state cap: a frequency where the local scheduler can set one, "
		 "else a CPU quota, which caps throughput. 0: none."},
	{CONFIG_UINT(cluster, base_mhz),
	 .help = "the hosts' nominal frequency, of which `max_mhz` is a share; needed with it."},
	{CONFIG_TEXT(cluster, max_cstate),
	 .help = "deepest idle state of the hosts' CPUs, such as C1, C1E or C6. Without it there is no limit."},
	{CONFIG_SECTION(cluster, preemption, config_preemption_section),
	 .help = "how tasks are suspended there."},
	{CONFIG_FLAG(cluster, shared),
	 .help = "its hosts are shared in time: policies place VMs on hosts and give "
		 "them shares. It is then the only cluster, and every host has as many nodes."},
	{CONFIG_FLAG(cluster, migration_tls),
	 .help = "its hosts send one another the memory of VMs by TLS, with the certificates that each one's libvirt "
		 "has for migrations; otherwise in the clear. Not for a simulated cluster."},
	{CONFIG_TEXT(cluster, local_scheduler),
	 .help = "address of a local scheduler that runs already: unix:/PATH, "
		 "http://HOST:PORT at loopback, or https://HOST:PORT, which needs `tls`. Without it one is started."},
	{CONFIG_SECTION(cluster, simulated, config_simulated_section),
	 .help = "there are no VMs and hosts: tasks take what their estimates say."},
	{CONFIG_SECTIONS(cluster, hosts, config_host_section),
	 .help = "none are needed for a cluster that is "
		 "simulated, or has a local scheduler elsewhere, or for `virtbed simulate`."},
	{NULL},
};

const struct config_section config_cluster_section = {
	cluster_keys, sizeof(struct config_cluster),
	"A homogeneous cluster under one local scheduler."};

const struct config_cluster *config_cluster_find(const struct config *config, const char *name)
{
	return CONFIG_FIND(config, clusters, name, NULL);
}

uint32_t config_cluster_host(const struct config_cluster *cluster, uint32_t node)
{
	return (uint32_t)((uint64_t)node * cluster->hosts_count / cluster->nodes);
}

uint32_t config_cluster_blades(const struct config_cluster *cluster, const char *name)
{
	uint32_t blades = 0;

	for (uint32_t h = 0; h < cluster->hosts_count; h++)
		blades += cluster->hosts[h].blade &&
			  (!name || g_str_equal(cluster->hosts[h].blade, name));
	return blades;
}

uint64_t config_cluster_lab_vms(const struct config_cluster *cluster)
{
	const uint32_t spares = cluster->preemption ? cluster->preemption->spares : 0;
	const uint32_t blades = config_cluster_blades(cluster, NULL);

	return blades > 0 ? cluster->nodes + (uint64_t)spares * blades : 0;
}

uint32_t config_cluster_places(const struct config_cluster *cluster)
{
	return cluster->nodes / MAX(cluster->hosts_count, 1);
}

void config_cluster_fill_in(struct config_cluster *cluster)
{
	if (cluster->simulated && cluster->hosts_count == 0) {
		cluster->hosts = config_section_new(&config_host_section);
		cluster->hosts_count = 1;
	}
	for (uint32_t h = 0; h < cluster->hosts_count; h++) {
		struct config_host *host = &cluster->hosts[h];

		if (!host->name)
			host->name = host->blade ? g_strdup(host->blade)
						 : g_strdup_printf("%s-%u", cluster->name, h + 1);
		if (cluster->simulated && !host->meter) {
			host->meter = config_section_new(&config_meter_section);
			host->meter->kind = CONFIG_METER_SIMULATED;
		}
		if (host->meter)
			config_meter_fill_in(host->meter);
	}
}

char *config_cluster_check_served(const struct config *config, uint32_t index)
{
	const struct config_cluster *cluster = &config->clusters[index];

	if (index >= CONFIG_SERVED_CLUSTERS_MAX)
		return g_strdup_printf(
			"clusters[%u]: local schedulers serve %d clusters at the most; leave some out",
			index, CONFIG_SERVED_CLUSTERS_MAX);
	if (cluster->nodes > CONFIG_SERVED_NODES_MAX)
		return g_strdup_printf(
			"clusters[%u].nodes: a local scheduler serves 1 to %d nodes, and cluster '%s' "
			"has %u; give fewer, or make two clusters of it",
			index, CONFIG_SERVED_NODES_MAX, cluster->name, cluster->nodes);
	if (cluster->cores > CONFIG_SERVED_CORES_MAX)
		return g_strdup_printf(
			"clusters[%u].cores: nodes that a local scheduler serves have 1 to %d cores, "
			"not %u; give fewer",
			index, CONFIG_SERVED_CORES_MAX, cluster->cores);
	if (cluster->hosts_count > cluster->nodes)
		return g_strdup_printf(
			"clusters[%u].hosts: %u hosts for %u nodes; give no more hosts than "
			"nodes",
			index, cluster->hosts_count, cluster->nodes);
	return NULL;
}

char *config_cluster_check_simulated(const struct config_cluster *cluster)
{
	if (cluster->local_scheduler)
		return g_strdup(
			"local_scheduler: a local scheduler that runs already says itself whether it "
			"simulates; leave out simulated");
	if (cluster->shared)
		return g_strdup(
			"shared: hosts of a simulated cluster cannot be shared; leave one of the two out");
	if (cluster->migration_tls)
		return g_strdup(
			"migration_tls: a simulated cluster has no VMs that are moved; leave one of the two "
			"out");
	if (cluster->max_mhz > 0 || cluster->max_cstate)
		return g_strdup(
			"simulated: tasks take what the estimates say, so caps cap nothing; leave out max_mhz "
			"and max_cstate");
	for (uint32_t h = 0; h < cluster->hosts_count; h++) {
		const struct config_host *host = &cluster->hosts[h];

		if (host->uri || host->blade)
			return g_strdup_printf(
				"hosts[%u]: a simulated cluster reaches no hosts; leave out uri and "
				"blade",
				h);
		if (host->meter->kind != CONFIG_METER_SIMULATED &&
		    host->meter->kind != CONFIG_METER_NONE)
			return g_strdup_printf(
				"hosts[%u].meter.kind: a host of a simulated cluster has a simulated "
				"meter, or none",
				h);
	}
	return NULL;
}
