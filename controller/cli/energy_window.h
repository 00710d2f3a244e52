/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

/*
 * A service's energy window, for people. `window` is EnergyWindow of the controller's API, `now_s`
 * the document's; NULL or null gives NULL. The callers free.
 */

/* One line without a newline: the energy used, the limit, and the window's end. */
char *energy_window_line(const json_t *window, double now_s);

/* Several lines: the same and all other facts about the window. */
char *energy_window_text(const json_t *window, double now_s);
