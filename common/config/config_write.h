/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/*
 * A structure as YAML, by the rows of its section, such that equal texts are equal structures and
 * config_read() reads every number back bit for bit: a simulation sees exactly what the measured
 * run saw. Absent values (NULL, and 0 in an optional field whose 0 is no value) are left out; texts
 * are quoted. The caller frees.
 */
char *config_write_text(const struct config_section *section, const void *data);

/*
 * Writes `text` to `path`: all of it, or the file is the one from before. Returns true, or false
 * with `error` (G_FILE_ERROR).
 */
bool config_write_file(const char *path, const char *text, GError **error);
