/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Files of sysfs and procfs: short texts, read and written whole, in one call each. Take the root
 * ("/sys") from a setting that a test can change. Errors are G_FILE_ERROR: _NOENT and _ACCES as
 * from the system, _INVAL for contents of another form.
 */

/*
 * The text of `path` without surrounding blanks, at most 64 KiB; the caller frees it. NULL with
 * `error`.
 */
char *sysfs_read(const char *path, GError **error);

/* Reads a whole number in decimal digits. On failure *ret_value is untouched. */
bool sysfs_read_number(const char *path, uint64_t *ret_value, GError **error);

/* Replaces the contents of an existing file by `text` in a single write. */
bool sysfs_write(const char *path, const char *text, GError **error);

/*
 * The names in `directory` that begin with `prefix`, in the order of their numbers (cpu2 before
 * cpu10), NULL-terminated; the caller frees them. Empty where there is no such directory.
 */
char **sysfs_list(const char *directory, const char *prefix);
