/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * Two kinds of time that cannot be confused: intervals and deadlines use the monotonic boot clock
 * in nanoseconds, which all processes of one machine share and which continues after a restart of a
 * process; wall time is UTC text and is only ever written down.
 */

/* Nanoseconds of CLOCK_BOOTTIME. */
int64_t clock_now_ns(void);

/* Seconds between two readings of clock_now_ns(). */
double clock_elapsed_s(int64_t from_ns, int64_t to_ns);

/*
 * The boot id of this machine: readings of clock_now_ns() are comparable only under the same boot
 * id. The caller frees.
 */
char *clock_boot_id(void);

/* Now as ISO 8601 in UTC with milliseconds, "2026-01-31T23:59:59.123Z"; the caller frees it. */
char *clock_utc(void);
