/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The only reader of numbers and durations in external text: options, files, tables, headers,
 * answers of meters and of the kernel, the environment. A number is decimal: digits with at most
 * one point among them, optionally a "-" before and an exponent behind ("-1.5e3"); an integer is
 * digits alone, optionally with a "-". Leading zeros have no meaning ("010" is 10). All else is
 * refused: "+", blanks, "0x10", "1,024", "nan", "inf", an empty text, and numbers that the type
 * cannot hold ("1e999"). The locale has no effect. JSON and YAML have their own readers
 * (common/json.h, common/config/config_read.h); the latter uses this one.
 *
 * All functions accept NULL, which is no number, and leave *ret_value untouched on failure.
 */

/*
 * Whether the whole of `text` is a number in [min, max]; -DBL_MAX and DBL_MAX allow any. -0 is 0.
 */
bool read_number(const char *text, double min, double max, double *ret_value);

/* Whether the whole of `text` is an integer in [min, max], exact over all 64 bits. */
bool read_number_integer(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* As read_number_integer(), without a sign. */
bool read_number_unsigned(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/*
 * Reads the number at the start of `text`. Returns the rest of `text` behind it, or NULL if there
 * is no number at the start. The caller has to check the rest: "0x10" begins with 0, and "1,024"
 * with 1.
 */
const char *read_number_front(const char *text, double *ret_value);
const char *read_number_front_integer(const char *text, int64_t *ret_value);
const char *read_number_front_unsigned(const char *text, uint64_t *ret_value);

/*
 * Reads "90", "90s", "1.5h", "10m" or "1h30m": numbers, each with a unit of d, h, m or s, larger
 * units first and none twice; a number alone is in seconds. Returns true and the seconds, finite
 * and at least 0; false for any other text, with *ret_s untouched.
 */
bool read_number_duration(const char *text, double *ret_s);
