/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/session/run_session.h"

/*
 * The controller's own API, for clients that watch it (docs/reference/api.md describes the one
 * between controller and local schedulers):
 *
 *
 *   GET  /v1/status?after=N   the state, with the notices above number N (run_progress_json())
 *   GET  /v1/runs             the runs of the store so far
 *   POST /v1/notices          {"kind": ".", "text": "."}: adds a notice, and an event to the
 *   present run;
 *                             `virtbed run` sends them about the processes that it supervises
 *   POST /v1/stop             ends in order: the present run is aborted, its tasks are killed
 *
 *
 * and more: docs/reference/controller-api.json describes all of it and is served at /openapi.json;
 * / is a page for browsers.
 */
struct status_api;
struct http_route;

/* The table of routes; ends as struct http_route says. */
const struct http_route *status_api_routes(void);

/* Serves `session` (borrowed) at `address`. Returns NULL with `error` on failure. */
struct status_api *status_api_new(const char *address, struct run_session *session, GError **error);
/*
 * Serves also at a second address, "http://127.0.0.1:PORT" or, with the certificate of the
 * configuration, "https://ADDRESS:PORT", to clients with a token (access.h), and adds a notice of
 * kind "listening" with the actual port for port 0. Only once. Returns false with `error` on
 * failure.
 */
bool status_api_listen(struct status_api *api, const char *address, GError **error);
/* NULL is allowed. */
void status_api_free(struct status_api *api);
