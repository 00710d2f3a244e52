/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_workload.h"

#include "common/config/config_parts.h"

static const struct config_key workload_keys[] = {
	{CONFIG_NUMBER(workload, arrival_mean_s), CONFIG_MOST(0, INFINITY),
	 .help = "mean time between two arrivals, "
		 "which is exponential; default: as `load` says. One of them is needed."},
	{CONFIG_NUMBER(workload, duration_s), CONFIG_MOST(0, 1e9),
	 .help = "tasks arrive in this time; default: as `tasks` says. One of them is needed."},
	{CONFIG_NUMBER(workload, load), CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .help = "the work that arrives, over what all clusters can do in the same time; above 1 more arrives than "
		 "they can take. `arrival_mean_s` then follows from the estimates, so that the same experiment comes out on "
		 "hosts that are faster or slower; where the file gives both, this one counts."},
	{CONFIG_NUMBER(workload, tasks), CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .help = "mean number of tasks that arrive; goes with `load`. `duration_s` follows."},
	{CONFIG_UINT(workload, seed), .fallback = 1, CONFIG_NOT_ZERO, .help = "of the arrivals."},
	{CONFIG_LIST(workload, utility_max, UINT), .least = 1, .needed = true, .min = 1,
	 .max = INFINITY, .says = "# earns nothing",
	 .help = "whole numbers above 0, of which each task's utility is drawn."},
	{CONFIG_NUMBER(workload, constant_until), .fallback = 2.5, CONFIG_NOT_ZERO, .max = 1e6,
	 .above_min = true, .range = CONFIG_RANGE_MOST,
	 .help = "a task is worth all until so many times the type's least execution time have passed."},
	{CONFIG_NUMBER(workload, zero_at), .fallback = 4, CONFIG_NOT_ZERO, .max = 1e6,
	 .above_min = true, .range = CONFIG_RANGE_MOST,
	 .help = "and nothing from so many times on; falling in between."},
	{NULL},
};

const struct config_section config_workload_section = {
	workload_keys, sizeof(struct config_workload),
	"Arrivals and utility of the tasks of an experiment. A service ignores it, but for its types' utility."};

char *config_workload_check(const struct config_workload *workload)
{
	if (workload->zero_at < workload->constant_until)
		return g_strdup_printf(
			"workload.zero_at: %g is below constant_until, %g: utility would rise",
			workload->zero_at, workload->constant_until);
	return NULL;
}
