/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

static inline gboolean wait_for_alarm(gpointer data)
{
	g_error("%s did not happen within 20 s", (const char *)data);
	return G_SOURCE_REMOVE;
}

/* Runs the loop until `condition` holds. */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		const guint alarm_id =                                                             \
			g_timeout_add_seconds(20, wait_for_alarm, (char *)#condition);             \
		while (!(condition))                                                               \
			g_main_context_iteration(NULL, TRUE);                                      \
		g_source_remove(alarm_id);                                                         \
	} while (0)
