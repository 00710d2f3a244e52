/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/speeds.h"

#include <string.h>

/* The speed is one of the local scheduler's capabilities. */
json_t *speeds_read(struct store *store)
{
	g_autofree char *told = store_get_meta(store, "capabilities");

	return told ? json_parse(told, strlen(told), "capabilities", NULL) : NULL;
}

double speeds_of(const json_t *speeds, const char *cluster)
{
	const json_t *speed = json_object_get(json_object_get(speeds, cluster), "speed");

	return json_is_number(speed) ? json_number_value(speed) : 1;
}
