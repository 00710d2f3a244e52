/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/operation_fsm.h"

static const char *const state_names[OPERATION_STATES] = {
	[OPERATION_NONE] = "none",     [OPERATION_WAITING] = "waiting",   [OPERATION_SENT] = "sent",
	[OPERATION_FAILED] = "failed", [OPERATION_ANSWERED] = "answered",
};

static const char *const event_names[OPERATION_EVENTS] = {
	[OPERATION_CALL] = "call", [OPERATION_SEND] = "send",   [OPERATION_ANSWER] = "answer",
	[OPERATION_FAIL] = "fail", [OPERATION_RETRY] = "retry", [OPERATION_END] = "end",
};

#define TO(state) FSM_TO(OPERATION_##state)
#define IGNORED(why) FSM_IGNORED(why)

/* A pair that is not listed is impossible. */
static const struct fsm_transition transitions[OPERATION_EVENTS][OPERATION_STATES] = {
	[OPERATION_CALL] = {[OPERATION_NONE] = TO(WAITING)},
	[OPERATION_SEND] = {[OPERATION_WAITING] = TO(SENT)},
	/*
	 * Without a request: an earlier controller made it, or a start is withdrawn because the
	 * attempt is killed. FAILED: the failure was that of an earlier try.
	 */
	[OPERATION_ANSWER] = {[OPERATION_NONE] = TO(ANSWERED),
			      [OPERATION_WAITING] = TO(ANSWERED),
			      [OPERATION_SENT] = TO(ANSWERED),
			      [OPERATION_FAILED] = TO(ANSWERED),
			      [OPERATION_ANSWERED] = IGNORED("a description said so before")},
	/* ANSWERED: a kill has several requests under way, and another one was answered. */
	[OPERATION_FAIL] = {[OPERATION_SENT] = TO(FAILED),
			    [OPERATION_ANSWERED] = TO(FAILED),
			    [OPERATION_FAILED] = IGNORED("its failure is known")},
	[OPERATION_RETRY] = {[OPERATION_SENT] = TO(WAITING),
			     [OPERATION_FAILED] = TO(WAITING),
			     [OPERATION_ANSWERED] = TO(WAITING),
			     [OPERATION_WAITING] = IGNORED("it is to be sent already")},
	[OPERATION_END] = {[OPERATION_WAITING] = TO(NONE),
			   [OPERATION_SENT] = TO(NONE),
			   [OPERATION_FAILED] = TO(NONE),
			   [OPERATION_ANSWERED] = TO(NONE),
			   [OPERATION_NONE] = IGNORED("it has its result, or there was no call")},
};

const struct fsm operation_fsm = {
	.what = "operation on attempt",
	.states = OPERATION_STATES,
	.events = OPERATION_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};

bool operation_move(enum operation_state *state, enum operation_event event, const char *id)
{
	return fsm_move(&operation_fsm, state, event, id);
}
