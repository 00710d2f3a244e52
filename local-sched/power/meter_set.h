/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/platform.h"

/*
 * What the meters of one owner have in common: the sessions of their BMCs, the SNMP agents, and how
 * to ask whether VMs run on their hosts. It outlives the meters that were opened with it. Main loop
 * only.
 */
struct meter_set {
	struct ipmi_shells *shells;
	struct redfish_services *services;
	struct snmp_agents *agents;
	/* Whether a VM of ours runs on the host of that name; NULL: it is not known. */
	bool (*runs_vm)(const char *host, void *data);
	void *data;
};
typedef struct meter_set meter_set_t;

struct meter_set *meter_set_new(const struct platform *platform);

/*
 * Gives all sessions back, as redfish_services_free() and ipmi_shells_free() do, which may block.
 * NULL is allowed. Its meters were closed before.
 */
void meter_set_free(struct meter_set *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(meter_set_t, meter_set_free)

/*
 * Whether a VM of ours is known to run on the host: then its machine is on. NULL: it is not known.
 */
bool meter_set_runs_vm(const struct meter_set *set, const char *host);
