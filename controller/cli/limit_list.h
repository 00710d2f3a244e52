/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Reads what `--limit` takes: "1,0.85,0.7", fractions of the budget above 0 and at most 1, each
 * once. Returns a new array of double, or NULL with `error` (CONFIG_ERROR_MEANING) set.
 */
GArray *limit_list_parse(const char *text, GError **error);
