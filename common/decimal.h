/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * Appends a number in the format of "%" PRIu64, faster than printf(): texts with thousands of
 * numbers would spend most of their time there.
 */
static inline void decimal_append(GString *text, uint64_t number)
{
	char digits[20];
	char *at = digits + sizeof(digits);

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	g_string_append_len(text, at, digits + sizeof(digits) - at);
}
