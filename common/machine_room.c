/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/machine_room.h"

#include "common/error_fail.h"
#include "common/own_cgroup.h"

/* RAM of VMs that this machine's own libvirt runs for a local scheduler which is started here. */
static uint64_t libvirt_memory_mib(const struct config *config)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];
		uint32_t here = 0;

		for (uint32_t h = 0; h < cluster->hosts_count && !cluster->local_scheduler; h++)
			here += cluster->hosts[h].uri &&
				g_str_has_prefix(cluster->hosts[h].uri, "qemu:") &&
				config_uri_is_local(cluster->hosts[h].uri);
		if (here > 0)
			sum += (uint64_t)cluster->nodes * here / cluster->hosts_count *
			       cluster->memory_mib;
	}
	return sum;
}

bool machine_room_check_memory(const struct config *config, const char *path, GError **error)
{
	const uint64_t needed_mib = config_lab_memory_mib(config) + libvirt_memory_mib(config);
	const double machine_mib = own_cgroup_machine_memory() / (1 << 20);

	return (double)needed_mib <= machine_mib ||
	       error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "%s: clusters: all VMs that are to run on this machine need %.1f GiB "
			  "of memory, and it lets us use %.1f GiB; give fewer nodes or a lower "
			  "memory_mib",
			  path, (double)needed_mib / 1024, machine_mib / 1024);
}

bool machine_room_check(const struct config *config, const char *path, GError **error)
{
	double cores;
	double sum;

	if (!machine_room_check_memory(config, path, error))
		return false;
	if (!config->lab || config->lab->overcommit || config_lab_is_to_fit(config))
		return true;
	cores = own_cgroup_cores();
	sum = config_lab_cores(config) +
	      (config_lab_is_steady(config) ? CONFIG_LAB_STEADY_CORES : 0);
	return sum <= cores * CONFIG_LAB_HOST_SHARE + 1e-9 ||
	       error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "%s: lab.blades: all VMs, emulator threads included, may use %.2f "
			  "cores, more than 80 %% of the %.4g that this machine lets us use; "
			  "lower max_mhz (or cpu_cores, where a cluster has no max_mhz), or have "
			  "them fitted to the machine, by fit: yes, or, where nothing is "
			  "measured, say overcommit: yes",
			  path, sum, cores);
}
