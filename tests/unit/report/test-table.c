/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/report/table.h"

static struct table *two_columns(void)
{
	struct table *table = table_new();

	table_column(table, "policy", TABLE_LEFT);
	table_column(table, "J", TABLE_RIGHT);
	return table;
}

static void assert_text(const struct table *table, const char *expected)
{
	g_autofree char *text = table_format(table, 1);

	g_assert_cmpstr(text, ==, expected);
}

static void test_alignment(void)
{
	g_autoptr(table_t) table = two_columns();

	table_row(table);
	table_text(table, "easy");
	table_number(table, 1234.567, 1);
	table_row(table);
	table_textf(table, "%s-%s", "max", "upr");
	table_integer(table, -7);
	assert_text(table, " policy        J\n"
			   " -------  ------\n"
			   " easy     1234.6\n"
			   " max-upr      -7\n");
}

/* What others wrote does not change how the rest reads. */
static void test_steering(void)
{
	g_autoptr(table_t) table = two_columns();
	g_autofree char *html = NULL;

	table_row(table);
	table_text(table, "a\u202eb\033[2J<i>");
	table_textf(table, "%s",
		    "\u2066"
		    "7");
	assert_text(table, " policy                    J\n"
			   " ------------------  -------\n"
			   " a\\u202eb\\x1b[2J<i>  \\u20667\n");
	html = table_html(table, "of \u202e");
	g_assert_nonnull(strstr(html, "<caption>of \\u202e</caption>"));
	g_assert_nonnull(strstr(html, "<td>a\\u202eb\\x1b[2J&lt;i&gt;</td>"));
}

/* Characters are counted, not bytes. */
static void test_utf8(void)
{
	g_autoptr(table_t) table = two_columns();

	table_row(table);
	table_text(table, "naïve µ");
	table_integer(table, 1);
	assert_text(table, " policy   J\n -------  -\n naïve µ  1\n");
}

static void test_unknown_values(void)
{
	g_autoptr(table_t) table = two_columns();

	table_row(table);
	table_text(table, NULL);
	table_number(table, NAN, 2);
	table_row(table);
	table_text(table, "x");
	table_number(table, -0.001, 2);
	table_row(table);
	table_text(table, "left out");
	assert_text(table, " policy       J\n"
			   " --------  ----\n"
			   " -            -\n"
			   " x         0.00\n"
			   " left out\n");
}

static void test_rules(void)
{
	g_autoptr(table_t) table = two_columns();

	table_rule(table);
	table_row(table);
	table_text(table, "a");
	table_rule(table);
	table_rule(table);
	table_row(table);
	table_text(table, "b");
	table_rule(table);
	assert_text(table, " policy  J\n ------  -\n a\n ------  -\n b\n");
}

static void test_empty(void)
{
	g_autoptr(table_t) table = two_columns();

	assert_text(table, " policy  J\n ------  -\n");
	table_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/table/text stands left and numbers right", test_alignment);
	g_test_add_func("/table/what steers is shown", test_steering);
	g_test_add_func("/table/width is counted in characters", test_utf8);
	g_test_add_func("/table/what is unknown is a dash", test_unknown_values);
	g_test_add_func("/table/rules stand between groups only", test_rules);
	g_test_add_func("/table/an empty table has its titles", test_empty);
	return g_test_run();
}
