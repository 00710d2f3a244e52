/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CPU cap of a VM with the CPU share of its task, and the binding of its cores. */
#include "local-sched/hypervisor/vm_private.h"

void vm_set_share(struct vm *vm, double share)
{
	vm->share = share;
	vm->shared = true;
}

struct cpu_cap vm_cap_at(const struct vm *vm, const struct vm_place *place)
{
	return vm->share < 1 || vm->shared ? cpu_cap_share(place->cap, vm->share) : *place->cap;
}

struct domain_cores vm_cores_at(struct vm *vm, const struct vm_place *place)
{
	struct domain_cores cores = {
		.first_core = place->first_core,
		.first_cpu = place->first_cpu,
		.moved = vm->spread_core >= 0 && vm->spread_core != place->first_core,
	};

	vm->spread_core = place->first_core;
	return cores;
}
