/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

/*
 * Reading a Redfish service's resources. Pure. All of it is untrusted: a link that is not a path
 * below /redfish/ is no link, since it would be appended to the address of the BMC and get the
 * password with it.
 */

/* Where a chassis has its watts. */
enum meter_redfish_place {
	METER_REDFISH_POWER = 0,   /* Power: PowerControl[0].PowerConsumedWatts */
	METER_REDFISH_ENVIRONMENT, /* EnvironmentMetrics: PowerWatts.Reading */
};

/* What a resource says of the watts. */
enum meter_redfish_verdict {
	METER_REDFISH_OK = 0,
	METER_REDFISH_NULL,    /* the property is null or missing: no reading now */
	METER_REDFISH_GARBAGE, /* not a number of watts */
};

/* The links of a collection's members, owned by the caller; NULL if it is no collection. */
GPtrArray *meter_redfish_parse_members(const json_t *collection);

/* The link of a chassis to one of the places, borrowed; NULL if it has none. */
const char *meter_redfish_parse_link(const json_t *chassis, enum meter_redfish_place place);

/* The watts of a place. `ret_mw` (milliwatts) is set only for METER_REDFISH_OK. */
enum meter_redfish_verdict meter_redfish_parse_watts(const json_t *resource,
						     enum meter_redfish_place place,
						     int64_t *ret_mw);

/*
 * The path of a resource that a Location header names, whole or as a path; the caller frees. NULL
 * if it is none.
 */
char *meter_redfish_parse_location(const char *location);
