/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/transfer.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/migration_private.h"

#define LOG_SUBSYSTEM "migration"
#include "common/log.h"

bool migration_vm_is_elsewhere(const struct moving_vm *vm)
{
	return node_site(vm->from) != node_site(vm->to);
}

bool migration_vm_has_moved(const struct moving_vm *vm)
{
	return vm->migration->record->vms[vm->index].moved;
}

struct node *migration_vm_left(const struct moving_vm *vm)
{
	if (vm->from == vm->to)
		return NULL;
	return migration_vm_has_moved(vm) ? vm->from : vm->to;
}

void migration_vm_leave_node(struct moving_vm *vm)
{
	struct node *left = migration_vm_left(vm);

	if (left && !vm->gone)
		pool_leave(vm->migration->pool, left, left == vm->from ? vm->to : vm->from,
			   vm->machine);
}

static void vm_arrived(struct moving_vm *vm)
{
	vm->moving = false;
	task_migration_set_moved(vm->migration->record, vm->index, true);
	pool_arrived(vm->migration->pool, vm->machine, vm->to);
	machine_stowed(vm->machine, false);
}

void migration_vm_stayed(struct moving_vm *vm)
{
	vm->moving = false;
	pool_give_up(vm->migration->pool, vm->machine, vm->to);
	machine_expect(vm->machine, NULL);
	machine_stowed(vm->machine, false);
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
		log_info_of(LOG_NODE(machine_name(migration->vms[i].machine)),
			    "moved to host '%s' in %.3f s, down for %.3f s", times->to_host,
			    (double)took->total_ns * 1e-9, (double)took->downtime_ns * 1e-9);
		vm_arrived(&migration->vms[i]);
	}
	vm_steps_done(migration->steps, i, error);
}

static bool move_vm(struct moving_vm *vm)
{
	if (vm->from == vm->to)
		return false;
	if (!migration_vm_is_elsewhere(vm)) {
		task_migration_set_moved(vm->migration->record, vm->index, true);
		return false;
	}
	vm->moving = true;
	machine_stowed(vm->machine, true);
	pool_move_live(vm->migration->pool, vm->machine, vm->to, move_answered,
		       vm_steps_call(vm->migration->steps, vm->index));
	return true;
}

/* `result` is one of enum transfer_place. */
static void located(gpointer result, const GError *error, gpointer data)
{
	uint32_t i;
	struct migration *migration = vm_steps_answered(data, &i);
	struct moving_vm *vm;

	if (!migration)
		return;
	if (migration_vm_repeats(migration, i, error)) {
		vm_steps_repeat(migration->steps, i);
		return;
	}
	vm = &migration->vms[i];
	if (!error && GPOINTER_TO_INT(result) == TRANSFER_TO) {
		/* Something may be left of it that stands still. */
		domain_destroy(machine_host(vm->machine), machine_domain(vm->machine), machine_keeper(vm->machine), NULL,
			       NULL);
		vm_arrived(vm);
	} else if (!error) {
		migration_vm_stayed(vm);
	}
	vm_steps_done(migration->steps, i, error);
}

static bool locate_vm(struct moving_vm *vm)
{
	if (!vm->moving)
		return false;
	pool_find_live(vm->migration->pool, vm->machine, vm->to, located,
		       vm_steps_call(vm->migration->steps, vm->index));
	return true;
}

/* Whether it is on another host than before; what the others need they still have. */
static bool has_come(const struct moving_vm *vm)
{
	return migration_vm_has_moved(vm) && migration_vm_is_elsewhere(vm);
}

static bool wire_vm(struct moving_vm *vm)
{
	if (!has_come(vm))
		return false;
	machine_rewire(vm->machine);
	return true;
}

static bool place_vm(struct moving_vm *vm)
{
	if (!migration_vm_has_moved(vm))
		return false;
	vm_steps_place(vm->migration->steps, vm->index, vm->machine);
	return true;
}

static bool set_clock(struct moving_vm *vm)
{
	if (!has_come(vm))
		return false;
	vm_steps_set_clock(vm->migration->steps, vm->index, vm->machine);
	return true;
}

static bool (*const starts[MIGRATION_STEPS])(struct moving_vm *vm) = {
	[MIGRATION_MOVING] = move_vm,     [MIGRATION_LOCATING] = locate_vm,
	[MIGRATION_WIRING] = wire_vm,     [MIGRATION_PLACING] = place_vm,
	[MIGRATION_CLOCKING] = set_clock,
};

bool migration_vm_start(void *owner, uint32_t vm)
{
	struct migration *migration = owner;

	return starts[vm_steps_current(migration->steps)](&migration->vms[vm]);
}

/* A host may be out of reach for a while, an agent until its VM has been set going. */
bool migration_vm_repeats(void *owner, uint32_t vm, const GError *error)
{
	const struct migration *migration = owner;

	if (migration_step(migration) == MIGRATION_CLOCKING)
		return error ? !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED) :
			       vm_steps_is_clock_late(migration->steps, vm);
	return g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION);
}
