/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A table of states and events, for tests: its page in docs/reference/, which is generated from it,
 * and rules that hold for every table. A program prints its page when it is called with "print".
 */

/* What a table says about an event in a state. Neither `moves` nor `because`: it is impossible. */
struct fsm_pair {
	bool moves;
	int to;              /* moves: the next state */
	const char *because; /* not NULL: the event is ignored */
};

struct fsm_page {
	const char *file;          /* name in docs/reference/ */
	const char *intro, *outro; /* text before the diagram, and after the ignored events */
	int states, events;        /* how many; at most 31 states; state 0 is the first one */
	uint32_t ends;             /* states in which the life is over, as bits */
	struct fsm_pair (*pair)(int state, int event);
	const char *(*state_name)(int state);
	const char *(*event_name)(int event);
};

/* If the only argument is "print", prints the page and returns true. */
bool fsm_page_print(const struct fsm_page *page, int argc, char **argv);

/* For g_test_add_data_func(); `page` is a struct fsm_page. */

/* The stored page is equal to that of the table. */
void fsm_page_test_stored(gconstpointer page);
/* Every state can be reached, and has a way out unless it is an end; ends lead to ends alone. */
void fsm_page_test_reachable(gconstpointer page);
/* Every event moves on from some state, and is ignored for one reason. */
void fsm_page_test_rules(gconstpointer page);
/* States have different names, and so have events. */
void fsm_page_test_names(gconstpointer page);
