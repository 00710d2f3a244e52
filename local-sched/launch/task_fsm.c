/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_fsm.h"

#include <glib.h>
#include <stdint.h>

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

/* Sets of states. */
#define IN(state) (UINT32_C(1) << (state))
#define NOT_ENDED ((IN(TASK_FSM_STATES) - 1) & ~IN(TASK_ENDED))

static const struct {
	uint32_t from;
	enum task_fsm_event event;
	enum task_state to;
} transitions[] = {
	{IN(TASK_STARTING), TASK_FSM_ENQUEUE, TASK_QUEUED},
	{IN(TASK_QUEUED), TASK_FSM_TURN, TASK_STARTING},
	{IN(TASK_STARTING), TASK_FSM_STARTED, TASK_RUNNING},

	{IN(TASK_RUNNING), TASK_FSM_SUSPEND, TASK_SUSPENDING},
	{IN(TASK_SUSPENDING), TASK_FSM_SUSPEND_DONE, TASK_SUSPENDED},
	{IN(TASK_SUSPENDING), TASK_FSM_SUSPEND_FAILED, TASK_RUNNING},
	{IN(TASK_SUSPENDED), TASK_FSM_RESUME, TASK_RESUMING},
	{IN(TASK_RESUMING), TASK_FSM_RESUME_DONE, TASK_RUNNING},
	{IN(TASK_RESUMING), TASK_FSM_RESUME_FAILED, TASK_SUSPENDED},

	{NOT_ENDED, TASK_FSM_END, TASK_ENDED},
};

bool task_fsm_next(enum task_state state, enum task_fsm_event event, enum task_state *ret_next)
{
	*ret_next = state;
	for (size_t i = 0; i < G_N_ELEMENTS(transitions); i++) {
		if ((transitions[i].from & IN(state)) && transitions[i].event == event) {
			*ret_next = transitions[i].to;
			return true;
		}
	}
	return false;
}

bool task_fsm_move(struct task *task, enum task_fsm_event event)
{
	const bool possible = task_fsm_next(task->state, event, &task->state);

	if (!possible)
		g_critical("task '%s' is %s: '%s' is impossible", task->id,
			   task_state_names[task->state], task_fsm_event_name(event));
	return possible;
}

const char *task_fsm_event_name(enum task_fsm_event event)
{
	return event_names[event];
}
