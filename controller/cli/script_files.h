/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Files of this machine in the form of a task's script (common/task_script.h), and back. */

/*
 * Reads the script `path`, its arguments (NULL-terminated), the files `stage_in` and the names of
 * its output files, `stage_out` (each NULL-terminated, or NULL: none). A file goes in under the
 * last part of its path. Returns a new reference, or NULL with `error`: a file cannot be read, or a
 * limit is exceeded.
 */
json_t *script_files_read(const char *path, char *const *arguments, char *const *stage_in,
			  char *const *stage_out, GError **error);

/*
 * Writes one of the "files" of GET /v1/tasks/N/files below `directory`. Refuses a name that leads
 * out of it and data that do not have their checksum; overwrites no file. False with `error`.
 */
bool script_files_write(const char *directory, const json_t *file, GError **error);
