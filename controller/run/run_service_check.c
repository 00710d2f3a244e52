/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which configurations can be served. */
#include "common/error_fail.h"
#include "controller/config/config_environment.h"
#include "controller/experiment/experiment.h"
#include "controller/plugin/plugin.h"
#include "controller/plugin/plugin_reach.h"
#include "controller/run/run_meters.h"
#include "controller/run/run_service_check.h"

#define SECONDS_PER_DAY 86400.0

/* An energy limit needs the energy of all hosts; that of simulated hosts is known. */
static bool check_limit(const struct config *config, GError **error)
{
	const struct config_service service = config_service_of(config);
	struct config one = *config;

	one.clusters_count = 1;
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		g_autofree char *missing = NULL;

		one.clusters = &config->clusters[i];
		missing = one.clusters->simulated ? NULL : run_meters_missing(&one);
		if (missing)
			return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
					  "service.energy_limit_j: %s: what is used is not known",
					  missing);
	}
	return service.energy_window_s <= service.retention_days * SECONDS_PER_DAY ||
	       error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "service.energy_window_s: %.0f is longer than service.retention_days "
			  "keeps what was used: %.0f s",
			  service.energy_window_s, service.retention_days * SECONDS_PER_DAY);
}

bool run_service_check(const struct config *config, GError **error)
{
	const struct config_service service = config_service_of(config);
	const char *const names[] = {service.policy, NULL};
	g_autoptr(GError) reason = NULL;
	struct policy policy;
	char message[512];

	if (config_environment(config))
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
				  "environment: draws its own tasks; a service runs "
				  "those that people submit");
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (config->clusters[i].shared)
			return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
					  "clusters[%u].shared: what shares hosts cannot "
					  "be taken up again after a restart, so it is "
					  "not served",
					  i);
	if (!experiment_check_policies(config, names, &reason))
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "service.policy: %s",
				  reason->message);
	if (policy_parse(service.policy, &policy, message, sizeof(message)) < 0)
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "service.policy: %s",
				  message);
	if (service.energy_limit_j > 0 && !check_limit(config, error))
		return false;
	return policy_is_outside(&policy) || !policy_reads_budget(&policy) ||
	       error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "service.policy: '%s' goes by what is left of an energy budget, and "
			  "a service has none",
			  service.policy);
}

bool run_service_find(const struct config *config, GError **error)
{
	const struct config_service service = config_service_of(config);
	g_autoptr(GError) reason = NULL;
	struct policy policy;

	return policy_parse(service.policy, &policy, NULL, 0) < 0 ||
	       (plugin_find(&policy, &reason) && plugin_reach_check(&policy, config, &reason)) ||
	       error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "service.policy: %s",
			  reason->message);
}
