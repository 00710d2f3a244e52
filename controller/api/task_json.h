/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/session/run_session.h"

struct engine_task;

/* Tasks of view_task() as JSON (docs/reference/controller-api.json, Task). */

/* A task in the form of lists. New reference. */
json_t *task_json_short(const struct run_session *session, const struct engine_task *task);

/* Why the task waits, or why its state is uncertain; NULL: neither. The caller frees it. */
char *task_json_why(const struct run_session *session, const struct engine_task *task);

/* A task with its history and its CPU share. New reference. */
json_t *task_json(const struct run_session *session, const struct engine_task *task);
