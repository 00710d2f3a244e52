/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * Log lines of the daemons on standard error:
 *
 *  2026-01-31T23:59:59.123Z info job task=7 node=c1-n0 started after 0.123 s
 *
 * UTC, level, subsystem, the subject if there is one, and the message. If standard error is the
 * journal ($JOURNAL_STREAM), it gets the line without time and level, which it keeps itself, and
 * fields: PRIORITY, VIRTBED_SUBSYSTEM, VIRTBED_TASK, VIRTBED_ATTEMPT, VIRTBED_LOCAL, VIRTBED_NODE,
 * VIRTBED_HOST.
 *
 * Levels by consequence: error = not done, warning = done otherwise, info = state change, debug =
 * the rest. The level is chosen with VIRTBED_LOG=error|warning|info|debug (default info).
 */
enum log_level { LOG_LEVEL_ERROR = 0, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The subject of a line; all NULL: none. */
struct log_about {
	const char *task;
	const char *attempt;
	/*
	 * A local scheduler's name of a task. If it is a controller's,
	 * "EXPERIMENT-RUN-TASK-ATTEMPT" (run, task and attempt are numbers), `task` and `attempt`
	 * are taken from it, so that the lines of all daemons about a task match; otherwise it is
	 * used as `task`.
	 */
	const char *local;
	const char *node;
	const char *host;
};

#define LOG_TASK(name) ((struct log_about){.task = (name)})
#define LOG_NODE(name) ((struct log_about){.node = (name)})
#define LOG_HOST(name) ((struct log_about){.host = (name)})
#define LOG_LOCAL(name) ((struct log_about){.local = (name)})
#define LOG_LOCAL_NODE(task_name, node_name)                                                       \
	((struct log_about){.local = (task_name), .node = (node_name)})

/*
 * Writes one line. Newlines and control characters inside the message are escaped; a subject is
 * quoted if it has characters that are not of a plain word.
 */
void log_line(enum log_level level, const char *subsystem, struct log_about about,
	      const char *format, ...) G_GNUC_PRINTF(4, 5);

/*
 * From now on messages of g_critical(), g_warning() and the like are such lines too: ours, about
 * impossible events for example, as of subsystem "virtbed", those of a library as of its domain.
 * Critical ones are errors, and what GLib calls info is debug. Unit tests do not call this, so that
 * such messages are fatal there.
 */
void log_take_glib(void);

/* Whether our log lines reach the journal, so that no log file is needed. */
bool log_is_journal(void);

/* Each file that logs defines LOG_SUBSYSTEM before it includes this header. */
#define log_error(...) log_error_of((struct log_about){0}, __VA_ARGS__)
#define log_warning(...) log_warning_of((struct log_about){0}, __VA_ARGS__)
#define log_info(...) log_info_of((struct log_about){0}, __VA_ARGS__)
#define log_debug(...) log_debug_of((struct log_about){0}, __VA_ARGS__)

/* The same macros with a subject: LOG_TASK(task->id) and the like. */
#define log_error_of(about, ...) log_line(LOG_LEVEL_ERROR, LOG_SUBSYSTEM, about, __VA_ARGS__)
#define log_warning_of(about, ...) log_line(LOG_LEVEL_WARNING, LOG_SUBSYSTEM, about, __VA_ARGS__)
#define log_info_of(about, ...) log_line(LOG_LEVEL_INFO, LOG_SUBSYSTEM, about, __VA_ARGS__)
#define log_debug_of(about, ...) log_line(LOG_LEVEL_DEBUG, LOG_SUBSYSTEM, about, __VA_ARGS__)
