/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/suspension_fsm.h"

#include "common/wire/wire_task.h"

static const char *const state_names[SUSPENSION_STATES] = {
	[SUSPENSION_NONE] = "none",
	[SUSPENSION_SUSPENDING] = TASK_WORD_SUSPENDING,
	[SUSPENSION_SUSPENDING_CLAIMED] = TASK_WORD_SUSPENDING_CLAIMED,
	[SUSPENSION_SUSPENDED] = TASK_WORD_SUSPENDED,
	[SUSPENSION_SUSPENDED_CLAIMED] = TASK_WORD_SUSPENDED_CLAIMED,
	[SUSPENSION_RESUMING] = TASK_WORD_RESUMING,
	[SUSPENSION_RESUMED] = "resumed",
	[SUSPENSION_ROLLED_BACK] = "rolled-back",
	[SUSPENSION_OVER] = "over",
};

static const char *const event_names[SUSPENSION_EVENTS] = {
	[SUSPENSION_SUSPEND] = "suspend", [SUSPENSION_SUSPEND_DONE] = "suspend-done",
	[SUSPENSION_CLAIM] = "claim",     [SUSPENSION_UNCLAIM] = "unclaim",
	[SUSPENSION_RESUME] = "resume",   [SUSPENSION_RESUME_DONE] = "resume-done",
	[SUSPENSION_FAIL] = "fail",       [SUSPENSION_END] = "end",
};

#define TO(state) FSM_TO(SUSPENSION_##state)

static const char not_under_way[] = "the last suspension of the task is over";

/*
 * A pair that is not listed is impossible. Reports that are late or repeated do not get here: the
 * state of the task says that they are (task_fsm.h).
 */
static const struct fsm_transition transitions[SUSPENSION_EVENTS][SUSPENSION_STATES] = {
	[SUSPENSION_SUSPEND] = {[SUSPENSION_NONE] = TO(SUSPENDING),
				[SUSPENSION_RESUMED] = TO(SUSPENDING),
				[SUSPENSION_ROLLED_BACK] = TO(SUSPENDING),
				[SUSPENSION_OVER] = TO(SUSPENDING)},
	[SUSPENSION_SUSPEND_DONE] = {[SUSPENSION_SUSPENDING] = TO(SUSPENDED),
				     [SUSPENSION_SUSPENDING_CLAIMED] = TO(SUSPENDED_CLAIMED)},
	[SUSPENSION_CLAIM] = {[SUSPENSION_SUSPENDING] = TO(SUSPENDING_CLAIMED),
			      [SUSPENSION_SUSPENDED] = TO(SUSPENDED_CLAIMED)},
	[SUSPENSION_UNCLAIM] = {[SUSPENSION_SUSPENDING_CLAIMED] = TO(SUSPENDING),
				[SUSPENSION_SUSPENDED_CLAIMED] = TO(SUSPENDED)},
	[SUSPENSION_RESUME] = {[SUSPENSION_SUSPENDED] = TO(RESUMING),
			       [SUSPENSION_SUSPENDED_CLAIMED] = TO(RESUMING)},
	[SUSPENSION_RESUME_DONE] = {[SUSPENSION_RESUMING] = TO(RESUMED)},
	/* A task that cannot be suspended gives up its claim before (suspension.c). */
	[SUSPENSION_FAIL] =
		{[SUSPENSION_SUSPENDING] = TO(ROLLED_BACK), [SUSPENSION_RESUMING] = TO(SUSPENDED)},
	[SUSPENSION_END] = {[SUSPENSION_SUSPENDING] = TO(OVER),
			    [SUSPENSION_SUSPENDING_CLAIMED] = TO(OVER),
			    [SUSPENSION_SUSPENDED] = TO(OVER),
			    [SUSPENSION_SUSPENDED_CLAIMED] = TO(OVER),
			    [SUSPENSION_RESUMING] = TO(OVER),
			    [SUSPENSION_RESUMED] = FSM_IGNORED(not_under_way),
			    [SUSPENSION_ROLLED_BACK] = FSM_IGNORED(not_under_way),
			    [SUSPENSION_OVER] = FSM_IGNORED(not_under_way)},
};

const struct fsm suspension_fsm = {
	.what = "suspension of task",
	.states = SUSPENSION_STATES,
	.events = SUSPENSION_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};

void suspension_restore(enum suspension_state *state, enum suspension_state restored)
{
	*state = restored;
}
