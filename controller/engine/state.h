/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/engine/apart.h"
#include "controller/engine/engine.h"
#include "controller/engine/running_list.h"
#include "controller/engine/task_list.h"
#include "controller/sched/queueing.h"

/*
 * The inside of the engine, shared by its files:
 *
 *   engine.c           the loop
 *   lifecycle.c        how a task arrives, gets a place and begins
 *   news.c             what the backend says of tasks and nodes
 *   suspension.c       tasks that leave their nodes and go on
 *   migration.c        tasks that run on at others
 *   hosts.c            nodes that tasks share
 *   queues.c           machines with queues
 *   mapping_event.c    when the policy is asked, and its answer
 *   take_snapshot.c    what it is given to decide on
 *   promises.c         nodes that it promised to tasks
 *   legal.c            whether what its plan asks for can be
 *   carry_out.c        doing it
 *   vain.c             what of it is in vain, where it comes late
 *   window.c, window_turn.c, window_measure.c  a limit of energy per window
 *   request.c          what people ask for of tasks under way
 *   people.c           ..., of those that come, and of nodes
 *   restore.c          runs that go on
 *   leave_rest.c       the end of a run
 */

/* No task: what a free node holds. */
#define ENGINE_NO_TASK UINT32_MAX

/*
 * What is known of a task that was ever suspended.
 *
 * A task that is being suspended leaves `record.nodes`: they are its own in engine.leavers, while
 * engine.occupants already has who is to come. Who comes to nodes that are being left has a claim:
 * a task that is to start is PLANNED then, one that is to go on stays SUSPENDED (or SUSPENDING), and
 * both are among the running with engine.blocked above 0. The claim is carried out when that has
 * fallen to 0, and taken back when one of its nodes goes down or is not left after all.
 */
struct suspension {
	struct engine_suspension record; /* the last one; its arrays are those below */
	uint32_t *nodes;    /* as many as the task has: those that it leaves, or left */
	uint32_t *to_nodes; /* where it is to go on, or went on */
	bool claimed;       /* it is to go on at to_nodes */
	bool wanted;        /* by a person: it goes on before the policy is asked */
	uint32_t stays;     /* steps in a row that were rolled back */
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
struct engine_host {
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

/* The lists keep their order: it decides what a policy sees and how ties fall. */
struct engine {
	struct engine_setup setup;
	struct backend *backend;
	struct scratch *scratch;
	struct apart *apart;           /* where the policy decides; NULL: here */
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
	struct engine_host *hosts;     /* of a shared system; NULL: each node has one task */
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
	uint32_t **occupants;          /* per cluster and node: the task on it, or to come */
	uint32_t *occupants_pool;
	uint32_t **leavers;            /* per cluster and node: the task that is leaving it */
	uint32_t *leavers_pool;
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
	bool nodes_came;               /* nodes that can take tasks again; nobody looked for reservations since */
	uint64_t changes;              /* how often a task or a node changed, at least */
	uint64_t asked_changes;        /* ... when the policy was last asked apart */
	GBytes *recorded;              /* record_news: what the last decision on record says (decision_record.c) */
	GArray *earnings;              /* struct engine_earning, by time */
	bool earnings_due;             /* to be gathered anew from the tasks */
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
	uint32_t refused_count;        /* how many tasks there is room for */
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

/* Tells the recorder what a person asked for of a task (engine_set_asker()). */
void engine_record_wish(struct engine *engine, const char *kind, uint32_t task);

/* Tells the recorder as an event what the record of the task says as well (engine_setup.record_steps). */
void engine_record_step(struct engine *engine, double time_s, const char *kind, uint32_t task,
			const char *reason);

/* The same of the end of a task, whose state, time and reason are those that it has; of one that has not ended nothing. */
void engine_record_end(struct engine *engine, uint32_t task);

/* Tells the recorder what pruning remembers from now on. */
void engine_record_pruner(struct engine *engine, double time_s);

/* Tells the recorder about an event of a node; reason may be NULL. */
void engine_record_node(struct engine *engine, double time_s, const char *kind,
			const struct sched_node *node, const char *reason);

/* mapping_event.c */

/* Carries out what the policy has decided apart, if it has and is still the one that decides. */
void engine_take_answer(struct engine *engine);

/* decision_record.c */

/*
 * Tells the recorder about a decision, if it is to know (engine_setup.record_news).
 */
void engine_record_decision(struct engine *engine, const struct policy *policy,
			    const struct sched_snapshot *snapshot, const struct sched_plan *plan);

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

/* earnings.c: a task that has not its state yet completes at time_s. */
void engine_note_earning(struct engine *engine, double time_s, double utility);

/* news.c */

/* A task has lost its progress through no fault of its own; it waits again, or has failed. */
enum engine_task_state engine_after_loss(struct engine *engine, uint32_t task, double time_s,
					 const char *reason);

/* Adds a completed task to what completed tasks used. */
void engine_count_completed(struct engine *engine, const struct engine_task *task);

/*
 * The share that counts of the execution of a task whose last stretch, since start_s, ends at end_s
 * (paper 000, section II: suspended stretches are no execution).
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

/* leave_rest.c */

/* Kills what runs; what has not ended by the end of the run is unfinished. */
void engine_leave_rest(struct engine *engine);

/* suspension.c */

/*
 * How often in a row a step may be rolled back before it is not tried again: by policies, and where a
 * task would be migrated while it runs it is suspended and resumed then.
 */
#define ENGINE_STAYS_MAX 3

/* What is known of a task's suspensions, with room for its nodes; made if there is none. */
struct suspension *engine_suspension_of(struct engine *engine, uint32_t task);

/*
 * Readies a running task for its suspension: its nodes are free to be claimed. The backend is asked
 * by engine_launch_suspend(), after the record is flushed.
 */
void engine_begin_suspend(struct engine *engine, uint32_t task, bool by_person);
void engine_launch_suspend(struct engine *engine, uint32_t task);

/*
 * Readies a suspended task to go on at nodes of its cluster that are up and not occupied. Nodes that
 * are being left make it a claim instead. The backend is asked by engine_launch_resume().
 */
void engine_begin_resume(struct engine *engine, uint32_t task, const uint32_t *nodes);
void engine_launch_resume(struct engine *engine, uint32_t task);

/* How many of the nodes that were just made the task's are being left. */
uint32_t engine_leaving_nodes(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/* Takes back the claims to a node. */
void engine_unclaim_node(struct engine *engine, uint32_t cluster, uint32_t node);

/* Takes back a claim: the task is mappable again. */
void engine_unclaim(struct engine *engine, uint32_t task);

/* SUSPENDED, RESUMED and STAYED of the present suspension of the present attempt. */
void engine_handle_suspension(struct engine *engine, const struct backend_event *event);

/*
 * A task in one of the states of a suspension is over, or its attempt is: it is no longer there.
 * To be called after its state has changed from `state`.
 */
void engine_end_suspension(struct engine *engine, uint32_t task, enum engine_task_state state);

/* A suspended task without a claim is mappable, or held. */
void engine_lie_down(struct engine *engine, uint32_t task);

/* ... and no longer. */
void engine_get_up(struct engine *engine, uint32_t task);

/* Whether it is for a person to say when the task goes on. */
void engine_set_held(struct engine *engine, uint32_t task, bool held);

/* Whether a person wants it to go on. */
void engine_set_wanted(struct engine *engine, uint32_t task, bool wanted);

/* Asks the backend to end tasks that are suspended or about to be. */
void engine_kill_suspended(struct engine *engine);

/*
 * VMs have left these nodes, or will not after all: who waited for that comes. Of shared hosts the list
 * says nothing.
 */
void engine_follow(struct engine *engine, uint32_t cluster, const uint32_t *nodes, uint32_t count);

/* migration.c */

/*
 * Readies a running task to go to other nodes, of which those that are not its own are free, while it
 * runs. The backend is asked by engine_launch_migrate(), after the record is flushed.
 */
void engine_begin_migrate(struct engine *engine, uint32_t task, const uint32_t *nodes,
			  bool by_person);
void engine_launch_migrate(struct engine *engine, uint32_t task);

/* Whether migrations of the task have failed so often that it is to be moved in another way. */
bool engine_migrates_badly(const struct engine *engine, uint32_t task);

/* Tells the recorder about the present migration of a task, or its last one. */
void engine_record_migration(struct engine *engine, uint32_t task);

/* MIGRATED and UNMOVED of the present attempt. */
void engine_handle_migration(struct engine *engine, const struct backend_event *event);

/* Its VMs are on their way, as `record` says, whose arrays are copied. */
void engine_take_up_migration(struct engine *engine, const struct engine_migration *record);

/* A task that was being migrated is over: it leaves nothing any more. */
void engine_end_migration(struct engine *engine, uint32_t task);

void engine_migrations_free(struct engine *engine);

/* hosts.c: only yields, virtual times and init have a meaning where nodes have one task. */

/* Where the system is shared: no host has promised anything. */
void engine_hosts_init(struct engine *engine);
void engine_hosts_finish(struct engine *engine);

/* The memory of a task's VMs is promised on these hosts, or free again. */
void engine_promise_memory(struct engine *engine, uint32_t task, const uint32_t *nodes);
void engine_free_memory(struct engine *engine, uint32_t task, const uint32_t *nodes);

/* The task of the record begins to leave its hosts, or is off them. */
void engine_leave_memory(struct engine *engine, const struct engine_suspension *record,
			 bool leaves);

/* VMs of the task, one per entry of the list, begin to leave these hosts, or are off them. */
void engine_leave_hosts(struct engine *engine, uint32_t task, const uint32_t *nodes,
			uint32_t count, bool leaves);

/* Whether a running task's VMs can go to these hosts beside all that is there, or promised there. */
bool engine_hosts_have_room(const struct engine *engine, uint32_t task, const uint32_t *nodes);
/* The first of them that has no room; UINT32_MAX: all have. */
uint32_t engine_find_full_host(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/* How many of the task's VMs are to come to hosts that are too full while others leave them. */
uint32_t engine_overfull_hosts(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/* Something left: finds the claims that have come due. Returns their number; room for all. */
uint32_t engine_unblock_hosts(struct engine *engine, uint32_t *ret_tasks);

/* Takes back the claims to a host. */
void engine_unclaim_host(struct engine *engine, uint32_t node);

/* The virtual time of a task at `time_s`. */
double engine_virtual_s(const struct engine_task *task, double time_s);

/* The virtual time of a task goes on from now, or stands still from `time_s` on. */
void engine_begin_sharing(struct engine *engine, uint32_t task);
void engine_stop_sharing(struct engine *engine, uint32_t task, double time_s);

/* The yield of a task from now on; the backend is told by the caller. */
void engine_set_yield(struct engine *engine, uint32_t task, double yield);

/* A waiting task is put off once more. */
void engine_put_off(struct engine *engine, uint32_t task, double until_s);

/* The waiting tasks that were put off, into engine->deferred. Returns their number. */
uint32_t engine_list_deferred(struct engine *engine);

/* The earliest time after `after_s` at which a deferred task is to be considered; INFINITY: none. */
double engine_next_deferred_s(const struct engine *engine, double after_s);

/* Whether hosts can keep what they have promised: NULL, or what is too much. */
const char *engine_check_shares(const struct engine *engine);

/* queues.c: all but init, finish and list are for systems with queues, where they say so. */

void engine_queues_init(struct engine *engine);
void engine_queues_finish(struct engine *engine);

/* Whether a queue can take a task: NULL, or why not. */
const char *engine_check_enqueue(const struct engine *engine, const struct sched_action *action);

/* Puts a waiting task at the end of a machine's queue. */
void engine_enqueue(struct engine *engine, uint32_t task, uint32_t cluster);

/* Tells the backend of a task that was queued, where machines keep their queues themselves. */
void engine_launch_queued(struct engine *engine, uint32_t task);

/* Takes a task off its queue, if it is in one. */
void engine_dequeue(struct engine *engine, uint32_t task);

/* A task that executes is taken off its machine: its nodes are free once the backend says so. */
void engine_evict(struct engine *engine, uint32_t task);

/* Whether the event is the end of a task that was taken off its machine: its nodes are free now. */
bool engine_evicted(struct engine *engine, const struct backend_event *event);

/* BEGAN, or STARTED where the news of that was lost. */
void engine_handle_began(struct engine *engine, const struct backend_event *event);

/* Puts a task that was restored into the queue of its machine: one that executes at its head. */
void engine_requeue(struct engine *engine, uint32_t task);

/* Whether a task of a system with queues completed by its deadline, give or take a hair. */
bool engine_on_time(const struct engine *engine, uint32_t task);

/* A task completed, or was dropped: its type suffers more or less (paper 004, V.D.2). */
void engine_note_deadline(struct engine *engine, uint32_t task, bool completed);

/* Starts the first task of every queue whose machine is idle; without queues it does nothing. */
void engine_start_queues(struct engine *engine);

/* What the snapshot says of queues; without queues nothing. */
void engine_list_queues(struct engine *engine, struct sched_snapshot *snapshot);

/*
 * The first deadline after `after_s` of a task that executes, where the policy takes such tasks off, or
 * of one that waits while all machines are idle, or is queued on an idle machine that keeps its queue
 * itself; else INFINITY.
 */
double engine_next_deadline_s(const struct engine *engine, double after_s);

/* request.c */

/* A person holds a task that is suspended, or is about to be. */
void engine_hold_suspended(struct engine *engine, uint32_t task);

/* What a person wants to go on does so where nodes are idle. */
void engine_resume_wanted(struct engine *engine);

/* take_snapshot.c */

/* The system as it is at `now_s`, for a periodic event or one `between` them. Borrows from the engine until it changes. */
struct sched_snapshot engine_take_snapshot(struct engine *engine, double now_s, bool between);

/*
 * Puts the mappable suspended tasks in order, and what a snapshot says of them with it: nobody else
 * settles that list, or the snapshot would have others.
 */
void engine_list_suspended(struct engine *engine);

/* promises.c */

/* Adds a promise to a list ordered by start, then id. */
void engine_promise(struct sched_planned *list, uint32_t *count,
		    const struct sched_planned *planned);

/* Takes the promise of `task` off a list. Returns whether there was one. */
bool engine_unpromise(struct sched_planned *list, uint32_t *count, uint32_t task);

/* The earliest promised start after the last engine_start_due(); INFINITY: none. */
double engine_next_promise_s(const struct engine *engine);

/*
 * Starts what was promised nodes for `time_s` or before and finds them free; what does not is late.
 * Place-holders start before the next mapping event only.
 */
void engine_start_due(struct engine *engine, double time_s);

/* Nodes became free: tries again what is late. */
void engine_retry_late(struct engine *engine, double now_s);

/* Tasks that outlived their estimate are taken to be busy until the next event, at `next_s`. */
void engine_extend_late(struct engine *engine, double now_s, double next_s);

/* Moves reservations behind what is late, each behind those that were before it. */
void engine_slide_reservations(struct engine *engine, double now_s);

/*
 * Nodes came since reservations were made: takes these back, so that the policy, which is asked next, makes them
 * anew. A task would wait for its nodes otherwise while others, that nobody could count on, are idle.
 */
void engine_take_back_reservations(struct engine *engine, double now_s);

/* mapping_event.c */

/* The periodic mapping event `engine->event_next` at `now_s`. */
void engine_map(struct engine *engine, double now_s);

/* The mapping event at `now_s` for what has changed since the last one. */
void engine_map_change(struct engine *engine, double now_s);

/*
 * The earliest time, from `now_s` on, of a mapping event for a change, as far as it is known;
 * INFINITY: none.
 */
double engine_next_change_s(const struct engine *engine, double now_s);

/* The day begins: all that was counted so far belongs to the lead. */
void engine_begin_day(struct engine *engine);

/* window.c */

/* Whether there is a limit per window. */
bool engine_window_is_set(const struct engine *engine);

/* A task leaves its nodes, before it is off the list of those that run. */
void engine_window_note_end(struct engine *engine, uint32_t task, double time_s);

/* In the window under way: what was spent, and what is left for what does not run yet, which can be below 0. */
double engine_window_spent_j(const struct engine *engine);
double engine_window_left_j(const struct engine *engine);

/* Records an event; `object` is taken over. */
void engine_window_record(struct engine *engine, double time_s, const char *kind, json_t *object);

/* No task is refused any more: another window, or another limit. */
void engine_window_forget(struct engine *engine);

/*
 * Whether it is refused that a task starts, or goes on, at the place that it has, since less is left than it needs;
 * it is recorded with the numbers. False where there is no such limit.
 */
bool engine_window_refuses(struct engine *engine, uint32_t task);

/* The same at `option`, of one that comes after others: what it needs is taken off *left_j. There is a limit. */
bool engine_window_refuses_of(struct engine *engine, uint32_t task, const struct sched_option *option,
			      double *left_j);

/*
 * Those of engine.waiting_tasks that could be started somewhere with what is left, and of engine.suspended_tasks
 * that could go on; the others are refused. Return their numbers.
 */
uint32_t engine_window_affordable(struct engine *engine, const struct sched_task **ret_tasks);
uint32_t engine_window_resumable(struct engine *engine, struct sched_suspended *ret_suspended);

/* Why it waits, in `text`, if that is it; else NULL. */
const char *engine_window_because(const struct engine *engine, uint32_t task, char *text, size_t size);

/* window_turn.c */

/* When the next window begins; INFINITY: there are none. And that it has begun. */
double engine_window_next_s(const struct engine *engine);
void engine_window_turn(struct engine *engine, double time_s);

/* The backend says that the limit was reached at time_s: engine_window_enforce() is to be called. */
void engine_window_reach(struct engine *engine, double time_s);

/* While it is: suspends what runs, tasks that were just starting included. */
void engine_window_enforce(struct engine *engine);

/* Whether the task is suspended for it. */
bool engine_window_sleeps(const struct engine *engine, uint32_t task);

/* window_measure.c */

/* What meters have told of; until now at the latest. */
struct backend_told engine_window_told(const struct engine *engine);

/*
 * When the limit was reached in a span up to to_s, as it is known by now; to_s if it was not, or that is not known.
 * It is looked for no further back than samples are kept.
 */
double engine_window_reached_s(const struct engine *engine, const struct window_span *span,
			       double to_s);

/* Since the engine began, by what is known now: the window under way, and suspensions that are, included. */
struct window_measure engine_window_measured(const struct engine *engine);

/* A task ran until then, and maybe on; it is still listed with what runs, or being suspended. */
void engine_window_note_ran(struct engine *engine, uint32_t task, double until_s);

/*
 * A window begins, or (not `turned`) a limit is set when spent_j of the one under way were used; and the one under
 * way ends, to be followed by another one at once. Or there is another limit: those of the one before are looked at
 * no more.
 */
void engine_window_begin_span(struct engine *engine, double from_s, double spent_j, bool turned);
void engine_window_end_span(struct engine *engine, double time_s);
void engine_window_forget_spans(struct engine *engine);

/* Meters may have told more of the windows that began or ended. */
void engine_window_look_back(struct engine *engine);

/* carry_out.c */

/*
 * Does what a plan asks for. A plan that cannot be carried out is the policy's fault and ends the
 * run with a reason: nodes that are not free, tasks that are not mappable or not preemptible, a task
 * that would go on in another cluster. Of a plan that was made apart, what may have become impossible
 * since then is left out.
 */
void engine_carry_out(struct engine *engine, const struct sched_plan *plan);

/* legal.c */

/* Whether an action is legal, things being as they are; otherwise why not. */
const char *engine_check(const struct engine *engine, const struct sched_action *action);

/* Whether a task waits for a policy to map it; or is suspended, and mappable: not by a person, without a claim. */
const char *engine_check_mappable(const struct engine *engine, uint32_t task);
const char *engine_check_suspended(const struct engine *engine, uint32_t task);

/*
 * Whether a START, RESUME or SUSPEND is legal but for who is on its nodes now, and of a RESUME that the
 * task runs still; otherwise why not.
 */
const char *engine_check_coming(const struct engine *engine, const struct sched_action *action);

/* vain.c */

/*
 * Of a plan that is older than what it is about: which STARTs and RESUMEs cannot be, and which SUSPENDs
 * were for these alone and would stop a task for nobody. `refused`: per action, what is left out
 * anyhow; NULL: nothing. Per action, to be freed with g_free().
 */
bool *engine_find_vain(const struct engine *engine, const struct sched_plan *plan,
		       const bool *refused);

/* restore.c */

/* A run that goes on: asks once more for the steps that were under way. */
void engine_ask_again(struct engine *engine);

/* When mapping event `event` is. */
static inline double engine_event_s(const struct engine *engine, uint64_t event)
{
	return (double)event * engine->setup.mapping_interval_s;
}
