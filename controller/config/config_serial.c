/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_serial.h"

#include "controller/config/config_environment.h"

const char *const config_utilities[] = {
	[CONFIG_UTILITY_CLASSES] = "classes",
	[CONFIG_UTILITY_STEP] = "step",
	[CONFIG_UTILITY_DECAY] = "decay",
	NULL,
};

static const struct config_key serial_keys[] = {
	{CONFIG_NUMBER(serial, spread), .fallback = 0.5, CONFIG_OR_ZERO, .max = 1,
	 .below_max = true,
	 .help = "a trial's clusters have 1 - spread to 1 + spread times their nodes."},
	{CONFIG_NUMBER(serial, burst), .fallback = 64, CONFIG_NOT_ZERO, CONFIG_TO(1, 10000),
	 .help = "mean number of tasks that arrive at once."},
	{CONFIG_WORD(serial, utility, config_utilities),
	 .help = "one of 20 `classes` for each burst, a `step`, or constant and then `decay`."},
	{CONFIG_NUMBER(serial, critical_share), .fallback = 0.2, CONFIG_OR_ZERO, CONFIG_TO(0, 1),
	 .help = "of the task types."},
	{CONFIG_NUMBER(serial, critical_utility), .fallback = 8, CONFIG_NOT_ZERO,
	 CONFIG_TO(0.001, 1e6),
	 .help = "that critical tasks begin with; ordinary ones begin with 1."},
	{CONFIG_NUMBER(serial, critical_mean_s), .fallback = 600, CONFIG_NOT_ZERO,
	 CONFIG_TO(1, 1e6), .help = "mean execution time of critical tasks."},
	{CONFIG_NUMBER(serial, ordinary_mean_s), .fallback = 3000, CONFIG_NOT_ZERO,
	 CONFIG_TO(1, 1e6), .help = "mean execution time of the others."},
	{CONFIG_NUMBER(serial, may_preempt_share), .fallback = 1, CONFIG_OR_ZERO, CONFIG_TO(0, 1),
	 .help = "of the bursts: their tasks may preempt others."},
	{CONFIG_NUMBER(serial, preemptible_share), .fallback = 1, CONFIG_OR_ZERO, CONFIG_TO(0, 1),
	 .help = "of the bursts: their tasks may be preempted."},
	{NULL},
};

const struct config_section config_serial_section = {serial_keys, sizeof(struct config_serial)};

/* What serial tasks do not go together with. */
char *config_serial_check(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);

	if (environment->trace)
		return g_strdup(
			"environment.trace: the jobs of a trace are parallel; leave out trace or "
			"environment.serial");
	if (environment->special_count > 0)
		return g_strdup(
			"environment.special: serial tasks run on every cluster; leave it empty, or leave out "
			"environment.serial");
	if (environment->pstates != 1)
		return g_strdup_printf(
			"environment.pstates: %u, but serial tasks know one P-state; leave it out",
			environment->pstates);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config->clusters[c].cores != 1)
			return g_strdup_printf(
				"clusters[%u].cores: %u, but with environment.serial a node is one "
				"core; give 1",
				c, config->clusters[c].cores);
	if (config->experiment->limits_count != 1)
		return g_strdup(
			"experiment.limits: the tasks of environment.serial use no energy; give [1]");
	return NULL;
}
