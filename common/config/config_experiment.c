/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_experiment.h"

#include "common/config/config_parts.h"

/* Runs of the same policy at the same limit would be taken for repeats. */
#define ONCE "name each once, and use repeats for more runs"

static const struct config_key experiment_keys[] = {
	{CONFIG_LIST(experiment, policies, TEXT), .once = true, .cure = ONCE, .least = 1,
	 .needed = true,
	 .help = "names as `virtbed policies` lists them, with modifiers; each once."},
	{CONFIG_LIST(experiment, limits, NUMBER), .once = true, .cure = ONCE, .least = 1,
	 .needed = true, CONFIG_ABOVE(0, 1), .help = "fractions of the budget, each once."},
	{CONFIG_NUMBER(experiment, budget_j), CONFIG_MOST(0, 1e18),
	 .help = "what 100 % is; default: what an unlimited run of max-upr is simulated to use. An environment needs "
		 "one, but with serial, sharing and pruning, which use no energy."},
	{CONFIG_NUMBER(experiment, mapping_interval_s), CONFIG_MOST(0, INFINITY),
	 .help = "time between two mapping events, at least 0.001; default: as `mapping_interval` says. One of them is needed."},
	{CONFIG_NUMBER(experiment, duration_s), CONFIG_MOST(0, 1e9),
	 .help = "a run ends then at the latest; default: as `duration` says. One of them is needed."},
	{CONFIG_NUMBER(experiment, mapping_interval), CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .help = "`mapping_interval_s` as so many times the mean execution time over the tasks that the clusters "
		 "complete; follows from the estimates."},
	{CONFIG_NUMBER(experiment, duration), CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .help = "`duration_s` as so many times that of the workload."},
	{CONFIG_UINT(experiment, repeats), .fallback = 1, CONFIG_NOT_ZERO, CONFIG_MOST(1, 10000),
	 .help = "of the same workload."},
	{CONFIG_NUMBER(experiment, baseline_s), .fallback = 10, CONFIG_OR_ZERO,
	 CONFIG_MOST(0, 86400),
	 .help = "idle time that is metered before each run, and when a service first starts."},
	{CONFIG_UINT(experiment, profile_repeats), .fallback = 3, CONFIG_NOT_ZERO,
	 CONFIG_MOST(1, 10000), .help = "measurements per type and cluster."},
	{CONFIG_NUMBER(experiment, task_deadline_s), CONFIG_NOT_ZERO, CONFIG_MOST(0, 4e6),
	 .help = "a task that runs longer is killed and fails; default: 10 times its estimate, while it is being "
		 "measured a day. A pair of type and cluster that takes longer is left out (`unmeasured`). A benchmark that "
		 "makes no progress is ended before that, after 100 s without a step at most."},
	{NULL},
};

const struct config_section config_experiment_section = {experiment_keys,
							 sizeof(struct config_experiment)};

char *config_experiment_check(const struct config_experiment *experiment)
{
	if (experiment->duration_s > 0 && experiment->mapping_interval_s > experiment->duration_s)
		return g_strdup_printf(
			"experiment.mapping_interval_s: %g s is longer than duration_s",
			experiment->mapping_interval_s);
	return NULL;
}
