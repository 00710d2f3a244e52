/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/run/run_session.h"

/*
 * Whose the tasks are, in the controller's API. A service's tasks are those of the account that submitted them, an
 * experiment's of the user that it runs as. Operators and viewers see all of them (what a viewer cannot do at all, the
 * table of routes says); a user sees whose the others are and where, and nothing of what they do.
 */

/*
 * Of the table of routes: keeps a user out of all that names a task (arguments[0]) which is not theirs. One answer for
 * another's task and for a number that is nobody's (the caller frees it). `data` is a struct status_api. Nobody is kept
 * out while no run is under way: then there are no tasks, which every handler says.
 */
char *task_visibility_authorize(const char *const *arguments, int64_t uid, void *data);

/* Whether who asks may be told everything of a task of the run under way. */
bool task_visibility_shows(struct http_request *request, const struct run_session *session, uint32_t task);

/* Whether who asks may be told the words of a notice, or of an event of that kind that names no task. */
bool task_visibility_shows_notice(struct http_request *request, const char *kind);

/* Takes what they may not be told out of the notices of a status document (run_progress_json()). */
void task_visibility_leave_out_notices(struct http_request *request, json_t *notices);

/* Takes what only its owner is told out of a task of a list, where it is null then, and says so (`hidden`). */
void task_visibility_hide_task(json_t *task);

/* The same of an event about a task: of its detail what is public stays. */
void task_visibility_hide_event(json_t *event);
