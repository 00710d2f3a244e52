/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Files of sysfs and procfs: short texts, read and written whole, in one call each. Callers take
 * the root ("/sys") from a place that a test can change. Errors are G_FILE_ERROR: _NOENT and _ACCES
 * as the system reports, _INVAL for unexpected contents.
 */

/*
 * The text of `path` without the blanks around it, at most 64 KiB; the caller frees. NULL: error.
 */
char *sysfs_read(const char *path, GError **error);

/* A whole number in decimal digits; on failure `ret_value` is untouched. */
bool sysfs_read_number(const char *path, uint64_t *ret_value, GError **error);

/* Replaces the contents of an existing file by `text` in one write. */
bool sysfs_write(const char *path, const char *text, GError **error);

/*
 * The names in `directory` that begin with `prefix`, sorted so that numbers count (cpu2 before
 * cpu10), NULL-terminated; the caller frees. Empty if there is no such directory.
 */
char **sysfs_list(const char *directory, const char *prefix);
