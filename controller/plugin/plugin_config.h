/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/plugin/plugin.h"

/* How plug-ins run by the section `plugin` of a configuration; texts are borrowed from it. */

/* In a run or a service of `system`: with a fallback. */
struct plugin_settings plugin_config_run(const struct config *config,
					 const struct sched_system *system);

/*
 * In a simulation: without a fallback. `in_process`: its author runs it. Shared objects are loaded
 * into this process then, unless there is a sandbox, and what programs write to standard error is
 * logged. NULL: the defaults.
 */
struct plugin_settings plugin_config_simulation(const struct config *config, bool in_process);

/*
 * Where a stored run is carried out again, by its own configuration (NULL: the defaults): as a
 * simulation waits, and in the sandbox that the run had.
 */
struct plugin_settings plugin_config_rerun(const struct config *config, bool measured);

/*
 * Where there is a snapshot alone: as in a simulation by the defaults. `named`: the snapshot names
 * the program, not the command line; root runs that in the sandbox. `in_process`: a shared object
 * is loaded into this process then, which explanations of it need.
 */
struct plugin_settings plugin_config_snapshot(bool named, bool in_process);

/*
 * Whether the fallback is a policy of the tree that fits `system`. False with `error` (CONFIG_ERROR),
 * which names the key.
 */
bool plugin_config_check(const struct config *config, const struct sched_system *system,
			 GError **error);
