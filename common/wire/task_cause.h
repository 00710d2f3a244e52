/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Why a task did not complete, as a local scheduler reports it and a controller reads it
 * (docs/reference/api.md, Tasks). The outcome says whose fault an end was; the cause says what
 * ended the task.
 */
enum task_cause {
	TASK_CAUSE_NONE = 0, /* it has not ended, or has completed */
	TASK_CAUSE_DEADLINE, /* killed at its deadline */
	TASK_CAUSE_STALLED,  /* killed because it made no progress for its patience */
	TASK_CAUSE_KILLED,   /* killed on request */
	TASK_CAUSE_VM,       /* a VM of it was lost or rebooted, or could not be reached */
	TASK_CAUSE_EXIT,     /* one of its processes did not exit with status 0 */
	TASK_CAUSE_OTHER,
};

/* "deadline", "stalled", ...; NULL for TASK_CAUSE_NONE. */
const char *task_cause_name(enum task_cause cause);

/* The cause named `name`; TASK_CAUSE_NONE: there is no such name. NULL is allowed. */
enum task_cause task_cause_find(const char *name);
