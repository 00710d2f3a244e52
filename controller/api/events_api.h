/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/session/run_session.h"

/*
 * The events of the store in the controller's API (docs/reference/controller-api.json), numbered by
 * their ids over all runs, with a long poll. Events are made to survive a crash before they are
 * sent, so that a number is never used twice.
 */
struct events_api;

/* Watches the session's store; only one at a time. */
struct events_api *events_api_new(struct run_session *session);
/* To be called after the servers whose requests it may hold were freed. NULL is allowed. */
void events_api_free(struct events_api *api);

/*
 * GET /v1/events?after=N&wait_s=S: the events above N, at most EVENTS_API_MOST; without N the last
 * EVENTS_API_LAST. Without such events it waits up to S seconds (at most 60) for one. A handler of
 * status_api.c's table.
 */
void events_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data);

#define EVENTS_API_MOST 1000
#define EVENTS_API_LAST 200
