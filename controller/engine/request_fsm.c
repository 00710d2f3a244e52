/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/request_fsm.h"

static const char *const state_names[REQUEST_STATES] = {
	[REQUEST_NONE] = "none",
	[REQUEST_HELD] = "held",
	[REQUEST_CANCELLED] = "cancelled",
};

static const char *const event_names[REQUEST_EVENTS] = {
	[REQUEST_HOLD] = "hold",
	[REQUEST_RELEASE] = "release",
	[REQUEST_CANCEL] = "cancel",
};

/*
 * A pair that is not listed is impossible: a cancelled task has ended or is under way, where a
 * request to hold or to release it is refused (control_running.c).
 */
static const struct fsm_transition transitions[REQUEST_EVENTS][REQUEST_STATES] = {
	[REQUEST_HOLD] = {[REQUEST_NONE] = FSM_TO(REQUEST_HELD),
			  [REQUEST_HELD] = FSM_IGNORED("it is held already")},
	[REQUEST_RELEASE] = {[REQUEST_HELD] = FSM_TO(REQUEST_NONE),
			     [REQUEST_NONE] = FSM_IGNORED("it is not held")},
	[REQUEST_CANCEL] = {[REQUEST_NONE] = FSM_TO(REQUEST_CANCELLED),
			    [REQUEST_HELD] = FSM_TO(REQUEST_CANCELLED),
			    [REQUEST_CANCELLED] = FSM_IGNORED("it is cancelled already")},
};

const struct fsm request_fsm = {
	.what = "request about task",
	.states = REQUEST_STATES,
	.events = REQUEST_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};
