/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * Makes a drawing of gnuplot's fit for a page that holds many: no prologue, no fixed size (it takes
 * its column's width), names of its own for what it refers to, and a title for screen readers.
 * Colours stay; the page's style recolours what is black or grey (page.c). Returns a new text, or
 * NULL if `svg` is no SVG that gnuplot wrote.
 */
char *page_svg(const char *svg, const char *name, const char *title);
