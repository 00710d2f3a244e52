/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The longest wait that a user may ask for, seconds: some 30 years. */
#define NUMBER_OPTION_SECONDS_MAX 1e9

/*
 * Numeric options of a command line. GLib's own numeric options accept "nan", "0x10" and "010" (as
 * 8), and have no value left for "not given"; so such an option is a string (G_OPTION_ARG_STRING)
 * that one of these functions reads. `option` is its name for messages ("--procs"). A `text` of
 * NULL, an option that was not given, leaves *ret_value as it is and succeeds. Any text but a
 * number in [min, max] (common/read_number.h) sets `error` (G_OPTION_ERROR,
 * G_OPTION_ERROR_BAD_VALUE), whose message names option, text, min and max.
 */
bool number_option(const char *option, const char *text, double min, double max, double *ret_value,
		   GError **error);
bool number_option_integer(const char *option, const char *text, int64_t min, int64_t max,
			   int64_t *ret_value, GError **error);
bool number_option_unsigned(const char *option, const char *text, uint32_t min, uint32_t max,
			    uint32_t *ret_value, GError **error);
