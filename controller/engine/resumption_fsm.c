/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/resumption_fsm.h"

static const char *const state_names[RESUMPTION_STATES] = {
	[RESUMPTION_POLICY] = "policy",
	[RESUMPTION_USER_HOLDS] = "user-holds",
	[RESUMPTION_WINDOW_HOLDS] = "window-holds",
	[RESUMPTION_USER_WANTS] = "user-wants",
	[RESUMPTION_WINDOW_WANTS] = "window-wants",
};

static const char *const event_names[RESUMPTION_EVENTS] = {
	[RESUMPTION_HOLD] = "hold", [RESUMPTION_EXHAUST] = "exhaust", [RESUMPTION_WANT] = "want",
	[RESUMPTION_TURN] = "turn", [RESUMPTION_SETTLE] = "settle",   [RESUMPTION_END] = "end",
};

#define TO(state) FSM_TO(RESUMPTION_##state)

static const char with_policy[] = "it is the policy's already";
static const char is_held[] = "a user holds it already";

/* A pair that is not listed is impossible. */
static const struct fsm_transition transitions[RESUMPTION_EVENTS][RESUMPTION_STATES] = {
	[RESUMPTION_HOLD] = {[RESUMPTION_POLICY] = TO(USER_HOLDS),
			     [RESUMPTION_USER_HOLDS] = FSM_IGNORED(is_held),
			     [RESUMPTION_WINDOW_HOLDS] = TO(USER_HOLDS),
			     [RESUMPTION_USER_WANTS] = TO(USER_HOLDS),
			     [RESUMPTION_WINDOW_WANTS] = TO(USER_HOLDS)},
	[RESUMPTION_EXHAUST] = {[RESUMPTION_POLICY] = TO(WINDOW_HOLDS)},
	[RESUMPTION_WANT] = {[RESUMPTION_POLICY] = TO(USER_WANTS),
			     [RESUMPTION_USER_HOLDS] = TO(USER_WANTS),
			     [RESUMPTION_WINDOW_HOLDS] = TO(USER_WANTS),
			     [RESUMPTION_USER_WANTS] = TO(USER_WANTS),
			     [RESUMPTION_WINDOW_WANTS] = TO(USER_WANTS)},
	[RESUMPTION_TURN] = {[RESUMPTION_WINDOW_HOLDS] = TO(WINDOW_WANTS)},
	/* A task does not resume while it is held. It may run on, not having been suspended. */
	[RESUMPTION_SETTLE] = {[RESUMPTION_POLICY] = FSM_IGNORED(with_policy),
			       [RESUMPTION_USER_HOLDS] = TO(POLICY),
			       [RESUMPTION_WINDOW_HOLDS] = TO(POLICY),
			       [RESUMPTION_USER_WANTS] = TO(POLICY),
			       [RESUMPTION_WINDOW_WANTS] = TO(POLICY)},
	[RESUMPTION_END] = {[RESUMPTION_POLICY] = FSM_IGNORED(with_policy),
			    [RESUMPTION_USER_HOLDS] = TO(POLICY),
			    [RESUMPTION_WINDOW_HOLDS] = TO(POLICY),
			    [RESUMPTION_USER_WANTS] = TO(POLICY),
			    [RESUMPTION_WINDOW_WANTS] = TO(POLICY)},
};

const struct fsm resumption_fsm = {
	.what = "resumption of task",
	.states = RESUMPTION_STATES,
	.events = RESUMPTION_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};

void resumption_restore(enum resumption_state *state, enum resumption_state restored)
{
	*state = restored;
}
