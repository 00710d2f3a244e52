/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The watts file, by which the lab's power model feeds an emulated BMC: one line of decimal watts
 * with at most three decimals, replaced by rename. C library only: ipmi_sim loads this.
 */
enum {
	WATTS_MAX_MW = 65535000, /* the largest DCMI reading */
	WATTS_TEXT_MAX = 32,     /* the most bytes of a file */
};

/*
 * Reads "61", "61.25", "0.001\n" as milliwatts. Refuses signs, exponents, blanks, more than three
 * decimals, and more than WATTS_MAX_MW. On failure *ret_mw is untouched.
 */
bool watts_parse(const char *text, uint32_t *ret_mw);

/*
 * Reads the file `path` if it was written within the last `max_age_s` seconds of wall time. A time
 * in the future counts as now. On failure *ret_mw is untouched.
 */
bool watts_read(const char *path, double max_age_s, uint32_t *ret_mw);
