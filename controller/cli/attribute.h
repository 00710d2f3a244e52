/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/attribution/attribution.h"

/*
 * Attributes the differences of a comparison for command `name`, on `jobs` threads (0: one per
 * processor), with its progress on standard error where that is a terminal. NULL with `error`, as
 * attribution_new().
 */
struct attribution *attribute(const char *name, const struct compare *compare, uint32_t jobs,
			      GError **error);
