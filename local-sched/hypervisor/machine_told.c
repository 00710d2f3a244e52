/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a VM is told by its site: what was found of it, and what its host sees of it. */
#include "common/clock.h"
#include "local-sched/hypervisor/machine_private.h"
#include "local-sched/hypervisor/machine_requests.h"

#define LOG_SUBSYSTEM "machine"
#include "common/log.h"

/* The VM is there, and is the one that was wanted. */
static void found_ours(struct machine *machine, const struct domain_info *info)
{
	if (machine->state == MACHINE_BUSY || machine->state == MACHINE_HELD) {
		machine_reopen_ports(machine);
		machine_vm_paused(machine, info->paused, info->failure);
	} else if (!info->paused) {
		machine->owner = MACHINE_OWNER_ANY;
		machine->late_clock = true; /* it may have been paused, by a predecessor too, */
		machine->shared = true;     /* ... and its last task may have had a share */
		machine->adopted = true;
		machine_fire(machine, MACHINE_EVENT_ADOPT, NULL);
	} else if (machine->was_parked) {
		machine->clean = true;
		machine_fire(machine, MACHINE_EVENT_PARK, NULL);
	} else {
		machine_fire(machine, MACHINE_EVENT_FOREIGN, "its VM is paused");
	}
}

void machine_found(struct machine *machine, const struct domain_info *info)
{
	bool ours = info && g_strcmp0(info->description, machine->fingerprint) == 0;

	/* What is not its keeper's is none of its business, whatever its name: creating it will tell. */
	if (info && g_strcmp0(info->keeper, machine->settings.keeper) != 0)
		info = NULL;
	if (machine->stowed)
		return;
	if (!info)
		machine_fire(machine, MACHINE_EVENT_DIED,
			     machine->task ? "the VM died while its host was out of reach"
					   : "its VM was not booted yet");
	else if (ours && machine->wanted)
		found_ours(machine, info);
	else
		machine_fire(machine, MACHINE_EVENT_FOREIGN,
			     "a VM that is not the one wanted has its name");
}

void machine_detach(struct machine *machine, const char *reason)
{
	machine->was_parked = machine->state == MACHINE_PARKED ||
			      (machine->was_parked && machine->state == MACHINE_DETACHED);
	machine_fire(machine, MACHINE_EVENT_DETACH, reason);
	if (machine->stowed)
		return;
	machine->clean = false;
	machine->cut_off = true;
	/* libvirt does not tell streams that their connection is gone. */
	machine_close_ports(machine);
}

/*
 * While a VM is being created it may be its predecessor that stopped: to be asked
 * (created_answer()).
 */
void machine_vm_stopped(struct machine *machine, const char *reason)
{
	if (machine->stowed)
		return;
	if (machine->state == MACHINE_CREATING)
		machine->doubtful = true;
	else
		machine_fire(machine, MACHINE_EVENT_DIED, reason);
}

static gboolean agent_is_gone(gpointer data)
{
	struct machine *machine = data;

	if (machine->paused_ns)
		return G_SOURCE_CONTINUE;
	machine->agent_source = 0;
	machine_fire(machine, MACHINE_EVENT_FAIL, "the guest agent is gone");
	return G_SOURCE_REMOVE;
}

void machine_agent_changed(struct machine *machine, bool connected)
{
	if (machine->stopped)
		return;
	machine->agent_up = connected;
	g_clear_handle_id(&machine->agent_source, g_source_remove);
	if (connected && machine->state == MACHINE_AWAITING)
		machine_fire(machine, MACHINE_EVENT_AGENT, NULL);
	else if (!connected &&
		 (machine->state == MACHINE_READY || machine->state == MACHINE_BUSY))
		machine->agent_source =
			g_timeout_add((guint)(machine_patience_s(machine) * 1000), agent_is_gone, machine);
}

void machine_vm_frozen(struct machine *machine, int64_t host_us)
{
	machine->frozen_us = host_us;
	/* What a predecessor asked for may come about only now. */
	if (machine->adopted && machine_is_booting(machine->state))
		machine_fire(machine, MACHINE_EVENT_FAIL, "its VM was paused");
}

void machine_went_on(struct machine *machine)
{
	if (!machine->paused_ns)
		return;
	machine->went_on_ns = clock_now_ns();
	log_info_of(LOG_NODE(machine->settings.name),
		    "its VM goes on, after %.3f s for which it was paused from outside",
		    clock_elapsed_s(machine->paused_ns, machine->went_on_ns));
	machine->paused_ns = 0;
}

void machine_vm_paused(struct machine *machine, bool paused, const char *failure)
{
	bool runs = machine->state == MACHINE_READY || machine->state == MACHINE_BUSY;
	g_autofree char *reason = failure ? g_strconcat("it was stopped by ", failure, NULL) : NULL;

	if (machine->stopped || !runs)
		return;
	if (!paused) {
		machine_went_on(machine);
	} else if (failure) {
		machine_fire(machine, MACHINE_EVENT_FAIL, reason);
	} else if (!machine->paused_ns) {
		machine->paused_ns = clock_now_ns();
		log_warning_of(LOG_LOCAL_NODE(machine->task, machine->settings.name),
			       "its VM was paused from outside%s",
			       machine->task ? "; the task waits for it" : "");
	}
}
