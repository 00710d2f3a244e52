/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/window_api.h"

#include "controller/api/status_api_private.h"
#include "controller/service/run_service.h"

json_t *window_api_json(const struct run_session *session)
{
	struct run_service_limit limit;
	const struct engine_window_state *window = &limit.window;
	json_t *json;
	json_t *bound;

	if (!run_service_limit(session, &limit))
		return json_null();
	bound = json_pack("{s:f, s:f, s:f, s:f, s:f}", "bound_j", limit.bound_j, "power_w",
			  limit.power_w, "sampling_s", limit.sampling_s, "refresh_s",
			  limit.refresh_s, "reaction_s", window->reaction_s);
	json = json_pack(
		"{s:f, s:f, s:f, s:s?, s:f, s:f, s:f, s:f, s:b, s:b, s:i, s:f, s:i, s:i, s:i}",
		"limit_j", window->limit_j, "begin_s", window->begin_s, "end_s", window->end_s,
		"end_utc", limit.end_utc, "spent_j", window->spent_j, "committed_j",
		window->committed_j, "left_j",
		window->limit_j - window->spent_j - window->committed_j, "forecast_j",
		window->forecast_j, "holds", window->forecast_j <= window->limit_j, "exhausted",
		window->exhausted, "refusals", (int)window->refusals, "overshoot_j",
		window->overshoot_j, "meters", (int)limit.meters, "meters_silent",
		(int)limit.silent, "windows_unknown", (int)window->unknown);
	json_object_update_new(json, bound);
	api_set_time(json, session, "begin", window->begin_s);
	g_free(limit.end_utc);
	return json;
}
