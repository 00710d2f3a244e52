/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A task has its nodes for itself (Machovec 2018), which policies may reserve for later. Nodes that
 * another task is still leaving can be claimed (Machovec 2017; nodes.h).
 */
#include <math.h>

#include "controller/engine/mapping.h"
#include "controller/engine/nodes.h"
#include "controller/engine/own_nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_lists.h"

static const char *waits_because(const struct engine *engine, uint32_t index)
{
	return own_nodes_fits_idle(engine, index) ? NULL : "no idle nodes";
}

static bool has_to_decide(const struct engine *engine)
{
	return engine_waiting_count(engine) + engine_suspended_count(engine) > 0;
}

static double next_s(const struct engine *engine, double after_s)
{
	return INFINITY;
}

/* There are no queues. */
static bool restore_place(struct engine *engine, uint32_t index, const struct engine_task *record)
{
	return record->state != ENGINE_TASK_QUEUED && engine_place_free(engine, index);
}

const struct placement_ops placement_exclusive = {
	.name = "exclusive",
	.decides_apart = true,
	.restorable = true,
	.init = placement_without_state,
	.finish = placement_without_state,
	.width = own_nodes_width,
	.estimate = own_nodes_estimate,
	.allocate = own_nodes_allocate,
	.free = own_nodes_free,
	.set_departing = own_nodes_set_departing,
	.count_waits = own_nodes_count_waits,
	.find_claimant = own_nodes_find_claimant,
	.find_due_claims = own_nodes_find_due_claims,
	.fits = own_nodes_fits,
	.waits_because = waits_because,
	.takes_vm = own_nodes_takes_vm,
	.find_full_node = own_nodes_find_full_node,
	.order_nodes = engine_sort_nodes,
	.find_left = own_nodes_find_left,
	.note_migration = own_nodes_note_migration,
	.begin_interval = placement_without_progress,
	.end_interval = placement_without_progress,
	.send_share = placement_without_share,
	.policy_memory = placement_without_memory,
	.has_to_decide = has_to_decide,
	.next_s = next_s,
	.fill_snapshot = own_nodes_fill_snapshot,
	.note_decision = placement_without_notes,
	.check_action = engine_validate_on_own_nodes,
	.prepare_action = engine_prepare_action,
	.launch_action = engine_launch_action,
	.check_plan = placement_without_limit,
	.has_queued = placement_without_queued,
	.start_next = placement_without_queues,
	.handle_event = placement_without_queue_events,
	.task_ended = placement_without_deadlines,
	.kill_queued = placement_without_queues,
	.restore_place = restore_place,
	.restore_pruner = placement_without_pruner,
	.resend_queues = placement_without_queues,
};
