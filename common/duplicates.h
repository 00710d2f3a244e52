/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Finds duplicates in lists. Runs, files or rows of a table are named by the elements, so a
 * duplicate would be mistaken for a repetition.
 */

/* The index of the first of `names` that equals an earlier one; `count` if all differ. */
uint32_t duplicate_name(const char *const *names, uint32_t count);

/*
 * The index of the first of `fractions` (limits, sizes, ...) that is closer than
 * CONFIG_LIMITS_DIFFER to an earlier one; `count` if all differ. No fraction may be NAN.
 */
uint32_t duplicate_fraction(const double *fractions, uint32_t count);
