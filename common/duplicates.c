/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/duplicates.h"

#include <math.h>
#include <string.h>

#include "common/config/config.h"

uint32_t duplicate_name(const char *const *names, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(names[i], names[j]) == 0)
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
