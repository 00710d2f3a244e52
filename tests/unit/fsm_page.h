/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/fsm.h"

/*
 * A table of states and events, for tests: its page in docs/reference/, which is generated from it,
 * and rules that hold for every table. A program prints its page when it is called with "print".
 */

struct fsm_page {
	const char *file; /* name in docs/reference/; NULL: it has no page */
	const char *intro,
		*outro; /* text before the diagram, and after the ignored events, or NULL */
	const struct fsm *fsm;
	uint32_t ends; /* states in which the life is over, as bits */
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
