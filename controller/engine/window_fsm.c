/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/window_fsm.h"

static const char *const state_names[WINDOW_STATES] = {
	[WINDOW_UNLIMITED] = "unlimited",
	[WINDOW_OPEN] = "open",
	[WINDOW_EXHAUSTED] = "exhausted",
};

static const char *const event_names[WINDOW_EVENTS] = {
	[WINDOW_LIMIT] = "limit",     [WINDOW_UNLIMIT] = "unlimit", [WINDOW_REACH] = "reach",
	[WINDOW_RECOVER] = "recover", [WINDOW_TURN] = "turn",
};

/* A pair that is not listed is impossible: without a limit no window begins or has an end. */
static const struct fsm_transition transitions[WINDOW_EVENTS][WINDOW_STATES] = {
	[WINDOW_LIMIT] = {[WINDOW_UNLIMITED] = FSM_TO(WINDOW_OPEN),
			  [WINDOW_OPEN] = FSM_TO(WINDOW_OPEN),
			  [WINDOW_EXHAUSTED] = FSM_TO(WINDOW_OPEN)},
	[WINDOW_UNLIMIT] = {[WINDOW_UNLIMITED] = FSM_IGNORED("there is no limit"),
			    [WINDOW_OPEN] = FSM_TO(WINDOW_UNLIMITED),
			    [WINDOW_EXHAUSTED] = FSM_TO(WINDOW_UNLIMITED)},
	[WINDOW_REACH] = {[WINDOW_OPEN] = FSM_TO(WINDOW_EXHAUSTED),
			  [WINDOW_EXHAUSTED] = FSM_IGNORED("the limit was reached before")},
	[WINDOW_RECOVER] = {[WINDOW_OPEN] = FSM_IGNORED("the window has energy left"),
			    [WINDOW_EXHAUSTED] = FSM_TO(WINDOW_OPEN)},
	[WINDOW_TURN] =
		{[WINDOW_OPEN] = FSM_TO(WINDOW_OPEN), [WINDOW_EXHAUSTED] = FSM_TO(WINDOW_OPEN)},
};

const struct fsm window_fsm = {
	.what = "limit of energy",
	.states = WINDOW_STATES,
	.events = WINDOW_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};
