/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/fsm.h"
#include "common/wire/wire_task.h"

/*
 * The states of a task in a local scheduler (enum task_state) and the transitions between them, as
 * data.
 *
 *   starting --started--> running --suspend--> suspending --suspend-done--> suspended
 *        suspended --resume--> resuming --resume-done--> running
 *   starting --enqueue--> queued --turn--> starting
 *
 * A new task is starting, and is queued at once if it waits for its turn. A step that failed leads
 * back to the state before it, and every state leads to ended. A migration and a share leave the
 * state as it is.
 *
 * The executor reports the end of each step once, while the task is in the state that the request
 * for the step has led to. A step that is interrupted by the task's end is not reported. So there
 * are no late or repeated events to ignore: a pair that is not in the table is impossible.
 */
struct task;

enum { TASK_FSM_STATES = TASK_QUEUED + 1 };

enum task_fsm_event {
	TASK_FSM_ENQUEUE = 0,    /* it is to wait for its turn */
	TASK_FSM_TURN,           /* its turn has come */
	TASK_FSM_STARTED,        /* all ranks were started */
	TASK_FSM_SUSPEND,        /* it was requested to suspend it */
	TASK_FSM_SUSPEND_DONE,   /* its VMs are off their nodes */
	TASK_FSM_SUSPEND_FAILED, /* it runs on, or the request could not be stored */
	TASK_FSM_RESUME,         /* it was requested to resume it */
	TASK_FSM_RESUME_DONE,    /* its VMs run on their nodes */
	/* it is suspended as before, or the request could not be stored */
	TASK_FSM_RESUME_FAILED,
	TASK_FSM_END, /* it has an outcome */
	TASK_FSM_EVENTS,
};

/* The table, for tests. */
extern const struct fsm task_fsm;

/*
 * Moves a task on by an event. False: that is impossible, the local scheduler has a defect; it is
 * logged, and the task's state stays. Besides task_restore() the only writer of a task's state.
 */
bool task_fsm_move(struct task *task, enum task_fsm_event event);
