/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Impossible numbers in a local scheduler's description of a task: negative, too large, or no
 * numbers at all. They do not make the description's other members unusable, so a task still ends:
 * such a value becomes "not known", with a note.
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * A copy of a task object (docs/reference/api.md) or a part of it in which each impossible quantity
 * (members whose names end with _s, _uj or _cores) is null, and with `times` each instant and
 * duration in nanoseconds (_ns) as well. What was replaced is appended to `doubts`, for a note.
 * Returns a new reference, also for a value that is no object.
 */
json_t *remote_sanitize(const json_t *value, bool times, GString *doubts);

/* Appends "WHAT" to the list in `doubts`. */
void remote_sanitize_add(GString *doubts, const char *what);
