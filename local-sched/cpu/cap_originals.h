/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/platform.h"

/*
 * The original values of a machine's knobs, in a file. Each value is on disk before its knob is
 * changed, so that the next process can restore it, however this one ends. Knobs belong to the
 * machine: one process at a time holds the file, by a lock that ends with the process.
 *
 *   virtbed-caps 1 BOOT_ID
 *   PATH<TAB>VALUE          the original, written before the knob is
 *   ?PATH<TAB>VALUE         the value of a knob that another one may move, before that is written
 *   =PATH<TAB>VALUE         what the knob had afterwards
 *   -PATH                   the knob has its original again, or never lost it
 *
 * Lines are only appended. A process that dies between an original and the line that follows it
 * leaves a knob with either value, and both are handled alike: a knob that has its original is
 * left alone, any other is written. A knob that was only noted, and that another program has set
 * since, is left alone as well. After a reboot the knobs have their original values, and the
 * file is void.
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
 * process has left changed are restored first; those that refuse stay in the file.
 */
struct cap_originals *cap_originals_open(const struct platform *platform, const char *path,
					 GError **error);

/*
 * Stores the value of `knob` unless it is stored already: for a knob that another one moves, before
 * that is written. The value is put back unless another program has changed it since
 * cap_originals_confirm(). False with `error`.
 */
bool cap_originals_note(struct cap_originals *originals, const char *knob, GError **error);

/*
 * Writes `value` to `knob` (a file below cpufreq, cpuidle or intel_pstate), after storing its
 * original value unless that is stored already. A knob that has the value is not written. False
 * with the error of the failed operation; a knob that is as it was is then not to be restored.
 */
bool cap_originals_turn(struct cap_originals *originals, const char *knob, const char *value,
			GError **error);

/*
 * Reads the value of `knob` again as the one it was given, or has been moved to. The kernel may
 * have changed the written one, for example to the highest of the hardware. Without an original
 * this does nothing.
 */
void cap_originals_confirm(struct cap_originals *originals, const char *knob);

/*
 * Restores all knobs and frees; removes the file unless a knob is left in it. A warning names the
 * knobs whose value another program has changed since they were set. Returns how many knobs
 * refused; the knobs of a CPU that is offline do not count and stay in the file. NULL: 0.
 */
guint cap_originals_close(struct cap_originals *originals);

/*
 * Restores the knobs that a dead process has left changed, by the file `path`. True also if there
 * is nothing to do, or if the process lives. *ret_count is the number of restored knobs.
 */
bool cap_originals_recover(const struct platform *platform, const char *path, guint *ret_count,
			   GError **error);
