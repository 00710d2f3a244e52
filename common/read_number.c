/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/read_number.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A double holds integers of so many digits exactly. */
#define EXACT_DIGITS 15

/* Longer durations are taken for errors: 1000 years. */
#define LONGEST_S (1000.0 * 366 * 86400)

static const char *skip_digits(const char *at)
{
	while (*at >= '0' && *at <= '9')
		at++;
	return at;
}

/* The end of the decimal number at `text`; NULL: there is none. */
static const char *find_end(const char *text)
{
	const char *whole = text + (*text == '-');
	const char *at = skip_digits(whole);
	bool has_digits = at > whole;

	if (*at == '.') {
		const char *fraction = at + 1;

		at = skip_digits(fraction);
		has_digits = has_digits || at > fraction;
	}
	if (!has_digits)
		return NULL;
	if (*at == 'e' || *at == 'E') {
		const char *exponent = at + 1 + (at[1] == '-' || at[1] == '+');
		const char *end = skip_digits(exponent);

		at = end > exponent ? end : at;
	}
	return at;
}

/* Fast path: most numbers are short integers, which do not need strtod(). */
static const char *read_short(const char *text, double *ret_value)
{
	const bool negative = *text == '-';
	const char *digits = text + negative;
	const char *at = digits;
	int64_t value = 0;

	for (; *at >= '0' && *at <= '9' && at - digits < EXACT_DIGITS; at++)
		value = 10 * value + (*at - '0');
	if (at == digits || (*at >= '0' && *at <= '9') || *at == '.' || *at == 'e' || *at == 'E')
		return NULL;
	*ret_value = (double)(negative ? -value : value);
	return at;
}

const char *read_number_front(const char *text, double *ret_value)
{
	const char *end = text ? read_short(text, ret_value) : NULL;
	char *read_to;
	double value;

	if (end || !text)
		return end;
	end = find_end(text);
	if (!end)
		return NULL;
	errno = 0;
	value = strtod(text, &read_to);
	/*
	 * Too large numbers are infinite and too small ones 0, both refused; subnormal numbers are
	 * accepted.
	 */
	if (read_to != end || !isfinite(value) || (errno == ERANGE && fpclassify(value) == FP_ZERO))
		return NULL;
	*ret_value = value + 0.0; /* -0 becomes 0 */
	return end;
}

const char *read_number_front_unsigned(const char *text, uint64_t *ret_value)
{
	const char *at = text;
	uint64_t value = 0;

	for (; at && *at >= '0' && *at <= '9'; at++) {
		const uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = 10 * value + digit;
	}
	if (at == text)
		return NULL;
	*ret_value = value;
	return at;
}

const char *read_number_front_integer(const char *text, int64_t *ret_value)
{
	const bool negative = text && *text == '-';
	uint64_t size;
	const char *end = read_number_front_unsigned(text ? text + negative : NULL, &size);

	if (!end || size > (uint64_t)INT64_MAX + negative)
		return NULL;
	*ret_value = (int64_t)(negative ? -size : size);
	return end;
}

bool read_number(const char *text, double min, double max, double *ret_value)
{
	double value;
	const char *end = read_number_front(text, &value);

	if (!end || *end != '\0' || !(value >= min && value <= max))
		return false;
	*ret_value = value;
	return true;
}

bool read_number_integer(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	int64_t value;
	const char *end = read_number_front_integer(text, &value);

	if (!end || *end != '\0' || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

bool read_number_unsigned(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;
	const char *end = read_number_front_unsigned(text, &value);

	if (!end || *end != '\0' || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

/* Durations. */

static const struct unit {
	char letter;
	double seconds;
} units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};

/* Reads digits with at most one point among them; NULL: there is no number. */
static const char *read_value(const char *text, double *ret_value)
{
	const char *end = read_number_front(text, ret_value);

	return end == text + strspn(text, "0123456789.") ? end : NULL;
}

bool read_number_duration(const char *text, double *ret_s)
{
	size_t next = 0; /* units before it were used */
	double sum = 0;

	if (!text || !*text)
		return false;
	while (*text) {
		size_t unit = next;
		double value;

		text = read_value(text, &value);
		if (!text || (!*text && next > 0))
			return false;
		if (!*text) {
			sum = value;
			break;
		}
		while (unit < sizeof(units) / sizeof(*units) && units[unit].letter != *text)
			unit++;
		if (unit == sizeof(units) / sizeof(*units))
			return false;
		sum += value * units[unit].seconds;
		next = unit + 1;
		text++;
	}
	if (!(sum <= LONGEST_S))
		return false;
	*ret_s = sum;
	return true;
}
