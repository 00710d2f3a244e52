/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Sets `error`, which may be NULL, as g_set_error() does. Returns false, so that a function which
 * fails is one statement: return error_fail(error, DOMAIN, CODE, "...").
 */
bool error_fail(GError **error, GQuark domain, int code, const char *format, ...)
	G_GNUC_PRINTF(4, 5);

/* As error_fail(), for a function which returns a pointer: NULL. */
#define error_null(...) ((void)error_fail(__VA_ARGS__), NULL)
