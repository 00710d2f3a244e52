/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_plugin.h"

static const char *const answers[] = {"no", "yes", NULL};

static const struct config_key plugin_keys[] = {
	{CONFIG_TEXT(plugin, fallback),
	 .help = "the policy that decides an event of a run or a service in which the policy from "
		 "outside does not. Default: easy; greedy on shared hosts, mm where clusters have "
		 "queues."},
	{CONFIG_NUMBER(plugin, deadline_s), .fallback = 1, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 3600),
	 .help = "how long an answer may take in a run or a service; then `fallback` decides."},
	{CONFIG_NUMBER(plugin, simulate_deadline_s), .fallback = 60, CONFIG_NOT_ZERO,
	 CONFIG_ABOVE(0, 86400),
	 .help = "how long it may take in `simulate`, `study`, `decide` and `rerun`; then the "
		 "command fails."},
	{CONFIG_WORD(plugin, sandbox, answers), .fallback = CONFIG_YES, CONFIG_OR_ZERO,
	 .help = "`yes`: in runs and services, also where `rerun` carries them out again, it has no "
		 "network, no new privileges and the limits below; where the kernel refuses that, "
		 "it does not start. `no`: it runs as any program."},
	{CONFIG_WORD(plugin, sandbox_simulations, answers),
	 .help = "`yes`: the same elsewhere, and a shared object has a process of its own there, of "
		 "which a crash says more. `no`: a sandbox in runs and services alone. `decide` "
		 "reads no configuration: it has the defaults, but for root a sandbox for what a "
		 "snapshot names."},
	{CONFIG_TEXT(plugin, user), .fallback_text = CONFIG_PLUGIN_USER,
	 .help = "the user that it runs as in the sandbox where virtbed runs as root."},
	{CONFIG_UINT(plugin, cpu_s), .fallback = 36000, CONFIG_NOT_ZERO, CONFIG_MOST(1, 1000000000),
	 .help = "CPU time of a process in the sandbox; it is started again after that."},
	{CONFIG_UINT(plugin, memory_mib), .fallback = 4096, CONFIG_NOT_ZERO,
	 CONFIG_MOST(16, 100000000), .help = "address space of a process in the sandbox, MiB."},
	{CONFIG_UINT(plugin, file_mib), .fallback = 64, CONFIG_NOT_ZERO, CONFIG_MOST(1, 1000000),
	 .help = "the largest file that it may write there, MiB."},
	{CONFIG_UINT(plugin, files), .fallback = 64, CONFIG_NOT_ZERO, CONFIG_MOST(8, 1000000),
	 .help = "files that a process may have open there."},
	{CONFIG_UINT(plugin, processes), .fallback = 32, CONFIG_NOT_ZERO, CONFIG_MOST(1, 1000000),
	 .help = "processes and threads that its user may have: of `user` all on the machine count, "
		 "else those in the sandbox."},
	{NULL},
};
const struct config_section config_plugin_section = {plugin_keys, sizeof(struct config_plugin)};

struct config_plugin config_plugin_of(const struct config *config)
{
	const struct config_plugin *given = config->served_sections[CONFIG_PLUGIN];
	struct config_plugin plugin;

	if (given)
		return *given;
	config_section_fill(&config_plugin_section, &plugin);
	g_free(plugin.user);
	plugin.user = (char *)CONFIG_PLUGIN_USER;
	return plugin;
}
