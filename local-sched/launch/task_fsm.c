/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_fsm.h"

#include "local-sched/launch/task.h"

static const char *const event_names[TASK_FSM_EVENTS] = {
	[TASK_FSM_ENQUEUE] = "enqueue",
	[TASK_FSM_TURN] = "turn",
	[TASK_FSM_STARTED] = "started",
	[TASK_FSM_SUSPEND] = "suspend",
	[TASK_FSM_SUSPEND_DONE] = "suspend-done",
	[TASK_FSM_SUSPEND_FAILED] = "suspend-failed",
	[TASK_FSM_RESUME] = "resume",
	[TASK_FSM_RESUME_DONE] = "resume-done",
	[TASK_FSM_RESUME_FAILED] = "resume-failed",
	[TASK_FSM_END] = "end",
};

static const struct fsm_transition transitions[TASK_FSM_EVENTS][TASK_FSM_STATES] = {
	[TASK_FSM_ENQUEUE] = {[TASK_STARTING] = FSM_TO(TASK_QUEUED)},
	[TASK_FSM_TURN] = {[TASK_QUEUED] = FSM_TO(TASK_STARTING)},
	[TASK_FSM_STARTED] = {[TASK_STARTING] = FSM_TO(TASK_RUNNING)},
	[TASK_FSM_SUSPEND] = {[TASK_RUNNING] = FSM_TO(TASK_SUSPENDING)},
	[TASK_FSM_SUSPEND_DONE] = {[TASK_SUSPENDING] = FSM_TO(TASK_SUSPENDED)},
	[TASK_FSM_SUSPEND_FAILED] = {[TASK_SUSPENDING] = FSM_TO(TASK_RUNNING)},
	[TASK_FSM_RESUME] = {[TASK_SUSPENDED] = FSM_TO(TASK_RESUMING)},
	[TASK_FSM_RESUME_DONE] = {[TASK_RESUMING] = FSM_TO(TASK_RUNNING)},
	[TASK_FSM_RESUME_FAILED] = {[TASK_RESUMING] = FSM_TO(TASK_SUSPENDED)},
	[TASK_FSM_END] = {[TASK_STARTING] = FSM_TO(TASK_ENDED),
			  [TASK_RUNNING] = FSM_TO(TASK_ENDED),
			  [TASK_SUSPENDING] = FSM_TO(TASK_ENDED),
			  [TASK_SUSPENDED] = FSM_TO(TASK_ENDED),
			  [TASK_RESUMING] = FSM_TO(TASK_ENDED),
			  [TASK_QUEUED] = FSM_TO(TASK_ENDED)},
};

const struct fsm task_fsm = {
	.what = "task",
	.states = TASK_FSM_STATES,
	.events = TASK_FSM_EVENTS,
	.state_names = task_state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};

bool task_fsm_move(struct task *task, enum task_fsm_event event)
{
	return fsm_move(&task_fsm, &task->state, event, task->id);
}
