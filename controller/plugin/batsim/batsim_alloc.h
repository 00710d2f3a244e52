/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Sets of resources as Batsim writes them: "0-3 5", intervals with a space or comma between them. */

/* The text of a set of `count` resources, those that have[i] names; the caller frees it. */
char *batsim_alloc_text(const bool *have, uint32_t count);

/*
 * Reads a set of numbers below `count` into an array of bool, *ret_chosen of which are true; the
 * caller frees it. NULL: the text is no such set.
 */
bool *batsim_alloc_read(const char *text, uint32_t count, uint32_t *ret_chosen);
