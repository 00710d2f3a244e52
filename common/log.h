/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Log lines of the daemons on standard error: `UTC level subsystem message`. Levels by
 * consequence: error = not done, warning = done otherwise, info = state change, debug = the rest.
 * The level is chosen with VIRTBED_LOG=error|warning|info|debug (default info).
 */
enum log_level { LOG_LEVEL_ERROR = 0, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Writes one line; newlines and control characters inside the message are escaped. */
void log_line(enum log_level level, const char *subsystem, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Each file that logs defines LOG_SUBSYSTEM before it includes this header. */
#define log_error(...) log_line(LOG_LEVEL_ERROR, LOG_SUBSYSTEM, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, LOG_SUBSYSTEM, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, LOG_SUBSYSTEM, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, LOG_SUBSYSTEM, __VA_ARGS__)
