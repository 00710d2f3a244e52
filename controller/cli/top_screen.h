/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

/*
 * What `virtbed top` shows, as text: clusters with their nodes, hosts with their watts, and tasks
 * that have not ended. Documents of the controller, all borrowed; those that are NULL are left out.
 */
struct top_screen {
	const json_t *status;   /* GET /v1/status */
	const json_t *clusters; /* GET /v1/clusters */
	const json_t *nodes;    /* GET /v1/nodes */
	const json_t *power;    /* GET /v1/power */
	const json_t *tasks;    /* GET /v1/tasks; `more` are said to be left out */
	const char *note;       /* one more line at the top, NULL: none */
};

/*
 * The lines, each with a newline, none longer than `columns` characters and at most `rows` of them
 * (0: as many as there are). What there is no room for is counted at the end. The caller frees.
 */
char *top_screen_text(const struct top_screen *screen, int columns, int rows);
