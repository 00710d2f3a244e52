/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/suspension_step.h"

#include <math.h>
#include <stddef.h>

/* libvirt has no deadline of its own, and a QEMU that hangs has to be noticed. */
#define ACT_LIMIT_S 60
#define DISK_LIMIT_S 600
/* A wait for guests, whose agents first answer earlier requests. */
#define QUIET_PATIENCES 2

static const struct {
	const char *name;
	bool holds;
	bool is_rollback;
	unsigned limit_s;
} steps[SUSPENSION_STEPS] = {
	[SUSPENSION_RUNNING] = {"running", false, false, 0},
	[SUSPENSION_QUIETING] = {"quieting", false, false, 0},
	[SUSPENSION_FREEZING] = {"freezing", true, false, ACT_LIMIT_S},
	[SUSPENSION_COUNTING] = {"counting", true, false, ACT_LIMIT_S},
	[SUSPENSION_SAVING] = {"saving", true, false, DISK_LIMIT_S},
	[SUSPENSION_LEAVING] = {"leaving", true, false, 0},
	[SUSPENSION_SUSPENDED] = {"suspended", true, false, 0},
	[SUSPENSION_MOVING] = {"moving", true, false, DISK_LIMIT_S},
	[SUSPENSION_RESTORING] = {"restoring", true, false, DISK_LIMIT_S},
	[SUSPENSION_PLACING] = {"placing", true, false, ACT_LIMIT_S},
	[SUSPENSION_WIRING] = {"wiring", true, false, ACT_LIMIT_S},
	[SUSPENSION_CONTINUING] = {"continuing", true, false, ACT_LIMIT_S},
	[SUSPENSION_CLOCKING] = {"clocking", false, false, 0},
	[SUSPENSION_UNSAVING] = {"unsaving", true, true, DISK_LIMIT_S},
	[SUSPENSION_REWIRING] = {"rewiring", true, true, ACT_LIMIT_S},
	[SUSPENSION_THAWING] = {"thawing", true, true, ACT_LIMIT_S},
	[SUSPENSION_LOCATING] = {"locating", true, true, DISK_LIMIT_S},
	[SUSPENSION_REFREEZING] = {"refreezing", true, true, ACT_LIMIT_S},
	[SUSPENSION_RETREATING] = {"retreating", true, true, 0},
	[SUSPENSION_LOST] = {"lost", true, false, 0},
};

static const char *const event_names[SUSPENSION_EVENTS] = {
	[SUSPENSION_EVENT_SUSPEND] = "suspend", [SUSPENSION_EVENT_RESUME] = "resume",
	[SUSPENSION_EVENT_DONE] = "done",       [SUSPENSION_EVENT_SAVE] = "save",
	[SUSPENSION_EVENT_FAIL] = "fail",       [SUSPENSION_EVENT_ABORT] = "abort",
	[SUSPENSION_EVENT_LIMIT] = "limit",
};

static const struct {
	enum suspension_step from;
	enum suspension_event event;
	enum suspension_step to;
} transitions[] = {
	{SUSPENSION_RUNNING, SUSPENSION_EVENT_SUSPEND, SUSPENSION_QUIETING},
	{SUSPENSION_QUIETING, SUSPENSION_EVENT_DONE, SUSPENSION_FREEZING},
	{SUSPENSION_FREEZING, SUSPENSION_EVENT_DONE, SUSPENSION_COUNTING},
	{SUSPENSION_COUNTING, SUSPENSION_EVENT_DONE, SUSPENSION_LEAVING},
	{SUSPENSION_COUNTING, SUSPENSION_EVENT_SAVE, SUSPENSION_SAVING},
	{SUSPENSION_SAVING, SUSPENSION_EVENT_DONE, SUSPENSION_LEAVING},
	{SUSPENSION_LEAVING, SUSPENSION_EVENT_DONE, SUSPENSION_SUSPENDED},

	{SUSPENSION_SUSPENDED, SUSPENSION_EVENT_RESUME, SUSPENSION_MOVING},
	{SUSPENSION_MOVING, SUSPENSION_EVENT_DONE, SUSPENSION_RESTORING},
	{SUSPENSION_RESTORING, SUSPENSION_EVENT_DONE, SUSPENSION_PLACING},
	{SUSPENSION_PLACING, SUSPENSION_EVENT_DONE, SUSPENSION_WIRING},
	{SUSPENSION_WIRING, SUSPENSION_EVENT_DONE, SUSPENSION_CONTINUING},
	{SUSPENSION_CONTINUING, SUSPENSION_EVENT_DONE, SUSPENSION_CLOCKING},
	{SUSPENSION_CLOCKING, SUSPENSION_EVENT_DONE, SUSPENSION_RUNNING},

	/* A guest whose clock is late computes correctly. */
	{SUSPENSION_CLOCKING, SUSPENSION_EVENT_FAIL, SUSPENSION_RUNNING},
	{SUSPENSION_CLOCKING, SUSPENSION_EVENT_LIMIT, SUSPENSION_RUNNING},
	{SUSPENSION_CLOCKING, SUSPENSION_EVENT_ABORT, SUSPENSION_RUNNING},
	{SUSPENSION_QUIETING, SUSPENSION_EVENT_FAIL, SUSPENSION_RUNNING},
	{SUSPENSION_QUIETING, SUSPENSION_EVENT_LIMIT, SUSPENSION_RUNNING},
	{SUSPENSION_QUIETING, SUSPENSION_EVENT_ABORT, SUSPENSION_RUNNING},

	{SUSPENSION_FREEZING, SUSPENSION_EVENT_FAIL, SUSPENSION_THAWING},
	{SUSPENSION_COUNTING, SUSPENSION_EVENT_FAIL, SUSPENSION_THAWING},
	{SUSPENSION_COUNTING, SUSPENSION_EVENT_LIMIT, SUSPENSION_THAWING},
	{SUSPENSION_SAVING, SUSPENSION_EVENT_FAIL, SUSPENSION_UNSAVING},
	{SUSPENSION_UNSAVING, SUSPENSION_EVENT_DONE, SUSPENSION_REWIRING},
	{SUSPENSION_REWIRING, SUSPENSION_EVENT_DONE, SUSPENSION_THAWING},
	{SUSPENSION_THAWING, SUSPENSION_EVENT_DONE, SUSPENSION_RUNNING},

	{SUSPENSION_MOVING, SUSPENSION_EVENT_FAIL, SUSPENSION_LOCATING},
	{SUSPENSION_LOCATING, SUSPENSION_EVENT_DONE, SUSPENSION_RETREATING},
	{SUSPENSION_RESTORING, SUSPENSION_EVENT_FAIL, SUSPENSION_RETREATING},
	{SUSPENSION_PLACING, SUSPENSION_EVENT_FAIL, SUSPENSION_RETREATING},
	{SUSPENSION_WIRING, SUSPENSION_EVENT_FAIL, SUSPENSION_RETREATING},
	{SUSPENSION_CONTINUING, SUSPENSION_EVENT_FAIL, SUSPENSION_REFREEZING},
	{SUSPENSION_REFREEZING, SUSPENSION_EVENT_DONE, SUSPENSION_RETREATING},
	{SUSPENSION_RETREATING, SUSPENSION_EVENT_DONE, SUSPENSION_SUSPENDED},
};

bool suspension_step_next(enum suspension_step step, enum suspension_event event,
			  enum suspension_step *ret_next)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		if (transitions[i].from == step && transitions[i].event == event) {
			*ret_next = transitions[i].to;
			return true;
		}
	}
	*ret_next = step;
	/* Failures of a rollback, and steps that exceed their limit. */
	if (event == SUSPENSION_EVENT_LIMIT && steps[step].limit_s > 0)
		*ret_next = SUSPENSION_LOST;
	else if (event == SUSPENSION_EVENT_FAIL && steps[step].is_rollback)
		*ret_next = SUSPENSION_LOST;
	return *ret_next != step;
}

bool suspension_step_holds(enum suspension_step step)
{
	return steps[step].holds;
}

bool suspension_step_is_rollback(enum suspension_step step)
{
	return steps[step].is_rollback;
}

unsigned suspension_step_limit_s(enum suspension_step step, double patience_s)
{
	if (step == SUSPENSION_QUIETING || step == SUSPENSION_CLOCKING)
		return (unsigned)ceil(QUIET_PATIENCES * patience_s);
	return steps[step].limit_s;
}

const char *suspension_step_name(enum suspension_step step)
{
	return steps[step].name;
}

const char *suspension_event_name(enum suspension_event event)
{
	return event_names[event];
}
