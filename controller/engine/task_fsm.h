/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/fsm.h"

/*
 * The states of a task and the transitions between them, as data. Pure; the engine's files act on
 * it.
 *
 *   coming --arrive--> waiting --start--> starting --started--> running --complete--> completed
 *                      waiting --plan--> planned --start--> starting
 *                      waiting --claim--> claimed --start--> starting
 *                      waiting --enqueue--> queued --start--> starting
 *
 *   running --suspend--> suspending --suspend-done--> suspended --resume--> resuming
 *           --resume-done--> running
 *   running --migrate--> migrating --migrate-done--> running
 *
 * A step that failed leads back to the state before it. A lost attempt leads back to waiting.
 *
 * A task that gets nodes which other tasks are still leaving has a claim to them. The claim is
 * part of its state: CLAIMED, SUSPENDING_CLAIMED, SUSPENDED_CLAIMED.
 */

/*
 * The state of a task. Every task is counted once, by its last state. Beyond COMING, the first one,
 * the order means nothing: code that asks for several states has a set of them (below), of which a
 * new state becomes a member.
 */
enum engine_task_state {
	ENGINE_TASK_COMING = 0, /* has not arrived */
	ENGINE_TASK_WAITING,
	ENGINE_TASK_PLANNED, /* holds a reservation or a place-holder */
	/* It starts when other tasks have left its nodes, which are allocated to it. */
	ENGINE_TASK_CLAIMED,
	ENGINE_TASK_QUEUED,     /* in the queue of a cluster, which does not execute it yet */
	ENGINE_TASK_STARTING,   /* the backend was asked to start it */
	ENGINE_TASK_RUNNING,    /* all of its ranks run */
	ENGINE_TASK_SUSPENDING, /* the backend was asked to take it off its nodes */
	/* It is being suspended, and then resumes on nodes that are allocated to it. */
	ENGINE_TASK_SUSPENDING_CLAIMED,
	ENGINE_TASK_SUSPENDED, /* it keeps its progress and occupies no nodes */
	/* It is suspended, and resumes when other tasks have left the nodes allocated to it. */
	ENGINE_TASK_SUSPENDED_CLAIMED,
	ENGINE_TASK_RESUMING, /* the backend was asked to resume it */
	/* It runs, and the backend was asked to move its VMs to other nodes. */
	ENGINE_TASK_MIGRATING,
	ENGINE_TASK_COMPLETED,
	ENGINE_TASK_FAILED,  /* by its own fault, or lost too often */
	ENGINE_TASK_DROPPED, /* it could earn nothing (or too little) any more */
	ENGINE_TASK_KILLED,
	ENGINE_TASK_UNFINISHED, /* the run ended before it did */
	/*
	 * The stored record of the task cannot be used: the engine ignores the task until a user
	 * cancels or releases it.
	 */
	ENGINE_TASK_QUARANTINED,
	ENGINE_TASK_STATES,
};

/* What can happen to a task. */
enum engine_task_event {
	ENGINE_TASK_ARRIVE = 0, /* its time of arrival has come, or a user submitted it */
	ENGINE_TASK_PLAN,       /* the policy reserves nodes, or holds nodes for it */
	ENGINE_TASK_UNPLAN,     /* its reservation, place-holder or claim is given up */
	ENGINE_TASK_CLAIM,      /* it gets nodes that other tasks, or itself, are still leaving */
	ENGINE_TASK_ENQUEUE,    /* the policy puts it into the queue of a cluster */
	ENGINE_TASK_START,      /* an attempt begins */
	ENGINE_TASK_STARTED,    /* all of its ranks run */
	ENGINE_TASK_SUSPEND,    /* the backend is asked to suspend it */
	ENGINE_TASK_SUSPEND_DONE,
	ENGINE_TASK_RESUME, /* the backend is asked to resume it */
	ENGINE_TASK_RESUME_DONE,
	ENGINE_TASK_SUSPENSION_FAILED, /* of a suspension the step that is under way */
	ENGINE_TASK_MIGRATE,           /* the backend is asked to migrate it */
	ENGINE_TASK_MIGRATE_DONE,
	ENGINE_TASK_MIGRATE_FAILED,
	ENGINE_TASK_COMPLETE,
	ENGINE_TASK_FAIL,
	ENGINE_TASK_LOSE,       /* its attempt is lost, and there will be another one */
	ENGINE_TASK_KILL,       /* a user cancelled it, or it was killed */
	ENGINE_TASK_DROP,       /* the policy drops it */
	ENGINE_TASK_FINISH,     /* the run ends */
	ENGINE_TASK_QUARANTINE, /* its record cannot be used */
	ENGINE_TASK_RELEASE,    /* a user releases the quarantined task */
	ENGINE_TASK_EVENTS,
};

/* Sets of states, as bits. */
#define ENGINE_TASK_SET(state) (UINT32_C(1) << (state))
/* The backend was asked to start it, and not all of its ranks run yet. */
#define ENGINE_TASK_ANY_STARTING ENGINE_TASK_SET(ENGINE_TASK_STARTING)
/* It occupies nodes of the present attempt. */
#define ENGINE_TASK_ON_NODES                                                                       \
	(ENGINE_TASK_ANY_STARTING | ENGINE_TASK_SET(ENGINE_TASK_RUNNING) |                         \
	 ENGINE_TASK_SET(ENGINE_TASK_RESUMING) | ENGINE_TASK_SET(ENGINE_TASK_MIGRATING))
/* It is on nodes, and what the backend was asked to do has to end before it can be suspended. */
#define ENGINE_TASK_IN_STEP (ENGINE_TASK_ON_NODES & ~ENGINE_TASK_SET(ENGINE_TASK_RUNNING))
/* The backend was asked to suspend it. */
#define ENGINE_TASK_ANY_SUSPENDING                                                                 \
	(ENGINE_TASK_SET(ENGINE_TASK_SUSPENDING) | ENGINE_TASK_SET(ENGINE_TASK_SUSPENDING_CLAIMED))
/* It is off its nodes and keeps its progress. */
#define ENGINE_TASK_ANY_SUSPENDED                                                                  \
	(ENGINE_TASK_SET(ENGINE_TASK_SUSPENDED) | ENGINE_TASK_SET(ENGINE_TASK_SUSPENDED_CLAIMED))
/* It has a claim. */
#define ENGINE_TASK_WITH_CLAIM                                                                     \
	(ENGINE_TASK_SET(ENGINE_TASK_CLAIMED) | ENGINE_TASK_SET(ENGINE_TASK_SUSPENDING_CLAIMED) |  \
	 ENGINE_TASK_SET(ENGINE_TASK_SUSPENDED_CLAIMED))
/* It is on nodes, or has been and keeps its progress. */
#define ENGINE_TASK_UNDER_WAY                                                                      \
	(ENGINE_TASK_ON_NODES | ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED)
/* The backend may know it: it is in a queue or under way. */
#define ENGINE_TASK_ATTEMPTED (ENGINE_TASK_UNDER_WAY | ENGINE_TASK_SET(ENGINE_TASK_QUEUED))
/* It has arrived, and no attempt of it is on nodes or suspended from them. */
#define ENGINE_TASK_PENDING                                                                        \
	(ENGINE_TASK_SET(ENGINE_TASK_WAITING) | ENGINE_TASK_SET(ENGINE_TASK_PLANNED) |             \
	 ENGINE_TASK_SET(ENGINE_TASK_CLAIMED) | ENGINE_TASK_SET(ENGINE_TASK_QUEUED))
/* It has ended by itself or at a request, not with its run. */
#define ENGINE_TASK_SETTLED                                                                        \
	(ENGINE_TASK_SET(ENGINE_TASK_COMPLETED) | ENGINE_TASK_SET(ENGINE_TASK_FAILED) |            \
	 ENGINE_TASK_SET(ENGINE_TASK_DROPPED) | ENGINE_TASK_SET(ENGINE_TASK_KILLED))
/* It has ended for good. */
#define ENGINE_TASK_OVER (ENGINE_TASK_SETTLED | ENGINE_TASK_SET(ENGINE_TASK_UNFINISHED))

/* Whether a state is in a set. */
static inline bool engine_task_state_in(enum engine_task_state state, uint32_t set)
{
	return (set & ENGINE_TASK_SET(state)) != 0;
}

/* The table, for its page and for tests. */
extern const struct fsm engine_task_fsm;

/* The transition of an event that happens. O(1). */
const struct fsm_transition *engine_task_transition(enum engine_task_state state,
						    enum engine_task_event event);

/* Whether the event would move a task on from the state. */
static inline bool engine_task_moves(enum engine_task_state state, enum engine_task_event event)
{
	return fsm_transition(&engine_task_fsm, state, event)->rule == FSM_MOVES;
}

/*
 * Moves a state on by an event. Returns whether it is a move; otherwise the state stays. Besides
 * engine_task_restore() and engine_task_correct_late() the only writer of a task's state.
 */
bool engine_task_move(enum engine_task_state *state, enum engine_task_event event);

/*
 * The state without the claim, if there is one: PLANNED, SUSPENDING or SUSPENDED; otherwise the
 * state itself.
 */
enum engine_task_state engine_task_without_claim(enum engine_task_state state);

/*
 * Gives a task of an interrupted run the state of its record, in which it may be given it again.
 * False: it has another state already than COMING.
 */
bool engine_task_restore(enum engine_task_state *state, enum engine_task_state recorded);

/*
 * Corrects the record of a task that ended after its run had, as was found later: the task is
 * unfinished. False, and no change: it is in no state of SETTLED.
 */
bool engine_task_correct_late(enum engine_task_state *state);

/* "coming", "waiting", ... as in the store; NULL: unknown. */
const char *engine_task_state_name(enum engine_task_state state);
/* The state of that name, or -1. */
int engine_task_state_parse(const char *name);
/* "arrive", "plan", ...: for logs. */
const char *engine_task_event_name(enum engine_task_event event);
