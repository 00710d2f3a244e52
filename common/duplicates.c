/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/duplicates.h"

#include <glib.h>
#include <math.h>

#include "common/config/config.h"

uint32_t duplicate_name(const char *const *names, uint32_t count)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (uint32_t i = 0; i < count; i++)
		if (!g_hash_table_add(seen, (gpointer)names[i]))
			return i;
	return count;
}

uint32_t duplicate_fraction(const double *fractions, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (fabs(fractions[i] - fractions[j]) < CONFIG_LIMITS_DIFFER)
				return i;
	return count;
}
