/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/session/run_session.h"

/*
 * Tasks of the present run as JSON (docs/reference/controller-api.json, Task), for tasks that have
 * arrived.
 */

/* A task in the form of lists. New reference. */
json_t *task_json_short(const struct run_session *session, uint32_t index);

/* Why the task waits, or why its state is uncertain; NULL: neither. The caller frees it. */
char *task_json_why(const struct run_session *session, uint32_t index);

/* A task with its history and its CPU share. New reference. */
json_t *task_json(const struct run_session *session, uint32_t index);
