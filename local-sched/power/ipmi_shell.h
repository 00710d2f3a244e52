/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"

/*
 * An `ipmitool shell` that stays open, on the GLib main loop of the main thread: one command at a
 * time; its output until the next prompt is the answer. Over pipes ipmitool echoes commands and
 * prompts "ipmitool> " without a newline. At the end of its input it would loop and flood the BMC
 * with packets, so it always gets "exit".
 *
 * ipmitool waits for each answer of the BMC as long as the meter's timeout_s, and sends each
 * request once: so it takes a late answer, and its own error comes before the shell's deadline.
 *
 * A BMC ends a session that is idle for some time (IPMI 2.0, section 6.12.15: 60 s), without a word
 * to ipmitool: a shell that was not used for half of that is started again.
 */
struct ipmi_shell;

/* Which controller the commands of a shell are for. */
struct ipmi_target {
	uint8_t address; /* on the IPMB; IPMI_BMC_ADDRESS: the BMC itself */
	uint8_t channel; /* that leads there from the BMC; 0: the primary IPMB */
	uint8_t lun;
};
enum { IPMI_BMC_ADDRESS = 0x20 };

/*
 * Called with the answer to a command: `output` (borrowed, without echo and prompt), or `error`, a
 * POWER_METER_ERROR: NO_ANSWER, LOGIN, GARBAGE or SETUP. May send the next command or free the
 * shell.
 */
typedef void (*ipmi_shell_done_f)(const char *output, const GError *error, void *data);

/*
 * Creates a shell that logs in by `config`, which must outlive it, for commands to `target`. Starts
 * nothing yet.
 */
struct ipmi_shell *ipmi_shell_new(const struct platform *platform,
				  const struct config_meter *config,
				  const struct ipmi_target *target);

/* Drops a command under way (its callback is not called) and ends ipmitool. NULL is allowed. */
void ipmi_shell_free(struct ipmi_shell *shell);

/*
 * Sends `command` (one line), after starting ipmitool with its login if it does not run. The
 * password file is read again at each start. One command at a time. Calls `done` once, and before
 * returning only if ipmitool cannot be started. The latest is some seconds more than the meter's
 * timeout_s after the command was sent; a login, which comes before it, takes several answers of
 * the BMC, and may take as many times as long. ipmitool is ended then, because a late answer would
 * be taken for the answer to the next command.
 */
void ipmi_shell_command(struct ipmi_shell *shell, const char *command, ipmi_shell_done_f done,
			void *data);

/* When ipmitool was last started (platform_now_ns()); 0: never. */
int64_t ipmi_shell_started_ns(const struct ipmi_shell *shell);

/* Whether a command waits for the login. */
bool ipmi_shell_is_logging_in(const struct ipmi_shell *shell);

/*
 * Ends ipmitool; the next command starts it again. Sends "exit", SIGTERM after 1 s and SIGKILL
 * after 2 s, from the main loop. No command may be under way.
 */
void ipmi_shell_stop(struct ipmi_shell *shell);
