/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/run/run_session.h"

/*
 * GET /v1/nodes in the controller's API (docs/reference/controller-api.json). Everybody who watches
 * asks for all nodes every second or two, of thousands of which few have changed: each one's text
 * is kept until it stands otherwise, and the whole until one does. Who shows the ETag of the whole
 * is told that it is the same (304).
 */
struct nodes_api;

/* For `session` (borrowed), whose clusters stay what they are. */
struct nodes_api *nodes_api_new(const struct run_session *session);
/* NULL is allowed. */
void nodes_api_free(struct nodes_api *api);

/* GET /v1/nodes?cluster=NAME,NAME; 404 for a cluster that there is not. Handler of status_api.c's table. */
void nodes_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data);
