/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/migration_step.h"

#include <math.h>
#include <stddef.h>

/* libvirt has no deadline of its own, and a QEMU that hangs has to be noticed. */
#define ACT_LIMIT_S 60
#define MOVE_LIMIT_S 600
/* A wait for guests, whose agents first answer earlier requests. */
#define QUIET_PATIENCES 2

static const struct {
	const char *name;
	bool holds;
	unsigned limit_s;
} steps[MIGRATION_STEPS] = {
	[MIGRATION_IDLE] = {"idle", false, 0},
	[MIGRATION_QUIETING] = {"quieting", false, 0},
	[MIGRATION_MOVING] = {"moving", true, MOVE_LIMIT_S},
	[MIGRATION_LOCATING] = {"locating", true, MOVE_LIMIT_S},
	[MIGRATION_WIRING] = {"wiring", true, ACT_LIMIT_S},
	[MIGRATION_PLACING] = {"placing", true, ACT_LIMIT_S},
	[MIGRATION_CLOCKING] = {"clocking", false, 0},
	[MIGRATION_LEAVING] = {"leaving", false, 0},
	[MIGRATION_LOST] = {"lost", true, 0},
};

static const struct {
	enum migration_step from;
	enum migration_event event;
	enum migration_step to;
} transitions[] = {
	{MIGRATION_IDLE, MIGRATION_EVENT_START, MIGRATION_QUIETING},
	{MIGRATION_QUIETING, MIGRATION_EVENT_DONE, MIGRATION_MOVING},
	{MIGRATION_MOVING, MIGRATION_EVENT_DONE, MIGRATION_WIRING},
	{MIGRATION_WIRING, MIGRATION_EVENT_DONE, MIGRATION_PLACING},
	{MIGRATION_PLACING, MIGRATION_EVENT_DONE, MIGRATION_CLOCKING},
	{MIGRATION_CLOCKING, MIGRATION_EVENT_DONE, MIGRATION_LEAVING},
	{MIGRATION_LEAVING, MIGRATION_EVENT_DONE, MIGRATION_IDLE},

	{MIGRATION_QUIETING, MIGRATION_EVENT_LIMIT, MIGRATION_IDLE},
	{MIGRATION_QUIETING, MIGRATION_EVENT_ABORT, MIGRATION_IDLE},
	{MIGRATION_CLOCKING, MIGRATION_EVENT_ABORT, MIGRATION_IDLE},
	{MIGRATION_LEAVING, MIGRATION_EVENT_ABORT, MIGRATION_IDLE},

	{MIGRATION_MOVING, MIGRATION_EVENT_FAIL, MIGRATION_LOCATING},
	{MIGRATION_MOVING, MIGRATION_EVENT_LIMIT, MIGRATION_LOCATING},
	{MIGRATION_LOCATING, MIGRATION_EVENT_DONE, MIGRATION_WIRING},
	/* A guest whose clock is late computes correctly. */
	{MIGRATION_CLOCKING, MIGRATION_EVENT_FAIL, MIGRATION_LEAVING},
	{MIGRATION_CLOCKING, MIGRATION_EVENT_LIMIT, MIGRATION_LEAVING},

	{MIGRATION_LOCATING, MIGRATION_EVENT_FAIL, MIGRATION_LOST},
	{MIGRATION_LOCATING, MIGRATION_EVENT_LIMIT, MIGRATION_LOST},
	{MIGRATION_WIRING, MIGRATION_EVENT_FAIL, MIGRATION_LOST},
	{MIGRATION_WIRING, MIGRATION_EVENT_LIMIT, MIGRATION_LOST},
	{MIGRATION_PLACING, MIGRATION_EVENT_FAIL, MIGRATION_LOST},
	{MIGRATION_PLACING, MIGRATION_EVENT_LIMIT, MIGRATION_LOST},
};

bool migration_step_next(enum migration_step step, enum migration_event event,
			 enum migration_step *ret_next)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		if (transitions[i].from == step && transitions[i].event == event) {
			*ret_next = transitions[i].to;
			return true;
		}
	}
	*ret_next = step;
	return false;
}

bool migration_step_holds(enum migration_step step)
{
	return steps[step].holds;
}

unsigned migration_step_limit_s(enum migration_step step, double patience_s)
{
	if (step == MIGRATION_QUIETING || step == MIGRATION_CLOCKING)
		return (unsigned)ceil(QUIET_PATIENCES * patience_s);
	return steps[step].limit_s;
}

const char *migration_step_name(enum migration_step step)
{
	return steps[step].name;
}
