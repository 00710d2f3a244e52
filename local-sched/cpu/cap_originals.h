/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The values that a machine's knobs had before we turned them, in a file: each is on the disk
 * before its knob is touched, so that whoever comes next can put it back, however we ended. Knobs
 * belong to the machine, so that one process at a time may hold the file; its lock dies with it.
 *
 *   virtbed-caps 1 BOOT_ID
 *   PATH<TAB>VALUE          one line per knob
 *
 * After a reboot the kernel has put everything back itself, and the file counts for nothing.
 */
struct cap_originals;
typedef struct cap_originals cap_originals_t;

/* Where they are for the machine's own /sys: like it, gone after a reboot. */
#define CAP_ORIGINALS_MACHINE "/run/virtbed/cpu-caps"

#define CAP_ORIGINALS_ERROR (cap_originals_error_quark())
GQuark cap_originals_error_quark(void);
enum cap_originals_error {
	CAP_ORIGINALS_ERROR_HELD = 1, /* another process has turned this machine's knobs */
	CAP_ORIGINALS_ERROR_FILE,     /* the file cannot be made, read or written */
};

/*
 * Opens the file `path`, made with its directory if missing, and locks it. What a process that
 * died has left turned is put back first.
 */
struct cap_originals *cap_originals_open(const char *path, GError **error);

/*
 * Writes `value` to the knob `knob` (a file below cpufreq, cpuidle or intel_pstate), after storing
 * what it had if that is not stored yet. False with the error of whatever failed; then the knob is
 * as it was.
 */
bool cap_originals_turn(struct cap_originals *originals, const char *knob, const char *value,
			GError **error);

/* Puts everything back, removes the file and frees. Returns how many knobs refused. NULL: 0. */
guint cap_originals_close(struct cap_originals *originals);

/*
 * Puts back what a dead process has left in `path`. True also if there is nothing to do, or if its
 * process lives. `ret_count` says how many knobs were put back.
 */
bool cap_originals_recover(const char *path, guint *ret_count, GError **error);
