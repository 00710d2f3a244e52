/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/run/run_service.h"

/*
 * User requests to a service in the controller's API (docs/how-to/run.md): submissions, and changes
 * of tasks and nodes. All functions answer the request; without a service with 409 or, while it
 * starts, 503.
 *
 * The table of routes says which role may send a request (status_api.c, access.h,
 * task_visibility.h): a handler is called only for clients that may have the task.
 */

/* The peer that sent a request. */
struct service_peer {
	int64_t uid; /* or HTTP_PEER_* */
	char *user;  /* name or number; NULL: unknown */
};
struct service_peer service_peer_of(struct http_request *request);
void service_peer_clear(struct service_peer *peer);

/* Whether a service runs; else answers the request with 409 or 503. */
bool service_api_is_served(struct http_request *request, const struct run_session *session);

/*
 * Answers with `body` (taken over), as soon as all that the service has recorded so far is on disk:
 * a service keeps what it acknowledged, whatever fails. Answers 503 where that is impossible. An
 * experiment answers at once.
 */
void service_api_answer(struct http_request *request, const struct run_session *session,
			int status, json_t *body);

/* POST /v1/tasks: 201 with the numbers of the tasks. */
void service_api_submit(struct http_request *request, const struct run_session *session,
			const json_t *body);

/* POST /v1/tasks/N/cancel, .../hold, .../release: 202 with the task. */
void service_api_ask(struct http_request *request, const struct run_session *session,
		     const char *number, enum run_service_task_op wish);

/* POST /v1/nodes/CLUSTER/N/drain, .../undrain: 202 with the node. */
void service_api_drain(struct http_request *request, const struct run_session *session,
		       const char *const *arguments, const json_t *body, bool drain);

/* GET /v1/tasks/N/decisions: the decisions about the task, the latest first. */
void service_api_decisions(struct http_request *request, const struct run_session *session,
			   const char *number);
