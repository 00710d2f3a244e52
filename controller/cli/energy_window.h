/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

/*
 * A service's limit of energy per window, for people. `window` is EnergyWindow of the controller's API, `now_s` the
 * document's; NULL or null gives NULL. The callers free.
 */

/* One line without its end: what is used of what, and until when. */
char *energy_window_line(const json_t *window, double now_s);

/* The same and all else that there is to know, in lines. */
char *energy_window_text(const json_t *window, double now_s);
