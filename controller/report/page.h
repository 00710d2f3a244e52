/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/charts.h"

/*
 * A run as one HTML page: what it was and what it rests on, tables, all charts, the verdict where
 * a measured and a simulated run are laid side by side, and where everything comes from. The page
 * holds all it needs (style, drawings) and loads nothing; it follows the reader's preference for
 * light or dark, and can be read on a phone.
 */

/*
 * The page of `count` > 0 directories with their charts, which lie written (chart_write()) in
 * directory `plots`. `link` is the way from the page to that directory, for links to the data;
 * NULL: no links. Returns the text, which the caller frees, or NULL with `error` set.
 */
char *page_html(struct summary *const *summaries, guint count, const struct charts *charts,
		const char *plots, const char *link, GError **error);
