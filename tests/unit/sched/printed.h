/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdio.h>

/*
 * The key of a value (controller/sched/rank_key.h) once more, as plainly as can be: what is read back of the value
 * printed with 12 significant digits. The oracles compare these.
 */
static inline double printed(double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.12g", value);
	return g_strtod(text, NULL);
}
