/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "local-sched/power/program_run.h"

/*
 * Asking an SNMP agent (an AMM, a metered outlet) by snmpget. The password goes to it in a file of
 * a directory of its own, never in an argument vector. The driver's struct has it, all zero at
 * first.
 */
struct snmp_agent {
	char *directory;         /* of snmpget's configuration, or NULL */
	char *written;           /* contents of the file there, or NULL */
	struct program_run *run; /* the request under way, or NULL; `done` sets it to NULL */
};

/*
 * Asks for `objects` (OIDs in digits, NULL-terminated) of the agent that `config` names, until
 * `deadline_ns`. `done` is called as by program_run_start(). Returns false with POWER_METER_ERROR
 * or SUBPROCESS_ERROR if it cannot be asked.
 */
bool snmp_agent_ask(struct snmp_agent *agent, const struct config_meter *config,
		    const char *const *objects, int64_t deadline_ns, program_run_done_f done,
		    void *data, GError **error);

/* Drops the request under way and removes the directory. */
void snmp_agent_clear(struct snmp_agent *agent);
