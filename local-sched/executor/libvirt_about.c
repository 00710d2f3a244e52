/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/libvirt_about.h"

#include "common/json.h"
#include "local-sched/hypervisor/host.h"

/* Type and reason for all hosts: the common value, or "mixed". */
static void describe_virt_type(struct vm_host *const *vm_hosts, uint32_t count, json_t *object)
{
	const struct virt_type *first = NULL;
	const char *name = "unknown";
	const char *reason = "no host was reached yet";

	for (uint32_t i = 0; i < count; i++) {
		const struct virt_type *type = vm_host_virt_type(vm_hosts[i]);

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

/* The facts of each host, and the versions that all hosts run. */
static void describe_hosts(struct vm_host *const *vm_hosts, uint32_t count, json_t *object)
{
	json_t *hosts = json_object();
	const char *libvirt = NULL;
	const char *qemu = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct host_info *about = vm_host_about(vm_hosts[i]);

		if (!about)
			continue;
		json_object_set(hosts, host_name(vm_host_host(vm_hosts[i])), about->facts);
		libvirt = common_version(libvirt, about->libvirt);
		qemu = common_version(qemu, about->hypervisor);
	}
	json_object_set_new(object, "hosts", hosts);
	json_object_set_new(object, "libvirt", json_string_or_null(libvirt));
	json_object_set_new(object, "qemu", json_string_or_null(qemu));
}

static bool all_are_pinned(struct vm_host *const *vm_hosts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!vm_host_pinned(vm_hosts[i]))
			return false;
	return true;
}

void libvirt_about(struct vm_host *const *vm_hosts, uint32_t count, json_t *object)
{
	describe_virt_type(vm_hosts, count, object);
	describe_hosts(vm_hosts, count, object);
	json_object_set_new(object, "pinned", json_boolean(all_are_pinned(vm_hosts, count)));
}
