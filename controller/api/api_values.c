/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/clock.h"
#include "controller/api/status_api_private.h"

bool api_query_number(struct http_request *request, const char *key, double min, double max,
		      double otherwise, double *ret_value)
{
	const char *text = http_request_query(request, key);
	char *end = NULL;
	double value;

	if (!text) {
		*ret_value = otherwise;
		return true;
	}
	value = g_ascii_strtod(text, &end);
	if (end != text && *end == '\0' && value >= min && value <= max) {
		*ret_value = value;
		return true;
	}
	http_request_fail(request, 400, "%s: '%.32s' is not a number from %g to %g", key, text, min,
			  max);
	return false;
}

double api_now_s(const struct run_session *session)
{
	return session->t0_ns ? clock_elapsed_s(session->t0_ns, clock_now_ns()) : 0;
}

double api_time_s(const struct run_session *session, int64_t t_ns)
{
	return clock_elapsed_s(session->t0_ns ?: clock_now_ns(), t_ns);
}

const struct run_progress *api_progress(const struct run_session *session)
{
	struct run_progress *progress = session->progress;

	if (progress->refresh)
		progress->refresh(progress, progress->refresh_data);
	return progress;
}
