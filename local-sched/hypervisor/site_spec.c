/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the VMs of a site are to be like. */
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/site_private.h"
#include "local-sched/hypervisor/storage.h"

#define MACHINE "q35"
#define CONSOLE_FORMAT "/var/log/libvirt/qemu/%s.console"

char **site_swap_names(const struct site *site)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();

	for (guint i = 0; i < site->machines->len; i++) {
		g_autofree char *name = storage_volume_name(machine_domain(site->machines->pdata[i]), site->settings.keeper,
							    STORAGE_SWAP);

		g_strv_builder_add(names, name);
	}
	return g_strv_builder_end(names);
}

/*
 * Cores of their own for all, or for none. Not under TCG: its I/O threads compete with the vCPUs,
 * and emulated blades share the host's CPUs.
 */
bool site_pinned(const struct site *site)
{
	return site->about && g_strcmp0(site->type.name, "kvm") == 0 &&
	       site->places->len * site->settings.cluster->cores <= site->about->cpus;
}

void site_names_clear(struct site_names *names)
{
	g_free(names->mac);
	g_free(names->address);
	g_free(names->console);
}

struct domain_spec site_specify(const struct site *site, const char *domain, const char *guest,
				uint32_t number, const struct machine_place *place,
				struct site_names *ret_names)
{
	const struct config_cluster *cluster = site->settings.cluster;

	ret_names->mac = domain_mac(site->settings.cluster_index, number);
	ret_names->address = domain_address(site->settings.cluster_index, number);
	ret_names->console = g_strdup_printf(CONSOLE_FORMAT, domain);
	return (struct domain_spec){
		.name = domain,
		.keeper = site->settings.keeper,
		.virt_type = site->type.name ? site->type.name : "qemu",
		.machine = MACHINE,
		.cores = cluster->cores,
		.memory_mib = cluster->memory_mib,
		.kernel = site->paths->path[IMAGE_KERNEL],
		.initramfs = site->paths->path[IMAGE_INITRAMFS],
		.root = site->paths->path[IMAGE_ROOT],
		.swap = g_hash_table_lookup(site->swap, domain),
		.bridge = site->settings.host->bridge,
		.mac = ret_names->mac,
		.address = ret_names->address,
		.guest_host = guest,
		.console = ret_names->console,
		.first_cpu = place ? place->first_cpu : -1,
	};
}

bool site_has_swap(const struct site *site)
{
	return site->settings.cluster->swap_mib > 0;
}

bool site_can_boot(const struct site *site, const struct machine *machine)
{
	return !site_has_swap(site) || g_hash_table_contains(site->swap, machine_domain(machine));
}

void site_prepare(struct site *site, struct machine *machine)
{
	struct site_names names;
	struct domain_spec spec =
		site_specify(site, machine_domain(machine), machine_name(machine),
			     machine_number(machine), machine_where(machine), &names);

	machine_prepare(machine, &spec);
	site_names_clear(&names);
}

void site_prepare_all(struct site *site)
{
	const uint32_t cores = site->settings.cluster->cores;

	for (guint i = 0; i < site->places->len; i++) {
		struct machine_place *place = site->places->pdata[i];

		place->first_cpu = site_pinned(site) ? (int32_t)(i * cores) : -1;
	}
	for (guint i = 0; i < site->machines->len; i++)
		site_prepare(site, site->machines->pdata[i]);
}
