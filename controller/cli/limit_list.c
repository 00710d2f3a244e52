/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/limit_list.h"

#include "common/config/config.h"
#include "common/error_fail.h"
#include "common/read_number.h"
#include "common/duplicates.h"

GArray *limit_list_parse(const char *text, GError **error)
{
	g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(double));
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	for (char **part = parts; *part; part++) {
		double limit;

		if (!read_number(*part, 0, 1, &limit) || limit == 0)
			return error_null(
				error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
				"--limit: '%s' is not a fraction above 0 and at most 1; write "
				"e.g. 1,0.85,0.7",
				*part);
		g_array_append_val(limits, limit);
		if (duplicate_fraction((const double *)limits->data, limits->len) < limits->len)
			return error_null(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
					  "--limit: %s is given twice; name each limit once",
					  *part);
	}
	if (limits->len > 0)
		return g_steal_pointer(&limits);
	return error_null(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "--limit: none given; write e.g. 1,0.85,0.7");
}
