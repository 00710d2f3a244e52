/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/power/power_meter.h"
#include "local-sched/power/program_run.h"

/*
 * An SNMP agent (an AMM, a metered power strip), asked by snmpget. The objects that meters ask for
 * at about the same time are asked for together, since a process for each would take several
 * milliseconds of CPU time. The password goes to snmpget in a file that has no name, never in an
 * argument vector. Main loop only.
 */
struct snmp_agent;

/* The agents of one owner. */
struct snmp_agents;

struct snmp_agents *snmp_agents_new(const struct platform *platform);
/* NULL is allowed. Requests were dropped before. */
void snmp_agents_free(struct snmp_agents *agents);

/* The agent that `config` names, borrowed until snmp_agents_free(). */
struct snmp_agent *snmp_agents_find(struct snmp_agents *agents, const struct config_meter *config);

/*
 * Asks for `objects` (OIDs in digits, NULL-terminated), until `deadline_ns`. `done` is called once,
 * never before returning, as by program_run_start(): its output is a line for each object.
 * SUBPROCESS_ERROR_START also if there is no valid password. What an agent does not answer together
 * is asked for apart, as far as there is time, and so for some minutes.
 */
void snmp_agent_ask(struct snmp_agent *agent, const char *const *objects, int64_t deadline_ns,
		    program_run_done_f done, void *data);

/* Drops the request whose `data` is this, without a callback. */
void snmp_agent_drop(struct snmp_agent *agent, const void *data);

/* Whether snmpget complains that the agent's name cannot be resolved. Pure. */
bool snmp_agent_is_unresolved(const char *complaint);

/* What a complaint of snmpget's, or a line for an object, means; _GARBAGE: nothing known. Pure. */
enum power_meter_error snmp_agent_verdict(const char *text);
