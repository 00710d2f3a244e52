/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/metrics_text.h"

#include <math.h>
#include <stdarg.h>

void metrics_text_family(GString *text, const char *name, const char *type, const char *help)
{
	g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_escaped(GString *text, const char *value)
{
	g_autofree char *valid = g_utf8_make_valid(value, -1);

	for (const char *at = valid; *at; at++) {
		if (*at == '\n')
			g_string_append(text, "\\n");
		else if (*at == '"' || *at == '\\')
			g_string_append_printf(text, "\\%c", *at);
		else
			g_string_append_c(text, *at);
	}
}

static void add_value(GString *text, double value)
{
	char digits[G_ASCII_DTOSTR_BUF_SIZE];

	if (isinf(value))
		g_string_append(text, value > 0 ? " +Inf\n" : " -Inf\n");
	else
		g_string_append_printf(text, " %s\n",
				       g_ascii_dtostr(digits, sizeof(digits), value));
}

void metrics_text_sample(GString *text, const char *name, double value, ...)
{
	const char *label;
	const char *separator = "{";
	va_list labels;

	if (isnan(value))
		return;
	g_string_append(text, name);
	va_start(labels, value);
	while ((label = va_arg(labels, const char *))) {
		g_string_append_printf(text, "%s%s=\"", separator, label);
		add_escaped(text, va_arg(labels, const char *));
		g_string_append_c(text, '"');
		separator = ",";
	}
	va_end(labels);
	if (*separator == ',')
		g_string_append_c(text, '}');
	add_value(text, value);
}
