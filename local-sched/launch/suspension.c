/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/suspension_private.h"

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/hypervisor/managed_save.h"

#define LOG_SUBSYSTEM "suspension"
#include "common/log.h"

enum suspension_step suspension_step(const struct suspension *suspension)
{
	return (enum suspension_step)vm_steps_current(suspension->steps);
}

static void fire(struct suspension *suspension, enum suspension_event event)
{
	vm_steps_fire(suspension->steps, event, NULL);
}

/* Steps. */

static void enter_moving(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->count; i++) {
		if (suspension_vm_is_elsewhere(&suspension->vms[i])) {
			suspension_when_still(suspension);
			return;
		}
	}
	fire(suspension, SUSPENSION_EVENT_DONE);
}

static void measure_skew(struct suspension *suspension)
{
	int64_t first_us = INT64_MAX;
	int64_t last_us = 0;

	for (uint32_t i = 0; i < suspension->count; i++) {
		int64_t frozen_us = vm_frozen_us(suspension->vms[i].vm);

		first_us = MIN(first_us, frozen_us);
		last_us = MAX(last_us, frozen_us);
	}
	/* 0: the hypervisor did not report the time. */
	suspension->record->skew_ns = first_us > 0 ? (last_us - first_us) * 1000 : -1;
}

static void wait_for_nodes(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->count; i++)
		if (!node_is_settled(suspension->vms[i].node))
			return;
	fire(suspension, SUSPENSION_EVENT_DONE);
}

static void leave_nodes(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->count; i++)
		pool_vacate(suspension->pool, suspension->vms[i].node);
	wait_for_nodes(suspension);
}

static void forget_images(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->count; i++) {
		struct suspended_vm *suspended = &suspension->vms[i];

		if (suspended->image)
			managed_save_remove(vm_current_host(suspended->vm),
					    vm_domain(suspended->vm), vm_keeper(suspended->vm),
					    NULL, NULL);
		suspended->image = false;
	}
}

static void let_go_all(struct suspension *suspension)
{
	int64_t now_ns = platform_now_ns(pool_platform(suspension->pool));

	for (uint32_t i = 0; i < suspension->count; i++)
		vm_unhold(suspension->vms[i].vm);
	forget_images(suspension);
	suspension->events->released(now_ns, suspension->data);
}

static void succeed(struct suspension *suspension)
{
	/* Failures of an attempt that succeeded in the end do not matter. */
	g_free(vm_steps_take_reason(suspension->steps));
	suspension->events->ended(NULL, suspension->data);
}

static void stay(struct suspension *suspension)
{
	g_autofree char *reason = vm_steps_take_reason(suspension->steps);

	suspension->events->ended(reason, suspension->data);
}

static void enter_quieting(struct suspension *suspension)
{
	if (suspension->events->is_quiet(suspension->data))
		fire(suspension, SUSPENSION_EVENT_DONE);
}

static void enter_freezing(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->count; i++)
		vm_hold(suspension->vms[i].vm);
	vm_steps_run(suspension->steps);
}

static void enter_counting(struct suspension *suspension)
{
	suspension->record->frozen_ns = platform_now_ns(pool_platform(suspension->pool));
	suspension->counted = false;
	log_info_of(LOG_LOCAL(suspension->task), "frozen after %.3f s",
		    clock_elapsed_s(suspension->record->requested_ns,
				    suspension->record->frozen_ns));
	suspension->events->held(suspension->record->frozen_ns, suspension->data);
}

static void enter_leaving(struct suspension *suspension)
{
	measure_skew(suspension);
	leave_nodes(suspension);
}

static void enter_clocking(struct suspension *suspension)
{
	suspension->record->running_ns = platform_now_ns(pool_platform(suspension->pool));
	log_info_of(LOG_LOCAL(suspension->task), "runs again after %.3f s",
		    clock_elapsed_s(suspension->record->resume_requested_ns,
				    suspension->record->running_ns));
	let_go_all(suspension);
	pool_tidy(suspension->pool);
	if (suspension_step(suspension) == SUSPENSION_CLOCKING)
		vm_steps_run(suspension->steps);
}

static void enter_lost(struct suspension *suspension)
{
	g_autofree char *reason = vm_steps_take_reason(suspension->steps);

	suspension->events->lost(reason, suspension->data);
}

/* `event` led to the step "running", by any way. */
static void enter_running(struct suspension *suspension, guint previous, guint event)
{
	if (event == SUSPENSION_EVENT_ABORT)
		return;
	if (previous == SUSPENSION_THAWING)
		let_go_all(suspension);
	if (previous == SUSPENSION_CLOCKING) {
		suspension->record->resumed_ns = platform_now_ns(pool_platform(suspension->pool));
		succeed(suspension);
	} else {
		stay(suspension);
	}
}

static void enter_suspended(struct suspension *suspension, guint previous)
{
	if (previous == SUSPENSION_RETREATING) {
		stay(suspension);
	} else {
		suspension->record->suspended_ns = platform_now_ns(pool_platform(suspension->pool));
		succeed(suspension);
	}
}

static void finish_doom(struct suspension *suspension)
{
	vm_steps_jump(suspension->steps, SUSPENSION_LOST);
	for (uint32_t i = 0; i < suspension->count; i++) {
		struct suspended_vm *suspended = &suspension->vms[i];

		if (suspended->moving)
			pool_give_up(suspension->pool, suspended->vm, suspended->node);
		if (suspension_vm_is_elsewhere(suspended) &&
		    node_vm(suspended->node) == suspended->vm)
			pool_abandon(suspension->pool, suspended->node,
				     "its task ended on the way there");
		suspended->moving = false;
		vm_allow_absence(suspended->vm, false);
	}
	forget_images(suspension);
	suspension->events->cancelled(suspension->data);
}

/* The beginning of steps that do more, or other, than a step for each VM. */
static void (*const entries[SUSPENSION_STEPS])(struct suspension *suspension) = {
	[SUSPENSION_QUIETING] = enter_quieting, [SUSPENSION_FREEZING] = enter_freezing,
	[SUSPENSION_COUNTING] = enter_counting, [SUSPENSION_LEAVING] = enter_leaving,
	[SUSPENSION_MOVING] = enter_moving,     [SUSPENSION_CLOCKING] = enter_clocking,
	[SUSPENSION_RETREATING] = leave_nodes,  [SUSPENSION_LOST] = enter_lost,
};

static void enter(void *owner, guint previous, guint event)
{
	struct suspension *suspension = owner;
	const enum suspension_step step = suspension_step(suspension);

	if (suspension->cancelling) {
		finish_doom(suspension);
		return;
	}
	if (step == SUSPENSION_RUNNING)
		enter_running(suspension, previous, event);
	else if (step == SUSPENSION_SUSPENDED)
		enter_suspended(suspension, previous);
	else if (entries[step])
		entries[step](suspension);
	else
		vm_steps_run(suspension->steps);
}

static void left(void *owner)
{
	struct suspension *suspension = owner;

	g_clear_handle_id(&suspension->still_source, g_source_remove);
}

static const struct vm_steps_kind kind = {
	.table = &suspension_steps,
	.start = suspension_vm_start,
	.is_to_be_repeated = suspension_vm_repeats,
	.good = suspension_vm_good,
	.left = left,
	.enter = enter,
};

/* Life. */

struct suspension *suspension_new(const struct task *task, struct pool *pool, struct vm *const *vms,
				  const struct vm_steps_events *events, void *data)
{
	struct suspension *suspension = g_new0(struct suspension, 1);

	suspension->pool = pool;
	suspension->count = task->nodes_count;
	suspension->task = g_strdup(task->id);
	suspension->events = events;
	suspension->data = data;
	suspension->steps = vm_steps_new(pool_platform(pool), &kind, task->id, task->nodes_count,
					 vm_patience_s(vms[0]), suspension);
	suspension->vms = g_new0(struct suspended_vm, task->nodes_count);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		suspension->vms[i] = (struct suspended_vm){
			.suspension = suspension,
			.index = i,
			.vm = vms[i],
			.node = pool_node(pool, task_placed(task)[i]),
			.settled = vm_where(vms[i]),
		};
	return suspension;
}

void suspension_free(struct suspension *suspension)
{
	if (!suspension)
		return;
	left(suspension);
	vm_steps_free(suspension->steps);
	g_free(suspension->vms);
	g_free(suspension->task);
	g_free(suspension);
}

/* Requests. */

void suspension_suspend(struct suspension *suspension, struct task_suspension *record)
{
	suspension->record = record;
	fire(suspension, SUSPENSION_EVENT_SUSPEND);
}

void suspension_resume(struct suspension *suspension)
{
	const uint32_t *nodes = suspension->record->resumed_nodes;

	for (uint32_t i = 0; i < suspension->count; i++) {
		struct suspended_vm *suspended = &suspension->vms[i];

		suspended->node = pool_node(suspension->pool, nodes[i]);
		pool_occupy(suspension->pool, suspended->node, suspended->vm);
	}
	fire(suspension, SUSPENSION_EVENT_RESUME);
}

bool suspension_match_nodes(const struct suspension *suspension, uint32_t *nodes, GError **error)
{
	g_autofree struct vm **vms = g_new0(struct vm *, suspension->count);

	for (uint32_t i = 0; i < suspension->count; i++)
		vms[i] = suspension->vms[i].vm;
	return pool_match(suspension->pool, vms, NULL, suspension->count, nodes, error);
}

void suspension_proceed(struct suspension *suspension)
{
	switch (suspension_step(suspension)) {
	case SUSPENSION_QUIETING:
		enter_quieting(suspension);
		return;
	case SUSPENSION_COUNTING:
		if (!suspension->counted) {
			suspension->counted = true;
			suspension_decide(suspension);
		}
		return;
	case SUSPENSION_LEAVING:
	case SUSPENSION_RETREATING:
		wait_for_nodes(suspension);
		return;
	default:
		return;
	}
}

void suspension_wired(struct suspension *suspension, struct vm *vm, const GError *error)
{
	const enum suspension_step step = suspension_step(suspension);

	if (step != SUSPENSION_WIRING && step != SUSPENSION_REWIRING)
		return;
	for (uint32_t i = 0; i < suspension->count; i++)
		if (suspension->vms[i].vm == vm)
			vm_steps_wired(suspension->steps, i, error);
}

void suspension_abort(struct suspension *suspension)
{
	fire(suspension, SUSPENSION_EVENT_ABORT);
}

/* Whether a step is waited for: VMs on their way to or from a disk, and VMs for the nodes. */
static bool is_to_be_awaited(enum suspension_step step)
{
	return step == SUSPENSION_SAVING || step == SUSPENSION_UNSAVING ||
	       step == SUSPENSION_RESTORING || step == SUSPENSION_LEAVING ||
	       step == SUSPENSION_RETREATING || step == SUSPENSION_MOVING ||
	       step == SUSPENSION_LOCATING;
}

/* Interrupts moves to another host, which then end soon. */
static void interrupt_moves(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->count; i++) {
		struct suspended_vm *suspended = &suspension->vms[i];

		if (suspended->moving)
			pool_interrupt(suspension->pool, suspended->vm, suspended->node,
				       suspended->saved ? TRANSFER_SAVED : TRANSFER_STILL);
	}
}

void suspension_cancel(struct suspension *suspension)
{
	if (suspension->cancelling)
		return;
	suspension->cancelling = true;
	/* While it waits for silence, nothing has begun. */
	if (is_to_be_awaited(suspension_step(suspension)) && suspension->still_source == 0) {
		interrupt_moves(suspension);
		return;
	}
	finish_doom(suspension);
}
