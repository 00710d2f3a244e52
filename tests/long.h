/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Whether slow tests run, by `./testbed check --long`, which sets VIRTBED_LONG; empty is no. */
static inline bool tests_are_long(void)
{
	const char *text = g_getenv("VIRTBED_LONG");

	return text && *text;
}
