/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_meters.h"

bool run_meters_has(const struct config_host *host)
{
	return host->blade || (host->meter && host->meter->kind != CONFIG_METER_NONE);
}

char *run_meters_missing(const struct config *config)
{
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		const struct config_cluster *cluster = &config->clusters[i];

		if (!cluster->hosts_count)
			return g_strdup_printf("cluster '%s' names no hosts with meters",
					       cluster->name);
		for (uint32_t j = 0; j < cluster->hosts_count; j++)
			if (!run_meters_has(&cluster->hosts[j]))
				return g_strdup_printf("host '%s' of cluster '%s' has no meter",
						       cluster->hosts[j].name, cluster->name);
	}
	return NULL;
}
