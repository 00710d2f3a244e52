/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"

/*
 * Runs the default main context until done(data) returns true, or until `end_ns` of the boot clock
 * of `platform`. done() is called before and after each turn, and at least every `every_ms`, for
 * conditions that depend on time; it must not run the main loop itself. Once it returned true, only
 * sources of G_PRIORITY_HIGH are dispatched. Calls may be nested: the outer one then returns after
 * the inner one. Returns the last result of done().
 */
bool loop_until(const struct platform *platform, bool (*done)(void *data), void *data,
		int64_t end_ns, int every_ms);
