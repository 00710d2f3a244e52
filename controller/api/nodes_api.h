/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/session/run_session.h"

/*
 * GET /v1/nodes in the controller's API (docs/reference/controller-api.json). Every watching client
 * asks for all nodes each second or two, of thousands of which few change: each node's text is
 * cached until the node changes, and the whole answer until a node changes. A client that sends the
 * answer's ETag gets 304 if it still holds.
 */
struct nodes_api;

/* For `session` (borrowed), whose clusters must not change. */
struct nodes_api *nodes_api_new(const struct run_session *session);
/* NULL is allowed. */
void nodes_api_free(struct nodes_api *api);

/*
 * GET /v1/nodes?cluster=NAME,NAME; 404 for an unknown cluster. A handler of status_api.c's table.
 */
void nodes_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data);

/*
 * POST /v1/nodes/CLUSTER/N/drain, .../undrain, by the route's `what`: 202 with the node; without a
 * service 409 or, while it starts, 503. A handler of status_api.c's table.
 */
enum { NODES_API_DRAIN = 0, NODES_API_UNDRAIN };
void nodes_api_drain(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);
