/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "common/json.h"

/* JSON that a test has with single quotes. Returns a new reference. */
static inline json_t *quoted_json(const char *single_quotes)
{
	g_autoptr(GString) text = g_string_new(single_quotes);
	g_autoptr(GError) error = NULL;
	json_t *value;

	g_string_replace(text, "'", "\"", 0);
	value = json_parse(text->str, text->len, "case", &error);
	g_assert_no_error(error);
	return value;
}
