/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Time that passes only while nothing happens. Within this process the monotonic clocks stand still
 * until the default main context has no event and all other threads sleep. Then they jump to the
 * main context's next timer, so that an hour of waiting takes as long as its events take to
 * handle, and a run depends on no machine's speed. For programs whose peers are all in the same
 * process: the time of another process is not waited for.
 */

/* Begins: the clocks stand still until virtual_time_end(). */
void virtual_time_begin(void);

/* The clocks advance with real time again, from where they are. No effect if they do. */
void virtual_time_end(void);
