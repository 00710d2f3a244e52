/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/task_fsm.h"

#include <glib.h>

#include "common/wire/wire_task.h"

static const char *const state_names[ENGINE_TASK_STATES] = {
	[ENGINE_TASK_COMING] = "coming",
	[ENGINE_TASK_WAITING] = "waiting",
	[ENGINE_TASK_PLANNED] = "planned",
	[ENGINE_TASK_CLAIMED] = TASK_WORD_CLAIMED,
	[ENGINE_TASK_QUEUED] = TASK_WORD_QUEUED,
	[ENGINE_TASK_STARTING] = TASK_WORD_STARTING,
	[ENGINE_TASK_RUNNING] = TASK_WORD_RUNNING,
	[ENGINE_TASK_SUSPENDING] = TASK_WORD_SUSPENDING,
	[ENGINE_TASK_SUSPENDING_CLAIMED] = TASK_WORD_SUSPENDING_CLAIMED,
	[ENGINE_TASK_SUSPENDED] = TASK_WORD_SUSPENDED,
	[ENGINE_TASK_SUSPENDED_CLAIMED] = TASK_WORD_SUSPENDED_CLAIMED,
	[ENGINE_TASK_RESUMING] = TASK_WORD_RESUMING,
	[ENGINE_TASK_MIGRATING] = "migrating",
	[ENGINE_TASK_COMPLETED] = "completed",
	[ENGINE_TASK_FAILED] = "failed",
	[ENGINE_TASK_DROPPED] = "dropped",
	[ENGINE_TASK_KILLED] = "killed",
	[ENGINE_TASK_UNFINISHED] = "unfinished",
	[ENGINE_TASK_QUARANTINED] = "quarantined",
};

static const char *const event_names[ENGINE_TASK_EVENTS] = {
	[ENGINE_TASK_ARRIVE] = "arrive",
	[ENGINE_TASK_PLAN] = "plan",
	[ENGINE_TASK_UNPLAN] = "unplan",
	[ENGINE_TASK_CLAIM] = "claim",
	[ENGINE_TASK_ENQUEUE] = "enqueue",
	[ENGINE_TASK_START] = "start",
	[ENGINE_TASK_STARTED] = "started",
	[ENGINE_TASK_SUSPEND] = "suspend",
	[ENGINE_TASK_SUSPEND_DONE] = "suspend-done",
	[ENGINE_TASK_RESUME] = "resume",
	[ENGINE_TASK_RESUME_DONE] = "resume-done",
	[ENGINE_TASK_SUSPENSION_FAILED] = "suspension-failed",
	[ENGINE_TASK_MIGRATE] = "migrate",
	[ENGINE_TASK_MIGRATE_DONE] = "migrate-done",
	[ENGINE_TASK_MIGRATE_FAILED] = "migrate-failed",
	[ENGINE_TASK_COMPLETE] = "complete",
	[ENGINE_TASK_FAIL] = "fail",
	[ENGINE_TASK_LOSE] = "lose",
	[ENGINE_TASK_KILL] = "kill",
	[ENGINE_TASK_DROP] = "drop",
	[ENGINE_TASK_FINISH] = "finish",
	[ENGINE_TASK_QUARANTINE] = "quarantine",
	[ENGINE_TASK_RELEASE] = "release",
};

#define TO(state) FSM_TO(ENGINE_TASK_##state)
#define IGNORED(why) FSM_IGNORED(why)

/* The end of an attempt, which can be reported in each of these states. */
#define UNDER_WAY_TO(state)                                                                        \
	[ENGINE_TASK_STARTING] = TO(state), [ENGINE_TASK_RUNNING] = TO(state),                     \
	[ENGINE_TASK_SUSPENDING] = TO(state), [ENGINE_TASK_SUSPENDING_CLAIMED] = TO(state),        \
	[ENGINE_TASK_SUSPENDED] = TO(state), [ENGINE_TASK_SUSPENDED_CLAIMED] = TO(state),          \
	[ENGINE_TASK_RESUMING] = TO(state), [ENGINE_TASK_MIGRATING] = TO(state)

static const char begun[] = "its ranks have run before";
static const char no_suspension[] = "no suspension of it is under way";
static const char no_resumption[] = "no resumption of it is under way";
static const char no_migration[] = "no migration of it is under way";

/* A pair that is not listed is impossible. */
static const struct fsm_transition transitions[ENGINE_TASK_EVENTS][ENGINE_TASK_STATES] = {
	[ENGINE_TASK_ARRIVE] = {[ENGINE_TASK_COMING] = TO(WAITING)},
	[ENGINE_TASK_PLAN] = {[ENGINE_TASK_WAITING] = TO(PLANNED)},
	[ENGINE_TASK_UNPLAN] = {[ENGINE_TASK_PLANNED] = TO(WAITING),
				[ENGINE_TASK_CLAIMED] = TO(WAITING),
				[ENGINE_TASK_SUSPENDING_CLAIMED] = TO(SUSPENDING),
				[ENGINE_TASK_SUSPENDED_CLAIMED] = TO(SUSPENDED)},
	/* A planned start waits until its nodes have been left (reservations.c): it has no claim. */
	[ENGINE_TASK_CLAIM] = {[ENGINE_TASK_WAITING] = TO(CLAIMED),
			       [ENGINE_TASK_SUSPENDING] = TO(SUSPENDING_CLAIMED),
			       [ENGINE_TASK_SUSPENDED] = TO(SUSPENDED_CLAIMED)},
	[ENGINE_TASK_ENQUEUE] = {[ENGINE_TASK_WAITING] = TO(QUEUED)},
	[ENGINE_TASK_START] = {[ENGINE_TASK_WAITING] = TO(STARTING),
			       [ENGINE_TASK_PLANNED] = TO(STARTING),
			       [ENGINE_TASK_CLAIMED] = TO(STARTING),
			       [ENGINE_TASK_QUEUED] = TO(STARTING)},
	[ENGINE_TASK_STARTED] = {[ENGINE_TASK_STARTING] = TO(RUNNING),
				 [ENGINE_TASK_RUNNING] = IGNORED(begun),
				 [ENGINE_TASK_SUSPENDING] = IGNORED(begun),
				 [ENGINE_TASK_SUSPENDING_CLAIMED] = IGNORED(begun),
				 [ENGINE_TASK_SUSPENDED] = IGNORED(begun),
				 [ENGINE_TASK_SUSPENDED_CLAIMED] = IGNORED(begun),
				 [ENGINE_TASK_RESUMING] = IGNORED(begun),
				 [ENGINE_TASK_MIGRATING] = IGNORED(begun)},

	[ENGINE_TASK_SUSPEND] = {[ENGINE_TASK_RUNNING] = TO(SUSPENDING)},
	[ENGINE_TASK_SUSPEND_DONE] = {[ENGINE_TASK_SUSPENDING] = TO(SUSPENDED),
				      [ENGINE_TASK_SUSPENDING_CLAIMED] = TO(SUSPENDED_CLAIMED),
				      [ENGINE_TASK_STARTING] = IGNORED(no_suspension),
				      [ENGINE_TASK_RUNNING] = IGNORED(no_suspension),
				      [ENGINE_TASK_SUSPENDED] = IGNORED(no_suspension),
				      [ENGINE_TASK_SUSPENDED_CLAIMED] = IGNORED(no_suspension),
				      [ENGINE_TASK_RESUMING] = IGNORED(no_suspension),
				      [ENGINE_TASK_MIGRATING] = IGNORED(no_suspension)},
	[ENGINE_TASK_RESUME] = {[ENGINE_TASK_SUSPENDED] = TO(RESUMING),
				[ENGINE_TASK_SUSPENDED_CLAIMED] = TO(RESUMING)},
	[ENGINE_TASK_RESUME_DONE] = {[ENGINE_TASK_RESUMING] = TO(RUNNING),
				     [ENGINE_TASK_STARTING] = IGNORED(no_resumption),
				     [ENGINE_TASK_RUNNING] = IGNORED(no_resumption),
				     [ENGINE_TASK_SUSPENDING] = IGNORED(no_resumption),
				     [ENGINE_TASK_SUSPENDING_CLAIMED] = IGNORED(no_resumption),
				     [ENGINE_TASK_SUSPENDED] = IGNORED(no_resumption),
				     [ENGINE_TASK_SUSPENDED_CLAIMED] = IGNORED(no_resumption),
				     [ENGINE_TASK_MIGRATING] = IGNORED(no_resumption)},
	[ENGINE_TASK_SUSPENSION_FAILED] = {[ENGINE_TASK_SUSPENDING] = TO(RUNNING),
					   [ENGINE_TASK_SUSPENDING_CLAIMED] = TO(RUNNING),
					   [ENGINE_TASK_RESUMING] = TO(SUSPENDED),
					   [ENGINE_TASK_STARTING] = IGNORED(no_suspension),
					   [ENGINE_TASK_RUNNING] = IGNORED(no_suspension),
					   [ENGINE_TASK_SUSPENDED] = IGNORED(no_suspension),
					   [ENGINE_TASK_SUSPENDED_CLAIMED] = IGNORED(no_suspension),
					   [ENGINE_TASK_MIGRATING] = IGNORED(no_suspension)},
	[ENGINE_TASK_MIGRATE] = {[ENGINE_TASK_RUNNING] = TO(MIGRATING)},
	[ENGINE_TASK_MIGRATE_DONE] = {[ENGINE_TASK_MIGRATING] = TO(RUNNING),
				      [ENGINE_TASK_STARTING] = IGNORED(no_migration),
				      [ENGINE_TASK_RUNNING] = IGNORED(no_migration),
				      [ENGINE_TASK_SUSPENDING] = IGNORED(no_migration),
				      [ENGINE_TASK_SUSPENDING_CLAIMED] = IGNORED(no_migration),
				      [ENGINE_TASK_SUSPENDED] = IGNORED(no_migration),
				      [ENGINE_TASK_SUSPENDED_CLAIMED] = IGNORED(no_migration),
				      [ENGINE_TASK_RESUMING] = IGNORED(no_migration)},
	[ENGINE_TASK_MIGRATE_FAILED] = {[ENGINE_TASK_MIGRATING] = TO(RUNNING),
					[ENGINE_TASK_STARTING] = IGNORED(no_migration),
					[ENGINE_TASK_RUNNING] = IGNORED(no_migration),
					[ENGINE_TASK_SUSPENDING] = IGNORED(no_migration),
					[ENGINE_TASK_SUSPENDING_CLAIMED] = IGNORED(no_migration),
					[ENGINE_TASK_SUSPENDED] = IGNORED(no_migration),
					[ENGINE_TASK_SUSPENDED_CLAIMED] = IGNORED(no_migration),
					[ENGINE_TASK_RESUMING] = IGNORED(no_migration)},

	/* A cluster that keeps its queue may report the end of a task whose beginning it did not. */
	[ENGINE_TASK_COMPLETE] = {[ENGINE_TASK_QUEUED] = TO(COMPLETED), UNDER_WAY_TO(COMPLETED)},
	[ENGINE_TASK_FAIL] = {[ENGINE_TASK_QUEUED] = TO(FAILED), UNDER_WAY_TO(FAILED)},
	[ENGINE_TASK_LOSE] = {[ENGINE_TASK_QUEUED] = TO(WAITING), UNDER_WAY_TO(WAITING)},
	[ENGINE_TASK_KILL] = {[ENGINE_TASK_WAITING] = TO(KILLED),
			      [ENGINE_TASK_QUEUED] = TO(KILLED),
			      [ENGINE_TASK_QUARANTINED] = TO(KILLED),
			      UNDER_WAY_TO(KILLED)},
	[ENGINE_TASK_DROP] = {[ENGINE_TASK_WAITING] = TO(DROPPED),
			      [ENGINE_TASK_QUEUED] = TO(DROPPED),
			      [ENGINE_TASK_STARTING] = TO(DROPPED),
			      [ENGINE_TASK_RUNNING] = TO(DROPPED),
			      [ENGINE_TASK_SUSPENDED] = TO(DROPPED)},
	[ENGINE_TASK_FINISH] = {[ENGINE_TASK_WAITING] = TO(UNFINISHED),
				[ENGINE_TASK_PLANNED] = TO(UNFINISHED),
				[ENGINE_TASK_CLAIMED] = TO(UNFINISHED),
				[ENGINE_TASK_QUEUED] = TO(UNFINISHED),
				UNDER_WAY_TO(UNFINISHED)},
	[ENGINE_TASK_QUARANTINE] = {[ENGINE_TASK_COMING] = TO(QUARANTINED)},
	[ENGINE_TASK_RELEASE] = {[ENGINE_TASK_QUARANTINED] = TO(WAITING)},
};

const struct fsm engine_task_fsm = {
	.what = "task",
	.states = ENGINE_TASK_STATES,
	.events = ENGINE_TASK_EVENTS,
	.state_names = state_names,
	.event_names = event_names,
	.transitions = transitions[0],
};

const struct fsm_transition *engine_task_transition(enum engine_task_state state,
						    enum engine_task_event event)
{
	return fsm_transition(&engine_task_fsm, state, event);
}

bool engine_task_move(enum engine_task_state *state, enum engine_task_event event)
{
	const struct fsm_transition *transition = &transitions[event][*state];

	if (transition->rule != FSM_MOVES)
		return false;
	*state = transition->to;
	return true;
}

enum engine_task_state engine_task_without_claim(enum engine_task_state state)
{
	switch (state) {
	case ENGINE_TASK_CLAIMED:
		return ENGINE_TASK_PLANNED;
	case ENGINE_TASK_SUSPENDING_CLAIMED:
		return ENGINE_TASK_SUSPENDING;
	case ENGINE_TASK_SUSPENDED_CLAIMED:
		return ENGINE_TASK_SUSPENDED;
	default:
		return state;
	}
}

bool engine_task_restore(enum engine_task_state *state, enum engine_task_state recorded)
{
	if (*state != ENGINE_TASK_COMING && *state != recorded)
		return false;
	*state = recorded;
	return true;
}

bool engine_task_correct_late(enum engine_task_state *state)
{
	if (!engine_task_state_in(*state, ENGINE_TASK_SETTLED))
		return false;
	*state = ENGINE_TASK_UNFINISHED;
	return true;
}

const char *engine_task_state_name(enum engine_task_state state)
{
	return (size_t)state < G_N_ELEMENTS(state_names) ? state_names[state] : NULL;
}

int engine_task_state_parse(const char *name)
{
	for (int state = 0; state < ENGINE_TASK_STATES; state++)
		if (g_str_equal(name, state_names[state]))
			return state;
	return -1;
}

const char *engine_task_event_name(enum engine_task_event event)
{
	return event_names[event];
}
