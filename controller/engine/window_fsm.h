/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * The states of an energy limit per window (window.h), as data.
 *
 *   unlimited --limit--> open --reach--> exhausted --turn, recover--> open
 */
enum window_state {
	WINDOW_UNLIMITED = 0, /* there is no limit per window */
	WINDOW_OPEN,          /* the window has energy left */
	WINDOW_EXHAUSTED,     /* its limit is reached: no task starts, running ones are suspended */
	WINDOW_STATES,
};

enum window_event {
	WINDOW_LIMIT = 0, /* a limit is set, perhaps another one than before */
	WINDOW_UNLIMIT,   /* the limit is removed */
	WINDOW_REACH,     /* the window has used its limit */
	WINDOW_RECOVER,   /* by a correction it has used less than its limit */
	WINDOW_TURN,      /* the next window begins */
	WINDOW_EVENTS,
};

/* The table. */
extern const struct fsm window_fsm;
