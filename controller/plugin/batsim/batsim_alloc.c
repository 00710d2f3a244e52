/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/batsim/batsim_alloc.h"

#include <string.h>

#include "common/read_number.h"

char *batsim_alloc_text(const bool *have, uint32_t count)
{
	GString *text = g_string_new("");

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t first = i;

		if (!have[i])
			continue;
		while (i + 1 < count && have[i + 1])
			i++;
		g_string_append_printf(text, "%s%u", text->len > 0 ? " " : "", first);
		if (i > first)
			g_string_append_printf(text, "-%u", i);
	}
	return g_string_free(text, FALSE);
}

bool *batsim_alloc_read(const char *text, uint32_t count, uint32_t *ret_chosen)
{
	g_auto(GStrv) intervals = g_strsplit_set(text, " ,", -1);
	bool *have = g_new0(bool, count);
	uint32_t chosen = 0;

	for (char **interval = intervals; *interval; interval++) {
		g_auto(GStrv) ends = g_strsplit(*interval, "-", 2);
		uint64_t first, last;

		if (!**interval)
			continue;
		if (count == 0 || !read_number_unsigned(ends[0], 0, count - 1, &first) ||
		    !read_number_unsigned(ends[1] ? ends[1] : ends[0], first, count - 1, &last)) {
			g_free(have);
			return NULL;
		}
		for (uint64_t i = first; i <= last; i++) {
			chosen += !have[i];
			have[i] = true;
		}
	}
	*ret_chosen = chosen;
	return have;
}
