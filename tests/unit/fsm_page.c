/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/fsm_page.h"

#include <stdio.h>
#include <string.h>

static const char ignored[] =
	"```\n"
	"\n"
	"## Ignored events\n"
	"\n"
	"A report can be late or repeated, a request can change nothing. Ignored are:\n"
	"\n"
	"| event | in the states | because |\n"
	"|---|---|---|\n";

static uint32_t bit(unsigned int state)
{
	return UINT32_C(1) << state;
}

static const struct fsm_transition *at(const struct fsm_page *page, unsigned int state,
				       unsigned int event)
{
	return fsm_transition(page->fsm, state, event);
}

static bool moves(const struct fsm_page *page, unsigned int state, unsigned int event)
{
	return at(page, state, event)->rule == FSM_MOVES;
}

/* The states that an event leads to from `state`, as bits. */
static uint32_t next_of(const struct fsm_page *page, unsigned int state)
{
	uint32_t next = 0;

	for (unsigned int event = 0; event < page->fsm->events; event++)
		if (moves(page, state, event))
			next |= bit(at(page, state, event)->to);
	return next;
}

static void append_moves(const struct fsm_page *page, GString *text)
{
	for (unsigned int state = 0; state < page->fsm->states; state++) {
		for (unsigned int event = 0; event < page->fsm->events; event++)
			if (moves(page, state, event))
				g_string_append_printf(
					text, "    %s --> %s: %s\n", page->fsm->state_names[state],
					page->fsm->state_names[at(page, state, event)->to],
					page->fsm->event_names[event]);
		if (page->ends & bit(state))
			g_string_append_printf(text, "    %s --> [*]\n",
					       page->fsm->state_names[state]);
	}
}

static void append_ignored(const struct fsm_page *page, GString *text)
{
	for (unsigned int event = 0; event < page->fsm->events; event++) {
		const char *because = NULL;
		GString *states = g_string_new(NULL);

		for (unsigned int state = 0; state < page->fsm->states; state++) {
			if (!at(page, state, event)->because)
				continue;
			because = at(page, state, event)->because;
			g_string_append_printf(states, "%s%s", states->len ? ", " : "",
					       page->fsm->state_names[state]);
		}
		if (because)
			g_string_append_printf(text, "| %s | %s | %s |\n",
					       page->fsm->event_names[event], states->str, because);
		g_string_free(states, TRUE);
	}
}

/* The text of the page; the caller frees. */
static char *write_page(const struct fsm_page *page)
{
	GString *text = g_string_new(page->intro);

	g_string_append_printf(text, "\n```mermaid\nstateDiagram-v2\n    [*] --> %s\n",
			       page->fsm->state_names[0]);
	append_moves(page, text);
	if (page->fsm->unlisted) {
		g_string_append_printf(
			text, "```\n\nEvery other pair of state and event is ignored: %s.\n",
			page->fsm->unlisted);
	} else {
		g_string_append(text, ignored);
		append_ignored(page, text);
	}
	if (page->outro)
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
		for (unsigned int state = 0; state < page->fsm->states; state++)
			if (reached & bit(state))
				reached |= next_of(page, state);
	} while (reached != before);
	for (unsigned int state = 0; state < page->fsm->states; state++) {
		const uint32_t next = next_of(page, state);

		if (!(reached & bit(state)))
			g_error("no event leads to the state '%s'", page->fsm->state_names[state]);
		if (page->ends & bit(state) ? next & ~page->ends : !next)
			g_error("the state '%s' %s", page->fsm->state_names[state],
				next ? "is an end, and an event leads out of it"
				     : "is no end, and no event leads out of it");
	}
}

void fsm_page_test_rules(gconstpointer data)
{
	const struct fsm_page *page = data;

	for (unsigned int event = 0; event < page->fsm->events; event++) {
		const char *because = NULL;
		int count = 0;

		for (unsigned int state = 0; state < page->fsm->states; state++) {
			const struct fsm_transition *pair = at(page, state, event);

			count += pair->rule == FSM_MOVES;
			if ((pair->rule == FSM_IGNORES) != (pair->because != NULL))
				g_error("in the state '%s' the event '%s' is ignored without a reason, "
					"or has a reason and is not ignored",
					page->fsm->state_names[state],
					page->fsm->event_names[event]);
			if (because && pair->because && strcmp(because, pair->because) != 0)
				g_error("in the state '%s' the event '%s' is ignored because \"%s\", in "
					"one before it because \"%s\": an event has one reason",
					page->fsm->state_names[state],
					page->fsm->event_names[event], pair->because, because);
			because = pair->because ?: because;
		}
		if (!count)
			g_error("event '%s' moves on from no state", page->fsm->event_names[event]);
	}
}

static void check_names(const char *const *names, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		g_assert_nonnull(names[i]);
		for (unsigned int j = 0; j < i; j++)
			g_assert_cmpstr(names[i], !=, names[j]);
	}
}

void fsm_page_test_names(gconstpointer data)
{
	const struct fsm_page *page = data;

	check_names(page->fsm->state_names, page->fsm->states);
	check_names(page->fsm->event_names, page->fsm->events);
}
