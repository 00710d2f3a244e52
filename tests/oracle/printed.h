/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * The key of a value (controller/sched/rank_key.h) once more, as plainly as can be: what is read
 * back of the value printed with 12 significant digits.
 */
static inline double printed(double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.12g", value);
	return g_strtod(text, NULL);
}

/*
 * Below 0, 0 or above 0: how the oracles compare two values. They are baselines of benchmarks too,
 * so only what may be equal is printed.
 */
static inline int printed_compare(double a, double b)
{
	const bool close = isfinite(a) && isfinite(b) && fabs(a - b) < 1e-6 * fabs(a);
	const double x = close ? printed(a) : a;
	const double y = close ? printed(b) : b;

	return (x > y) - (x < y);
}
