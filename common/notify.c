/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/notify.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/read_number.h"

/* Whether this process, not a child of it, was started by the service manager. */
static bool is_ours(void)
{
	const char *pid = g_getenv("SYSTEMD_EXEC_PID");
	int64_t number;

	return !pid || read_number_integer(pid, getpid(), getpid(), &number);
}

/*
 * Errors are ignored: a manager without these reports takes the daemon for hung, and nothing can be
 * done about it here.
 */
static void send_state(const char *text)
{
	if (is_ours())
		sd_notify(0, text);
}

void notify_ready(const char *status)
{
	g_autofree char *line = status ? g_strdup(status) : NULL;
	g_autofree char *text = NULL;

	if (line) /* each line of the datagram is an assignment */
		g_strdelimit(line, "\r\n", ' ');
	text = g_strdup_printf("READY=1%s%s", line ? "\nSTATUS=" : "", line ? line : "");
	send_state(text);
}

void notify_reloading(void)
{
	g_autofree char *text =
		g_strdup_printf("RELOADING=1\nMONOTONIC_USEC=%" PRId64, g_get_monotonic_time());

	send_state(text);
}

void notify_stopping(double longest_s)
{
	const uint64_t longest_us = (uint64_t)(longest_s * G_USEC_PER_SEC);
	uint64_t watchdog_us;
	g_autofree char *text = NULL;

	if (is_ours() && sd_watchdog_enabled(0, &watchdog_us) > 0)
		text = g_strdup_printf("STOPPING=1\nWATCHDOG_USEC=%" PRIu64,
				       MAX(longest_us, watchdog_us));
	send_state(text ? text : "STOPPING=1");
}

static gboolean alive(gpointer data)
{
	send_state("WATCHDOG=1");
	return G_SOURCE_CONTINUE;
}

guint notify_watchdog(void)
{
	uint64_t interval_us;

	if (!is_ours() || sd_watchdog_enabled(0, &interval_us) <= 0)
		return 0;
	alive(NULL);
	return g_timeout_add((guint)MAX(interval_us / 2000, 1), alive, NULL);
}
