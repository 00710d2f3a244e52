/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/attribution/attribution.h"
#include "controller/report/resampling.h"

/*
 * Attributes the differences of a comparison for command `name`, on `jobs` threads (0: one per
 * processor), with its progress on standard error where that is a terminal. NULL with `error`, as
 * attribution_new().
 */
struct attribution *attribute(const char *name, const struct compare *compare, uint32_t jobs,
			      GError **error);

/* Two directories whose differences were attributed. */
struct attributed {
	struct compare_sides sides;
	struct resampling *noise[2];
	struct compare *compare;
	struct attribution *attribution;
};
typedef struct attributed attributed_t; /* for g_auto() */

/*
 * Compares two directories by what is on record, and attributes their differences, as above. The
 * summaries are borrowed for the life of the result, which the caller clears, also on failure.
 * False with `error`.
 */
bool attribute_directories(const char *name, const struct summary *a, const struct summary *b,
			   uint32_t jobs, struct attributed *ret_attributed, GError **error);
void attributed_clear(struct attributed *attributed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(attributed_t, attributed_clear)
