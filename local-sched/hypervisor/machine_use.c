/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A VM that a task has: given to it, held while the task is suspended, and given back. */
#include "local-sched/hypervisor/machine_private.h"

/* Use by tasks. */

bool machine_suits(const struct machine *machine, int64_t owner)
{
	return owner < 0 || machine->owner == MACHINE_OWNER_NONE || machine->owner == owner;
}

void machine_renew(struct machine *machine)
{
	machine_fire(machine, MACHINE_EVENT_RENEW, "it is booted anew for another user");
}

bool machine_assign(struct machine *machine, const char *task, int64_t owner,
		    const struct machine_user *user, void *data)
{
	if (machine->state != MACHINE_READY || machine->stopped)
		return false;
	machine->user = user;
	machine->user_data = data;
	machine->task = g_strdup(task);
	machine->owner = owner;
	machine->clean = false;
	machine->cut_off = false;
	machine_fire(machine, MACHINE_EVENT_ASSIGN, NULL);
	return true;
}

void machine_release(struct machine *machine, bool clean)
{
	bool whole = !machine->shared;

	machine->clean = clean;
	machine->share = 1;
	/* With nothing to sweep that gives it its cap. */
	machine_fire(machine, clean && whole ? MACHINE_EVENT_RELEASE : MACHINE_EVENT_SWEEP,
		     machine->state == MACHINE_HELD ? "its task ended while it was suspended" :
						      NULL);
}

void machine_fail(struct machine *machine, const char *reason)
{
	machine_fire(machine, MACHINE_EVENT_FAIL, reason);
}

/* Its share. */

void machine_set_share(struct machine *machine, double share)
{
	machine->share = share;
	machine->shared = true;
}

struct cpu_cap machine_cap_at(const struct machine *machine, const struct machine_place *place)
{
	return machine->share < 1 || machine->shared ?
		       cpu_cap_share(place->cap, machine->share) :
		       *place->cap;
}

struct domain_cores machine_cores_at(struct machine *machine, const struct machine_place *place)
{
	struct domain_cores cores = {
		.first_core = place->first_core,
		.first_cpu = place->first_cpu,
		.moved = machine->spread_core >= 0 && machine->spread_core != place->first_core,
	};

	machine->spread_core = place->first_core;
	return cores;
}

/* Suspension. */

void machine_hold(struct machine *machine)
{
	g_clear_handle_id(&machine->agent_source, g_source_remove);
	g_clear_handle_id(&machine->reopen_source, g_source_remove);
	machine->frozen_us = 0;
	machine_went_on(machine); /* from now on the suspension says whether it runs */
	machine_fire(machine, MACHINE_EVENT_HOLD, NULL);
}

/* Ports that were cut off meanwhile are opened now, or when the host is back (found_ours()). */
void machine_let_go(struct machine *machine)
{
	machine_fire(machine, MACHINE_EVENT_LET_GO, NULL);
	if (machine->state == MACHINE_BUSY)
		machine_reopen_soon(machine);
}

void machine_stowed(struct machine *machine, bool stowed)
{
	machine->stowed = stowed;
}

bool machine_is_stowed(const struct machine *machine)
{
	return machine->stowed;
}

int64_t machine_frozen_us(const struct machine *machine)
{
	return machine->frozen_us;
}
