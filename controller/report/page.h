/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/report/charts.h"

/*
 * A run as an HTML page: the experiment and what it rests on, tables, all charts, the verdict where
 * a measured and a simulated run are compared, and the provenance. The page contains its style and
 * drawings and loads nothing; it follows the reader's preference for light or dark, and is readable
 * on a phone.
 */

/* Why two directories differ, for their page. */
struct page_causes {
	const char *because;     /* for the verdict; NULL: nothing */
	const char *html;        /* sentences and tables */
	const GPtrArray *charts; /* struct chart, written to the same directory */
};

/*
 * The page of `count` > 0 directories with their charts, which chart_write() wrote to directory
 * `plots`. `link` is the path from the page to that directory, for links to the data; NULL: no
 * links. `causes` may be NULL. `more`: HTML that follows the verdict; NULL: none. Returns the text,
 * which the caller frees, or NULL with `error`.
 */
char *page_html(struct summary *const *summaries, guint count, const struct charts *charts,
		const struct page_causes *causes, const char *plots, const char *link,
		const char *more, GError **error);
