/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Files of this machine as a script takes them along (common/task_script.h), and back. */

/*
 * The script `path` with its arguments (NULL-terminated), the files `stage_in` and the names of what is
 * to come out, `stage_out` (each NULL-terminated, or NULL: none). A file goes in under the last part of its
 * name. Returns a new reference, or NULL with `error`: it cannot be read, or is too much of something.
 */
json_t *script_files_read(const char *path, char *const *arguments, char *const *stage_in,
			  char *const *stage_out, GError **error);

/*
 * Writes one of the "files" of GET /v1/tasks/N/files below the directory `directory`. A name that leads out
 * of it, or data with another checksum than it came with, is refused; no file is written over. False with
 * `error`.
 */
bool script_files_write(const char *directory, const json_t *file, GError **error);
