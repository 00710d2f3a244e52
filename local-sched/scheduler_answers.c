/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "local-sched/scheduler_private.h"

/* Type and reason over all hosts: the same, or "mixed". */
static void describe_virt_type(const struct scheduler *scheduler, json_t *object)
{
	const struct virt_type *first = NULL;
	const char *name = "unknown";
	const char *reason = "no host was reached yet";

	for (uint32_t i = 0; i < scheduler->sites_count; i++) {
		const struct virt_type *type = site_virt_type(scheduler->sites[i]);

		if (type && first && !g_str_equal(type->name, first->name)) {
			name = "mixed";
			reason = "the hosts differ";
			break;
		}
		if (type && !first) {
			first = type;
			name = type->name;
			reason = type->reason;
		}
	}
	json_object_set_new(object, "virt_type", json_string(name));
	json_object_set_new(object, "virt_reason", json_string(reason));
}

/* A version that all hosts share, "mixed", or NULL where none is known. */
static const char *common_version(const char *common, const char *one)
{
	return common && one && !g_str_equal(common, one) ? "mixed" : one ?: common;
}

/* What each host is, and what all of them run. */
static void describe_hosts(const struct scheduler *scheduler, json_t *object)
{
	json_t *hosts = json_object();
	const char *libvirt = NULL;
	const char *qemu = NULL;

	for (uint32_t i = 0; i < scheduler->sites_count; i++) {
		const struct host_about *about = site_about(scheduler->sites[i]);

		if (!about)
			continue;
		json_object_set(hosts, host_name(site_host(scheduler->sites[i])), about->facts);
		libvirt = common_version(libvirt, about->libvirt);
		qemu = common_version(qemu, about->hypervisor);
	}
	json_object_set_new(object, "hosts", hosts);
	json_object_set_new(object, "libvirt", libvirt ? json_string(libvirt) : json_null());
	json_object_set_new(object, "qemu", qemu ? json_string(qemu) : json_null());
}

static bool all_were_ready(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++)
		if (!scheduler->was_ready[i])
			return false;
	return true;
}

static bool all_are_pinned(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->sites_count; i++)
		if (!site_pinned(scheduler->sites[i]))
			return false;
	return true;
}

/* A lab's meters answer with the watts of a model, and a host may have a model for a meter. */
static bool has_modelled_watts(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->hosts_count; i++) {
		const struct config_host *host = &scheduler->cluster->hosts[i];

		if (host->blade || (host->meter && host->meter->kind == CONFIG_METER_MODEL))
			return true;
	}
	return false;
}

json_t *scheduler_capabilities(const struct scheduler *scheduler)
{
	g_autofree char *boot_id = clock_boot_id();
	json_t *object = json_object();

	json_object_set_new(object, "cluster", json_string(scheduler->cluster->name));
	json_object_set_new(object, "version", json_string(VIRTBED_VERSION));
	json_object_set_new(object, "boot_id", json_string(boot_id));
	json_object_set_new(object, "incarnation",
			    json_string(task_store_incarnation(scheduler->settings.store)));
	describe_virt_type(scheduler, object);
	describe_hosts(scheduler, object);
	json_object_set_new(object, "pinned", json_boolean(all_are_pinned(scheduler)));
	json_object_set_new(object, "cpu_cap", json_string(scheduler->cap.ops->name));
	json_object_set_new(object, "cpu_cap_note", json_string(scheduler->cap.ops->note));
	json_object_set_new(object, "cpu_cap_fraction", json_real(scheduler->cap.fraction));
	json_object_set_new(object, "caps_effective",
			    json_string(host_caps_effective(scheduler->caps)));
	json_object_set_new(object, "meter", json_string(power_source(scheduler->power)));
	json_object_set_new(object, "modelled_watts", json_boolean(has_modelled_watts(scheduler)));
	json_object_set_new(object, "ready", json_boolean(all_were_ready(scheduler)));
	return object;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

/* What caps the node's host, and the node. */
static json_t *node_caps(const struct scheduler *scheduler, uint32_t node)
{
	const enum machine_state state = node_state(pool_node(scheduler->pool, node));

	return host_caps_json(scheduler->caps, pool_host_of_node(scheduler->pool, node),
			      &scheduler->node_caps[node],
			      state == MACHINE_READY || state == MACHINE_BUSY ||
				      state == MACHINE_HELD);
}

static json_t *node_json(const struct scheduler *scheduler, uint32_t index)
{
	const struct node *node = pool_node(scheduler->pool, index);
	const struct machine *machine = node_machine(node);
	json_t *item = json_object();

	json_object_set_new(item, "index", json_integer(index));
	json_object_set_new(item, "name", json_string(node_name(node)));
	json_object_set_new(item, "host", json_string(host_name(site_host(node_site(node)))));
	json_object_set_new(item, "state", json_string(node_public_state(node)));
	json_object_set_new(item, "step", json_string(machine_state_name(node_state(node))));
	json_object_set_new(item, "vm", text_or_null(machine ? machine_domain(machine) : NULL));
	json_object_set_new(item, "task", text_or_null(machine ? machine_task(machine) : NULL));
	json_object_set_new(item, "reason", text_or_null(node_reason(node)));
	json_object_set_new(item, "boot_s", json_real(machine ? machine_boot_s(machine) : 0));
	json_object_set_new(item, "caps", node_caps(scheduler, index));
	return item;
}

json_t *scheduler_nodes(const struct scheduler *scheduler)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++)
		json_array_append_new(array, node_json(scheduler, i));
	return json_pack("{s:o, s:i}", "nodes", array, "spares_booting",
			 (int)pool_spares_booting(scheduler->pool));
}

json_t *scheduler_energy(const struct scheduler *scheduler)
{
	return power_energy_json(scheduler->power);
}

json_t *scheduler_samples(const struct scheduler *scheduler, uint64_t after)
{
	return power_samples_json(scheduler->power, after);
}
