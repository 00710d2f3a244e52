/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"

/*
 * The states of a node, as data: whether it takes tasks, and if not, why. Which task has a node is
 * no part of its state (nodes.h).
 */
enum node_state {
	NODE_UP = 0,
	NODE_DOWN,         /* the backend reports it down */
	NODE_DRAINED,      /* a user drained it */
	NODE_DOWN_DRAINED, /* both */
	NODE_STATES,
};

enum node_event {
	NODE_FAIL = 0, /* the backend reports it down */
	NODE_RECOVER,  /* the backend reports it up again */
	NODE_DRAIN,    /* a user drains it, or drains it for another reason */
	NODE_UNDRAIN,
	NODE_EVENTS,
};

/* The table. No pair is impossible. */
extern const struct fsm node_fsm;

static inline bool node_state_is_down(enum node_state state)
{
	return state == NODE_DOWN || state == NODE_DOWN_DRAINED;
}

static inline bool node_state_is_drained(enum node_state state)
{
	return state == NODE_DRAINED || state == NODE_DOWN_DRAINED;
}
