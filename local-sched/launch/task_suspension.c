/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_suspension.h"

struct task_suspension *task_suspension_new(uint32_t n, const uint32_t *nodes, uint32_t count,
					    int64_t now_ns)
{
	struct task_suspension *suspension = record_new(&task_suspension_record);

	suspension->n = n;
	suspension->attempt = 1;
	suspension->count = count;
	suspension->nodes = g_memdup2(nodes, count * sizeof(*nodes));
	suspension->vms = g_new0(struct task_vm_durations, count);
	for (uint32_t i = 0; i < count; i++)
		suspension->vms[i].node = nodes[i];
	suspension->requested_ns = now_ns;
	return suspension;
}

void task_suspension_undo(struct task_suspension *suspension)
{
	g_clear_pointer(&suspension->resumed_nodes, g_free);
	suspension->resume_requested_ns = suspension->running_ns = 0;
	for (uint32_t i = 0; i < suspension->count; i++)
		suspension->vms[i].move_ns = suspension->vms[i].restore_ns =
			suspension->vms[i].resume_ns = 0;
}
