/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Sets `error` as g_set_error() does, which may be NULL. Returns false. */
bool fail_with(GError **error, GQuark domain, int code, const char *format, ...) G_GNUC_PRINTF(4, 5);
