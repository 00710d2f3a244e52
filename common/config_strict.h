/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cyaml/cyaml.h>
#include <glib.h>
#include <stdbool.h>

/*
 * Walks the YAML text beside its libcyaml schema, before libcyaml reads it, because libcyaml takes
 * "1.5GB" for the number 1 and names the line before an unknown key. Refuses unknown keys, values
 * of the wrong kind, numbers with anything behind them, zeros that make no sense, anchors, aliases and tags,
 * each with its line and column. Lacking keys and list lengths are left to libcyaml.
 *
 * `given` (NULL: not wanted; a set of strings that it owns) gets the path of every key that is
 * there, as in "experiment.baseline_s": libcyaml reads what is absent as 0. Returns true, or false
 * with `error` (CONFIG_ERROR_SYNTAX) set to `PATH:LINE:COLUMN: ...`.
 */
bool config_strict_check(const char *text, size_t length, const char *path,
			 const cyaml_schema_value_t *schema, GHashTable *given, GError **error);
