/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A run of a program that answers and ends (snmpget), on the GLib main loop of the main thread. */
struct snmp_get;

/*
 * Called with the program's output, standard error included (borrowed), however it ended; or with
 * `error` (SUBPROCESS_ERROR) if it did not end in time or printed too much. The run is freed
 * afterwards.
 */
typedef void (*snmp_get_done_f)(const char *output, const GError *error, void *data);

/*
 * Starts `argv` with `environment` (KEY=VALUE, added to that of this process). Calls `done` once,
 * never before returning, and at the latest at `deadline_ns` (clock_now_ns()), when the program is
 * killed. NULL with `error` (SUBPROCESS_ERROR_START) if it cannot be started.
 */
struct snmp_get *snmp_get_start(const char *const *argv, const char *const *environment,
				int64_t deadline_ns, snmp_get_done_f done, void *data,
				GError **error);

/* Kills the program; `done` is not called. NULL is allowed. */
void snmp_get_cancel(struct snmp_get *get);
