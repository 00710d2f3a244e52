/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/cli/client.h"

/*
 * Waits until all tasks with these numbers (guint64) have ended, and shows the progress on standard
 * error, live on a terminal. A controller that does not answer is asked again, since it may be
 * restarting. Returns the last document of GET /v1/tasks about the tasks, a new reference, or NULL
 * after a long absence: client->status is set and why was printed.
 */
json_t *task_wait(struct client *client, const GArray *numbers);

/*
 * Whether a task, as the controller describes it, has not yet reached the state that was requested.
 */
typedef bool (*task_pending_f)(const json_t *task, const void *data);

/*
 * Asks for task `number` again every 0.2 s while `is_pending` holds and fewer than `wait_s` seconds have
 * passed since `from_ns` (clock_now_ns()). `task`: the controller's first answer, NULL is
 * allowed; the reference is taken over. Returns the last answer, a new reference, or NULL after a
 * failure: client->status is set and why was printed.
 */
json_t *task_wait_while(struct client *client, guint64 number, json_t *task,
			task_pending_f is_pending, const void *data, int64_t from_ns, double wait_s);
