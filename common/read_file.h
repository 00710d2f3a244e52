/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reading files that somebody named: a directory, a pipe, a device or a socket in the place of a file, and a file
 * without an end, are told instead of waited for or read until memory is used up. /dev/null is an empty file.
 *
 * Errors are of domain G_FILE_ERROR: the code of what the system said, G_FILE_ERROR_ISDIR, G_FILE_ERROR_INVAL for what is
 * no regular file, and G_FILE_ERROR_FAILED for more bytes than allowed. Their messages are whole: "'PATH' cannot be
 * read: REASON".
 */

/* The most that a small file may hold which people write by hand or a program of ours writes. */
#define READ_FILE_SMALL_MAX ((size_t)4 << 20)

/*
 * The contents of regular file `path`, of `max` bytes at the most, with a 0 behind them; *ret_length (NULL: not wanted)
 * is set to their number. The caller frees. NULL with `error`.
 */
char *read_file(const char *path, size_t max, size_t *ret_length, GError **error);

/* The same of what `fd` gives until it ends; `name` stands for the path. It may be a pipe. */
char *read_file_from(int fd, const char *name, size_t max, size_t *ret_length, GError **error);

/* Opens regular file `path` for reading; closed on exec. The caller closes it. -1 with `error`. */
int read_file_open(const char *path, GError **error);

/* No bound, for those who do not read a whole file at once. */
#define READ_FILE_ANY_SIZE SIZE_MAX

/*
 * Whether `path` is a regular file of `max` bytes at the most that can be read, for those who leave reading it to a
 * library. False with `error`.
 */
bool read_file_check(const char *path, size_t max, GError **error);

/* The same where it has to be there only if somebody made it: true where there is nothing of that name. */
bool read_file_check_if_there(const char *path, size_t max, GError **error);
