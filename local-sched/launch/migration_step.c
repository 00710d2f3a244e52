/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/migration_step.h"

/* libvirt has no deadline of its own, and a QEMU that hangs has to be noticed. */
#define ACT_LIMIT_S 60
#define MOVE_LIMIT_S 600
/* A wait for guests, whose agents first answer earlier requests. */
#define QUIET_PATIENCES 2

static const char *const step_names[MIGRATION_STEPS] = {
	[MIGRATION_IDLE] = "idle",         [MIGRATION_QUIETING] = "quieting",
	[MIGRATION_MOVING] = "moving",     [MIGRATION_LOCATING] = "locating",
	[MIGRATION_WIRING] = "wiring",     [MIGRATION_PLACING] = "placing",
	[MIGRATION_CLOCKING] = "clocking", [MIGRATION_LEAVING] = "leaving",
	[MIGRATION_LOST] = "lost",
};

static const char *const event_names[MIGRATION_EVENTS] = {
	[MIGRATION_EVENT_START] = "start", [MIGRATION_EVENT_DONE] = "done",
	[MIGRATION_EVENT_FAIL] = "fail",   [MIGRATION_EVENT_ABORT] = "abort",
	[MIGRATION_EVENT_LIMIT] = "limit",
};

static const struct vm_step steps[MIGRATION_STEPS] = {
	[MIGRATION_QUIETING] = {.patiences = QUIET_PATIENCES},
	[MIGRATION_MOVING] = {.holds = true, .limit_s = MOVE_LIMIT_S},
	[MIGRATION_LOCATING] = {.holds = true, .limit_s = MOVE_LIMIT_S},
	[MIGRATION_WIRING] = {.holds = true, .limit_s = ACT_LIMIT_S},
	[MIGRATION_PLACING] = {.holds = true, .limit_s = ACT_LIMIT_S},
	[MIGRATION_CLOCKING] = {.patiences = QUIET_PATIENCES},
	[MIGRATION_LOST] = {.holds = true},
};

#define TO(step) FSM_TO(MIGRATION_##step)

static const struct fsm_transition transitions[MIGRATION_EVENTS][MIGRATION_STEPS] = {
	[MIGRATION_EVENT_START] = {[MIGRATION_IDLE] = TO(QUIETING)},
	[MIGRATION_EVENT_DONE] = {[MIGRATION_QUIETING] = TO(MOVING),
				  [MIGRATION_MOVING] = TO(WIRING),
				  [MIGRATION_WIRING] = TO(PLACING),
				  [MIGRATION_PLACING] = TO(CLOCKING),
				  [MIGRATION_CLOCKING] = TO(LEAVING),
				  [MIGRATION_LEAVING] = TO(IDLE),
				  [MIGRATION_LOCATING] = TO(WIRING)},
	/* CLOCKING: a guest whose clock is late computes correctly. */
	[MIGRATION_EVENT_FAIL] = {[MIGRATION_MOVING] = TO(LOCATING),
				  [MIGRATION_CLOCKING] = TO(LEAVING),
				  [MIGRATION_LOCATING] = TO(LOST),
				  [MIGRATION_WIRING] = TO(LOST),
				  [MIGRATION_PLACING] = TO(LOST)},
	[MIGRATION_EVENT_ABORT] = {[MIGRATION_QUIETING] = TO(IDLE),
				   [MIGRATION_CLOCKING] = TO(IDLE),
				   [MIGRATION_LEAVING] = TO(IDLE)},
	[MIGRATION_EVENT_LIMIT] = {[MIGRATION_QUIETING] = TO(IDLE),
				   [MIGRATION_MOVING] = TO(LOCATING),
				   [MIGRATION_CLOCKING] = TO(LEAVING),
				   [MIGRATION_LOCATING] = TO(LOST),
				   [MIGRATION_WIRING] = TO(LOST),
				   [MIGRATION_PLACING] = TO(LOST)},
};

const struct fsm migration_step_fsm = {
	.what = "migration of task",
	.states = MIGRATION_STEPS,
	.events = MIGRATION_EVENTS,
	.state_names = step_names,
	.event_names = event_names,
	.transitions = transitions[0],
	.unlisted = "a step that is under way comes to its end",
};

const struct vm_step_table migration_steps = {
	.fsm = &migration_step_fsm,
	.done = MIGRATION_EVENT_DONE,
	.fail = MIGRATION_EVENT_FAIL,
	.limit = MIGRATION_EVENT_LIMIT,
	.steps = steps,
};
