/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads files whose paths come from users: a directory, a pipe, a device or a socket in the place
 * of a file, and a file without an end, are errors instead of a hang or a loss of all memory.
 * /dev/null is an empty file.
 *
 * Errors are of domain G_FILE_ERROR: the code of the system's error, G_FILE_ERROR_ISDIR,
 * G_FILE_ERROR_INVAL for no regular file, and G_FILE_ERROR_FAILED for more bytes than allowed.
 * Their messages are complete: "'PATH' cannot be read: REASON".
 */

/* The maximum size of a small file, such as users or our programs write. */
#define READ_FILE_SMALL_MAX ((size_t)4 << 20)

/*
 * The contents of regular file `path`, at most `max` bytes, with a 0 behind them; *ret_length
 * (NULL: not wanted) is set to their number. The caller frees. NULL with `error`.
 */
char *read_file(const char *path, size_t max, size_t *ret_length, GError **error);

/*
 * As read_file(), from the file descriptor `fd`, which may be a pipe, until its end; `name` is used
 * as the path in errors.
 */
char *read_file_from(int fd, const char *name, size_t max, size_t *ret_length, GError **error);

/* Opens regular file `path` for reading; closed on exec. The caller closes it. -1 with `error`. */
int read_file_open(const char *path, GError **error);

/* No bound, for callers that do not read a whole file at once. */
#define READ_FILE_ANY_SIZE SIZE_MAX

/*
 * Whether `path` is a readable regular file of at most `max` bytes, for callers that leave reading
 * it to a library. False with `error`.
 */
bool read_file_check(const char *path, size_t max, GError **error);

/* As read_file_check(), but true also if there is no file at `path`. */
bool read_file_check_if_there(const char *path, size_t max, GError **error);
