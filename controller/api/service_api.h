/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/run/run_service.h"

/*
 * What people want of a service, in the controller's API (docs/how-to/run.md): they submit tasks, and ask
 * for things to be done with them and with nodes. All answer the request; where no service is under
 * way with 409 or, while it starts, 503.
 *
 * Who may ask for what, the table of routes says (status_api.c, access.h, task_visibility.h): whom a handler hears may have the
 * task.
 */

/* Who asks. */
struct service_peer {
	int64_t uid; /* or HTTP_PEER_* */
	char *user;  /* name or number; NULL: not known */
};
struct service_peer service_peer_of(struct http_request *request);
void service_peer_clear(struct service_peer *peer);

/* Whether a service is under way; else answers the request with 409 or 503. */
bool service_api_is_served(struct http_request *request, const struct run_session *session);

/*
 * Answers with `body` (taken over), as soon as what a service has recorded until now is on disk: what it said it
 * would do it does, whatever fails. Where that cannot be: 503. An experiment answers at once.
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

/* GET /v1/tasks/N/decisions: what was decided of it, the latest first. */
void service_api_decisions(struct http_request *request, const struct run_session *session,
			   const char *number);
