/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "controller/engine/shared_hosts.h"
#include "controller/sched/model.h"

/* Changes a sum of memory. The sum is exactly 0 when no VM is left, without rounding errors. */
static void change_memory(double *sum, uint32_t *vms, double memory, bool more)
{
	*vms += more ? 1 : -1u;
	*sum = *vms > 0 ? *sum + (more ? memory : -memory) : 0;
}

void shared_hosts_promise(struct shared_host *hosts, const uint32_t *nodes, uint32_t vms,
			  double memory, bool more)
{
	for (uint32_t v = 0; v < vms; v++) {
		struct shared_host *host = &hosts[nodes[v]];

		change_memory(&host->promised, &host->promised_vms, memory, more);
	}
}

void shared_hosts_leave(struct shared_host *hosts, const uint32_t *nodes, uint32_t vms,
			double memory, bool leaves)
{
	for (uint32_t v = 0; v < vms; v++) {
		struct shared_host *host = &hosts[nodes[v]];

		change_memory(&host->leaving, &host->leaving_vms, memory, leaves);
	}
}

uint32_t shared_hosts_count_overfull(const struct shared_host *hosts, const uint32_t *nodes,
				     uint32_t vms)
{
	uint32_t overfull = 0;

	for (uint32_t v = 0; v < vms; v++) {
		const struct shared_host *host = &hosts[nodes[v]];

		overfull += host->promised + host->leaving > 1 + SCHED_SHARE_SLACK;
	}
	return overfull;
}

uint32_t shared_hosts_find_full(const struct shared_host *hosts, const uint32_t *from,
				const uint32_t *nodes, uint32_t vms, double memory)
{
	for (uint32_t v = 0; v < vms; v++) {
		const struct shared_host *host = &hosts[nodes[v]];
		uint32_t come = 0;

		for (uint32_t u = 0; u < vms; u++)
			come += nodes[u] == nodes[v] && from[u] != nodes[u];
		if (come > 0 &&
		    host->promised + host->leaving + come * memory > 1 + SCHED_SHARE_SLACK)
			return nodes[v];
	}
	return UINT32_MAX;
}

double shared_host_vms(const struct shared_host *host, double memory, bool empty)
{
	const double free = empty ? 1 : 1 - host->promised - host->leaving;

	return floor(fmax(0, free + SCHED_SHARE_SLACK) / memory);
}
