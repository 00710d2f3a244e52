/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The watts file: how the lab's power model feeds an emulated BMC. One line of decimal watts with
 * at most three decimals, replaced by rename. C library only: ipmi_sim loads this.
 */
enum {
	WATTS_MAX_MW = 65535000, /* what a DCMI reading can hold */
	WATTS_TEXT_MAX = 32,     /* bytes that a file may have */
};

/*
 * Reads "61", "61.25", "0.001\n" as milliwatts. Refuses anything else: signs, exponents, blanks,
 * more than three decimals, more than WATTS_MAX_MW. On failure `ret_mw` is untouched.
 */
bool watts_parse(const char *text, uint32_t *ret_mw);

/*
 * Reads the file `path` if it was written within the last `max_age_s` seconds of wall time. A file
 * from the future counts as fresh. On failure `ret_mw` is untouched.
 */
bool watts_read(const char *path, double max_age_s, uint32_t *ret_mw);
