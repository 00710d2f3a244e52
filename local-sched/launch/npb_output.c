/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/npb_output.h"

#include <float.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/read_number.h"

uint32_t npb_output_blocks(const char *benchmark)
{
	const struct benchmark *known = benchmark_find(benchmark);

	return known ? known->blocks : 0;
}

/* The texts of group 1 of all matches of `pattern`. */
static GPtrArray *matches(const char *text, const char *pattern)
{
	g_autoptr(GRegex) regex =
		g_regex_new(pattern, G_REGEX_MULTILINE | G_REGEX_RAW | G_REGEX_NEWLINE_LF, 0, NULL);
	g_autoptr(GMatchInfo) info = NULL;
	GPtrArray *found = g_ptr_array_new_with_free_func(g_free);

	g_regex_match(regex, text, 0, &info);
	for (; g_match_info_matches(info); g_match_info_next(info, NULL))
		g_ptr_array_add(found, g_match_info_fetch(info, 1));
	return found;
}

/* Sum of the numbers of all matches; false if there is none. */
static bool sum(const char *text, const char *pattern, double *ret_sum)
{
	g_autoptr(GPtrArray) found = matches(text, pattern);

	*ret_sum = 0;
	for (guint i = 0; i < found->len; i++) {
		double number = 0;

		/* the pattern matches numbers only */
		read_number(g_ptr_array_index(found, i), 0, DBL_MAX, &number);
		*ret_sum += number;
	}
	return found->len > 0;
}

void npb_output_parse(const char *text, struct npb_output *ret_output)
{
	g_autoptr(GPtrArray) verdicts = matches(text, "^ Verification +=\\s+([A-Z ]{1,40}?)\\s*$");

	memset(ret_output, 0, sizeof(*ret_output));
	ret_output->blocks = verdicts->len;
	for (guint i = 0; i < verdicts->len; i++)
		if (g_str_equal(g_ptr_array_index(verdicts, i), "SUCCESSFUL"))
			ret_output->successful++;
	if (!sum(text, "^ Time in seconds \\(full\\) *= *([0-9]{1,12}\\.[0-9]{1,12})\\s*$",
		 &ret_output->time_s))
		sum(text, "^ Time in seconds *= *([0-9]{1,12}\\.[0-9]{1,12})\\s*$",
		    &ret_output->time_s);
}

bool npb_output_verified(const struct npb_output *output, const char *benchmark)
{
	uint32_t wanted = npb_output_blocks(benchmark);

	return wanted > 0 && output->blocks == wanted && output->successful == wanted;
}
