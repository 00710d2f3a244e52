/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_meters.h"

static bool is_metered(const struct config_host *host)
{
	return host->blade || (host->meter && host->meter->kind != CONFIG_METER_NONE);
}

bool run_meters_any(const struct config_cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		if (is_metered(&cluster->hosts[i]))
			return true;
	return false;
}

char *run_meters_missing(const struct config *config)
{
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		const struct config_cluster *cluster = &config->clusters[i];

		if (!cluster->hosts_count)
			return g_strdup_printf("cluster '%s' names no hosts with meters",
					       cluster->name);
		for (uint32_t j = 0; j < cluster->hosts_count; j++)
			if (!is_metered(&cluster->hosts[j]))
				return g_strdup_printf("host '%s' of cluster '%s' has no meter",
						       cluster->hosts[j].name, cluster->name);
	}
	return NULL;
}
