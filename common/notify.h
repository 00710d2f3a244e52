/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * What a daemon tells the service manager that has started it (sd_notify(3)): that it is ready, reads
 * its configuration again, stops, and that its main loop still turns. Where nobody listens
 * ($NOTIFY_SOCKET), and in the children of the process that was started ($SYSTEMD_EXEC_PID),
 * whose word would not count, nothing is said.
 */

/* It does its work. `status` is a line for `systemctl status`, or NULL. */
void notify_ready(const char *status);

/* It reads its configuration again; notify_ready() says that it has. */
void notify_reloading(void);

/* It ends, which may take up to `longest_s` seconds more, without a word from its main loop. */
void notify_stopping(double longest_s);

/*
 * Has the default main context say that it is alive, twice in the time after which the manager
 * takes it for dead ($WATCHDOG_USEC, meant for this process by $WATCHDOG_PID). Returns the source, or 0:
 * the manager does not watch. The caller removes it.
 */
guint notify_watchdog(void);
