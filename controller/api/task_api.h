/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/session/run_session.h"

struct engine_task;

/*
 * The tasks of the present run in the controller's API (docs/how-to/run.md), and user requests
 * about them: handlers of status_api.c's table. Without a run they answer 503, for an unknown task
 * 404.
 */

/*
 * GET /v1/tasks: the tasks that have arrived, by number: those in one of the states of the query's
 * `state` (names, separated by commas), of its `user`, above number `after`, the first `limit`
 * (1000) of them; or the `ended` (1 to 200) most recently ended ones, the last one first.
 */
void task_api_list(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data);

/* GET /v1/tasks/N */
void task_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		  void *data);

/* GET /v1/tasks/N/decisions: the decisions about the task, the latest first. */
void task_api_decisions(struct http_request *request, const char *const *arguments, json_t *body,
			void *data);

/*
 * POST /v1/tasks/N/migrate: migrates the task's VMs to the hosts named in `body`: answers as below,
 * and 400 for an unknown host.
 */
void task_api_migrate(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data);

/*
 * POST /v1/tasks/N/suspend, .../resume, by the route's `what`: answers 202 with the task, or 409
 * with the reason.
 */
enum { TASK_API_SUSPEND = 0, TASK_API_RESUME };
void task_api_ask(struct http_request *request, const char *const *arguments, json_t *body,
		  void *data);

/*
 * Finds the task with this number, a text of the path; NULL: it answered the request with 404 or
 * 503. Borrowed until the main loop runs again.
 */
const struct engine_task *task_api_find(struct http_request *request,
					const struct run_session *session, const char *number);

/*
 * User requests to a service, without one answered with 409 or, while it starts, 503. They are
 * called only for clients that may have the task (task_visibility.h).
 */

/* POST /v1/tasks: 201 with the numbers of the tasks. */
void task_api_submit(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);

/*
 * POST /v1/tasks/N/cancel, .../hold, .../release: 202 with the task. The route's `what` is an enum
 * run_service_task_op.
 */
void task_api_request(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data);
