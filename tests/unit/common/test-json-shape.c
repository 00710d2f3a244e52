/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/json.h"

static void test_shapes(void)
{
	static const struct {
		const char *shape, *document;
		const char *wrong; /* NULL: it has the shape */
	} cases[] = {
		{"integer", "1", NULL},
		{"integer", "1.5", "it: expected integer, got number"},
		{"number", "1", NULL},
		{"number", "1.5", NULL},
		{"number", "true", "it: expected number, got boolean"},
		{"boolean", "false", NULL},
		{"string", "null", "it: expected string, got null"},
		{"?string", "null", NULL},
		{"?string", "1", "it: expected string, got integer"},
		{"object", "{}", NULL},
		{"object", "[]", "it: expected object, got array"},
		{"array", "[1, null]", NULL},
		{"array", "{}", "it: expected array, got object"},
		{"any", "null", NULL},
		{"[integer]", "[]", NULL},
		{"[integer]", "[1, 2]", NULL},
		{"[integer]", "[1, \"2\"]", "[1]: expected integer, got string"},
		{"[integer]", "null", "it: expected array, got null"},
		{"?[integer]", "null", NULL},
		{"[[integer]]", "[[], [1], [1, {}]]", "[2][1]: expected integer, got object"},
		{"{a: integer}", "{\"a\": 1, \"b\": null}", NULL},
		{"{a: integer}", "{}", "a: expected integer, got nothing"},
		{"{a: integer}", "[]", "it: expected object, got array"},
		{"{a: integer}", "null", "it: expected object, got null"},
		{"{a: ?integer, b: string}", "{\"b\": \"\"}", NULL},
		{"{a: ?integer, b: string}", "{\"a\": null, \"b\": \"\"}", NULL},
		{"{a: ?{b: integer}, c: string}", "{\"c\": 1}", "c: expected string, got integer"},
		{"{a: {b: [{c: ?string, d: integer}]}}",
		 "{\"a\": {\"b\": [{\"d\": 1}, {\"d\": 1, \"c\": 2}]}}",
		 "a.b[1].c: expected string, got integer"},
		{"{a_1:integer,b:[?string]}", "{\"a_1\": 1, \"b\": [null, 2]}",
		 "b[1]: expected string, got integer"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) document =
			json_parse(cases[i].document, strlen(cases[i].document), "case", &error);

		g_assert_no_error(error);
		g_assert_true(json_shape_check(cases[i].shape, document, &error) ==
			      !cases[i].wrong);
		g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].wrong);
	}
}

static void test_nothing_has_no_shape(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(json_shape_check("any", NULL, &error));
	g_assert_cmpstr(error->message, ==, "it: expected any, got nothing");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json-shape/shapes", test_shapes);
	g_test_add_func("/json-shape/nothing", test_nothing_has_no_shape);
	return g_test_run();
}
