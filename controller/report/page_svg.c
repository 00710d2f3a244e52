/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/page_svg.h"

#include <string.h>

#include "common/visible.h"

/* Replaces every match of a pattern in `text` (\1 refers to its first group). */
static char *replace(const char *text, const char *pattern, const char *by)
{
	g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);

	g_assert(regex);
	return g_regex_replace(regex, text, -1, 0, by, 0, NULL);
}

/* The part between the head, which ends with the description, and the closing tag. */
static char *body_of(const char *svg)
{
	const char *start = strstr(svg, "</desc>");
	const char *end = start ? g_strrstr(start, "</svg>") : NULL;

	return end ? g_strndup(start + strlen("</desc>"), (gsize)(end - start) - strlen("</desc>"))
		   : NULL;
}

char *page_svg(const char *svg, const char *name, const char *title)
{
	g_autofree char *body = body_of(svg);
	const char *box = strstr(svg, "viewBox=\"");
	g_autofree char *shown = visible_text(title);
	g_autofree char *escaped = g_markup_escape_text(shown, -1);
	g_autofree char *names = g_strdup_printf("\\g<1>%s-\\g<2>", name);
	g_autofree char *view = NULL;
	g_autofree char *named = NULL;
	g_autofree char *plain = NULL;

	if (!body || !box)
		return NULL;
	box += strlen("viewBox=\"");
	view = g_strndup(box, strcspn(box, "\""));
	/* id="x", href="#x" and url(#x), with either kind of quotes. */
	named = replace(body, "(\\bid=['\"]|href=['\"]#|url\\(#)([A-Za-z])", names);
	/* gnuplot's names of untitled lines would show as tooltips. */
	plain = named ? replace(named, "<title>gnuplot_[a-z0-9_]*</title>", "") : NULL;
	if (!plain)
		return NULL;
	return g_strdup_printf("<svg viewBox=\"%s\" role=\"img\" aria-labelledby=\"%s-title\">"
			       "<title id=\"%s-title\">%s</title>%s</svg>\n",
			       view, name, name, escaped, plain);
}
