/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A value is split into an integer of 12 digits and a power of ten, and the key is computed from
 * these two: values with the same digits have the same key, bit for bit. Powers of ten up to 10^22
 * are exact in a double; one multiplication by them is off by half a unit in the last place, which
 * matters only if the digits behind the 12th are very nearly a half. In that case, and far from 1,
 * printf() is used, which rounds exactly.
 */
#include "controller/sched/rank_key.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 12
#define DIGITS_LEAST 1e11 /* the least integer of DIGITS digits */
#define DIGITS_END 1e12   /* the first integer with more digits */

/* Shifts by more digits than this take two powers of the table. */
#define POWERS 22

/* Sizes outside of this range are left to printf(). */
#define FAST_LEAST 1e-32
#define FAST_MOST 1e32

/*
 * Fractions closer to a half than this are left to printf(), too: twice the error of two
 * multiplications below 2^40.
 */
#define NEAR_HALF 0x1p-11

/*
 * A double of this size has no fraction: added and taken off again it rounds to an integer, halves
 * to even.
 */
#define INTEGERS 0x1.8p52

static const double powers[POWERS + 1] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* digits x 10^-shift, with DIGITS digits. */
struct parts {
	double digits;
	int shift;
};

/* value x 10^shift, at least -POWERS and at most 2 x POWERS. */
static double shift_up(double value, int shift)
{
	if (shift < 0)
		return value / powers[-shift];
	if (shift <= POWERS)
		return value * powers[shift];
	return value * powers[POWERS] * powers[shift - POWERS];
}

static double put_together(const struct parts *parts)
{
	char text[32];

	if (parts->shift < -POWERS || parts->shift > 2 * POWERS) {
		snprintf(text, sizeof(text), "%.0fe%d", parts->digits, -parts->shift);
		return strtod(text, NULL);
	}
	if (parts->shift < 0)
		return parts->digits * powers[-parts->shift];
	if (parts->shift <= POWERS)
		return parts->digits / powers[parts->shift];
	return parts->digits / powers[POWERS] / powers[parts->shift - POWERS];
}

/* Works with any decimal point of the locale. */
static struct parts split_value_exactly(double size)
{
	char text[32];
	const char *at = text;
	struct parts parts = {0};

	snprintf(text, sizeof(text), "%.*e", DIGITS - 1, size);
	for (; *at != 'e'; at++)
		if (*at >= '0' && *at <= '9')
			parts.digits = parts.digits * 10 + (*at - '0');
	parts.shift = DIGITS - 1 - atoi(at + 1);
	return parts;
}

/* The largest power of ten not above a size, or a neighbour of it. */
static int guess_decade(double size)
{
	uint64_t bits;

	memcpy(&bits, &size, sizeof(bits));
	return (((int)(bits >> 52) - 1023) * 1233) >> 12; /* x log10(2) */
}

static struct parts split_value(double size)
{
	struct parts parts = {.shift = DIGITS - 1 - guess_decade(size)};
	double shifted = shift_up(size, parts.shift);

	if (shifted < DIGITS_LEAST)
		shifted = shift_up(size, ++parts.shift);
	else if (shifted >= DIGITS_END)
		shifted = shift_up(size, --parts.shift);
	parts.digits = (shifted + INTEGERS) - INTEGERS;
	if (fabs(fabs(shifted - parts.digits) - 0.5) < NEAR_HALF)
		return split_value_exactly(size);
	if (parts.digits >= DIGITS_END) {
		parts.digits = DIGITS_LEAST;
		parts.shift--;
	}
	return parts;
}

double rank_key(double value)
{
	const double size = fabs(value);
	struct parts parts;

	if (size >= FAST_LEAST && size < FAST_MOST)
		parts = split_value(size);
	else if (size > 0 && size < (double)INFINITY)
		parts = split_value_exactly(size);
	else
		return value;
	return copysign(put_together(&parts), value);
}
