/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/task.h"

/*
 * The events of a task that is carried out, from the job or the simulation to the scheduler. All
 * are required. None comes before the call that starts the task returns.
 */
struct task_events {
	/* All ranks are started: the task is TASK_RUNNING with its started_ns. */
	void (*started)(struct task *task, void *data);
	/* The stream of files that a script has produced, if any. Comes before `ended`. */
	void (*results)(struct task *task, GBytes *stream, void *data);
	/*
	 * The task is TASK_ENDED with its outcome, its nodes are ready again or known to be down,
	 * and the executor has forgotten it. `output` is for people.
	 */
	void (*ended)(struct task *task, const char *output, size_t length, void *data);
	/*
	 * The end of the suspension or resumption that the task's state names. `reason` is NULL
	 * where it succeeded; otherwise the task runs, or is suspended, as before it. The owner
	 * updates the task's state and its last suspension.
	 */
	void (*changed)(struct task *task, const char *reason, void *data);
	/*
	 * The end of the task's last migration: its VMs were moved, or not all of them because of
	 * `reason`. The migration's record says where they are.
	 */
	void (*moved)(struct task *task, const char *reason, void *data);
	/* A look at the output of some task has ended, with or without new output. */
	void (*printed)(void *data);
	/*
	 * The task's CPU share is in force and was read back, or is not in force for all of its VMs
	 * because of `reason`.
	 */
	void (*shared)(struct task *task, const char *reason, void *data);
};
