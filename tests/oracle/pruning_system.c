/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/pruning_system.h"

struct sched_system *pruning_system_of(const struct sched_queueing *settings,
				       const struct sched_cluster *machines,
				       const char *const *types)
{
	struct sched_system *system = sched_system_new(machines, settings->pet->machines_count,
						       settings->pet->types_count);

	if (!system)
		g_error("out of memory");
	pruning_fill_system(system, settings, types);
	if (sched_system_finish(system, NULL) != SCHED_SYSTEM_OK)
		g_error("out of memory");
	return system;
}

struct sched_system *pruning_system_new(const struct sched_queueing *settings)
{
	static const char *const names[PRUNING_MACHINES] = {"m1", "m2", "m3", "m4",
							    "m5", "m6", "m7", "m8"};
	struct sched_cluster machines[PRUNING_MACHINES];

	for (uint32_t m = 0; m < PRUNING_MACHINES; m++)
		machines[m] = (struct sched_cluster){.name = names[m],
						     .nodes = 1,
						     .cores = 1,
						     .pstates = 1};
	return pruning_system_of(settings, machines, pruning_types);
}
