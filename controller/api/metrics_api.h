/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * GET /metrics: the metrics for Prometheus, listed in docs/reference/metrics.md. A handler of
 * status_api.c's table.
 */
void metrics_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);
