/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/snapshots.h"

#include <glib.h>

void assert_same_nodes(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count)
{
	g_assert_cmpuint(a_count, ==, b_count);
	for (uint32_t i = 0; i < a_count; i++)
		g_assert_cmpuint(a[i], ==, b[i]);
}
