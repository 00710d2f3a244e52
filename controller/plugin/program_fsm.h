/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * The states of the program of a policy from outside (program.h), as data.
 *
 *   absent --start--> starting --hello--> ready --ask--> asked --answer--> ready
 *                                                        asked --owe--> behind --ask--> asked
 *   starting, ready, asked, behind --end--> absent
 *   absent, ready, behind --disable--> disabled --enable--> absent
 */
enum program_state {
	PROGRAM_ABSENT = 0, /* there is no process */
	PROGRAM_STARTING,   /* the process has not said hello */
	PROGRAM_READY,      /* it owes no answer */
	PROGRAM_ASKED,      /* a mapping event waits for its answer */
	PROGRAM_BEHIND,     /* it owes answers to events that are over */
	PROGRAM_DISABLED,   /* there is no process, and none is started before a reload */
	PROGRAM_STATES,
};

enum program_event {
	PROGRAM_START = 0, /* a process was started */
	PROGRAM_HELLO,     /* it has answered hello */
	PROGRAM_ASK,       /* a mapping event asks it */
	PROGRAM_ANSWER,    /* it has answered all that it was asked */
	PROGRAM_OWE,       /* the event is over, and it owes an answer */
	PROGRAM_END,       /* its process was ended */
	PROGRAM_DISABLE,   /* it failed at PLUGIN_FAILURES_MAX events in a row */
	PROGRAM_ENABLE,    /* the configuration was reloaded, or names another program */
	PROGRAM_EVENTS,
};

/* "absent", "starting", ... */
extern const char *const program_state_names[];

/* The table, for its page, for program.c, which alone moves a state on, and for tests. */
extern const struct fsm program_fsm;
