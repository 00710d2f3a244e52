/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/node_fsm.h"

static const char *const state_names[NODE_STATES] = {
	[NODE_UP] = "up",
	[NODE_DOWN] = "down",
	[NODE_DRAINED] = "drained",
	[NODE_DOWN_DRAINED] = "down-drained",
};

static const char *const event_names[NODE_EVENTS] = {
	[NODE_FAIL] = "fail",
	[NODE_RECOVER] = "recover",
	[NODE_DRAIN] = "drain",
	[NODE_UNDRAIN] = "undrain",
};

static const char was_down[] = "it was reported down before";
static const char was_up[] = "it was not reported down";
static const char not_drained[] = "it is not drained";

static const struct fsm_transition transitions[NODE_EVENTS][NODE_STATES] = {
	[NODE_FAIL] = {[NODE_UP] = FSM_TO(NODE_DOWN),
		       [NODE_DRAINED] = FSM_TO(NODE_DOWN_DRAINED),
		       [NODE_DOWN] = FSM_IGNORED(was_down),
		       [NODE_DOWN_DRAINED] = FSM_IGNORED(was_down)},
	[NODE_RECOVER] = {[NODE_DOWN] = FSM_TO(NODE_UP),
			  [NODE_DOWN_DRAINED] = FSM_TO(NODE_DRAINED),
			  [NODE_UP] = FSM_IGNORED(was_up),
			  [NODE_DRAINED] = FSM_IGNORED(was_up)},
	[NODE_DRAIN] = {[NODE_UP] = FSM_TO(NODE_DRAINED),
			[NODE_DOWN] = FSM_TO(NODE_DOWN_DRAINED),
			[NODE_DRAINED] = FSM_TO(NODE_DRAINED),
			[NODE_DOWN_DRAINED] = FSM_TO(NODE_DOWN_DRAINED)},
	[NODE_UNDRAIN] = {[NODE_DRAINED] = FSM_TO(NODE_UP),
			  [NODE_DOWN_DRAINED] = FSM_TO(NODE_DOWN),
			  [NODE_UP] = FSM_IGNORED(not_drained),
			  [NODE_DOWN] = FSM_IGNORED(not_drained)},
};

const struct fsm node_fsm = {
	.what = "node",
	.states = NODE_STATES,
	.events = NODE_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};
