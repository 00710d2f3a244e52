/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/session/run_session.h"

/*
 * The visibility of tasks in the controller's API. A service's tasks belong to the account that
 * submitted them, an experiment's to the user that it runs as. Operators and viewers see all of
 * them (the table of routes says what a viewer cannot request at all); a user sees the owners and
 * nodes of the others' tasks, but not their contents.
 */

/*
 * For the table of routes: refuses a user every request about a task (arguments[0]) of another
 * owner. The refusal (the caller frees it) is the same for another user's task and for an unknown
 * number. `data` is a struct status_api. Without a run there are no tasks, which every handler
 * answers, so nothing is refused.
 */
char *task_visibility_authorize(const char *const *arguments, int64_t uid, void *data);

/* Whether the client may see everything of a task of the present run. */
bool task_visibility_shows(struct http_request *request, const struct run_session *session,
			   uint32_t task);

/*
 * Whether the client may see the text of a notice, or of an event of that kind that names no task.
 */
bool task_visibility_shows_notice(struct http_request *request, const char *kind);

/*
 * Removes the texts that the client may not see from the notices of a status document
 * (run_progress_json()).
 */
void task_visibility_leave_out_notices(struct http_request *request, json_t *notices);

/* Sets the fields of a list's task that only its owner may see to null, and marks it (`hidden`). */
void task_visibility_hide_task(json_t *task);

/* Removes the private details of an event about a task. */
void task_visibility_hide_event(json_t *event);
