/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Adapts a drawing of gnuplot to a page with many: removes the prologue and the fixed size (it
 * fills its column), makes its ids unique, and adds a title for screen readers. Colours stay; the
 * page's style recolours black and grey (page.c). Returns a new text, or NULL if `svg` is no SVG by
 * gnuplot.
 */
char *page_svg(const char *svg, const char *name, const char *title);
