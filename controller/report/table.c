/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/visible.h"

/* Blanks between columns. */
#define GAP 2

struct column {
	char *title;
	enum table_align align;
};

/* A row has at most columns->len cells; a NULL row is a rule. */
struct table {
	GArray *columns; /* struct column */
	GPtrArray *rows; /* GPtrArray of char *, or NULL */
};

static void clear_column(gpointer data)
{
	struct column *column = data;

	g_free(column->title);
}

static void free_row(gpointer data)
{
	if (data)
		g_ptr_array_unref(data);
}

struct table *table_new(void)
{
	struct table *table = g_new0(struct table, 1);

	table->columns = g_array_new(FALSE, FALSE, sizeof(struct column));
	g_array_set_clear_func(table->columns, clear_column);
	table->rows = g_ptr_array_new_with_free_func(free_row);
	return table;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	g_array_unref(table->columns);
	g_ptr_array_unref(table->rows);
	g_free(table);
}

void table_column(struct table *table, const char *title, enum table_align align)
{
	struct column column = {g_strdup(title), align};

	g_assert(table->rows->len == 0);
	g_array_append_val(table->columns, column);
}

/* Adds columns with these titles: '<' before text, '>' or nothing before numbers. */
static void add_columns(struct table *table, const char *title, va_list titles)
{
	for (; title; title = va_arg(titles, const char *))
		table_column(table, title + (*title == '<' || *title == '>'),
			     *title == '<' ? TABLE_LEFT : TABLE_RIGHT);
}

void table_columns(struct table *table, const char *title, ...)
{
	va_list titles;

	va_start(titles, title);
	add_columns(table, title, titles);
	va_end(titles);
}

struct table *table_with(const char *title, ...)
{
	struct table *table = table_new();
	va_list titles;

	va_start(titles, title);
	add_columns(table, title, titles);
	va_end(titles);
	return table;
}

void table_row(struct table *table)
{
	g_ptr_array_add(table->rows, g_ptr_array_new_with_free_func(g_free));
}

void table_rule(struct table *table)
{
	if (table->rows->len && g_ptr_array_index(table->rows, table->rows->len - 1))
		g_ptr_array_add(table->rows, NULL);
}

/* Takes over `text`. */
static void add_cell(struct table *table, char *text)
{
	GPtrArray *row;

	g_assert(table->rows->len);
	row = g_ptr_array_index(table->rows, table->rows->len - 1);
	g_assert(row && row->len < table->columns->len);
	g_ptr_array_add(row, visible_text(text));
	g_free(text);
}

void table_text(struct table *table, const char *text)
{
	add_cell(table, g_strdup(text ? text : "-"));
}

void table_textf(struct table *table, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_cell(table, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

void table_number(struct table *table, double value, int decimals)
{
	g_autofree char *text = NULL;

	if (!isfinite(value)) {
		table_text(table, NULL);
		return;
	}
	text = g_strdup_printf("%.*f", decimals, value);
	/* No "-0.00": a rounded zero has no sign. */
	if (text[0] == '-' && strspn(text, "-0.") == strlen(text))
		table_text(table, text + 1);
	else
		table_text(table, text);
}

void table_integer(struct table *table, int64_t value)
{
	table_textf(table, "%" PRId64, value);
}

static const char *cell(const struct table *table, guint row, guint column)
{
	GPtrArray *cells = g_ptr_array_index(table->rows, row);

	return cells && column < cells->len ? g_ptr_array_index(cells, column) : "";
}

static guint text_width(const char *text)
{
	return (guint)(g_utf8_validate(text, -1, NULL) ? g_utf8_strlen(text, -1)
						       : (glong)strlen(text));
}

static guint *column_widths(const struct table *table)
{
	guint *widths = g_new0(guint, table->columns->len + 1);

	for (guint i = 0; i < table->columns->len; i++) {
		widths[i] = text_width(g_array_index(table->columns, struct column, i).title);
		for (guint row = 0; row < table->rows->len; row++)
			widths[i] = MAX(widths[i], text_width(cell(table, row, i)));
	}
	return widths;
}

static void pad(GString *text, guint count, char filler)
{
	for (guint i = 0; i < count; i++)
		g_string_append_c(text, filler);
}

/* Appends a row, the titles where `row` is TITLES, or a rule where it is RULE or no row. */
enum { TITLES = -1, RULE = -2 };

static void append_line(const struct table *table, GString *text, const guint *widths, int indent,
			gint row)
{
	const bool rule = row == RULE || (row >= 0 && !g_ptr_array_index(table->rows, row));

	pad(text, (guint)indent, ' ');
	for (guint i = 0; i < table->columns->len; i++) {
		const struct column *column = &g_array_index(table->columns, struct column, i);
		const char *content = rule            ? ""
				      : row == TITLES ? column->title
						      : cell(table, (guint)row, i);
		const guint blanks = widths[i] - MIN(widths[i], text_width(content));

		pad(text, i > 0 ? GAP : 0, ' ');
		if (rule || column->align == TABLE_RIGHT)
			pad(text, blanks, rule ? '-' : ' ');
		g_string_append(text, content);
		if (!rule && column->align == TABLE_LEFT)
			pad(text, blanks, ' ');
	}
	while (text->len && text->str[text->len - 1] == ' ')
		g_string_truncate(text, text->len - 1);
	g_string_append_c(text, '\n');
}

char *table_format(const struct table *table, int indent)
{
	g_autofree guint *widths = column_widths(table);
	GString *text = g_string_new(NULL);
	guint rows = table->rows->len;

	if (rows && !g_ptr_array_index(table->rows, rows - 1))
		rows--;
	append_line(table, text, widths, indent, TITLES);
	append_line(table, text, widths, indent, RULE);
	for (guint row = 0; row < rows; row++)
		append_line(table, text, widths, indent, (gint)row);
	return g_string_free(text, FALSE);
}

void table_print(const struct table *table, int indent, FILE *file)
{
	g_autofree char *text = table_format(table, indent);

	fputs(text, file);
}

static void append_html_cell(GString *text, const char *element, const char *content,
			     enum table_align align)
{
	g_autofree char *shown = visible_text(content);
	g_autofree char *escaped = g_markup_escape_text(shown, -1);

	g_string_append_printf(text, "<%s%s>%s</%.2s>", element,
			       align == TABLE_RIGHT ? " class=\"number\"" : "", escaped, element);
}

static void append_html_row(const struct table *table, GString *text, guint row)
{
	g_string_append(text, "<tr>");
	for (guint i = 0; i < table->columns->len; i++)
		append_html_cell(text, "td", cell(table, row, i),
				 g_array_index(table->columns, struct column, i).align);
	g_string_append(text, "</tr>\n");
}

char *table_html(const struct table *table, const char *caption)
{
	GString *text = g_string_new("<div class=\"wide\"><table>\n");
	g_autofree char *shown = visible_text(caption);
	g_autofree char *escaped = g_markup_escape_text(shown, -1);

	g_string_append_printf(text, "<caption>%s</caption>\n<thead><tr>", escaped);
	for (guint i = 0; i < table->columns->len; i++) {
		const struct column *column = &g_array_index(table->columns, struct column, i);

		append_html_cell(text, "th scope=\"col\"", column->title, column->align);
	}
	g_string_append(text, "</tr></thead>\n<tbody>\n");
	for (guint row = 0; row < table->rows->len; row++) {
		if (g_ptr_array_index(table->rows, row))
			append_html_row(table, text, row);
		else if (row + 1 < table->rows->len)
			g_string_append(text, "</tbody>\n<tbody>\n");
	}
	g_string_append(text, "</tbody>\n</table></div>\n");
	return g_string_free(text, FALSE);
}
