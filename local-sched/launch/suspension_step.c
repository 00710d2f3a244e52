/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/suspension_step.h"

/* libvirt has no deadline of its own, and a QEMU that hangs has to be noticed. */
#define ACT_LIMIT_S 60
#define DISK_LIMIT_S 600
/* A wait for guests, whose agents first answer earlier requests. */
#define QUIET_PATIENCES 2

static const char *const step_names[SUSPENSION_STEPS] = {
	[SUSPENSION_RUNNING] = "running",       [SUSPENSION_QUIETING] = "quieting",
	[SUSPENSION_FREEZING] = "freezing",     [SUSPENSION_COUNTING] = "counting",
	[SUSPENSION_SAVING] = "saving",         [SUSPENSION_LEAVING] = "leaving",
	[SUSPENSION_SUSPENDED] = "suspended",   [SUSPENSION_MOVING] = "moving",
	[SUSPENSION_RESTORING] = "restoring",   [SUSPENSION_PLACING] = "placing",
	[SUSPENSION_WIRING] = "wiring",         [SUSPENSION_CONTINUING] = "continuing",
	[SUSPENSION_CLOCKING] = "clocking",     [SUSPENSION_UNSAVING] = "unsaving",
	[SUSPENSION_REWIRING] = "rewiring",     [SUSPENSION_THAWING] = "thawing",
	[SUSPENSION_LOCATING] = "locating",     [SUSPENSION_REFREEZING] = "refreezing",
	[SUSPENSION_RETREATING] = "retreating", [SUSPENSION_LOST] = "lost",
};

static const char *const event_names[SUSPENSION_EVENTS] = {
	[SUSPENSION_EVENT_SUSPEND] = "suspend", [SUSPENSION_EVENT_RESUME] = "resume",
	[SUSPENSION_EVENT_DONE] = "done",       [SUSPENSION_EVENT_SAVE] = "save",
	[SUSPENSION_EVENT_FAIL] = "fail",       [SUSPENSION_EVENT_ABORT] = "abort",
	[SUSPENSION_EVENT_LIMIT] = "limit",
};

static const struct vm_step steps[SUSPENSION_STEPS] = {
	[SUSPENSION_QUIETING] = {.patiences = QUIET_PATIENCES},
	[SUSPENSION_FREEZING] = {.holds = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_COUNTING] = {.holds = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_SAVING] = {.holds = true, .limit_s = DISK_LIMIT_S},
	[SUSPENSION_LEAVING] = {.holds = true},
	[SUSPENSION_SUSPENDED] = {.holds = true},
	[SUSPENSION_MOVING] = {.holds = true, .limit_s = DISK_LIMIT_S},
	[SUSPENSION_RESTORING] = {.holds = true, .limit_s = DISK_LIMIT_S},
	[SUSPENSION_PLACING] = {.holds = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_WIRING] = {.holds = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_CONTINUING] = {.holds = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_CLOCKING] = {.patiences = QUIET_PATIENCES},
	[SUSPENSION_UNSAVING] = {.holds = true, .is_rollback = true, .limit_s = DISK_LIMIT_S},
	[SUSPENSION_REWIRING] = {.holds = true, .is_rollback = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_THAWING] = {.holds = true, .is_rollback = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_LOCATING] = {.holds = true, .is_rollback = true, .limit_s = DISK_LIMIT_S},
	[SUSPENSION_REFREEZING] = {.holds = true, .is_rollback = true, .limit_s = ACT_LIMIT_S},
	[SUSPENSION_RETREATING] = {.holds = true, .is_rollback = true},
	[SUSPENSION_LOST] = {.holds = true},
};

#define TO(step) FSM_TO(SUSPENSION_##step)

static const struct fsm_transition transitions[SUSPENSION_EVENTS][SUSPENSION_STEPS] = {
	[SUSPENSION_EVENT_SUSPEND] = {[SUSPENSION_RUNNING] = TO(QUIETING)},
	[SUSPENSION_EVENT_RESUME] = {[SUSPENSION_SUSPENDED] = TO(MOVING)},
	[SUSPENSION_EVENT_DONE] = {[SUSPENSION_QUIETING] = TO(FREEZING),
				   [SUSPENSION_FREEZING] = TO(COUNTING),
				   [SUSPENSION_COUNTING] = TO(LEAVING),
				   [SUSPENSION_SAVING] = TO(LEAVING),
				   [SUSPENSION_LEAVING] = TO(SUSPENDED),
				   [SUSPENSION_MOVING] = TO(RESTORING),
				   [SUSPENSION_RESTORING] = TO(PLACING),
				   [SUSPENSION_PLACING] = TO(WIRING),
				   [SUSPENSION_WIRING] = TO(CONTINUING),
				   [SUSPENSION_CONTINUING] = TO(CLOCKING),
				   [SUSPENSION_CLOCKING] = TO(RUNNING),
				   [SUSPENSION_UNSAVING] = TO(REWIRING),
				   [SUSPENSION_REWIRING] = TO(THAWING),
				   [SUSPENSION_THAWING] = TO(RUNNING),
				   [SUSPENSION_LOCATING] = TO(RETREATING),
				   [SUSPENSION_REFREEZING] = TO(RETREATING),
				   [SUSPENSION_RETREATING] = TO(SUSPENDED)},
	[SUSPENSION_EVENT_SAVE] = {[SUSPENSION_COUNTING] = TO(SAVING)},
	/* CLOCKING: a guest whose clock is late computes correctly. */
	[SUSPENSION_EVENT_FAIL] = {[SUSPENSION_CLOCKING] = TO(RUNNING),
				   [SUSPENSION_QUIETING] = TO(RUNNING),
				   [SUSPENSION_FREEZING] = TO(THAWING),
				   [SUSPENSION_COUNTING] = TO(THAWING),
				   [SUSPENSION_SAVING] = TO(UNSAVING),
				   [SUSPENSION_MOVING] = TO(LOCATING),
				   [SUSPENSION_RESTORING] = TO(RETREATING),
				   [SUSPENSION_PLACING] = TO(RETREATING),
				   [SUSPENSION_WIRING] = TO(RETREATING),
				   [SUSPENSION_CONTINUING] = TO(REFREEZING),
				   [SUSPENSION_UNSAVING] = TO(LOST),
				   [SUSPENSION_REWIRING] = TO(LOST),
				   [SUSPENSION_THAWING] = TO(LOST),
				   [SUSPENSION_LOCATING] = TO(LOST),
				   [SUSPENSION_REFREEZING] = TO(LOST),
				   [SUSPENSION_RETREATING] = TO(LOST)},
	[SUSPENSION_EVENT_ABORT] =
		{[SUSPENSION_CLOCKING] = TO(RUNNING), [SUSPENSION_QUIETING] = TO(RUNNING)},
	/* Where a step that a host carries out exceeds its limit, the task is lost. */
	[SUSPENSION_EVENT_LIMIT] = {[SUSPENSION_CLOCKING] = TO(RUNNING),
				    [SUSPENSION_QUIETING] = TO(RUNNING),
				    [SUSPENSION_COUNTING] = TO(THAWING),
				    [SUSPENSION_FREEZING] = TO(LOST),
				    [SUSPENSION_SAVING] = TO(LOST),
				    [SUSPENSION_MOVING] = TO(LOST),
				    [SUSPENSION_RESTORING] = TO(LOST),
				    [SUSPENSION_PLACING] = TO(LOST),
				    [SUSPENSION_WIRING] = TO(LOST),
				    [SUSPENSION_CONTINUING] = TO(LOST),
				    [SUSPENSION_UNSAVING] = TO(LOST),
				    [SUSPENSION_REWIRING] = TO(LOST),
				    [SUSPENSION_THAWING] = TO(LOST),
				    [SUSPENSION_LOCATING] = TO(LOST),
				    [SUSPENSION_REFREEZING] = TO(LOST)},
};

const struct fsm suspension_step_fsm = {
	.what = "suspension of task",
	.states = SUSPENSION_STEPS,
	.events = SUSPENSION_EVENTS,
	.state_names = step_names,
	.event_names = event_names,
	.transitions = transitions[0],
	.unlisted = "a step that is under way comes to its end",
};

const struct vm_step_table suspension_steps = {
	.fsm = &suspension_step_fsm,
	.done = SUSPENSION_EVENT_DONE,
	.fail = SUSPENSION_EVENT_FAIL,
	.limit = SUSPENSION_EVENT_LIMIT,
	.steps = steps,
};
