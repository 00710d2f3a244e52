/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* As many seconds as somebody may ask to wait: some 30 years. */
#define NUMBER_OPTION_SECONDS_MAX 1e9

/*
 * Numbers of a command's line. GLib's own options for numbers take "nan", "0x10" and "010" (for 8), and
 * leave no value over that says "not given": such an option is a string (G_OPTION_ARG_STRING) that one of
 * these reads. `option` is its name for messages ("--procs"); a `text` of NULL, an option that was not given,
 * leaves *ret_value as it is and succeeds. Anything else than a number in [min, max] (common/read_number.h)
 * sets `error` (G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE), which names all four.
 */
bool number_option(const char *option, const char *text, double min, double max, double *ret_value,
		   GError **error);
bool number_option_integer(const char *option, const char *text, int64_t min, int64_t max, int64_t *ret_value,
			   GError **error);
bool number_option_unsigned(const char *option, const char *text, uint32_t min, uint32_t max,
			    uint32_t *ret_value, GError **error);
