/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/program_fsm.h"

const char *const program_state_names[PROGRAM_STATES] = {
	[PROGRAM_ABSENT] = "absent", [PROGRAM_STARTING] = "starting",
	[PROGRAM_READY] = "ready",   [PROGRAM_ASKED] = "asked",
	[PROGRAM_BEHIND] = "behind", [PROGRAM_DISABLED] = "disabled",
};

static const char *const event_names[PROGRAM_EVENTS] = {
	[PROGRAM_START] = "start",     [PROGRAM_HELLO] = "hello",   [PROGRAM_ASK] = "ask",
	[PROGRAM_ANSWER] = "answer",   [PROGRAM_OWE] = "owe",       [PROGRAM_END] = "end",
	[PROGRAM_DISABLE] = "disable", [PROGRAM_ENABLE] = "enable",
};

#define TO(state) FSM_TO(PROGRAM_##state)
#define IGNORED(why) FSM_IGNORED(why)

static const char no_process[] = "there is no process";
static const char not_disabled[] = "it is not disabled";

/*
 * A pair that is not listed is impossible. A program is disabled after the event at
 * which it failed; while it is starting it has not failed yet. Where it owes an answer a reload
 * ends it before it is enabled.
 */
static const struct fsm_transition transitions[PROGRAM_EVENTS][PROGRAM_STATES] = {
	[PROGRAM_START] = {[PROGRAM_ABSENT] = TO(STARTING)},
	[PROGRAM_HELLO] = {[PROGRAM_STARTING] = TO(READY)},
	[PROGRAM_ASK] = {[PROGRAM_READY] = TO(ASKED), [PROGRAM_BEHIND] = TO(ASKED)},
	[PROGRAM_ANSWER] = {[PROGRAM_ASKED] = TO(READY)},
	[PROGRAM_OWE] = {[PROGRAM_ASKED] = TO(BEHIND)},
	[PROGRAM_END] = {[PROGRAM_STARTING] = TO(ABSENT),
			 [PROGRAM_READY] = TO(ABSENT),
			 [PROGRAM_ASKED] = TO(ABSENT),
			 [PROGRAM_BEHIND] = TO(ABSENT),
			 [PROGRAM_ABSENT] = IGNORED(no_process),
			 [PROGRAM_DISABLED] = IGNORED(no_process)},
	[PROGRAM_DISABLE] = {[PROGRAM_ABSENT] = TO(DISABLED),
			     [PROGRAM_READY] = TO(DISABLED),
			     [PROGRAM_BEHIND] = TO(DISABLED)},
	[PROGRAM_ENABLE] = {[PROGRAM_DISABLED] = TO(ABSENT),
			    [PROGRAM_ABSENT] = IGNORED(not_disabled),
			    [PROGRAM_STARTING] = IGNORED(not_disabled),
			    [PROGRAM_READY] = IGNORED(not_disabled)},
};

const struct fsm program_fsm = {
	.what = "program of a policy",
	.states = PROGRAM_STATES,
	.events = PROGRAM_EVENTS,
	.state_names = program_state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};
