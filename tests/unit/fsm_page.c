/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/fsm_page.h"

#include <stdio.h>
#include <string.h>

static const char ignored[] = "```\n"
			      "\n"
			      "## Ignored events\n"
			      "\n"
			      "A report can be late or repeated. These change nothing:\n"
			      "\n"
			      "| event | in the states | because |\n"
			      "|---|---|---|\n";

static uint32_t bit(int state)
{
	return UINT32_C(1) << state;
}

/* The states that an event leads to from `state`, as bits. */
static uint32_t next_of(const struct fsm_page *page, int state)
{
	uint32_t next = 0;

	for (int event = 0; event < page->events; event++)
		if (page->pair(state, event).moves)
			next |= bit(page->pair(state, event).to);
	return next;
}

static void append_moves(const struct fsm_page *page, GString *text)
{
	for (int state = 0; state < page->states; state++) {
		for (int event = 0; event < page->events; event++)
			if (page->pair(state, event).moves)
				g_string_append_printf(text, "    %s --> %s: %s\n",
						       page->state_name(state),
						       page->state_name(
							       page->pair(state, event).to),
						       page->event_name(event));
		if (page->ends & bit(state))
			g_string_append_printf(text, "    %s --> [*]\n", page->state_name(state));
	}
}

static void append_ignored(const struct fsm_page *page, GString *text)
{
	for (int event = 0; event < page->events; event++) {
		const char *because = NULL;
		GString *states = g_string_new(NULL);

		for (int state = 0; state < page->states; state++) {
			if (!page->pair(state, event).because)
				continue;
			because = page->pair(state, event).because;
			g_string_append_printf(states, "%s%s", states->len ? ", " : "",
					       page->state_name(state));
		}
		if (because)
			g_string_append_printf(text, "| %s | %s | %s |\n", page->event_name(event),
					       states->str, because);
		g_string_free(states, TRUE);
	}
}

/* The text of the page; the caller frees. */
static char *write_page(const struct fsm_page *page)
{
	GString *text = g_string_new(page->intro);

	g_string_append_printf(text, "\n```mermaid\nstateDiagram-v2\n    [*] --> %s\n",
			       page->state_name(0));
	append_moves(page, text);
	g_string_append(text, ignored);
	append_ignored(page, text);
	g_string_append_printf(text, "\n%s", page->outro);
	return g_string_free(text, FALSE);
}

bool fsm_page_print(const struct fsm_page *page, int argc, char **argv)
{
	g_autofree char *text = NULL;

	if (argc != 2 || strcmp(argv[1], "print") != 0)
		return false;
	text = write_page(page);
	fputs(text, stdout);
	return true;
}

void fsm_page_test_stored(gconstpointer data)
{
	const struct fsm_page *page = data;
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "docs",
						      "reference", page->file, NULL);
	g_autofree char *text = write_page(page);
	g_autofree char *stored = NULL;

	g_assert_true(g_file_get_contents(path, &stored, NULL, NULL));
	g_assert_cmpstr(stored, ==, text);
}

void fsm_page_test_reachable(gconstpointer data)
{
	const struct fsm_page *page = data;
	uint32_t reached = bit(0);
	uint32_t before;

	do {
		before = reached;
		for (int state = 0; state < page->states; state++)
			if (reached & bit(state))
				reached |= next_of(page, state);
	} while (reached != before);
	g_assert_cmpuint(reached, ==, bit(page->states) - 1);
	for (int state = 0; state < page->states; state++) {
		const uint32_t next = next_of(page, state);

		g_assert_true(page->ends & bit(state) ? !(next & ~page->ends) : next != 0);
	}
}

void fsm_page_test_rules(gconstpointer data)
{
	const struct fsm_page *page = data;

	for (int event = 0; event < page->events; event++) {
		const char *because = NULL;
		int moves = 0;

		for (int state = 0; state < page->states; state++) {
			const struct fsm_pair pair = page->pair(state, event);

			moves += pair.moves;
			if (!pair.because)
				continue;
			g_assert_false(pair.moves);
			g_assert_true(!because || because == pair.because);
			because = pair.because;
		}
		g_assert_cmpint(moves, >, 0);
	}
}

static void check_names(const char *(*name)(int), int count)
{
	for (int i = 0; i < count; i++) {
		g_assert_nonnull(name(i));
		for (int j = 0; j < i; j++)
			g_assert_cmpstr(name(i), !=, name(j));
	}
}

void fsm_page_test_names(gconstpointer data)
{
	const struct fsm_page *page = data;

	check_names(page->state_name, page->states);
	check_names(page->event_name, page->events);
}
