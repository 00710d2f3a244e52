/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Names of files that tasks get and produce: paths below a directory, from untrusted sources. */

#define FILE_NAME_MAX 1000 /* bytes */

/*
 * Whether `name` stays below its directory: UTF-8 that is visible_ok(), not absolute, no component
 * empty, "." or "..", and none longer than a file name may be.
 */
bool file_name_ok(const char *name);

/*
 * Writes `bytes` to a new file `name`, which is file_name_ok(), below the directory `top`, with the
 * permissions `mode`, subject to the umask. Makes the directories in `name`. Follows no symbolic
 * links below `top`, and overwrites no file. False with `error` (G_IO_ERROR).
 */
bool file_name_write(const char *top, const char *name, GBytes *bytes, int mode, GError **error);

/* Writes `length` bytes to a file descriptor, in as many pieces as it takes. False with errno. */
bool file_write_all(int fd, const char *bytes, size_t length);
