/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/cli/client.h"

/*
 * Waits until all tasks with these numbers (guint64) have ended, and shows the progress on standard
 * error, live on a terminal. A controller that does not answer is asked again, since it may be
 * restarting. Returns the last document of GET /v1/tasks about the tasks, a new reference, or NULL
 * after a long absence: client->status is set and why was printed.
 */
json_t *task_wait(struct client *client, const GArray *numbers);
