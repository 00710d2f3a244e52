/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The domains of a vm_host's VMs. */
#include "local-sched/hypervisor/vm_host_private.h"
#include "local-sched/hypervisor/storage.h"

#define MACHINE "q35"
#define CONSOLE_FORMAT "/var/log/libvirt/qemu/%s.console"

char **vm_host_swap_names(const struct vm_host *vm_host)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();

	for (guint i = 0; i < vm_host->vms->len; i++) {
		g_autofree char *name = storage_volume_name(vm_domain(vm_host->vms->pdata[i]),
							    vm_host->settings.keeper, STORAGE_SWAP);

		g_strv_builder_add(names, name);
	}
	return g_strv_builder_end(names);
}

/*
 * Whether all cores have CPUs of their own, or none. Not under TCG: its I/O threads compete with
 * the vCPUs, and emulated blades, whose VMs run under TCG, share the host's CPUs.
 */
bool vm_host_pinned(const struct vm_host *vm_host)
{
	return vm_host->about && g_strcmp0(vm_host->type.name, "kvm") == 0 &&
	       vm_host->places->len * vm_host->settings.cluster->cores <= vm_host->about->cpus;
}

void vm_host_names_clear(struct vm_host_names *names)
{
	g_free(names->mac);
	g_free(names->address);
	g_free(names->console);
}

struct domain_spec vm_host_specify(const struct vm_host *vm_host, const char *domain,
				   const char *guest, uint32_t number, const struct vm_place *place,
				   struct vm_host_names *ret_names)
{
	const struct config_cluster *cluster = vm_host->settings.cluster;

	ret_names->mac = domain_mac(vm_host->settings.cluster_index, number);
	ret_names->address = domain_address(vm_host->settings.cluster_index, number);
	ret_names->console = g_strdup_printf(CONSOLE_FORMAT, domain);
	return (struct domain_spec){
		.name = domain,
		.keeper = vm_host->settings.keeper,
		.virt_type = vm_host->type.name ? vm_host->type.name : "qemu",
		.machine_type = MACHINE,
		.cores = cluster->cores,
		.memory_mib = cluster->memory_mib,
		.kernel = vm_host->paths->path[IMAGE_KERNEL],
		.initramfs = vm_host->paths->path[IMAGE_INITRAMFS],
		.root = vm_host->paths->path[IMAGE_ROOT],
		.swap = g_hash_table_lookup(vm_host->swap, domain),
		.bridge = vm_host->settings.host->bridge,
		.mac = ret_names->mac,
		.address = ret_names->address,
		.guest_host = guest,
		.console = ret_names->console,
		.first_cpu = place ? place->first_cpu : -1,
	};
}

bool vm_host_has_swap(const struct vm_host *vm_host)
{
	return vm_host->settings.cluster->swap_mib > 0;
}

bool vm_host_can_boot(const struct vm_host *vm_host, const struct vm *vm)
{
	return !vm_host_has_swap(vm_host) || g_hash_table_contains(vm_host->swap, vm_domain(vm));
}

void vm_host_prepare(struct vm_host *vm_host, struct vm *vm)
{
	struct vm_host_names names;
	struct domain_spec spec = vm_host_specify(vm_host, vm_domain(vm), vm_name(vm),
						  vm_number(vm), vm_where(vm), &names);

	vm_prepare(vm, &spec);
	vm_host_names_clear(&names);
}

void vm_host_prepare_all(struct vm_host *vm_host)
{
	const uint32_t cores = vm_host->settings.cluster->cores;

	for (guint i = 0; i < vm_host->places->len; i++) {
		struct vm_place *place = vm_host->places->pdata[i];

		place->first_cpu = vm_host_pinned(vm_host) ? (int32_t)(i * cores) : -1;
	}
	for (guint i = 0; i < vm_host->vms->len; i++)
		vm_host_prepare(vm_host, vm_host->vms->pdata[i]);
}
