/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * Watts, energy and utility over time in the controller's API (docs/reference/controller-api.json).
 * Times are seconds since the start of the run under way. Handlers of status_api.c's table.
 */

/*
 * GET /v1/power?after_s=T: per host the power after T, at most POWER_API_POINTS points, each a mean
 * where there are more samples; and the dynamic energy of all hosts. It reaches back as far as the
 * controller keeps samples: an hour or more at a sample a second.
 */
void power_api_power(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);

#define POWER_API_POINTS 600

/*
 * GET /v1/utility?after_s=T: the utility at each of its changes, at most about POWER_API_POINTS
 * points. The cost is that of the points, however many tasks have completed: the engine keeps the
 * sums.
 */
void power_api_utility(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data);
