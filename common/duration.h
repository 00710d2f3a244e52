/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/* Durations as users write and read them. */

/*
 * Reads "90", "90s", "1.5h", "10m" or "1h30m": numbers, each with a unit of d, h, m or s, larger
 * units first and none twice; a number alone is in seconds. Returns true and the seconds, finite
 * and at least 0; false for any other text, with *ret_s untouched.
 */
bool duration_parse(const char *text, double *ret_s);

/*
 * Seconds as "3:07", "1:02:10" or, from a day on, "2-01:02:10"; "-" if not finite. A negative
 * duration is shown as 0. The caller frees.
 */
char *duration_text(double seconds);
