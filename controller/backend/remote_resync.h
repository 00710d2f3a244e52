/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Numbers in what a local scheduler says of a task that cannot be: negative, too large, no numbers at all. They are
 * no reason not to believe that the task has ended: they are not known, which is said.
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * A copy of a task object (docs/reference/api.md) or a part of it with null for each quantity that
 * cannot be (members whose names end with _s, _uj or _cores), and with `times` for each instant and
 * length of time in nanoseconds (_ns) as well. What was replaced is appended to `doubts`, for
 * people. A new reference, also of what is no object.
 */
json_t *remote_resync_settle(const json_t *value, bool times, GString *doubts);

/* Appends "WHAT" to `doubts`, after what is there. */
void remote_resync_add(GString *doubts, const char *what);
