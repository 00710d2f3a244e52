/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/duration.h"

#include <glib.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/read_number.h"

/* Longer durations are taken for errors: 1000 years. */
#define LONGEST_S (1000.0 * 366 * 86400)

static const struct unit {
	char letter;
	double seconds;
} units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};

/* Reads digits with at most one point among them; NULL: there is no number. */
static const char *read_value(const char *text, double *ret_value)
{
	const char *end = read_number_front(text, ret_value);

	return end == text + strspn(text, "0123456789.") ? end : NULL;
}

bool duration_parse(const char *text, double *ret_s)
{
	size_t next = 0; /* units before it were used */
	double sum = 0;

	if (!*text)
		return false;
	while (*text) {
		size_t unit = next;
		double value;

		text = read_value(text, &value);
		if (!text || (!*text && next > 0))
			return false;
		if (!*text) {
			sum = value;
			break;
		}
		while (unit < G_N_ELEMENTS(units) && units[unit].letter != *text)
			unit++;
		if (unit == G_N_ELEMENTS(units))
			return false;
		sum += value * units[unit].seconds;
		next = unit + 1;
		text++;
	}
	if (!(sum <= LONGEST_S))
		return false;
	*ret_s = sum;
	return true;
}

char *duration_text(double seconds)
{
	long s;

	if (!isfinite(seconds))
		return g_strdup("-");
	s = lround(CLAMP(seconds, 0, LONGEST_S));
	if (s >= 86400)
		return g_strdup_printf("%ld-%02ld:%02ld:%02ld", s / 86400, s / 3600 % 24,
				       s / 60 % 60, s % 60);
	if (s >= 3600)
		return g_strdup_printf("%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
	return g_strdup_printf("%ld:%02ld", s / 60, s % 60);
}
