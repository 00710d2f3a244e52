/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "local-sched/power/power_meter.h"

/*
 * Parses the resources of a Redfish service. Pure. All of them are untrusted. A link counts only if
 * it is a path below /redfish/, because it is appended to the address of the BMC and gets the
 * password with it.
 */

/* The place of the watts of a chassis. */
enum meter_redfish_place {
	METER_REDFISH_POWER = 0,   /* Power: PowerControl[0].PowerConsumedWatts */
	METER_REDFISH_ENVIRONMENT, /* EnvironmentMetrics: PowerWatts.Reading */
};

/* The links of a collection's members, owned by the caller; NULL: not a collection. */
GPtrArray *meter_redfish_parse_members(const json_t *collection);

/* The link of a chassis to a place, borrowed; NULL: it has none. */
const char *meter_redfish_parse_link(const json_t *chassis, enum meter_redfish_place place);

/*
 * The watts of a place. *ret_mw (milliwatts) is set only for POWER_METER_OK. NOT_ACTIVE: the
 * property is null or missing, no reading now; GARBAGE: not a number of watts.
 */
enum power_meter_error meter_redfish_parse_watts(const json_t *resource,
						 enum meter_redfish_place place, int64_t *ret_mw);

/*
 * The path of a resource in a Location header, which is a URL or a path; the caller frees it. NULL:
 * neither.
 */
char *meter_redfish_parse_location(const char *location);
