/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * What resumes a suspended task, as data; also of a task that is being suspended or resumed.
 *
 *   policy --hold--> user-holds --want--> user-wants --settle--> policy
 *          --exhaust--> window-holds --turn--> window-wants --settle--> policy
 *
 * The policy does not see a task that is held. A task that is wanted is resumed before the policy
 * is asked, as soon as there are nodes and energy for it (control_running.c).
 */
enum resumption_state {
	RESUMPTION_POLICY = 0,   /* the policy; also of a task that is not suspended */
	RESUMPTION_USER_HOLDS,   /* nothing before a user wants it resumed */
	RESUMPTION_WINDOW_HOLDS, /* nothing before a window of the energy limit has energy */
	RESUMPTION_USER_WANTS,   /* a user wants it resumed */
	RESUMPTION_WINDOW_WANTS, /* the limit for which it was suspended is reached no more */
	RESUMPTION_STATES,
};

enum resumption_event {
	RESUMPTION_HOLD = 0, /* a user suspends it, or cancels it */
	RESUMPTION_EXHAUST,  /* it is suspended because the window has no energy left */
	RESUMPTION_WANT,     /* a user resumes it */
	/*
	 * the window has energy: the next one begins, the limit is changed or removed, or what was
	 * used is corrected
	 */
	RESUMPTION_TURN,
	RESUMPTION_SETTLE, /* it runs again: it has resumed, or could not be suspended */
	RESUMPTION_END,    /* it has ended, or its attempt is lost */
	RESUMPTION_EVENTS,
};

/* The table. */
extern const struct fsm resumption_fsm;

/* Whether the policy may not resume the task. */
static inline bool resumption_state_is_held(enum resumption_state state)
{
	return state == RESUMPTION_USER_HOLDS || state == RESUMPTION_WINDOW_HOLDS;
}

/* Whether the task is to be resumed before the policy is asked. */
static inline bool resumption_state_is_wanted(enum resumption_state state)
{
	return state == RESUMPTION_USER_WANTS || state == RESUMPTION_WINDOW_WANTS;
}

/*
 * Gives a suspension of an interrupted run its state. Besides moves by the table the only writer of
 * such a state.
 */
void resumption_restore(enum resumption_state *state, enum resumption_state restored);
