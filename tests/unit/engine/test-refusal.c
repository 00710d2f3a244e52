/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of refusals, and the words of it in the description of the API. */
#include <glib.h>
#include <jansson.h>

#include "controller/engine/refusal.h"

static void test_table(void)
{
	g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);

	g_assert_null(engine_refusal_word(ENGINE_REFUSAL_NONE));
	g_assert_null(engine_refusal_text(ENGINE_REFUSAL_NONE));
	for (int i = ENGINE_REFUSAL_NONE + 1; i < ENGINE_REFUSALS; i++) {
		const enum engine_refusal refusal = (enum engine_refusal)i;

		g_assert_true(g_hash_table_add(known, (char *)engine_refusal_word(refusal)));
		g_assert_true(g_hash_table_add(known, (char *)engine_refusal_text(refusal)));
	}
}

static void test_description(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "docs",
						      "reference", "controller-api.json", NULL);
	json_t *description = json_load_file(path, 0, NULL);
	json_t *error, *words;

	g_assert_cmpint(json_unpack(description, "{s:{s:{s:{s:{s:o}}}}}", "components", "schemas",
				    "Error", "properties", "refusal", &error),
			==, 0);
	words = json_object_get(error, "enum");
	g_assert_cmpuint(json_array_size(words), ==, ENGINE_REFUSALS - 1);
	for (int i = ENGINE_REFUSAL_NONE + 1; i < ENGINE_REFUSALS; i++)
		g_assert_cmpstr(json_string_value(json_array_get(words, (size_t)i - 1)), ==,
				engine_refusal_word((enum engine_refusal)i));
	json_decref(description);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/refusal/words-and-texts-are-unique", test_table);
	g_test_add_func("/refusal/the-description-of-the-api-has-them", test_description);
	return g_test_run();
}
