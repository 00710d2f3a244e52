/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/report/compare.h"

/*
 * A comparison in at most ten lines of plain English, for the end of a demonstration: what was measured and on what,
 * what was simulated, how the measurement ranks the policies at each limit and whether the simulation does so too, the
 * verdict, how sure that is, and what limits it. Every number comes from the two run directories.
 */
#define COMPARE_BRIEF_LINES 10

/*
 * The lines, char * without newlines, owned by the caller. `compare` is of these two summaries, or NULL where they have
 * nothing in common that could be compared, which the lines then say.
 */
GPtrArray *compare_brief_lines(const struct summary *measured, const struct summary *simulated,
			       const struct compare *compare);

/* The same as JSON: the numbers, and the lines ("lines"). New reference. */
json_t *compare_brief_json(const struct summary *measured, const struct summary *simulated,
			   const struct compare *compare);
