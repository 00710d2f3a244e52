/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Reports a daemon's state to the service manager that has started it (sd_notify(3)): ready,
 * reloading, stopping, and that its main loop still turns. No report is sent without
 * $NOTIFY_SOCKET, or from a child of the started process ($SYSTEMD_EXEC_PID), whose report the
 * manager would ignore.
 */

/* Reports that it is ready. `status` is a line for `systemctl status`, or NULL. */
void notify_ready(const char *status);

/* Reports that it reads its configuration again; notify_ready() reports the end of that. */
void notify_reloading(void);

/* Reports that it ends, which may take up to `longest_s` seconds without a watchdog report. */
void notify_stopping(double longest_s);

/*
 * Makes the default main context report that it is alive, twice within the watchdog's time
 * ($WATCHDOG_USEC, meant for this process by $WATCHDOG_PID). Returns the source, which the caller
 * removes, or 0: the manager has no watchdog for it.
 */
guint notify_watchdog(void);
