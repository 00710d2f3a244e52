/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/json.h"

#include <string.h>

static void test_parse_accepts_json_and_refuses_the_rest(void)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
		{"{}", true},
		{"[1, 2.5, \"x\", null, true]", true},
		{"17", true},
		{"", false},
		{"{", false},
		{"{\"a\": 1,}", false},
		{"{\"a\": 1, \"a\": 2}", false},
		{"[1] x", false},
		{"{\"a\": NaN}", false},
		{"{\"a\": 1e999}", false},
		{"{\"a\": 99999999999999999999}", false},
		{"\"\xff\"", false},
		{"'a'", false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) value =
			json_parse(cases[i].text, strlen(cases[i].text), "doc", &error);

		g_assert_true((value != NULL) == cases[i].good);
		if (cases[i].good)
			continue;
		g_assert_error(error, JSON_ERROR, JSON_ERROR_SYNTAX);
		g_assert_true(g_str_has_prefix(error->message, "doc: line "));
	}
}

static void test_what_devices_send_is_read(void)
{
	static const struct {
		const char *text;
		const char *read; /* NULL: not even so */
	} cases[] = {
		{"{\"a\": 1, \"b\": 2}", "{\"a\":1,\"b\":2}"},
		{"{\"a\": 1, \"a\": 2}", "{\"a\":2}"},
		{"{\"a\": \"\xff\xfe\", \"w\": 5}", "{\"a\":\"\xef\xbf\xbd\xef\xbf\xbd\",\"w\":5}"},
		{"{\"a\": \"\xed\xa0\x80\"}", "{\"a\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}"},
		{"{\"a\": \"x\ty\x01\"}", "{\"a\":\"x y \"}"},
		{"{\"a\": \"\\ud800 \\udc00\"}", "{\"a\":\"\xef\xbf\xbd \xef\xbf\xbd\"}"},
		{"{\"a\": \"\\ud83d\\ude00\xff\"}", "{\"a\":\"\xf0\x9f\x98\x80\xef\xbf\xbd\"}"},
		{"{\"a\": \"\\u0000\"}", "{\"a\":\"\xef\xbf\xbd\"}"},
		{"{\"a\": \"\\x41\\\\\"}", "{\"a\":\" x41\\\\\"}"},
		{"\xef\xbb\xbf{\"a\": 1}", "{\"a\":1}"},
		{"{\"a\": NaN, \"w\": 5}", "{\"a\":\"NaN\",\"w\":5}"},
		{"{\"a\": \"\\", NULL},
		{"{\"a\": \"\\u", NULL},
		{"{\"a\": \"\\ud8", NULL},
		{"{\"a\": \"\\ud800\\u", NULL},
		{"\x1f\x8b", NULL},
		{"", NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		/* Exactly as long as the text, so that a sanitizer sees what is read behind it. */
		g_autofree char *exact = g_memdup2(cases[i].text, MAX(strlen(cases[i].text), 1));
		g_autoptr(json_t) value =
			json_parse_lenient(exact, strlen(cases[i].text), "doc", &error);
		g_autofree char *text = value ? json_text(value) : NULL;

		g_assert_cmpstr(text, ==, cases[i].read);
		g_assert_true((error != NULL) == (cases[i].read == NULL));
	}
	g_autoptr(json_t) padded = json_parse_lenient("[7]\0\0", 5, "doc", NULL);

	g_assert_true(json_is_array(padded));
}

static void test_parse_survives_deep_nesting(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	for (int i = 0; i < 100000; i++)
		g_string_append_c(text, '[');
	g_assert_null(json_parse(text->str, text->len, "doc", &error));
	g_assert_error(error, JSON_ERROR, JSON_ERROR_SYNTAX);
}

static void test_text_is_compact_sorted_and_reads_back_equal(void)
{
	g_autoptr(json_t) value = json_pack("{s:f, s:[i,n], s:s}", "z", 0.1, "b", 3, "a", "\n\"é");
	g_autofree char *text = json_text(value);
	g_autofree char *pretty = json_pretty(value);
	g_autoptr(json_t) again = json_parse(text, strlen(text), "doc", NULL);
	g_autoptr(json_t) third = json_parse(pretty, strlen(pretty), "doc", NULL);

	g_assert_cmpstr(text, ==, "{\"a\":\"\\n\\\"é\",\"b\":[3,null],\"z\":0.10000000000000001}");
	g_assert_true(json_equal(value, again));
	g_assert_true(json_equal(value, third));
	g_assert_nonnull(strchr(pretty, '\n'));
}

/* Which getter a case calls. */
enum getter { GET_STRING, GET_NUMBER, GET_INTEGER, GET_ARRAY };

static bool get(enum getter getter, const json_t *object, const char *key, GError **error)
{
	const char *string = NULL;
	json_t *array = NULL;
	double number = -1;
	int64_t integer = -1;
	bool got = false;

	switch (getter) {
	case GET_STRING:
		got = json_get_string(object, key, "doc", &string, error);
		g_assert_true(got == (string != NULL));
		break;
	case GET_NUMBER:
		got = json_get_number(object, key, "doc", &number, error);
		g_assert_true(got == (number == 5));
		break;
	case GET_INTEGER:
		got = json_get_integer(object, key, "doc", 0, 10, &integer, error);
		g_assert_true(got == (integer == 5));
		break;
	case GET_ARRAY:
		got = json_get_array(object, key, "doc", &array, error);
		g_assert_true(got == (array != NULL));
		break;
	}
	return got;
}

static void test_getters_take_their_type_and_name_the_key_otherwise(void)
{
	static const char *const text = "{\"s\": \"x\", \"i\": 5, \"r\": 5.0, \"big\": 11, "
					"\"low\": -1, \"a\": [], \"n\": null, \"t\": true}";
	static const struct {
		enum getter getter;
		const char *key;
		const char *message; /* NULL: succeeds */
	} cases[] = {
		{GET_STRING, "s", NULL},
		{GET_STRING, "i", "doc: key \"i\": expected a string, got an integer"},
		{GET_STRING, "none", "doc: key \"none\" is missing"},
		{GET_STRING, "n", "doc: key \"n\": expected a string, got null"},
		{GET_NUMBER, "i", NULL},
		{GET_NUMBER, "r", NULL},
		{GET_NUMBER, "s", "doc: key \"s\": expected a number, got a string"},
		{GET_NUMBER, "t", "doc: key \"t\": expected a number, got a boolean"},
		{GET_INTEGER, "i", NULL},
		{GET_INTEGER, "r", "doc: key \"r\": expected an integer, got a number"},
		{GET_INTEGER, "big", "doc: key \"big\": 11 is outside 0..10"},
		{GET_INTEGER, "low", "doc: key \"low\": -1 is outside 0..10"},
		{GET_INTEGER, "none", "doc: key \"none\" is missing"},
		{GET_ARRAY, "a", NULL},
		{GET_ARRAY, "s", "doc: key \"s\": expected an array, got a string"},
	};
	g_autoptr(json_t) object = json_parse(text, strlen(text), "doc", NULL);

	g_assert_nonnull(object);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_true(get(cases[i].getter, object, cases[i].key, &error) ==
			      !cases[i].message);
		if (cases[i].message) {
			g_assert_error(error, JSON_ERROR, JSON_ERROR_KEY);
			g_assert_cmpstr(error->message, ==, cases[i].message);
		}
	}
}

static void test_getters_refuse_what_is_no_object(void)
{
	static const char *const texts[] = {"[]", "1", "null", "\"x\"", NULL};
	const char *value = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) document =
			texts[i] ? json_parse(texts[i], strlen(texts[i]), "doc", NULL) : NULL;

		g_assert_false(json_get_string(document, "x", "doc", &value, &error));
		g_assert_error(error, JSON_ERROR, JSON_ERROR_KEY);
		g_assert_null(value);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json/what devices send is read", test_what_devices_send_is_read);
	g_test_add_func("/json/parse", test_parse_accepts_json_and_refuses_the_rest);
	g_test_add_func("/json/parse-deep", test_parse_survives_deep_nesting);
	g_test_add_func("/json/text", test_text_is_compact_sorted_and_reads_back_equal);
	g_test_add_func("/json/getters", test_getters_take_their_type_and_name_the_key_otherwise);
	g_test_add_func("/json/getters-no-object", test_getters_refuse_what_is_no_object);
	return g_test_run();
}
