/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/*
 * Reads the YAML file at `path` by the rows of `section`. Refuses unknown and missing keys, values
 * of the wrong kind, numbers with anything behind them, zeros that make no sense, anchors, aliases
 * and tags, each with its line and column. A section that the rows have without rows of its own is
 * accepted unread.
 *
 * `given` (NULL: not wanted; a set of strings that it owns) gets the path of every key that is
 * there, as in "experiment.baseline_s". Returns a new structure, absent keys filled with their
 * defaults, which the caller frees with config_section_free(); or NULL with `error`
 * (CONFIG_ERROR_READ, CONFIG_ERROR_SYNTAX) set to `PATH:LINE:COLUMN: ...`.
 */
void *config_read(const char *path, const struct config_section *section, GHashTable *given,
		  GError **error);
