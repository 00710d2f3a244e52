/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/libvirt_cpu.h"

#include "local-sched/hypervisor/domain.h"

static void deliver_reading(struct libvirt_cpu *cpu, int64_t others_ns)
{
	cpu->done(cpu_account_take(cpu->source->account), others_ns, cpu->data);
}

/* What the host has used beyond its VMs since the last reading; -1: not known. */
static int64_t others_since(const struct libvirt_cpu *cpu, uint64_t host_ns, uint64_t vms_ns)
{
	if (!cpu->host_ns || host_ns < cpu->host_ns)
		return -1;
	return MAX((int64_t)(host_ns - cpu->host_ns) - (int64_t)(vms_ns - cpu->vms_ns), 0);
}

static void host_read(gpointer result, const GError *error, gpointer data)
{
	struct libvirt_cpu *cpu = data;
	g_autofree uint64_t *host_ns = result;
	const uint64_t vms_ns = cpu_account_total_ns(cpu->source->account);
	const int64_t others_ns = host_ns ? others_since(cpu, *host_ns, vms_ns) : -1;

	cpu->host_ns = host_ns ? *host_ns : 0;
	cpu->vms_ns = vms_ns;
	deliver_reading(cpu, others_ns);
}

static void vms_read(gpointer result, const GError *error, gpointer data)
{
	struct libvirt_cpu *cpu = data;
	g_autoptr(GPtrArray) times = result;

	if (!times) {
		cpu->done(NULL, -1, cpu->data);
		return;
	}
	for (guint i = 0; i < times->len; i++) {
		const struct domain_cpu *one = g_ptr_array_index(times, i);

		cpu_account_add(cpu->source->account, one->name, one->cpu_ns);
	}
	if (cpu->whole_vm)
		domain_host_cpu_time(cpu->source->host, host_read, cpu);
	else
		deliver_reading(cpu, -1);
}

void libvirt_cpu_read(struct libvirt_cpu *cpu, executor_cpu_f done, void *data)
{
	cpu->done = done;
	cpu->data = data;
	domain_cpu_times(cpu->source->host, vms_read, cpu);
}
