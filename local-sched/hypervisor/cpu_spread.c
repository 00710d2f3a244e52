/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/cpu_spread.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

#include "local-sched/hypervisor/virt_error.h"

/* The CPUs and cores that are bound; others are left alone. */
enum { CPUS_MAX = 1024, MAP_BYTES = CPUS_MAX / 8, CORES_MAX = 32 };

/* The CPUs on which a VM's cores may run now. */
struct affinity {
	virVcpuInfo cores[CORES_MAX];
	unsigned char maps[CORES_MAX * MAP_BYTES];
};

static int list_cpus(const unsigned char *map, int *ret_cpus)
{
	int count = 0;

	for (int cpu = 0; cpu < CPUS_MAX; cpu++)
		if (VIR_CPU_USED(map, cpu))
			ret_cpus[count++] = cpu;
	return count;
}

static bool pin(virDomainPtr domain, unsigned int core, int cpu, GError **error)
{
	unsigned char map[MAP_BYTES] = {0};

	map[cpu / 8] = (unsigned char)(1U << cpu % 8);
	if (virDomainPinVcpuFlags(domain, core, map, cpu / 8 + 1, VIR_DOMAIN_AFFECT_LIVE) == 0)
		return true;
	virt_error_set_domain(error, domain, "cannot bind core %u to CPU %d", core, cpu);
	return false;
}

static int count_cores(virDomainPtr domain, GError **error)
{
	virDomainInfo info;

	if (virDomainGetInfo(domain, &info) == 0)
		return info.nrVirtCpu;
	virt_error_set_domain(error, domain, "cannot read how many cores it has");
	return -1;
}

/* Lets all cores run on all CPUs of the host. Cores for which that is refused stay as they are. */
static void unbind(virDomainPtr domain)
{
	g_autoptr(GError) ignored = NULL;
	unsigned char *map = NULL;
	int cpus = virNodeGetCPUMap(virDomainGetConnect(domain), &map, NULL, 0);
	int cores = count_cores(domain, &ignored);

	for (int i = 0; cpus > 0 && i < cores; i++)
		if (virDomainPinVcpuFlags(domain, (unsigned int)i, map, (cpus + 7) / 8,
					  VIR_DOMAIN_AFFECT_LIVE) < 0)
			virResetLastError();
	free(map); /* libvirt's, by malloc() */
}

bool cpu_pin(virDomainPtr domain, uint32_t first_cpu, GError **error)
{
	int cores = count_cores(domain, error);

	for (int i = 0; i < cores; i++)
		if (!pin(domain, (unsigned int)i, (int)first_cpu + i, error))
			return false;
	return cores >= 0;
}

bool cpu_spread(virDomainPtr domain, uint32_t first_core, bool moved, GError **error)
{
	g_autofree struct affinity *now = g_new0(struct affinity, 1);
	int cpus[CPUS_MAX];
	int cores;
	int count;

	if (moved)
		unbind(domain);
	cores = virDomainGetVcpus(domain, now->cores, CORES_MAX, now->maps, MAP_BYTES);
	if (cores < 0) {
		virt_error_set_domain(error, domain, "cannot read where its cores may run");
		return false;
	}
	for (int i = 0; i < cores; i++) {
		count = list_cpus(VIR_GET_CPUMAP(now->maps, MAP_BYTES, i), cpus);
		if (count > 1 && !pin(domain, (unsigned int)i,
				      cpus[(first_core + (uint32_t)i) % (uint32_t)count], error))
			return false;
	}
	return true;
}
