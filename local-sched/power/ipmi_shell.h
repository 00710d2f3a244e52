/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"

/*
 * An `ipmitool shell` that stays open, on the GLib main loop of the main thread: one command at a
 * time, what it prints until the next prompt is the answer. Over pipes ipmitool echoes commands and
 * prompts "ipmitool> " without a newline; at the end of its input it would spin and storm the BMC
 * with packets, so it is always told to exit.
 */
struct ipmi_shell;

/*
 * The answer to a command: `output` (borrowed, without echo and prompt) or `error`, which is of
 * POWER_METER_ERROR: NO_ANSWER, LOGIN, GARBAGE or SETUP. May send the next command or
 * free the shell.
 */
typedef void (*ipmi_shell_done_f)(const char *output, const GError *error, void *data);

/* A shell that logs in as `config` says, which must outlive it. Nothing is started yet. */
struct ipmi_shell *ipmi_shell_new(const struct config_meter *config);

/* Drops a command under way (its callback is not called) and ends ipmitool; NULL is allowed. */
void ipmi_shell_free(struct ipmi_shell *shell);

/*
 * Sends `command` (one line), after starting ipmitool and its login if it does not run; the
 * password file is read anew at each start. Only one command at a time. Calls `done` once, never
 * before returning and at the latest at `deadline_ns` (clock_now_ns()); ipmitool is ended then,
 * because its answer might still come and be taken for the next one.
 */
void ipmi_shell_command(struct ipmi_shell *shell, const char *command, int64_t deadline_ns,
			ipmi_shell_done_f done, void *data);

/*
 * Ends ipmitool; the next command starts it again. "exit", then SIGTERM after 1 s and SIGKILL after
 * 2 s, all of it from the main loop. No command may be under way.
 */
void ipmi_shell_stop(struct ipmi_shell *shell);
