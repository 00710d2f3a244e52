/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * What a list names twice. Where runs, files or rows of a table bear what they were asked for as
 * their name, a second one would be taken for a repeat of the first.
 */

/* The index of the first of `names` that stood there before; `count` if all differ. */
uint32_t duplicate_name(const char *const *names, uint32_t count);

/*
 * The same of limits, sizes and other fractions: closer than CONFIG_LIMITS_DIFFER to one before.
 * None is NAN.
 */
uint32_t duplicate_fraction(const double *fractions, uint32_t count);
