/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <string.h>

#include "common/json.h"

/* A document as the controller sends it; the caller unrefs it. */
static inline json_t *document(const char *text)
{
	g_autoptr(GError) error = NULL;
	json_t *value = json_parse(text, strlen(text), "document", &error);

	g_assert_no_error(error);
	return value;
}
