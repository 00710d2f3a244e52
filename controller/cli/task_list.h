/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/cli/client.h"

/*
 * Returns the document of GET /v1/tasks with the tasks in `states` (separated by commas), of
 * `user`, with one of `numbers` (guint64); NULL for any of them: all. A number without a task is
 * bad input. Returns a new reference, or NULL after why was printed and client->status set.
 */
json_t *task_list_get(struct client *client, const char *states, const char *user,
		      const GArray *numbers);

/*
 * As task_list_get(), for commands that retry while the controller does not answer: prints nothing,
 * and a task may be missing. *ret_status as of client_ask().
 */
json_t *task_list_ask(struct client *client, const char *states, const char *user,
		      const GArray *numbers, int *ret_status, GError **error);
