/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where suspended VMs are kept, and the silence that is waited for before they are saved or moved.
 */
#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/launch/suspension_private.h"

#define LOG_SUBSYSTEM "suspension"
#include "common/log.h"

/*
 * QEMU moves bytes that were sent to a port into the guest's memory within one turn of its main
 * loop, which a quota delays by at most its period. Bytes that are not there when the VM is saved
 * are lost.
 */
#define STILL_MS 500

static gboolean still(gpointer data)
{
	struct suspension *suspension = data;

	suspension->still_source = 0;
	suspension_when_still(suspension);
	return G_SOURCE_REMOVE;
}

void suspension_when_still(struct suspension *suspension)
{
	int64_t since_ms = (platform_now_ns(pool_platform(suspension->pool)) -
			    suspension->events->last_sent_ns(suspension->data)) /
			   1000000;

	if (since_ms < STILL_MS)
		suspension->still_source =
			platform_after_ms(pool_platform(suspension->pool),
					  (guint)(STILL_MS - since_ms), still, suspension);
	else if (vm_steps_current(suspension->steps) == SUSPENSION_MOVING)
		vm_steps_run(suspension->steps);
	else
		vm_steps_fire(suspension->steps, SUSPENSION_EVENT_SAVE, NULL);
}

/* Whether a VM is the first one on its host. */
static bool is_first_there(const struct suspended_vm *suspended)
{
	for (const struct suspended_vm *other = suspended->suspension->vms; other < suspended;
	     other++)
		if (vm_current_host(other->vm) == vm_current_host(suspended->vm))
			return false;
	return true;
}

/* The memory of all VMs on the host of this VM. */
static uint64_t memory_mib(const struct suspended_vm *suspended)
{
	const struct suspension *suspension = suspended->suspension;
	uint64_t sum_mib = 0;

	for (uint32_t i = 0; i < suspension->count; i++)
		if (vm_current_host(suspension->vms[i].vm) == vm_current_host(suspended->vm))
			sum_mib += pool_memory_mib(suspension->pool);
	return sum_mib;
}

static void keep_at(struct suspension *suspension, enum config_keep keep)
{
	suspension->record->keep = keep;
	if (keep == CONFIG_KEEP_DISK)
		suspension_when_still(suspension);
	else
		vm_steps_fire(suspension->steps, SUSPENSION_EVENT_DONE, NULL);
}

/*
 * `result` is the number of MiB that the host can give to its nodes' next VMs. The last answer
 * decides.
 */
static void memory_known(gpointer result, const GError *error, gpointer data)
{
	guint left_mib = GPOINTER_TO_UINT(result);
	uint32_t i;
	struct suspension *suspension = vm_steps_answered(data, &i);

	if (!suspension)
		return;
	if (error)
		log_warning_of(LOG_LOCAL(suspension->task), "%s", error->message);
	if (error || left_mib < memory_mib(&suspension->vms[i]))
		suspension->scarce = true;
	if (--suspension->hosts_asked == 0)
		keep_at(suspension, suspension->scarce ? CONFIG_KEEP_DISK : CONFIG_KEEP_MEMORY);
}

static void ask_for_memory(struct suspension *suspension)
{
	suspension->scarce = false;
	suspension->hosts_asked = 0;
	for (uint32_t i = 0; i < suspension->count; i++) {
		const struct suspended_vm *suspended = &suspension->vms[i];

		if (!is_first_there(suspended))
			continue;
		suspension->hosts_asked++;
		domain_host_memory(vm_current_host(suspended->vm), memory_known,
				   vm_steps_call(suspension->steps, i));
	}
}

/*
 * Keeps the VMs where the request says, or else the configuration, or else in memory as long as
 * that suffices.
 */
void suspension_decide(struct suspension *suspension)
{
	enum config_keep keep = suspension->record->keep;

	if (keep == CONFIG_KEEP_AUTO)
		keep = pool_keep(suspension->pool);
	if (keep != CONFIG_KEEP_AUTO)
		keep_at(suspension, keep);
	else if (!pool_may_keep(suspension->pool))
		keep_at(suspension, CONFIG_KEEP_DISK);
	else
		ask_for_memory(suspension);
}
