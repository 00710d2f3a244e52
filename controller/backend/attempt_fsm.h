/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/fsm.h"

/*
 * The states of an attempt of the remote backend, and the transitions between them, as data. Pure;
 * the files of remote_private.h act on it.
 *
 *   new --start--> starting --started--> running --suspend-done--> suspended
 *   new --enqueue--> queued --begin--> starting        suspended --resume-done--> running
 *   new --reattach--> reattached --describe--> starting
 *
 * All but a new one can end (ended) and be given up (abandoned).
 *
 * The states follow what the local scheduler has reported. What is requested and has no result yet
 * (a suspension, a resumption, a migration, a share, a kill) is an operation, which has states of
 * its own (operation_fsm.h).
 *
 * An attempt that an earlier controller requested is reattached until its local scheduler has
 * described it. That is part of its state: REATTACHED, REATTACHED_RUNNING, REATTACHED_SUSPENDED.
 */

enum attempt_state {
	ATTEMPT_NEW = 0,  /* nothing was requested yet */
	ATTEMPT_STARTING, /* its start was requested, or its turn has come */
	ATTEMPT_QUEUED,   /* it waits for its turn at its local scheduler */
	ATTEMPT_RUNNING,  /* all of its ranks have started, and it is not suspended */
	ATTEMPT_SUSPENDED,
	/* as STARTING, RUNNING and SUSPENDED by the record, and not described yet */
	ATTEMPT_REATTACHED,
	ATTEMPT_REATTACHED_RUNNING,
	ATTEMPT_REATTACHED_SUSPENDED,
	ATTEMPT_ENDED,     /* its end was reported, or follows from an answer */
	ATTEMPT_ABANDONED, /* given up; it is to be killed if it turns up again */
	ATTEMPT_STATES,
};

enum attempt_event {
	ATTEMPT_START = 0, /* backend_start() */
	ATTEMPT_ENQUEUE,   /* backend_enqueue() */
	ATTEMPT_REATTACH,  /* remote_backend_adopt() */
	ATTEMPT_DESCRIBE,  /* its local scheduler describes it, with the time of its request */
	ATTEMPT_BEGIN,     /* the description says that its turn has come */
	ATTEMPT_STARTED,   /* it, or the record, says that all ranks have started */
	ATTEMPT_SUSPEND_DONE,
	ATTEMPT_RESUME_DONE,
	ATTEMPT_END,
	/* it cannot be known, or is not waited for, whether its local scheduler still has it */
	ATTEMPT_ABANDON,
	ATTEMPT_EVENTS,
};

/* Sets of states, as bits. */
#define ATTEMPT_SET(state) (UINT32_C(1) << (state))
/* Its ranks have not started, as far as is reported. */
#define ATTEMPT_UNSTARTED                                                                          \
	(ATTEMPT_SET(ATTEMPT_STARTING) | ATTEMPT_SET(ATTEMPT_QUEUED) |                             \
	 ATTEMPT_SET(ATTEMPT_REATTACHED))
/* Its VMs are not on nodes of its own. */
#define ATTEMPT_ANY_SUSPENDED                                                                      \
	(ATTEMPT_SET(ATTEMPT_SUSPENDED) | ATTEMPT_SET(ATTEMPT_REATTACHED_SUSPENDED))
/* An earlier controller requested it, and its local scheduler has not described it yet. */
#define ATTEMPT_ANY_REATTACHED                                                                     \
	(ATTEMPT_SET(ATTEMPT_REATTACHED) | ATTEMPT_SET(ATTEMPT_REATTACHED_RUNNING) |               \
	 ATTEMPT_SET(ATTEMPT_REATTACHED_SUSPENDED))
/* Its end was reported to the engine. */
#define ATTEMPT_OVER (ATTEMPT_SET(ATTEMPT_ENDED) | ATTEMPT_SET(ATTEMPT_ABANDONED))

/* The table, for its page and for tests. */
extern const struct fsm attempt_fsm;

/*
 * Moves the state of the attempt `id` on by an event. Returns whether it is a move; otherwise the
 * state stays. An impossible event is logged; in tests the log entry is fatal. The only writer of
 * an attempt's state.
 */
bool attempt_move(enum attempt_state *state, enum attempt_event event, const char *id);
