/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/engine/async_decider.h"
#include "controller/engine/engine.h"
#include "controller/engine/running_list.h"
#include "controller/engine/task_list.h"
#include "controller/sched/queueing.h"

/*
 * The inside of the engine, shared by its files:
 *
 *   engine.c           the loop
 *   lifecycle.c        how a task arrives, gets a place and begins
 *   backend_events.c             what the backend says of tasks and nodes
 *   control.c           what people ask for of tasks that come, and of nodes
 *   restore.c          runs that go on
 *   run_finish.c       the end of a run
 *
 * and with headers of their own, which have this one:
 *
 *   suspension.h       tasks that leave their nodes and go on (suspension.c), tasks that run on at others
 *                      (migration.c), and what people ask for of both (control_running.c)
 *   shared_nodes.h            nodes that tasks share
 *   queues.h           machines with queues
 *   mapping.h          when the policy is asked, and its answer (mapping_event.c), what it is given to decide on
 *                      (take_snapshot.c), nodes that it promised to tasks (reservations.c), whether what its plan asks for
 *                      can be (plan_validate.c), doing it (plan_apply.c), and what of it is in vain, where it comes late (plan_prune.c)
 *   window.h           a limit of energy per window (window.c, window_turn.c, window_measure.c)
 */

/* No task: what a free node holds. */
#define ENGINE_NO_TASK UINT32_MAX

/*
 * What is known of a task that was ever suspended.
 *
 * A task that is being suspended leaves `record.nodes`: they are its own in engine.departing, while
 * engine.allocated already has who is to come. Who comes to nodes that are being left has a claim:
 * a task that is to start is PLANNED then, one that is to go on stays SUSPENDED (or SUSPENDING), and
 * both are among the running with engine.blocked above 0. The claim is carried out when that has
 * fallen to 0, and taken back when one of its nodes goes down or is not left after all.
 */
struct suspension {
	struct engine_suspension record; /* the last one; its arrays are those below */
	uint32_t *nodes;    /* as many as the task has: those that it leaves, or left */
	uint32_t *to_nodes; /* where it is to go on, or went on */
	bool claimed;       /* it is to go on at to_nodes */
	bool wanted;        /* by a person or a window, until it has gone on: it does before the policy is asked */
	uint32_t retries;     /* steps in a row that were rolled back */
	double lead_s;      /* the part of executed_s that lies before the day */
};

/* What is known of a task that was ever migrated while it ran (migration.c). */
struct migration {
	struct engine_migration record; /* the last one; its arrays are those below */
	uint32_t room;      /* of these arrays */
	uint32_t *from, *to;
	uint32_t *left;     /* left_count nodes that VMs leave; of shared hosts one per VM */
	uint32_t left_count;
	uint32_t failures;  /* of the attempt: in a row, the last ones */
};

/*
 * A host of a shared system. What is promised is the memory of those that are on it, or have a claim
 * to it, and do not leave.
 */
struct engine_shared_node {
	double promised; /* share of its memory */
	double leaving;  /* of the VMs that are leaving it */
	uint32_t promised_vms;
	uint32_t leaving_vms;
};

/* A window, or the part of it since its limit was set (window_measure.c). */
struct window_span {
	double from_s, to_s; /* INFINITY: it is under way */
	double begun_j;      /* energy at from_s as it is known so far; NAN: for good */
	double base_j;       /* energy when it began, less what was spent of it by then */
	double allowed_j;    /* of it: the limit, or what was spent already when that was set */
	double exhausted_s;  /* when that was reached; NAN: it was not */
	double ran_s;        /* until when a task is known to have run in it */
	bool judged;         /* it ended, and what it used is looked at no more */
};

/* How well a limit is kept. */
struct window_measure {
	double reaction_s, overshoot_j;
	uint32_t unknown; /* windows that ended while a meter was silent that has not told of it since */
};

/* What a task that left its nodes used, watts from from_s to to_s, that meters have not told of yet (window.c). */
struct window_tail {
	double from_s, to_s;
	double w;
};

/* The queue of a machine (queues.c). */
struct engine_queue {
	uint32_t count;
	const struct sched_task **tasks; /* room for as many as the queue takes */
	bool executes;                   /* the first one was started, at start_s */
	double start_s;
};

/* Room for the longest answer of engine_waits_because(). */
#define ENGINE_BECAUSE_SIZE 240

/* Why a node takes no tasks, if it does not. */
struct engine_closure {
	bool failed;  /* the backend says that it is down */
	bool drained; /* a person wants nothing new on it */
	char *reason; /* of the latter, or NULL */
};

/* How many nodes of a cluster take tasks, and how many of these are idle. */
struct engine_tally {
	uint32_t up;
	uint32_t idle;
};

/* A decision as it is to go on record (decision_record.c). */
struct engine_entry {
	GBytes *waiting; /* what it says where all that wait go on waiting; NULL: it does more */
	bool known;      /* the last one on record says the same */
	struct engine_description description; /* no texts: recorder->decision() makes them */
};

/* A plan that is being carried out (mapping_event.c). */
struct engine_applying {
	struct async_answer answer;
	uint32_t next;   /* of its actions; those before were carried out */
	uint32_t most;   /* at once */
	bool goes_on;    /* others have a turn, and then more of it is carried out */
};

/* The lists keep their order: it decides what a policy sees and how ties fall. */
struct engine {
	struct engine_setup setup;
	struct backend *backend;
	struct arena *arena;
	struct async_decider *decider;           /* where the policy decides; NULL: here */
	struct engine_task *tasks;     /* by index */
	struct sched_task *known;      /* per task: as policies see it; engine_set_preemptible() */
	uint32_t **places;             /* per task: room for its nodes */
	uint32_t *places_pool;         /* of the pooled_count first ones; the others are their own */
	uint32_t pooled_count;
	struct suspension **suspensions; /* per task; NULL: never suspended */
	struct migration **migrations;   /* per task; NULL: never migrated */
	uint32_t *blocked;             /* per task: what its claim waits for; 0: it has none */
	uint32_t parked_count;         /* waiting, and held by a person */
	bool *dirty;                   /* per task: changed since it was recorded */
	GArray *changed;               /* of indices: the dirty ones, and some that were */

	uint32_t arrivals_next;        /* tasks before it have arrived */
	struct task_list waiting;      /* mappable, place-holders included */
	const struct sched_task **waiting_tasks;
	struct running_list running;   /* starting and running, and claims */
	struct task_list leaving;      /* being suspended */
	struct task_list suspended;    /* mappable */
	struct sched_suspended *suspended_tasks;
	struct task_list held;         /* suspended by a person */
	uint32_t wanted_count;
	uint32_t reservations_count;   /* by start, then id */
	struct sched_planned *reservations;
	uint32_t placeholders_count;   /* by start, then id */
	struct sched_planned *placeholders;
	struct engine_shared_node *shared_nodes;     /* of a shared system; NULL: each node has one task */
	struct sched_deferred *put_off; /* shared, per task: count 0: it was not */
	struct sched_deferred *deferred; /* shared: the waiting ones of these, for the snapshot */
	struct engine_queue *queues;   /* per cluster, of a system with queues; NULL: there are none */
	struct sched_queue *queue_views; /* of these, for the snapshot */
	uint32_t queued_count;         /* tasks in queues, executing ones included */
	uint32_t queued_n;             /* how many tasks were queued so far */
	struct sched_pruner pruner;    /* after the last mapping event */
	uint32_t missed;               /* tasks that completed late since then */
	double *sufferage;             /* per row */
	struct queueing_memory *queueing_memory;
	uint32_t **allocated;          /* per cluster and node: the task on it, or to come */
	uint32_t *allocated_pool;
	uint32_t **departing;            /* per cluster and node: the task that is leaving it */
	uint32_t *departing_pool;
	bool **down;                   /* per cluster and node: takes no tasks, by its closure */
	bool *down_pool;
	struct engine_closure **closures; /* per cluster and node */
	struct engine_closure *closures_pool;
	uint32_t nodes_count;          /* of all clusters */
	struct engine_tally *tallies;  /* per cluster; right if `tallied` */
	bool tallied;
	char *because;                 /* room for what engine_waits_because() says */
	uint32_t down_count;
	struct sched_node *down_nodes; /* room for all nodes, twice */
	double due_s;                  /* promises up to this time were tried */
	bool disturbed;                /* something is late: reservations may have to slide */

	uint64_t event_next;           /* number of the next periodic mapping event */
	/* Since the last mapping event: tasks ended or were submitted or released, or nodes changed. */
	bool changed_places;
	/*
	 * Reservations are to be made anew: nodes that nobody could count on (down, or with a late task) can take
	 * tasks.
	 */
	bool replan_due;
	uint64_t changes;              /* how often a task or a node changed, at least */
	uint64_t asked_changes;        /* ... when the policy was last asked apart, or then by its plan alone */
	struct engine_applying applying;
	struct engine_entry entry;     /* of the decision apart; its thread's until it is there */
	GBytes *recorded;              /* record_changes: what the last decision on record says (decision_record.c) */
	GArray *utility_log;              /* struct engine_utility_change, by time */
	bool utility_log_due;             /* to be gathered anew from the tasks */
	/* A limit per window (window.c, window_turn.c, window_measure.c). */
	struct engine_window window;   /* limit_j 0: there is none, and the rest of this does not count */
	double window_begin_s, window_end_s;
	GArray *window_tails;          /* struct window_tail: what meters have not told of yet */
	bool window_exhausted;
	uint32_t window_refusals;
	struct window_span window_now;
	GArray *window_past;           /* struct window_span: those that not all is known of yet, by time */
	struct window_measure window_most; /* of all others since the engine began */
	double *refused_j;             /* per task: its estimate when it was refused last; NAN: it was not */
	const struct sched_task **affordable_tasks;
	struct sched_suspended *resumable_tasks;
	double asked_s;                /* when the policy was last asked for a change; -INFINITY: never */
	double considered_s;           /* deferred tasks up to this time were considered */
	uint32_t marks_next;
	struct engine_result *marks;
	struct engine_result result;   /* counters so far */
	double completed_j;            /* what completed tasks used */
	double completed_resources;    /* core-seconds */
	bool day_begun;                /* the lead is over */
	double day_j;                  /* energy consumed before the day */
	bool ended;
	char *reason;
	GStringChunk *ends; /* why tasks ended as they did: of thousands mostly for the same reason */
	char *asker; /* engine_set_asker() */
};

/* Ends the run as aborted; the first reason given is kept. */
void engine_abort(struct engine *engine, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Makes ready what is kept of the task that has just become the last one of an open workload. */
void engine_init_task(struct engine *engine, uint32_t task);

/* Tells the recorder about a task at once. */
void engine_record_task(struct engine *engine, uint32_t task);

/* The recorder is to be told about a task, by engine_record_changed(). */
void engine_touch(struct engine *engine, uint32_t task);

/* Tells the recorder about the tasks that were touched. */
void engine_record_changed(struct engine *engine);

/* Tells the recorder about the present suspension of a task, or its last one. */
void engine_record_suspension(struct engine *engine, uint32_t task);

/* Tells the recorder about an event of a task; reason may be NULL. */
void engine_record_event(struct engine *engine, double time_s, const char *kind, uint32_t task,
			 const char *reason);

/* Tells the recorder that the attempt of a task was lost at `time_s`; reason may be NULL. */
void engine_record_lost(struct engine *engine, uint32_t task, double time_s, const char *reason);

/* Tells the recorder what a person asked for of a task (engine_set_asker()). */
void engine_record_wish(struct engine *engine, const char *kind, uint32_t task);

/* Tells the recorder as an event what the record of the task says as well (engine_setup.record_steps). */
void engine_record_step(struct engine *engine, double time_s, const char *kind, uint32_t task,
			const char *reason);

/*
 * The same of the end of a task, whose state, time and reason are those that it has; of one that has not ended nothing.
 */
void engine_record_end(struct engine *engine, uint32_t task);

/* Whose change was told of: its reason is forgotten but for one that has ended, of which people ask why later. */
void engine_settle_reason(struct engine *engine, struct engine_task *task);

/* Tells the recorder what pruning remembers from now on. */
void engine_record_pruner(struct engine *engine, double time_s);

/* Tells the recorder about an event of a node; reason may be NULL, and `user`, who wanted it. */
void engine_record_node(struct engine *engine, double time_s, const char *kind,
			const struct sched_node *node, const char *reason, const char *user);

/* lifecycle.c */

/* Takes in the tasks that arrive until `time_s`, inclusive. */
void engine_arrive(struct engine *engine, double time_s);

/* Puts a task into the list of mappable tasks at its place. */
void engine_wait_for(struct engine *engine, uint32_t task);

/* Takes a task out of the list of mappable tasks, if it is there. */
void engine_unwait(struct engine *engine, uint32_t task);

/* Gives a task a place: cluster, P-state, nodes and what follows from them. */
void engine_set_place(struct engine *engine, uint32_t task, uint32_t cluster, uint32_t pstate,
		      const uint32_t *nodes, uint32_t nodes_count);

/*
 * Readies a task for its start at its place: state, times, occupied nodes. It leaves the mappable
 * tasks. The backend is asked by engine_launch(), after the record is flushed. Nodes that are being
 * left make it a claim instead: it starts when they are free.
 */
void engine_begin(struct engine *engine, uint32_t task);

/* A queued task was begun at `time_s` by its machine, which keeps its queue itself. */
void engine_begin_queued(struct engine *engine, uint32_t task, double time_s);

/* A claim of nodes to start on has come due: readies the start. */
void engine_begin_claimed(struct engine *engine, uint32_t task);

/* These nodes become the task's, as many as its place has. */
void engine_occupy(struct engine *engine, uint32_t task, const uint32_t *nodes);

/* ... and are free again. */
void engine_vacate(struct engine *engine, uint32_t task, const uint32_t *nodes);

/*
 * The task is among the running, on `nodes` of its cluster, which outlive that, from start_s on
 * after what it has executed.
 */
struct sched_running engine_running(const struct engine *engine, uint32_t task,
				    const uint32_t *nodes, double start_s);

/* When a task is expected to end whose present stretch began at start_s. */
double engine_expected_end_s(const struct engine_task *task, double start_s);

/*
 * Works out whether policies may suspend a task: not while it starts or goes on, and not when that
 * failed too often.
 */
void engine_set_preemptible(struct engine *engine, uint32_t task);

/* Takes back a promise of nodes: the task is mappable again. */
void engine_cancel(struct engine *engine, uint32_t task);

/* Asks the backend to start a task that engine_begin() readied. */
void engine_launch(struct engine *engine, uint32_t task);

/* Whether all nodes of the task's place are up, free, and not being left. */
bool engine_place_free(const struct engine *engine, uint32_t task);

/* utility_log.c: a task that has not its state yet completes at time_s. */
void engine_note_utility(struct engine *engine, double time_s, double utility);

/* backend_events.c */

/* A task has lost its progress through no fault of its own; it waits again, or has failed. */
enum engine_task_state engine_after_loss(struct engine *engine, uint32_t task, double time_s,
					 const char *reason);

/* Adds a completed task to what completed tasks used. */
void engine_count_completed(struct engine *engine, const struct engine_task *task);

/*
 * The share that counts of the execution of a task whose last stretch, since start_s, ends at end_s
 * (Machovec 2017, section II: suspended stretches are no execution).
 */
double engine_day_share(const struct engine *engine, uint32_t task, double start_s, double end_s);

/*
 * The closure of a node has changed: it takes tasks or not from now on. What was promised it, where it
 * takes none any more, is taken back with this reason.
 */
void engine_set_down(struct engine *engine, const struct sched_node *node, double time_s,
		     const char *reason);

/* Takes note of what the backend says. */
void engine_handle(struct engine *engine, const struct backend_event *event);

/* run_finish.c */

/* Kills what runs; what has not ended by the end of the run is unfinished. */
void engine_finish_run(struct engine *engine);

/* restore.c */

/* A run that goes on: asks once more for the steps that were under way. */
void engine_ask_again(struct engine *engine);

/* When mapping event `event` is. */
static inline double engine_event_s(const struct engine *engine, uint64_t event)
{
	return (double)event * engine->setup.mapping_interval_s;
}
