/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/migration_private.h"

#define LOG_SUBSYSTEM "migration"
#include "common/log.h"

bool migration_vm_is_elsewhere(const struct moving_vm *moving)
{
	return node_vm_host(moving->from) != node_vm_host(moving->to);
}

bool migration_vm_has_moved(const struct moving_vm *moving)
{
	return moving->migration->record->vms[moving->index].moved;
}

struct node *migration_vm_left(const struct moving_vm *moving)
{
	if (moving->from == moving->to)
		return NULL;
	return migration_vm_has_moved(moving) ? moving->from : moving->to;
}

void migration_vm_leave_node(struct moving_vm *moving)
{
	struct node *left = migration_vm_left(moving);

	if (left && !moving->gone)
		pool_leave(moving->migration->pool, left,
			   left == moving->from ? moving->to : moving->from, moving->vm);
}

static void vm_arrived(struct moving_vm *moving)
{
	moving->moving = false;
	task_migration_set_moved(moving->migration->record, moving->index, true);
	pool_arrived(moving->migration->pool, moving->vm, moving->to);
	vm_allow_absence(moving->vm, false);
}

void migration_vm_stayed(struct moving_vm *moving)
{
	moving->moving = false;
	pool_give_up(moving->migration->pool, moving->vm, moving->to);
	vm_set_destination(moving->vm, NULL);
	vm_allow_absence(moving->vm, false);
}

static void move_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct transfer_took *took = result;
	uint32_t i;
	struct migration *migration = vm_steps_answered(data, &i);
	struct task_migration_vm *times;

	if (!migration)
		return;
	if (!error) {
		times = &migration->record->vms[i];
		times->total_ns = took->total_ns;
		times->downtime_ns = took->downtime_ns;
		log_info_of(LOG_NODE(vm_name(migration->vms[i].vm)),
			    "moved to host '%s' in %.3f s, down for %.3f s", times->to_host,
			    (double)took->total_ns * 1e-9, (double)took->downtime_ns * 1e-9);
		vm_arrived(&migration->vms[i]);
	}
	vm_steps_done(migration->steps, i, error);
}

static bool move_vm(struct moving_vm *moving)
{
	if (moving->from == moving->to)
		return false;
	if (!migration_vm_is_elsewhere(moving)) {
		task_migration_set_moved(moving->migration->record, moving->index, true);
		return false;
	}
	moving->moving = true;
	vm_allow_absence(moving->vm, true);
	pool_move(moving->migration->pool, moving->vm, moving->to, TRANSFER_LIVE, move_answered,
		  vm_steps_call(moving->migration->steps, moving->index));
	return true;
}

/* `result` is an enum transfer_place. */
static void located(gpointer result, const GError *error, gpointer data)
{
	uint32_t i;
	struct migration *migration = vm_steps_answered(data, &i);
	struct moving_vm *moving;

	if (!migration)
		return;
	if (migration_vm_repeats(migration, i, error)) {
		vm_steps_repeat(migration->steps, i);
		return;
	}
	moving = &migration->vms[i];
	if (!error && GPOINTER_TO_INT(result) == TRANSFER_TO) {
		/* A frozen copy may be left there. */
		domain_destroy(vm_current_host(moving->vm), vm_domain(moving->vm),
			       vm_keeper(moving->vm), NULL, NULL);
		vm_arrived(moving);
	} else if (!error) {
		migration_vm_stayed(moving);
	}
	vm_steps_done(migration->steps, i, error);
}

static bool locate_vm(struct moving_vm *moving)
{
	if (!moving->moving)
		return false;
	pool_find(moving->migration->pool, moving->vm, moving->to, TRANSFER_LIVE, located,
		  vm_steps_call(moving->migration->steps, moving->index));
	return true;
}

/* Whether the VM has changed its host. A VM that has not still has its ports and its clock. */
static bool has_come(const struct moving_vm *moving)
{
	return migration_vm_has_moved(moving) && migration_vm_is_elsewhere(moving);
}

static bool wire_vm(struct moving_vm *moving)
{
	if (!has_come(moving))
		return false;
	vm_rewire(moving->vm);
	return true;
}

static bool place_vm(struct moving_vm *moving)
{
	if (!migration_vm_has_moved(moving))
		return false;
	vm_steps_place(moving->migration->steps, moving->index, moving->vm);
	return true;
}

static bool set_clock(struct moving_vm *moving)
{
	if (!has_come(moving))
		return false;
	vm_steps_set_clock(moving->migration->steps, moving->index, moving->vm);
	return true;
}

static bool (*const starts[MIGRATION_STEPS])(struct moving_vm *moving) = {
	[MIGRATION_MOVING] = move_vm,     [MIGRATION_LOCATING] = locate_vm,
	[MIGRATION_WIRING] = wire_vm,     [MIGRATION_PLACING] = place_vm,
	[MIGRATION_CLOCKING] = set_clock,
};

bool migration_vm_start(void *owner, uint32_t moving)
{
	struct migration *migration = owner;

	return starts[vm_steps_current(migration->steps)](&migration->vms[moving]);
}

/* A host may be out of reach for a while, and an agent until its VM runs again. */
bool migration_vm_repeats(void *owner, uint32_t vm, const GError *error)
{
	const struct migration *migration = owner;

	if (vm_steps_current(migration->steps) == MIGRATION_CLOCKING)
		return error ? !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED)
			     : vm_steps_is_clock_late(migration->steps, vm);
	return g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION);
}
