/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "common/config/config.h"

/*
 * An `ipmitool shell` that stays open, on the GLib main loop of the main thread: one command at a
 * time; its output until the next prompt is the answer. Over pipes ipmitool echoes commands and
 * prompts "ipmitool> " without a newline. At the end of its input it would loop and flood the BMC
 * with packets, so it always gets "exit".
 */
struct ipmi_shell;

/*
 * Called with the answer to a command: `output` (borrowed, without echo and prompt), or `error`, a
 * POWER_METER_ERROR: NO_ANSWER, LOGIN, GARBAGE or SETUP. May send the next command or free the
 * shell.
 */
typedef void (*ipmi_shell_done_f)(const char *output, const GError *error, void *data);

/* Creates a shell that logs in by `config`, which must outlive it. Starts nothing yet. */
struct ipmi_shell *ipmi_shell_new(const struct config_meter *config);

/* Drops a command under way (its callback is not called) and ends ipmitool. NULL is allowed. */
void ipmi_shell_free(struct ipmi_shell *shell);

/*
 * Sends `command` (one line), after starting ipmitool with its login if it does not run. The
 * password file is read again at each start. One command at a time. Calls `done` once, at the
 * latest at `deadline_ns` (clock_now_ns()), and before returning only if ipmitool cannot be
 * started. ipmitool is ended at the deadline, because a late answer would be taken for the answer
 * to the next command.
 */
void ipmi_shell_command(struct ipmi_shell *shell, const char *command, int64_t deadline_ns,
			ipmi_shell_done_f done, void *data);

/*
 * Ends ipmitool; the next command starts it again. Sends "exit", SIGTERM after 1 s and SIGKILL
 * after 2 s, from the main loop. No command may be under way.
 */
void ipmi_shell_stop(struct ipmi_shell *shell);
