/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * User requests to a service in the controller's API (docs/how-to/run.md): submissions, and changes
 * of tasks and nodes. Handlers of status_api.c's table, without a service answered with 409 or,
 * while it starts, 503. They are called only for clients that may have the task
 * (task_visibility.h).
 */

/* POST /v1/tasks: 201 with the numbers of the tasks. */
void service_api_submit(struct http_request *request, const char *const *arguments, json_t *body,
			void *data);

/*
 * POST /v1/tasks/N/cancel, .../hold, .../release: 202 with the task. The route's `what` is an enum
 * run_service_task_op.
 */
void service_api_ask(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);

/* POST /v1/nodes/CLUSTER/N/drain, .../undrain, by the route's `what`: 202 with the node. */
enum { SERVICE_API_DRAIN = 0, SERVICE_API_UNDRAIN };
void service_api_drain(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data);
