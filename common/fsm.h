/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * State machines as data. A machine is a table of all pairs of a state and an event. A pair moves
 * on to a state, or is ignored for a reason, or is impossible. Pages in docs/reference/ and tests
 * are made of the same tables (tests/unit/fsm_page.h).
 *
 * A table says of all pairs that it does not list that they are impossible, or why they are
 * ignored: answers of VMs and hosts, say, may come at any time.
 */

enum fsm_rule {
	FSM_IMPOSSIBLE = 0, /* the program has a defect; with fsm.unlisted: ignored */
	FSM_MOVES,
	FSM_IGNORES, /* a report that is late or repeated, a request that changes nothing */
};

struct fsm_transition {
	enum fsm_rule rule;
	unsigned int to; /* MOVES */
	/* IGNORES; one text for all states in which the event is ignored, as the page has one row */
	const char *because;
};

struct fsm {
	const char *what;    /* whose states they are, for logs: "task" */
	unsigned int states; /* how many; at most 31, the first one is 0 */
	unsigned int events; /* how many */
	const char *const *state_names;
	const char *const *event_names;
	const struct fsm_transition *transitions; /* [event][state]; a pair of zeros is unlisted */
	const char *unlisted; /* why unlisted pairs are ignored; NULL: they are impossible */
};

/* For tables: a pair that moves to a state, and an ignored pair. */
#define FSM_TO(state)                                                                              \
	{                                                                                          \
		.rule = FSM_MOVES, .to = (state)                                                   \
	}
#define FSM_IGNORED(why)                                                                           \
	{                                                                                          \
		.rule = FSM_IGNORES, .because = (why)                                              \
	}

/* The transition of a pair. O(1). */
static inline const struct fsm_transition *fsm_transition(const struct fsm *fsm, unsigned int state,
							  unsigned int event)
{
	return &fsm->transitions[event * fsm->states + state];
}

/*
 * Moves a state on by an event. Returns whether it is a move; otherwise the state stays. An
 * impossible event is logged with the name of `subject`; in unit tests the log entry is fatal.
 * `state` may point to an enum without negative values.
 */
bool fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event, const char *subject);
