/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/hypervisor/host.h"
#include "local-sched/hypervisor/vm.h"

/* For tests of the layers above: callbacks that ignore the events of hosts and VMs. */

static inline void deaf_connection(struct host *host, bool up, const char *reason, void *data)
{
}

static inline void deaf_domain(struct host *host, const char *name, bool running,
			       const char *reason, void *data)
{
}

static inline void deaf_agent(struct host *host, const char *name, bool connected, void *data)
{
}

static const struct host_events deaf_host = {.connection = deaf_connection,
					     .domain = deaf_domain,
					     .agent = deaf_agent};

static inline void deaf_vm(struct vm *vm, void *data)
{
}

static inline void deaf_down(struct vm *vm, const char *reason, void *data)
{
}

static const struct vm_events deaf_vm_events = {.ready = deaf_vm,
						.down = deaf_down,
						.stuck = deaf_vm};
