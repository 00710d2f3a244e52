/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/plugin_config.h"

#include <unistd.h>

#include "common/error_fail.h"
#include "controller/config/config_plugin.h"

static struct plugin_settings limits_of(const struct config_plugin *plugin)
{
	return (struct plugin_settings){
		.user = plugin->user,
		.cpu_s = plugin->cpu_s,
		.memory_mib = plugin->memory_mib,
		.file_mib = plugin->file_mib,
		.files = plugin->files,
		.processes = plugin->processes,
	};
}

struct plugin_settings plugin_config_run(const struct config *config,
					 const struct sched_system *system)
{
	const struct config_plugin plugin = config_plugin_of(config);
	struct plugin_settings settings = limits_of(&plugin);

	settings.fallback = plugin.fallback ?: plugin_default_fallback(system);
	settings.deadline_s = plugin.deadline_s;
	settings.sandbox = plugin.sandbox == CONFIG_YES;
	return settings;
}

struct plugin_settings plugin_config_simulation(const struct config *config, bool in_process)
{
	static const struct config none;
	const struct config_plugin plugin = config_plugin_of(config ?: &none);
	struct plugin_settings settings = limits_of(&plugin);

	settings.deadline_s = plugin.simulate_deadline_s;
	settings.sandbox = plugin.sandbox_simulations == CONFIG_YES;
	settings.in_process = in_process && !settings.sandbox;
	settings.quiet = !in_process;
	return settings;
}

struct plugin_settings plugin_config_rerun(const struct config *config, bool measured)
{
	static const struct config none;
	struct plugin_settings settings = plugin_config_simulation(config, false);

	settings.quiet = false;
	if (measured)
		settings.sandbox = config_plugin_of(config ?: &none).sandbox == CONFIG_YES;
	return settings;
}

struct plugin_settings plugin_config_snapshot(bool named, bool in_process)
{
	struct plugin_settings settings = plugin_config_simulation(NULL, true);

	settings.sandbox = named && geteuid() == 0;
	settings.in_process = in_process && !settings.sandbox;
	return settings;
}

bool plugin_config_check(const struct config *config, const struct sched_system *system,
			 GError **error)
{
	const char *name = plugin_config_run(config, system).fallback;
	struct policy policy;
	char message[512];

	if (policy_parse(name, &policy, message, sizeof(message)) < 0)
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "plugin.fallback: %s",
				  message);
	if (policy_is_outside(&policy))
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
				  "plugin.fallback: '%s' is from outside itself; name a policy of "
				  "`virtbed policies`",
				  name);
	if (policy_misfit(&policy, system))
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
				  "plugin.fallback: '%s' does not fit: %s; name another policy",
				  name, policy_misfit(&policy, system));
	return true;
}
