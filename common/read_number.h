/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The one reader of numbers in texts that come from outside: options, files, tables, headers, answers of
 * meters and of the kernel, the environment. A number is decimal: digits with at most one point among them,
 * perhaps a "-" before and an exponent behind ("-1.5e3"); an integer is digits alone, perhaps with a "-".
 * Zeros in front change nothing ("010" is 10). Nothing else is a number: no "+", no blank, no "0x10", no
 * "1,024", no "nan" or "inf", no empty text, and nothing that the type cannot hold ("1e999"). The locale has
 * no say. JSON and YAML have their own readers (common/json.h, common/config/config_read.h); the second asks here.
 *
 * All of them take NULL, which is no number, and leave *ret_value alone where there is none.
 */

/* The whole of `text` is a number in [min, max]; give -DBL_MAX and DBL_MAX for any. -0 is 0. */
bool read_number(const char *text, double min, double max, double *ret_value);

/* The whole of `text` is an integer in [min, max], exact over all 64 bits. */
bool read_number_integer(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* The same without a sign. */
bool read_number_unsigned(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/*
 * The number that `text` begins with. Returns what comes behind it, in `text`, or NULL where it begins with
 * none. The caller has to judge what is behind: "0x10" begins with 0, and "1,024" with 1.
 */
const char *read_number_front(const char *text, double *ret_value);
const char *read_number_front_integer(const char *text, int64_t *ret_value);
const char *read_number_front_unsigned(const char *text, uint64_t *ret_value);
