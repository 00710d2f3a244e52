/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_controller.h"

#include "controller/config/config_arrivals.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_plugin.h"
#include "controller/config/config_study.h"
#include "controller/config/config_verdict.h"

static bool fill_in(struct config *config, const char *path, GHashTable *given, GError **error)
{
	if (config_environment(config) && !config_environment_fill_in(config, path, given, error))
		return false;
	if (config->workload && config->workload->arrivals &&
	    !config_arrivals_read(config->workload, path, error))
		return false;
	config_study_fill_in(config);
	return true;
}

static char *check(const struct config *config)
{
	char *wrong = config_study_check(config);

	if (!wrong && config_environment(config))
		wrong = config_environment_check(config);
	return !wrong && config_verdict(config) ? config_verdict_check(config) : wrong;
}

const struct config_served config_controller = {
	.sections =
		{
			[CONFIG_ENVIRONMENT] = &config_environment_section,
			[CONFIG_STUDY] = &config_study_section,
			[CONFIG_VERDICT] = &config_verdict_section,
			[CONFIG_PLUGIN] = &config_plugin_section,
		},
	.fill_in = fill_in,
	.check = check,
};

struct config *config_controller_load(const char *path, GError **error)
{
	struct config *config = config_load_served(path, &config_controller, error);

	/* The check has named lines of the file; from here on the list is all. */
	if (config && config->workload)
		g_clear_pointer(&config->workload->arrivals, g_free);
	return config;
}
