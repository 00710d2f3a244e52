/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/* GET /metrics: what Prometheus scrapes; docs/reference/metrics.md lists it. A handler of status_api.c's table. */
void metrics_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);
