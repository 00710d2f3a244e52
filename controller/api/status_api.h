/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/run/run_session.h"

/*
 * The controller's own API, for those who watch (docs/reference/api.md has the one between controller and
 * local schedulers):
 *
 *   GET  /v1/status?after=N   where it is, with the notices above number N (run_progress_json())
 *   GET  /v1/runs             the runs of the store so far
 *   POST /v1/notices          {"kind": ".", "text": "."}: adds a notice, and an event to the run
 *                             under way; by `virtbed run`, of the processes that it looks after
 *   POST /v1/stop             ends in order: the run under way is aborted, its tasks are killed
 *
 * and more: docs/reference/controller-api.json describes all of it, and is served at /openapi.json; / is a page
 * for browsers.
 */
struct status_api;
struct http_route;

/* The table of its requests: ends as struct http_route says. */
const struct http_route *status_api_routes(void);

/* Serves `session` (borrowed) at `address`. Returns NULL with `error` set on failure. */
struct status_api *status_api_new(const char *address, struct run_session *session, GError **error);
/*
 * Serves the same at a second address too, "http://127.0.0.1:PORT" or, with the certificate of the
 * configuration, "https://ADDRESS:PORT", to those who have a token (access.h), and says so by a notice of kind
 * "listening", with the real port where 0 was given. Once at most. Returns false with `error` set on failure.
 */
bool status_api_listen(struct status_api *api, const char *address, GError **error);
/* NULL is allowed. */
void status_api_free(struct status_api *api);
