/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cyaml/cyaml.h>
#include <glib.h>
#include <stdbool.h>

/*
 * Walks the YAML text beside its libcyaml schema, before libcyaml reads it, because libcyaml takes
 * "1.5GB" for the number 1 and names the line before an unknown key. Refuses unknown keys, values
 * of the wrong kind and numbers with anything behind them, each with its line, column and key.
 * Returns true, or false with `error` (CONFIG_ERROR_SYNTAX) set to `PATH:LINE:COLUMN: ...`. Lacking
 * keys and list lengths are left to libcyaml.
 */
bool config_strict_check(const char *text, size_t length, const char *path,
			 const cyaml_schema_value_t *schema, GError **error);
