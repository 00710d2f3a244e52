/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * The states of a suspension of a task, as data: how far it has come. What resumes the task
 * is another question (resumption_fsm.h).
 *
 *   none --suspend--> suspending --suspend-done--> suspended --resume--> resuming
 *        --resume-done--> resumed --suspend--> suspending
 *
 * A failed suspension is rolled back, and its number is used again. After a failed resumption the
 * task is suspended as before. A claim to nodes is part of the state, as in task_fsm.h.
 */
enum suspension_state {
	SUSPENSION_NONE = 0,   /* the task was never suspended */
	SUSPENSION_SUSPENDING, /* the backend was asked to take the task off its nodes */
	SUSPENSION_SUSPENDING_CLAIMED,
	SUSPENSION_SUSPENDED, /* the task keeps its progress and occupies no nodes */
	SUSPENSION_SUSPENDED_CLAIMED,
	SUSPENSION_RESUMING, /* the backend was asked to resume the task */
	SUSPENSION_RESUMED,
	SUSPENSION_ROLLED_BACK, /* the task could not be suspended, and ran on */
	SUSPENSION_OVER,        /* the task ended, or its attempt was lost, before it had resumed */
	SUSPENSION_STATES,
};

enum suspension_event {
	SUSPENSION_SUSPEND = 0, /* the backend is asked to suspend the task */
	SUSPENSION_SUSPEND_DONE,
	SUSPENSION_CLAIM,   /* the task gets nodes that other tasks, or itself, are still leaving */
	SUSPENSION_UNCLAIM, /* the claim is given up */
	SUSPENSION_RESUME,  /* the backend is asked to resume the task */
	SUSPENSION_RESUME_DONE,
	SUSPENSION_FAIL, /* the step that is under way failed */
	SUSPENSION_END,  /* the task has ended, or its attempt is lost */
	SUSPENSION_EVENTS,
};

/* The table. */
extern const struct fsm suspension_fsm;

static inline bool suspension_state_is_claimed(enum suspension_state state)
{
	return state == SUSPENSION_SUSPENDING_CLAIMED || state == SUSPENSION_SUSPENDED_CLAIMED;
}

static inline bool suspension_state_is_suspending(enum suspension_state state)
{
	return state == SUSPENSION_SUSPENDING || state == SUSPENSION_SUSPENDING_CLAIMED;
}

/*
 * Gives a suspension of an interrupted run its state. Besides moves by the table the only writer of
 * such a state.
 */
void suspension_restore(enum suspension_state *state, enum suspension_state restored);
