/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Inputs of a run as a few bytes each: columns of equal fields one after another, numbers as
 * differences to the ones before them, packed by zlib. Every field is kept to the last bit but the
 * sums, of which the lowest bits are kept (STORE_PACKED_SNAPSHOT and the like): these hardly can be
 * packed, and would be most of the bytes.
 */

/* The most inputs of a pack. */
#define INPUT_PACK_MAX 65536

/* The inputs, GPtrArray of struct store_input, of one run, in order; the caller frees. */
GBytes *input_pack_write(const GPtrArray *inputs);

/*
 * The inputs of a pack, GPtrArray of struct store_input, whose first one has the number `first`;
 * NULL: it is no such pack, or damaged.
 */
GPtrArray *input_pack_read(GBytes *pack, int64_t run, uint32_t first);
