/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_set.h"

#include "local-sched/power/ipmi_shell.h"
#include "local-sched/power/redfish_service.h"
#include "local-sched/power/snmp_agent.h"

struct meter_set *meter_set_new(const struct platform *platform)
{
	struct meter_set *set = g_new0(struct meter_set, 1);

	set->shells = ipmi_shells_new(platform);
	set->services = redfish_services_new(platform);
	set->agents = snmp_agents_new(platform);
	return set;
}

void meter_set_free(struct meter_set *set)
{
	if (!set)
		return;
	/* ipmitools close their sessions meanwhile. */
	ipmi_shells_leave(set->shells);
	redfish_services_free(set->services);
	ipmi_shells_free(set->shells);
	snmp_agents_free(set->agents);
	g_free(set);
}

bool meter_set_runs_vm(const struct meter_set *set, const char *host)
{
	return set && set->runs_vm && set->runs_vm(host, set->data);
}
