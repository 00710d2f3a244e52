/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/cli/client.h"

/*
 * Waits until all tasks with these numbers (guint64) have ended, and shows on standard error how far
 * they are, live on a terminal. A controller that gives no answer is asked again: it may be
 * restarted meanwhile. Returns the last document of GET /v1/tasks about them, a new reference, or
 * NULL when it was away too long; client->status is set and why was printed.
 */
json_t *task_wait(struct client *client, const GArray *numbers);
