/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/fsm.h"

/*
 * The states of an operation of the remote backend, and the transitions between them, as data.
 * Pure; remote_operation.c, remote_request.c and remote_steps.c act on it. An operation is what
 * is requested for an attempt: its start, a suspension, a resumption, a migration, its share of the
 * CPU, its kill.
 *
 *   none --call--> waiting --send--> sent --answer--> answered --end--> none
 *                     ^               |
 *                     +----retry------+
 *
 * A failure that is reported before the answer is kept as a state (failed).
 */

enum operation_state {
	OPERATION_NONE = 0, /* there was no call, or the last one has its result */
	OPERATION_WAITING,  /* to be sent when remote_request_due() finds that it can be */
	OPERATION_SENT,
	/* its failure is known: reported before the answer; a kill: the request was given up */
	OPERATION_FAILED,
	/* its result is to come; a start: remains, since the local scheduler has the task */
	OPERATION_ANSWERED,
	OPERATION_STATES,
};

enum operation_event {
	OPERATION_CALL = 0, /* the engine's call; a share: it differs from what the VMs have */
	OPERATION_SEND,     /* its request is handed to the link */
	OPERATION_ANSWER, /* the local scheduler has it, or silence has to be settled by a check */
	OPERATION_FAIL,   /* its failure is known, and the answer is still to come */
	OPERATION_RETRY,  /* it is to be sent once more */
	OPERATION_END,    /* its result is known, or it is given up */
	OPERATION_EVENTS,
};

/* The table, for its page and for tests. */
extern const struct fsm operation_fsm;

/*
 * Moves the state of an operation of the attempt `id` on by an event. Returns whether it is a move;
 * otherwise the state stays. An impossible event is logged; in tests the log entry is fatal. The
 * only writer of an operation's state.
 */
bool operation_move(enum operation_state *state, enum operation_event event, const char *id);
