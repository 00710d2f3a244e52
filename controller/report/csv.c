/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static void separate(GString *csv)
{
	if (csv->len && csv->str[csv->len - 1] != '\n')
		g_string_append_c(csv, ',');
}

/* An empty first field is quoted: otherwise the next field would look like the first. */
void csv_text(GString *csv, const char *text)
{
	bool first = !csv->len || csv->str[csv->len - 1] == '\n';

	separate(csv);
	if (!text || !*text) {
		g_string_append(csv, first ? "\"\"" : "");
		return;
	}
	if (!strpbrk(text, ",\"\n\r")) {
		g_string_append(csv, text);
		return;
	}
	g_string_append_c(csv, '"');
	for (; *text; text++) {
		if (*text == '"')
			g_string_append_c(csv, '"');
		g_string_append_c(csv, *text == '\n' || *text == '\r' ? ' ' : *text);
	}
	g_string_append_c(csv, '"');
}

void csv_number(GString *csv, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	csv_text(csv,
		 isfinite(value) ? g_ascii_formatd(number, sizeof(number), "%.10g", value) : NULL);
}

void csv_integer(GString *csv, gint64 value)
{
	separate(csv);
	g_string_append_printf(csv, "%" PRId64, value);
}

void csv_end(GString *csv)
{
	g_string_append_c(csv, '\n');
}
