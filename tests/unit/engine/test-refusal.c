/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of refusals, and the words of it in the description of the API. */
#include <glib.h>
#include <jansson.h>

#include "controller/engine/control_running.h"
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

/* The states in which a request is allowed. */
static const uint32_t allowed[ENGINE_REQUESTS] = {
	[ENGINE_REQUEST_CANCEL] = ENGINE_TASK_PENDING | ENGINE_TASK_UNDER_WAY |
				  ENGINE_TASK_SET(ENGINE_TASK_QUARANTINED),
	[ENGINE_REQUEST_HOLD] = ENGINE_TASK_PENDING & ~ENGINE_TASK_SET(ENGINE_TASK_QUEUED),
	[ENGINE_REQUEST_RELEASE] = ENGINE_TASK_PENDING | ENGINE_TASK_SET(ENGINE_TASK_QUARANTINED),
	/* A task that is off its nodes, or leaves them, is held then. */
	[ENGINE_REQUEST_SUSPEND] = ENGINE_TASK_SET(ENGINE_TASK_RUNNING) |
				   ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED,
	[ENGINE_REQUEST_MIGRATE] = ENGINE_TASK_SET(ENGINE_TASK_RUNNING),
};

static void test_states(void)
{
	for (unsigned int i = 0; i < ENGINE_TASK_STATES; i++) {
		const enum engine_task_state state = (enum engine_task_state)i;

		for (unsigned int r = 0; r < ENGINE_REQUESTS; r++) {
			g_test_message("%s, request %u", engine_task_state_name(state), r);
			g_assert_cmpint(engine_state_refusal(state, (enum engine_request)r) ==
						ENGINE_REFUSAL_NONE,
					==, engine_task_state_in(state, allowed[r]));
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/refusal/words-and-texts-are-unique", test_table);
	g_test_add_func("/refusal/the-description-of-the-api-has-them", test_description);
	g_test_add_func("/refusal/every-state-has-an-answer-to-every-request", test_states);
	return g_test_run();
}
