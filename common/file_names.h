/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Names of the files that go into tasks and come out of them: paths below a directory, whoever they
 * are from.
 */

#define FILE_NAME_MAX 1000 /* bytes */

/*
 * Whether `name` stays below the directory that it is used in: UTF-8 that is visible_ok(), not
 * absolute, no part of it empty, "." or "..", and none longer than a file name may be.
 */
bool file_name_ok(const char *name);

/*
 * Writes `bytes` to the file `name`, one that is file_name_ok(), below the directory `top`, with the
 * permissions `mode` as far as the umask lets them. Makes the directories in it. Follows no symbolic
 * links below `top`, and writes over no file. False with `error` (G_IO_ERROR).
 */
bool file_name_write(const char *top, const char *name, GBytes *bytes, int mode, GError **error);
