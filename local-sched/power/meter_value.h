/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "local-sched/power/energy_steps.h"
#include "local-sched/power/power_meter.h"

/*
 * One number out of the text of a program, a web server or an SNMP agent, and what it means: the
 * part that the kinds command, http and snmp share. By the configuration the number is picked from
 *
 * - a text that is nothing but a number, with or without its unit behind it ("245", "245 W");
 * - JSON, at the path `json`: "data.result[0].value[1]", "[-1].value" (the last of an array),
 *   `a["x.y"]` (a name in quotes), "result[*].watts" (of the only one);
 * - the text exposition of Prometheus, by `metric`: `name{label="x"}`, which has to match one line.
 *
 * In JSON a text that is nothing but a number (with its unit) is one as well. What several places
 * match is an error that lists them. `value` says the unit: that of power is a gauge, that of
 * energy a counter.
 */

/* Whether `json` and `metric` of the configuration can be read. *ret_reason: the caller frees. */
bool meter_value_check(const struct config_meter *config, char **ret_reason);

/*
 * Picks the number: *ret_number is in watts or joules, `scale` included. Otherwise the verdict is
 * not POWER_METER_OK, and *ret_reason, which the caller frees, says why. Pure.
 */
enum power_meter_error meter_value_pick(const struct config_meter *config, const char *text,
					gsize length, double *ret_number, char **ret_reason);

/* The numbers of a meter, over its readings; the driver's struct has it. */
struct meter_value {
	struct energy_steps steps; /* of counters */
	const char *const *names;  /* of the numbers, borrowed; NULL: there is one */
	int64_t since_ns;          /* of the first number; 0: there was none */
	bool was_read;             /* a reading was made */
};

/* `count`: of the numbers, which are added; `names` (borrowed, NULL for one) of each, for errors. */
void meter_value_init(struct meter_value *value, uint32_t count, const char *const *names);
void meter_value_clear(struct meter_value *value);

/*
 * Ends a read of `meter` with its numbers, in the unit of meter_value_pick(): by a reading or an
 * error, or by another read of the driver soon, where a counter has no step to start from. `what`
 * names the source in errors.
 */
void meter_value_end(struct power_meter *meter, struct meter_value *value, const double *numbers,
		     const char *what);
