/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/attempt_fsm.h"

static const char *const state_names[ATTEMPT_STATES] = {
	[ATTEMPT_NEW] = "new",
	[ATTEMPT_STARTING] = "starting",
	[ATTEMPT_QUEUED] = "queued",
	[ATTEMPT_RUNNING] = "running",
	[ATTEMPT_SUSPENDED] = "suspended",
	[ATTEMPT_REATTACHED] = "reattached",
	[ATTEMPT_REATTACHED_RUNNING] = "reattached-running",
	[ATTEMPT_REATTACHED_SUSPENDED] = "reattached-suspended",
	[ATTEMPT_ENDED] = "ended",
	[ATTEMPT_ABANDONED] = "abandoned",
};

static const char *const event_names[ATTEMPT_EVENTS] = {
	[ATTEMPT_START] = "start",
	[ATTEMPT_ENQUEUE] = "enqueue",
	[ATTEMPT_REATTACH] = "reattach",
	[ATTEMPT_DESCRIBE] = "describe",
	[ATTEMPT_BEGIN] = "begin",
	[ATTEMPT_STARTED] = "started",
	[ATTEMPT_SUSPEND_DONE] = "suspend-done",
	[ATTEMPT_RESUME_DONE] = "resume-done",
	[ATTEMPT_END] = "end",
	[ATTEMPT_ABANDON] = "abandon",
};

#define TO(state) FSM_TO(ATTEMPT_##state)
#define IGNORED(why) FSM_IGNORED(why)

/* Its end can be reported, and it can be given up, in each of these states. */
#define NOT_OVER_TO(state)                                                                         \
	[ATTEMPT_STARTING] = TO(state), [ATTEMPT_QUEUED] = TO(state),                              \
	[ATTEMPT_RUNNING] = TO(state), [ATTEMPT_SUSPENDED] = TO(state),                            \
	[ATTEMPT_REATTACHED] = TO(state), [ATTEMPT_REATTACHED_RUNNING] = TO(state),                \
	[ATTEMPT_REATTACHED_SUSPENDED] = TO(state)

static const char described[] = "it was described before, or this controller requested it";
static const char begun[] = "it has begun before, or was not enqueued";
static const char started[] = "its ranks have started before";
static const char not_running[] = "it does not run, as far as is reported";
static const char not_suspended[] = "it is not suspended";
static const char over[] = "it has ended before";
static const char given_up[] = "it was given up before";

/*
 * A pair that is not listed is impossible. A local scheduler's description says all that has
 * happened so far, so its events repeat. None of an attempt that is over is looked at.
 */
static const struct fsm_transition transitions[ATTEMPT_EVENTS][ATTEMPT_STATES] = {
	[ATTEMPT_START] = {[ATTEMPT_NEW] = TO(STARTING)},
	[ATTEMPT_ENQUEUE] = {[ATTEMPT_NEW] = TO(QUEUED)},
	[ATTEMPT_REATTACH] = {[ATTEMPT_NEW] = TO(REATTACHED)},
	[ATTEMPT_DESCRIBE] = {[ATTEMPT_REATTACHED] = TO(STARTING),
			      [ATTEMPT_REATTACHED_RUNNING] = TO(RUNNING),
			      [ATTEMPT_REATTACHED_SUSPENDED] = TO(SUSPENDED),
			      [ATTEMPT_STARTING] = IGNORED(described),
			      [ATTEMPT_QUEUED] = IGNORED(described),
			      [ATTEMPT_RUNNING] = IGNORED(described),
			      [ATTEMPT_SUSPENDED] = IGNORED(described)},
	[ATTEMPT_BEGIN] = {[ATTEMPT_QUEUED] = TO(STARTING),
			   [ATTEMPT_STARTING] = IGNORED(begun),
			   [ATTEMPT_RUNNING] = IGNORED(begun),
			   [ATTEMPT_SUSPENDED] = IGNORED(begun),
			   [ATTEMPT_REATTACHED] = IGNORED(begun),
			   [ATTEMPT_REATTACHED_RUNNING] = IGNORED(begun),
			   [ATTEMPT_REATTACHED_SUSPENDED] = IGNORED(begun)},
	/* QUEUED: a description may show that it runs, but lack the time when its turn came. */
	[ATTEMPT_STARTED] = {[ATTEMPT_STARTING] = TO(RUNNING),
			     [ATTEMPT_QUEUED] = TO(RUNNING),
			     [ATTEMPT_REATTACHED] = TO(REATTACHED_RUNNING),
			     [ATTEMPT_RUNNING] = IGNORED(started),
			     [ATTEMPT_SUSPENDED] = IGNORED(started),
			     [ATTEMPT_REATTACHED_RUNNING] = IGNORED(started),
			     [ATTEMPT_REATTACHED_SUSPENDED] = IGNORED(started)},
	/* A description may lack the time when its ranks started; STARTED is reported first. */
	[ATTEMPT_SUSPEND_DONE] = {[ATTEMPT_RUNNING] = TO(SUSPENDED),
				  [ATTEMPT_REATTACHED_RUNNING] = TO(REATTACHED_SUSPENDED),
				  [ATTEMPT_STARTING] = IGNORED(not_running),
				  [ATTEMPT_QUEUED] = IGNORED(not_running),
				  [ATTEMPT_SUSPENDED] = IGNORED(not_running),
				  [ATTEMPT_REATTACHED] = IGNORED(not_running),
				  [ATTEMPT_REATTACHED_SUSPENDED] = IGNORED(not_running)},
	/* A resumption is looked at only if its suspension was reported. */
	[ATTEMPT_RESUME_DONE] = {[ATTEMPT_SUSPENDED] = TO(RUNNING),
				 [ATTEMPT_REATTACHED_SUSPENDED] = TO(REATTACHED_RUNNING),
				 [ATTEMPT_RUNNING] = IGNORED(not_suspended),
				 [ATTEMPT_REATTACHED_RUNNING] = IGNORED(not_suspended)},
	[ATTEMPT_END] = {NOT_OVER_TO(ENDED), [ATTEMPT_ENDED] = IGNORED(over),
			 [ATTEMPT_ABANDONED] = IGNORED(over)},
	/*
	 * When the answer to its start is unusable or a refusal, its local scheduler may have
	 * another attempt of its id, even if an end was reported.
	 */
	[ATTEMPT_ABANDON] = {NOT_OVER_TO(ABANDONED), [ATTEMPT_ENDED] = TO(ABANDONED),
			     [ATTEMPT_ABANDONED] = IGNORED(given_up)},
};

const struct fsm attempt_fsm = {
	.what = "attempt",
	.states = ATTEMPT_STATES,
	.events = ATTEMPT_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};

bool attempt_move(enum attempt_state *state, enum attempt_event event, const char *id)
{
	return fsm_move(&attempt_fsm, state, event, id);
}
