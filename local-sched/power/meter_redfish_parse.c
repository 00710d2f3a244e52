/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_redfish_parse.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The most that a chassis draws; larger numbers have another unit or are invalid. */
#define WATTS_TOP 1e6

/* Whether `text` may be appended to the BMC's address. */
static bool is_path(const char *text)
{
	if (!text || !g_str_has_prefix(text, "/redfish/"))
		return false;
	for (; *text; text++)
		if (!g_ascii_isgraph(*text) || *text == '#')
			return false;
	return true;
}

static const char *link_of(const json_t *reference)
{
	const char *path = json_string_value(json_object_get(reference, "@odata.id"));

	return is_path(path) ? path : NULL;
}

GPtrArray *meter_redfish_parse_members(const json_t *collection)
{
	const json_t *members = json_object_get(collection, "Members");
	g_autoptr(GPtrArray) links = g_ptr_array_new_with_free_func(g_free);
	const json_t *member;
	size_t index;

	if (!json_is_array(members))
		return NULL;
	json_array_foreach (members, index, member) {
		if (link_of(member))
			g_ptr_array_add(links, g_strdup(link_of(member)));
	}
	return g_steal_pointer(&links);
}

const char *meter_redfish_parse_link(const json_t *chassis, enum meter_redfish_place place)
{
	return link_of(json_object_get(chassis, place == METER_REDFISH_POWER
							? "Power"
							: "EnvironmentMetrics"));
}

static enum power_meter_error parse_number(const json_t *value, int64_t *ret_mw)
{
	double watts;

	if (!value || json_is_null(value))
		return POWER_METER_ERROR_NOT_ACTIVE;
	if (!json_is_number(value))
		return POWER_METER_ERROR_GARBAGE;
	watts = json_number_value(value);
	if (!(watts >= 0 && watts <= WATTS_TOP))
		return POWER_METER_ERROR_GARBAGE;
	*ret_mw = llround(watts * 1e3);
	return POWER_METER_OK;
}

enum power_meter_error meter_redfish_parse_watts(const json_t *resource,
						 enum meter_redfish_place place, int64_t *ret_mw)
{
	const json_t *holder;

	if (!json_is_object(resource))
		return POWER_METER_ERROR_GARBAGE;
	if (place == METER_REDFISH_POWER) {
		holder = json_array_get(json_object_get(resource, "PowerControl"), 0);
		return parse_number(json_object_get(holder, "PowerConsumedWatts"), ret_mw);
	}
	holder = json_object_get(resource, "PowerWatts");
	return parse_number(json_object_get(holder, "Reading"), ret_mw);
}

char *meter_redfish_parse_location(const char *location)
{
	const char *host = location ? strstr(location, "://") : NULL;
	const char *path = host ? strchr(host + 3, '/') : location;

	return is_path(path) ? g_strdup(path) : NULL;
}
