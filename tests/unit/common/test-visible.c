/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What others wrote, as people see it. */
#include "common/visible.h"

static const struct {
	const char *text;
	const char *shown; /* NULL: the same, and it is a name that can be given */
	const char *lines; /* NULL: as shown */
} cases[] = {
	{""},
	{"a name, \"with\" \\ and %s"},
	{"Überlauf 日本語 שלום سلام 👩‍🔬"},
	{"a\u202eb", "a\\u202eb"},
	{"\u202a\u202b\u202c\u202d\u202e", "\\u202a\\u202b\\u202c\\u202d\\u202e"},
	{"\u2066\u2067\u2068\u2069", "\\u2066\\u2067\\u2068\\u2069"},
	{"\u200e\u200f\u061c", "\\u200e\\u200f\\u061c"},
	{"\u206a\u206f\u2028\u2029", "\\u206a\\u206f\\u2028\\u2029"},
	{"\033[31mred\a", "\\x1b[31mred\\x07"},
	{"\302\233"
	 "31m\177\302\205",
	 "\\x9b31m\\x7f\\x85"},
	{"one\ntwo\tthree\r", "one\\ntwo\\x09three\\x0d", "one\ntwo\tthree\\x0d"},
	{"\xff", "\uFFFD"},
	{"a\x9b\x31m", "a\uFFFD1m"},
};

static void what_steers_is_shown(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *expected = cases[i].shown ?: cases[i].text;
		g_autofree char *text = visible_text(cases[i].text);
		g_autofree char *lines = visible_lines(cases[i].text);
		g_autoptr(GString) line = g_string_new("> ");

		visible_append(line, cases[i].text);
		g_test_message("%s", text);
		g_assert_cmpstr(text, ==, expected);
		g_assert_cmpstr(line->str + 2, ==, expected);
		g_assert_cmpstr(lines, ==, cases[i].lines ?: expected);
		g_assert_cmpint(visible_ok(cases[i].text), ==, cases[i].shown == NULL);
		/* What is shown can be shown again. */
		g_assert_true(visible_ok(text));
	}
	g_assert_true(visible_ok(NULL));
}

static void a_line_is_one(void)
{
	static const char *const texts[][2] = {
		{"  two\nlines \t of\r\nwords \n", "two lines of words"},
		{"a\u202e\nb", "a\\u202e b"},
		{"\n\n", ""},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *line = visible_line(texts[i][0]);

		g_assert_cmpstr(line, ==, texts[i][1]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/visible/steering", what_steers_is_shown);
	g_test_add_func("/visible/line", a_line_is_one);
	return g_test_run();
}
