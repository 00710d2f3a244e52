/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

/*
 * The screen of `virtbed top` as text: clusters with their nodes, hosts with their watts, and tasks
 * that have not ended. All documents are the controller's and borrowed; NULL ones are left out.
 */
struct top_screen {
	const json_t *status;   /* GET /v1/status */
	const json_t *clusters; /* GET /v1/clusters */
	const json_t *nodes;    /* GET /v1/nodes */
	const json_t *power;    /* GET /v1/power */
	const json_t *tasks;    /* GET /v1/tasks; `more`: number of tasks left out */
	const char *note;       /* an extra line at the top; NULL: none */
};

/*
 * Returns the lines, each with a newline and at most `columns` characters, at most `rows` of them
 * (0: no limit). The last line counts what does not fit. The caller frees.
 */
char *top_screen_text(const struct top_screen *screen, int columns, int rows);
