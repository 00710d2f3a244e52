/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/report/compare.h"

/*
 * A comparison in at most ten lines of plain English, for the end of a demonstration: the
 * measurement and its hosts, the simulation (or the two sides of one kind), the order of the
 * policies at each limit and whether the second side agrees, the verdict, its certainty and its
 * limits. Every number comes from the two
 * run directories.
 */
#define COMPARE_BRIEF_LINES 10

/*
 * The lines, char * without newlines, owned by the caller. `compare` is of these sides, or NULL
 * where nothing can be compared, which the lines then say.
 */
GPtrArray *compare_brief_lines(const struct compare_sides *sides, const struct compare *compare);

/* The numbers and the lines ("lines") as JSON. New reference. */
json_t *compare_brief_json(const struct compare_sides *sides, const struct compare *compare);
