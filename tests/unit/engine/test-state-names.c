/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of the names of states that are written by hand: in commands, the page, benchmarks and
 * documents. Each is compared with the table of the states.
 */
#include <glib.h>
#include <string.h>

#include "common/wire/wire_task.h"
#include "controller/engine/task_fsm.h"

#define ALL ((UINT32_C(1) << ENGINE_TASK_STATES) - 1)
/* A task that has not arrived is in no answer and no row. */
#define SHOWN (ALL & ~ENGINE_TASK_SET(ENGINE_TASK_COMING))
#define OPEN (SHOWN & ~ENGINE_TASK_OVER)
/* A quarantined task keeps the state of its record. */
#define STORED (SHOWN & ~ENGINE_TASK_SET(ENGINE_TASK_QUARANTINED))

/* A list of names of an engine's tasks: words of small letters between two texts of a file. */
struct name_list {
	const char *path;
	const char *from, *to; /* the first `from`, and the first `to` behind it */
	uint32_t states;       /* whose names the list has, as bits */
};

static const struct name_list lists[] = {
	{"controller/cli/fields.h", "define FIELD_STATES_PLACED", "#define",
	 OPEN & ~ENGINE_TASK_SET(ENGINE_TASK_WAITING)},
	{"controller/cli/fields.c", "ended[] = {", "NULL", ENGINE_TASK_OVER},
	/* Before its ranks run a task has nodes in these. */
	{"controller/cli/fields.c", "placed[] = {", "NULL",
	 (ENGINE_TASK_PENDING & ~ENGINE_TASK_SET(ENGINE_TASK_WAITING)) | ENGINE_TASK_ANY_STARTING},
	{"controller/api/page/page.js", "PLACED = [", "]",
	 OPEN & ~ENGINE_TASK_SET(ENGINE_TASK_WAITING)},
	{"benchmarks/service/service-speed", "placed = \"", "\"\n",
	 OPEN & ~ENGINE_TASK_SET(ENGINE_TASK_WAITING)},
	{"docs/reference/controller-api.json", "still have to leave.\",\n      \"enum\": [", "]",
	 SHOWN},
	{"docs/reference/store.md", "- `state`: `waiting", ";", STORED},
	{"docs/reference/virtbed.1", "only tasks in these states:", "\nIn a state with", SHOWN},
	{"tests/faults/steps.py", "not in (\"suspending", "None",
	 ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED},
	{"docs/reference/grafana.json", "state!~\\\"completed", "\\\"", ENGINE_TASK_OVER},
	{"docs/reference/grafana.json", "state=~\\\"starting", "\\\"",
	 (ENGINE_TASK_ON_NODES | ENGINE_TASK_ANY_SUSPENDING)},
	{"docs/reference/grafana.json", "state=~\\\"waiting", "\\\"", ENGINE_TASK_PENDING},
};

/* The text of a list, with the last word of `from`; the caller frees. */
static char *read_list(const char *path, const char *from, const char *to)
{
	g_autofree char *whole = g_test_build_filename(G_TEST_DIST, "..", "..", "..", path, NULL);
	g_autofree char *text = NULL;
	const char *begin, *end;
	size_t word;

	g_assert_true(g_file_get_contents(whole, &text, NULL, NULL));
	begin = strstr(text, from);
	g_assert_nonnull(begin);
	for (word = strlen(from); word && g_ascii_islower(from[word - 1]);)
		word--;
	begin += word;
	end = strstr(begin + strlen(from) - word, to);
	g_assert_nonnull(end);
	return g_strndup(begin, (gsize)(end - begin));
}

static int compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The words of a list, sorted; man pages write "\-" for "-". The caller frees. */
static char **words_of(char *text)
{
	GPtrArray *words = g_ptr_array_new();
	char *put = text;

	for (const char *get = text; *get; get++)
		if (*get != '\\')
			*put++ = *get;
	*put = '\0';
	for (const char *at = text; *at;) {
		size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz-");

		if (length)
			g_ptr_array_add(words, g_strndup(at, length));
		at += length ?: 1;
	}
	g_ptr_array_sort(words, compare);
	g_ptr_array_add(words, NULL);
	return (char **)g_ptr_array_free(words, FALSE);
}

/* The names of a set of states, as words_of() has them. */
static char **names_of(uint32_t states)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (unsigned int state = 0; state < ENGINE_TASK_STATES; state++)
		if (engine_task_state_in(state, states))
			g_string_append_printf(text, "%s ", engine_task_state_name(state));
	return words_of(text->str);
}

static void assert_same(const char *path, char **words, char **names)
{
	g_autofree char *listed = g_strjoinv(" ", words);
	g_autofree char *known = g_strjoinv(" ", names);

	g_test_message("%s", path);
	g_assert_cmpstr(listed, ==, known);
}

static void test_engine(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
		const struct name_list *list = &lists[i];
		g_autofree char *text = read_list(list->path, list->from, list->to);
		g_auto(GStrv) words = words_of(text);
		g_auto(GStrv) names = names_of(list->states);

		assert_same(list->path, words, names);
	}
}

/* The page has a colour for each state of a task on nodes. */
static void test_colours(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "controller",
						      "api", "page", "page.css", NULL);
	g_autofree char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	for (unsigned int state = 0; state < ENGINE_TASK_STATES; state++) {
		g_autofree char *rule = g_strdup_printf(".state[data-state=%s]::before",
							engine_task_state_name(state));

		g_test_message("%s", rule);
		g_assert_true(!engine_task_state_in(state, ENGINE_TASK_ON_NODES) ||
			      strstr(text, rule));
	}
}

/* Those of a local scheduler stand in two places of its API's page. */
static void test_local(void)
{
	static const char path[] = "docs/reference/api.md";
	g_autofree char *first = read_list(path, "\nStates: ", " Outcomes");
	g_autofree char *rest = read_list(path, "\nTask states besides those above: ", " The ");
	g_autofree char *both = g_strconcat(first, rest, NULL);
	g_autofree char *known = g_strjoinv(" ", (char **)task_state_names);
	g_auto(GStrv) words = words_of(both);
	g_auto(GStrv) names = words_of(known);

	assert_same(path, words, names);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/state-names/lists-of-an-engine's-tasks", test_engine);
	g_test_add_func("/state-names/colours-of-the-page", test_colours);
	g_test_add_func("/state-names/lists-of-a-local-scheduler's-tasks", test_local);
	return g_test_run();
}
