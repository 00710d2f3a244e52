/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_migration.h"

struct task_migration *task_migration_new(uint32_t n, const uint32_t *from, const uint32_t *to,
					  uint32_t count, int64_t now_ns)
{
	struct task_migration *migration = record_new(&task_migration_record);

	migration->n = n;
	migration->attempt = 1;
	migration->count = count;
	migration->vms = g_new0(struct task_migration_vm, count);
	migration->placed = g_memdup2(from, count * sizeof(*from));
	migration->requested_ns = now_ns;
	for (uint32_t i = 0; i < count; i++)
		migration->vms[i] = (struct task_migration_vm){.from = from[i],
							       .to = to[i],
							       .total_ns = -1,
							       .downtime_ns = -1};
	return migration;
}

void task_migration_place(struct task_migration *migration)
{
	migration->placed = g_renew(uint32_t, migration->placed, migration->count);
	for (uint32_t i = 0; i < migration->count; i++)
		task_migration_set_moved(migration, i, migration->vms[i].moved);
}

void task_migration_set_moved(struct task_migration *migration, uint32_t vm, bool moved)
{
	migration->vms[vm].moved = moved;
	migration->placed[vm] = moved ? migration->vms[vm].to : migration->vms[vm].from;
}

bool task_migration_goes_to(const struct task_migration *migration, const uint32_t *nodes,
			    uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < migration->count; i++)
		for (uint32_t j = 0; j < count; j++)
			found += migration->vms[i].to == nodes[j];
	return found == count && count == migration->count;
}

bool task_migration_came_about(const struct task_migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++)
		if (migration->vms[i].moved)
			return true;
	return false;
}
