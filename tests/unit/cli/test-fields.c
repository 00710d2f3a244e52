/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "controller/cli/fields.h"
#include "tests/unit/cli/document.h"

static void test_nodes(void)
{
	static const struct {
		const char *list;
		const char *text;
	} cases[] = {
		{"[]", ""},         {"[3]", "3"},     {"[0,1]", "0,1"},
		{"[0,1,2]", "0-2"}, {"[2,0]", "2,0"}, {"[0,1,2,5,7,8,9]", "0-2,5,7-9"},
		{"7", ""},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *json = g_strdup_printf("{\"nodes\": %s}", cases[i].list);
		g_autoptr(json_t) object = document(json);
		g_autofree char *text = field_nodes(object, "nodes");

		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

static void test_names(void)
{
	g_autoptr(json_t) object = document("{\"hosts\": [\"b1\", \"b2\", \"b1\", 4]}");
	g_autofree char *text = field_names(object, "hosts");

	g_assert_cmpstr(text, ==, "b1 b2");
}

/* What others wrote cannot write to the terminal. */
static void test_control_characters(void)
{
	g_autoptr(json_t) object = document("{\"name\": \"a\\u001b[2Jb\\nc\\u009bd\\u00e9\"}");
	g_autofree char *line = field_line(object, "name");

	g_assert_cmpstr(line, ==, "a\\x1b[2Jb\\nc\\x9bd\303\251");
}

static void test_unknown(void)
{
	g_autoptr(json_t) object = document("{\"name\": null, \"started_s\": \"soon\"}");
	g_autofree char *null_line = field_line(object, "name");
	g_autofree char *missing_line = field_line(NULL, "name");

	g_assert_cmpstr(null_line, ==, "-");
	g_assert_cmpstr(missing_line, ==, "-");
	g_assert_true(isnan(field_number(object, "started_s")));
	g_assert_null(field_text(object, "started_at"));
}

static void test_states(void)
{
	g_auto(GStrv) open = g_strsplit(FIELD_STATES_OPEN, ",", -1);

	for (char **state = open; *state; state++)
		g_assert_false(field_state_ended(*state));
	g_assert_true(field_state_ended("completed"));
	g_assert_true(field_state_ended("killed"));
	g_assert_false(field_state_ended(NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fields/nodes", test_nodes);
	g_test_add_func("/fields/names", test_names);
	g_test_add_func("/fields/control-characters", test_control_characters);
	g_test_add_func("/fields/unknown", test_unknown);
	g_test_add_func("/fields/states", test_states);
	return g_test_run();
}
