/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/migration_private.h"

#include "common/platform.h"
#include "local-sched/hypervisor/vm_requests.h"

#define LOG_SUBSYSTEM "migration"

#define QUIET_MS 50

/* The limit of a step once the task ends, and the interval at which moves are asked to end. */
#define ABORT_LIMIT_S 10
#define ABORT_AGAIN_MS 1000

enum migration_step migration_step(const struct migration *migration)
{
	return (enum migration_step)vm_steps_current(migration->steps);
}

static void fire(struct migration *migration, enum migration_event event)
{
	vm_steps_fire(migration->steps, event, NULL);
}

/* Steps. */

static gboolean check_quiet(gpointer data)
{
	struct migration *migration = data;

	if (!migration->events->is_quiet(migration->data))
		return G_SOURCE_CONTINUE;
	migration->quiet_source = 0;
	fire(migration, MIGRATION_EVENT_DONE);
	return G_SOURCE_REMOVE;
}

static void enter_quieting(struct migration *migration)
{
	if (migration->events->is_quiet(migration->data))
		fire(migration, MIGRATION_EVENT_DONE);
	else
		migration->quiet_source = platform_after_ms(pool_platform(migration->pool),
							    QUIET_MS, check_quiet, migration);
}

static void enter_moving(struct migration *migration)
{
	migration->record->begun_ns = platform_now_ns(pool_platform(migration->pool));
	for (uint32_t i = 0; i < migration->count; i++)
		vm_hold(migration->vms[i].vm);
	migration->events->held(migration->record->begun_ns, migration->data);
	vm_steps_run(migration->steps);
}

static void leave_nodes(struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++)
		migration_vm_leave_node(&migration->vms[i]);
	pool_tidy(migration->pool);
}

static void wait_for_nodes(struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++) {
		const struct node *left = migration_vm_left(&migration->vms[i]);

		if (left && !migration->vms[i].gone && !node_is_settled(left))
			return;
	}
	fire(migration, MIGRATION_EVENT_DONE);
}

/*
 * All VMs have their final place: the task runs on. Only then are the clocks set, which takes a
 * while.
 */
static void enter_clocking(struct migration *migration)
{
	migration->record->moved_ns = platform_now_ns(pool_platform(migration->pool));
	for (uint32_t i = 0; i < migration->count; i++) {
		if (migration->vms[i].gone)
			continue;
		vm_set_destination(migration->vms[i].vm, NULL);
		vm_unhold(migration->vms[i].vm);
	}
	leave_nodes(migration);
	migration->events->released(migration->record->moved_ns, migration->data);
	if (migration_step(migration) == MIGRATION_CLOCKING)
		vm_steps_run(migration->steps);
}

static bool all_moved(const struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++) {
		const struct moving_vm *moving = &migration->vms[i];

		if (moving->from != moving->to && !migration_vm_has_moved(moving))
			return false;
	}
	return true;
}

static void enter_idle(struct migration *migration, guint event)
{
	if (event == MIGRATION_EVENT_ABORT)
		return;
	if (event == MIGRATION_EVENT_LIMIT)
		leave_nodes(migration); /* no VM has moved */
	migration->record->settled_ns = platform_now_ns(pool_platform(migration->pool));
	if (!all_moved(migration))
		migration->record->reason = vm_steps_take_reason(migration->steps);
	migration->events->ended(migration->record->reason, migration->data);
}

/* The VMs are held until the task gives them back, which removes them. */
static void enter_lost(struct migration *migration)
{
	g_autofree char *reason = vm_steps_take_reason(migration->steps);

	for (uint32_t i = 0; i < migration->count; i++) {
		struct moving_vm *moving = &migration->vms[i];

		if (moving->moving)
			migration_vm_stayed(moving);
		if (!moving->gone)
			vm_set_destination(moving->vm, NULL);
	}
	leave_nodes(migration);
	migration->events->lost(reason, migration->data);
}

/* The beginning of steps that do more, or other, than a step for each VM. */
static void (*const entries[MIGRATION_STEPS])(struct migration *migration) = {
	[MIGRATION_QUIETING] = enter_quieting, [MIGRATION_MOVING] = enter_moving,
	[MIGRATION_CLOCKING] = enter_clocking, [MIGRATION_LEAVING] = wait_for_nodes,
	[MIGRATION_LOST] = enter_lost,
};

static void enter(void *owner, guint previous, guint event)
{
	struct migration *migration = owner;
	const enum migration_step step = migration_step(migration);

	if (migration->aborting && vm_steps_limit_s(migration->steps) > ABORT_LIMIT_S)
		vm_steps_set_limit(migration->steps, ABORT_LIMIT_S);
	if (step == MIGRATION_IDLE)
		enter_idle(migration, event);
	else if (entries[step])
		entries[step](migration);
	else
		vm_steps_run(migration->steps);
}

static void left(void *owner)
{
	struct migration *migration = owner;

	g_clear_handle_id(&migration->quiet_source, g_source_remove);
	g_clear_handle_id(&migration->abort_source, g_source_remove);
}

/*
 * A VM that has arrived runs on while its host is out of reach, so the steps there wait for the
 * host. Where the VM's place is not known, the wait is limited.
 */
static bool is_patient(void *owner)
{
	const struct migration *migration = owner;
	const enum migration_step step = migration_step(migration);

	if (migration->aborting || (step != MIGRATION_WIRING && step != MIGRATION_PLACING))
		return false;
	for (uint32_t i = 0; i < migration->count; i++)
		if (vm_steps_awaits(migration->steps, i) &&
		    !host_connected(vm_current_host(migration->vms[i].vm)))
			return true;
	return false;
}

static const struct vm_steps_kind kind = {
	.table = &migration_steps,
	.start = migration_vm_start,
	.is_to_be_repeated = migration_vm_repeats,
	.is_patient = is_patient,
	.left = left,
	.enter = enter,
};

/* Life. */

struct migration *migration_new(const struct task *task, struct pool *pool, struct vm *const *vms,
				const struct vm_steps_events *events, void *data)
{
	struct migration *migration = g_new0(struct migration, 1);

	migration->task = g_strdup(task->id);
	migration->pool = pool;
	migration->count = task->nodes_count;
	migration->events = events;
	migration->data = data;
	migration->steps = vm_steps_new(pool_platform(pool), &kind, task->id, task->nodes_count,
					vm_patience_s(vms[0]), migration);
	migration->vms = g_new0(struct moving_vm, task->nodes_count);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		migration->vms[i] =
			(struct moving_vm){.migration = migration, .index = i, .vm = vms[i]};
	return migration;
}

void migration_free(struct migration *migration)
{
	if (!migration)
		return;
	left(migration);
	vm_steps_free(migration->steps);
	g_free(migration->vms);
	g_free(migration->task);
	g_free(migration);
}

/* Requests. */

void migration_start(struct migration *migration, struct task_migration *record)
{
	migration->record = record;
	migration->aborting = false;
	g_free(vm_steps_take_reason(migration->steps));
	for (uint32_t i = 0; i < migration->count; i++) {
		struct moving_vm *moving = &migration->vms[i];
		struct task_migration_vm *recorded = &record->vms[i];

		moving->from = pool_node(migration->pool, recorded->from);
		moving->to = pool_node(migration->pool, recorded->to);
		recorded->from_host = g_strdup(host_name(vm_host_host(node_vm_host(moving->from))));
		recorded->to_host = g_strdup(host_name(vm_host_host(node_vm_host(moving->to))));
		if (moving->from != moving->to)
			pool_occupy(migration->pool, moving->to, moving->vm);
	}
	fire(migration, MIGRATION_EVENT_START);
}

void migration_proceed(struct migration *migration)
{
	if (migration_step(migration) == MIGRATION_LEAVING)
		wait_for_nodes(migration);
}

void migration_wired(struct migration *migration, struct vm *vm, const GError *error)
{
	if (migration_step(migration) != MIGRATION_WIRING)
		return;
	for (uint32_t i = 0; i < migration->count; i++)
		if (migration->vms[i].vm == vm)
			vm_steps_wired(migration->steps, i, error);
}

void migration_lost(struct migration *migration, const struct vm *vm)
{
	const enum migration_step step = migration_step(migration);

	for (uint32_t i = 0; i < migration->count; i++) {
		struct moving_vm *moving = &migration->vms[i];

		if (moving->vm != vm || moving->gone || step == MIGRATION_IDLE ||
		    step == MIGRATION_LOST)
			continue;
		/* It boots at one of its nodes, and the other node gets another VM. */
		if (step != MIGRATION_CLOCKING && step != MIGRATION_LEAVING) {
			migration_vm_leave_node(moving);
			vm_set_destination(moving->vm, NULL);
		}
		moving->gone = true;
		vm_steps_drop(migration->steps, i);
	}
}

static gboolean abort_moves(gpointer data)
{
	const struct migration *migration = data;

	for (uint32_t i = 0; i < migration->count; i++)
		if (migration->vms[i].moving)
			pool_interrupt(migration->pool, migration->vms[i].vm, migration->vms[i].to,
				       TRANSFER_LIVE);
	return G_SOURCE_CONTINUE;
}

/*
 * Reports nodes as down that have no VM yet: at the task's end, its nodes are ready or known to be
 * down.
 */
static void report_unsettled_nodes(struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++) {
		struct node *node = migration_vm_left(&migration->vms[i]);

		if (node && !migration->vms[i].gone && !node_is_settled(node))
			node_vm_down(node, "its next VM is not ready yet");
	}
}

void migration_abort(struct migration *migration)
{
	switch (migration_step(migration)) {
	case MIGRATION_IDLE:
	case MIGRATION_LOST:
		return;
	case MIGRATION_QUIETING:
		leave_nodes(migration);
		fire(migration, MIGRATION_EVENT_ABORT);
		return;
	case MIGRATION_CLOCKING:
	case MIGRATION_LEAVING:
		fire(migration, MIGRATION_EVENT_ABORT);
		report_unsettled_nodes(migration);
		return;
	default:
		break;
	}
	if (migration->aborting)
		return;
	migration->aborting = true;
	vm_steps_set_limit(migration->steps, ABORT_LIMIT_S);
	if (migration_step(migration) != MIGRATION_MOVING)
		return;
	abort_moves(migration);
	migration->abort_source = platform_after_ms(pool_platform(migration->pool), ABORT_AGAIN_MS,
						    abort_moves, migration);
}
