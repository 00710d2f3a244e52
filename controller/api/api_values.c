/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "controller/api/status_api_private.h"
#include "controller/run/run_utc.h"

double api_time_s(const struct run_session *session, int64_t t_ns)
{
	return clock_elapsed_s(view_start_ns(session) ?: platform_now_ns(view_platform(session)),
			       t_ns);
}

void api_set_time(json_t *object, const struct run_session *session, const char *name,
		  double time_s)
{
	const int64_t zero_us = view_start_utc_us(session);
	g_autofree char *seconds = g_strconcat(name, "_s", NULL);
	g_autofree char *clock = g_strconcat(name, "_utc", NULL);
	g_autofree char *text = zero_us ? run_utc_text(zero_us, time_s) : NULL;

	json_object_set_new(object, seconds, json_number_or_null(time_s));
	json_object_set_new(object, clock, json_string_or_null(text));
}
