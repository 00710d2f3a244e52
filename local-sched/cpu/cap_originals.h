/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The original values of a machine's knobs, in a file. Each value is on disk before its knob is
 * changed, so that the next process can restore it, however this one ends. Knobs belong to the
 * machine: one process at a time holds the file, by a lock that ends with the process.
 *
 *   virtbed-caps 1 BOOT_ID
 *   PATH<TAB>VALUE          one line per knob
 *
 * After a reboot the knobs have their original values, and the file is void.
 */
struct cap_originals;
typedef struct cap_originals cap_originals_t;

/* The file for the machine's own /sys. Like the knobs' values, it does not survive a reboot. */
#define CAP_ORIGINALS_MACHINE "/run/virtbed/cpu-caps"

#define CAP_ORIGINALS_ERROR (cap_originals_error_quark())
GQuark cap_originals_error_quark(void);
enum cap_originals_error {
	CAP_ORIGINALS_ERROR_HELD = 1, /* another process has changed this machine's knobs */
	CAP_ORIGINALS_ERROR_FILE,     /* the file cannot be created, read or written */
};

/*
 * Opens the file `path`, created with its directory if missing, and locks it. Knobs that a dead
 * process has left changed are restored first.
 */
struct cap_originals *cap_originals_open(const char *path, GError **error);

/*
 * Writes `value` to `knob` (a file below cpufreq, cpuidle or intel_pstate), after storing its
 * original value unless that is stored already. False with the error of the failed operation; the
 * knob is then as it was.
 */
bool cap_originals_turn(struct cap_originals *originals, const char *knob, const char *value,
			GError **error);

/* Restores all knobs, removes the file and frees. Returns how many knobs refused. NULL: 0. */
guint cap_originals_close(struct cap_originals *originals);

/*
 * Restores the knobs that a dead process has left changed, by the file `path`. True also if there
 * is nothing to do, or if the process lives. *ret_count is the number of restored knobs.
 */
bool cap_originals_recover(const char *path, guint *ret_count, GError **error);
