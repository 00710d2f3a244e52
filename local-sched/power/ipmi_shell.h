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
 * Meters of the same BMC and user (config_files_share_bmc()) share a shell, and so one session, of
 * which a BMC has few; the longest of their timeout_s holds for all of them. Their commands are
 * sent in the order in which they came. Before a command for another controller behind the BMC the
 * shell sets ipmitool's target ("set targetaddr"). ipmitool takes the channel and the LUN of a
 * target when it starts: for another channel or LUN the shell closes the session and opens a new
 * one.
 *
 * ipmitool waits for each answer of the BMC as long as the meter's timeout_s, and sends each
 * request once: so it takes a late answer, and its own error comes before the shell's deadline.
 *
 * A BMC ends a session that is idle for some time (IPMI 2.0, section 6.12.15: 60 s), without a word
 * to ipmitool: a shell that was not used for half of that is started again.
 */
struct ipmi_shell;

/* The shells of one owner. */
struct ipmi_shells;

struct ipmi_shells *ipmi_shells_new(const struct platform *platform);

/*
 * Drops all commands, and asks every ipmitool to close its session and to exit. Does not wait: what
 * takes time may be done before ipmi_shells_free().
 */
void ipmi_shells_leave(struct ipmi_shells *shells);

/*
 * The same, then waits until every ipmitool has ended, one second at most in all, and kills those
 * that have not: their BMCs are silent. Does not run the main loop. NULL is allowed.
 */
void ipmi_shells_free(struct ipmi_shells *shells);

/* Which controller a command is for. */
struct ipmi_target {
	uint8_t address; /* on the IPMB; IPMI_BMC_ADDRESS: the BMC itself */
	uint8_t channel; /* that leads there from the BMC; 0: the primary IPMB; of a BMC any */
	uint8_t lun;
};
enum { IPMI_BMC_ADDRESS = 0x20 };

extern const struct ipmi_target ipmi_bmc;

/*
 * Called with the answer to a command: `output` (borrowed, without echo and prompt), or `error`, a
 * POWER_METER_ERROR: NO_ANSWER, LOGIN, GARBAGE or SETUP. May send the next command.
 */
typedef void (*ipmi_shell_done_f)(const char *output, const GError *error, void *data);

/*
 * The shell that logs in by `config`, borrowed until ipmi_shells_free(). Starts nothing yet. NULL
 * with POWER_METER_ERROR_SETUP if another meter of the BMC and user has another password,
 * `privilege` or the like (config_files_differ()).
 */
struct ipmi_shell *ipmi_shells_find(struct ipmi_shells *shells, const struct config_meter *config,
				    GError **error);

/* Drops the commands whose `data` is this, without a callback. */
void ipmi_shell_drop(struct ipmi_shell *shell, const void *data);

/*
 * Sends `command` (one line) to `target` once those before it have their answers, after starting
 * ipmitool with its login if it does not run. No ipmitool starts before the one before it has
 * closed its session, unless that takes more than a second, or its BMC was silent. The password
 * file is read again at each start. Calls `done` once, and before returning only if ipmitool cannot
 * be started, or where the login was refused some seconds ago with the same password. The latest is
 * some seconds more than the meter's timeout_s after the command was sent; a login, which comes
 * before it, takes several answers of the BMC, and may take as many times as long. ipmitool is
 * ended then, because a late answer would be taken for the answer to the next command. A login that
 * fails fails all commands that wait.
 */
void ipmi_shell_command(struct ipmi_shell *shell, const struct ipmi_target *target,
			const char *command, ipmi_shell_done_f done, void *data);

/*
 * Since when the BMC was not out of sight, by platform_now_ns(): ipmitool was last started, but for
 * a login by another channel or LUN; 0: never.
 */
int64_t ipmi_shell_started_ns(const struct ipmi_shell *shell);

/*
 * What a command of `data` waits for beside its own answer, for a message: the login, or commands
 * of others. NULL: nothing.
 */
const char *ipmi_shell_obstacle(const struct ipmi_shell *shell, const void *data);

/*
 * The number of the session's reservation of sensor records (IPMI 2.0, section 33.11), which all
 * walks along them share: another one would end it. 0: there is none, as after each login.
 */
uint16_t *ipmi_shell_reservation(struct ipmi_shell *shell);

/*
 * Ends ipmitool, whose BMC was silent; the next command starts it again. Sends "exit", SIGTERM
 * after 1 s and SIGKILL after 2 s, from the main loop. To be called by a `done`, before the next command.
 */
void ipmi_shell_stop(struct ipmi_shell *shell);
