/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/cli/client.h"

/*
 * The document of GET /v1/tasks with the tasks in `states` (separated by commas), of `user`, with
 * one of `numbers` (guint64); NULL of any: all. A number of which there is no task is bad input.
 * Returns a new reference, or NULL with client->status set, and why was printed.
 */
json_t *task_list_get(struct client *client, const char *states, const char *user,
		      const GArray *numbers);

/*
 * The same for those that go on asking while the controller is away: nothing is printed, a task may
 * be missing. *ret_status as of client_ask().
 */
json_t *task_list_ask(struct client *client, const char *states, const char *user,
		      const GArray *numbers, int *ret_status, GError **error);
