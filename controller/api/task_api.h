/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/api/task_texts.h"
#include "controller/run/run_session.h"

/*
 * The tasks of the present run in the controller's API (docs/how-to/run.md), and user requests
 * about them. All handlers answer the request; without a run with 503.
 */

/*
 * Lists the tasks that have arrived, by number: those in one of the states of the query's `state`
 * (names, separated by commas), of its `user`, above number `after`, the first `limit` (1000) of
 * them; or the `ended` (1 to 200) most recently ended ones, the last one first.
 */
void task_api_list(struct http_request *request, const struct run_session *session,
		   struct task_texts *texts);

/* Finds the task with this number, a text of the path, or answers the request with 404 or 503. */
bool task_api_find(struct http_request *request, const struct run_session *session,
		   const char *number, uint32_t *ret_index);

/* Answers with the task. */
void task_api_get(struct http_request *request, const struct run_session *session,
		  const char *number);

/* A task that has arrived, in the form of lists. New reference. */
json_t *task_api_short_json(const struct run_session *session, uint32_t index);

/* Why the task waits, or why its state is uncertain; NULL: neither. The caller frees it. */
char *task_api_why(const struct run_session *session, uint32_t index);

/* A task that has arrived, with its history and its CPU share. New reference. */
json_t *task_api_json(const struct run_session *session, uint32_t index);

/*
 * Migrates the task's VMs to the hosts named in `body`: answers as below, and 400 for an unknown
 * host.
 */
void task_api_migrate(struct http_request *request, const struct run_session *session,
		      const char *number, const json_t *body);

/*
 * Suspends the task, or resumes it (`resume`): answers 202 with the task, 404, or 409 with the
 * reason.
 */
void task_api_ask(struct http_request *request, const struct run_session *session,
		  const char *number, bool resume);
