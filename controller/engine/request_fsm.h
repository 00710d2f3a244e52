/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * What a user has requested of a task and what holds for it from then on, as data. A request about
 * a suspended task is none of these: it is a state of its resumption (resumption_fsm.h).
 *
 *   none --hold--> held --release--> none
 *        --cancel--> cancelled
 */
enum request_state {
	REQUEST_NONE = 0,
	REQUEST_HELD, /* policies do not get the task, which is coming or waits */
	/* It is not started, suspended or resumed any more, and its end is reported or to come. */
	REQUEST_CANCELLED,
	REQUEST_STATES,
};

enum request_event {
	REQUEST_HOLD = 0, /* a user holds the task, or submits it so */
	REQUEST_RELEASE,
	REQUEST_CANCEL,
	REQUEST_EVENTS,
};

/* The table. */
extern const struct fsm request_fsm;
