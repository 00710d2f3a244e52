/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The engine's internals: the memory of hosts that several tasks share, as parts of a host. Memory
 * is promised to the tasks that are on the host or have a claim to it, unless they are leaving it.
 * Hosts are an array; `nodes` has the index of a host for each of `vms` VMs, all with equal
 * `memory`.
 */
struct shared_host {
	double promised; /* promised part of its memory */
	double leaving;  /* memory of the VMs that are leaving it */
	uint32_t promised_vms;
	uint32_t leaving_vms;
};

/* Promises memory to VMs (`more`), or frees it again. */
void shared_hosts_promise(struct shared_host *hosts, const uint32_t *nodes, uint32_t vms,
			  double memory, bool more);

/* Notes that VMs begin to leave (`leaves`), or that they are gone. */
void shared_hosts_leave(struct shared_host *hosts, const uint32_t *nodes, uint32_t vms,
			double memory, bool leaves);

/* How many of the VMs are on hosts whose memory is promised before others have left it. */
uint32_t shared_hosts_count_overfull(const struct shared_host *hosts, const uint32_t *nodes,
				     uint32_t vms);

/*
 * The first host that has no room for the VMs that come to it from `from`, beside the memory that
 * is used or promised there; UINT32_MAX: all have room.
 */
uint32_t shared_hosts_find_full(const struct shared_host *hosts, const uint32_t *from,
				const uint32_t *nodes, uint32_t vms, double memory);

/* How many VMs a host takes in memory that is neither used nor promised; `empty`: in all of it. */
double shared_host_vms(const struct shared_host *host, double memory, bool empty);
