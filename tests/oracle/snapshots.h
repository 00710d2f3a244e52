/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/check/snapshots.h"

/* Asserts that two lists of nodes are equal. */
void assert_same_nodes(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count);
