/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/engine/engine.h"
#include "controller/engine/running_list.h"
#include "controller/engine/task_list.h"

/*
 * The engine's internals, shared by its files:
 *
 *    engine.c           the loop
 *    engine_record.c    calls of the recorder
 *    yield.c            yields and virtual times
 *    lifecycle.c        arrival, placement, start and loss of a task
 *    backend_events.c   what the backend reports about tasks and nodes
 *    control.c          requests of users about waiting tasks and about nodes
 *    restore.c          interrupted runs that are continued
 *    run_finish.c       the end of a run
 *    task_energy.c      what tasks have used
 *
 * Further files have headers of their own, which include this one:
 *
 *    suspensions.h      suspended tasks, and the states of suspensions (suspension_fsm.h,
 *                       resumption_fsm.h)
 *    suspension.h       the steps of suspensions (suspension.c), requests of users about
 *                       suspensions and migrations (control_running.c)
 *    migration.h        migrations of running tasks, and their states (migration_fsm.h)
 *    placement.h        the seam of placements (placement.c): exclusive nodes, shared hosts and
 *                       clusters with queues (placement_{exclusive,shared,queued}.c)
 *    own_nodes.h        nodes of a task's own, which exclusive and queued placement have
 *    counters.h         what is counted about the run
 *    mapping_clock.h    periodic mapping events, and the changes for which others are held
 *    mapping.h          when the policy is asked (mapping_event.c), its snapshot (take_snapshot.c),
 *                       whether its plan is legal (plan_validate.c), carrying the plan out
 *                       (plan_apply.c), stale actions (plan_prune.c)
 *    nodes.h            nodes, and the tasks that have them or wait for them (nodes.c)
 *    waiting.h          tasks that wait
 *    places.h           memory for the nodes of tasks
 *    reservations.h     planned starts
 *    window.h           an energy limit per window (window.c, window_turn.c, window_measure.c), and
 *                       its states (window_fsm.h)
 *
 * Parts of single placements: shared_hosts.h (memory of hosts), cluster_queue.h (a queue).
 */

/* No task has the node, or is leaving it. */
#define ENGINE_NO_TASK UINT32_MAX

/*
 * Claims to nodes.
 *
 * A task that is being suspended leaves the `nodes` of its engine_suspension. Until its VMs are
 * off such a node, it is the node's leaver, while the next task may have the node already
 * (nodes.h). A task that gets nodes which another task, or itself, still has to leave has a claim:
 * its state is in ENGINE_TASK_WITH_CLAIM, it is in engine.running, and engine_claim_waits() counts
 * down the nodes that are still to be left, and 1 more until the task is off its own. At 0 the
 * claim is carried out. It is taken back when one of its nodes goes down, or when the other task
 * does not leave after all.
 */

/* Room for the longest answer of engine_waits_because(). */
#define ENGINE_BECAUSE_SIZE 240

/*
 * The engine: its setup, its tasks, its owners, and how far the run has come. An owner is private
 * to the file that its header belongs to. Lists are ordered: their order decides what a policy sees
 * and how ties are broken.
 */
struct engine {
	struct engine_setup setup;
	const struct placement_ops *placement; /* how tasks get nodes (placement.h) */
	struct backend *backend;

	struct engine_task *tasks; /* by index */
	struct sched_task *known;  /* per task, as policies see it: engine_set_preemptible() */

	/* Owners. */
	struct places *places;             /* places.h */
	struct nodes *nodes;               /* nodes.h */
	struct placement *placement_state; /* placement.h; NULL: the placement remembers nothing */
	struct waiting *waiting;           /* waiting.h */
	struct planned *planned;           /* reservations.h */
	struct suspensions *suspensions;   /* suspensions.h */
	struct migrations *migrations;     /* migration.h */
	struct window *window;             /* window.h: an energy limit per window */
	struct mapping_clock *mapping_clock;     /* mapping_clock.h: when mapping events are held */
	struct counters *counters;               /* counters.h */
	struct decider *decider;                 /* mapping.h: a decision (mapping_event.c) */
	struct decision_record *decision_record; /* mapping.h (decision_record.c) */
	struct records *records;                 /* below (engine_record.c) */
	struct utility_log *utility_log;         /* below (utility_log.c) */
	struct running_list running; /* tasks that are starting or running, or have a claim */

	/* The run. */
	uint32_t arrivals_next; /* index of the next task to arrive */
	double next_s;          /* when the engine has something to do if no event comes */
	bool stirred;           /* it has something to do at once: engine_stir() */
	bool ended;
	char *reason;
	char *because; /* buffer of engine_waits_because() */
};

/* Whether a task has a claim to nodes. */
static inline bool engine_has_claim(const struct engine *engine, uint32_t task)
{
	return engine_task_state_in(engine->tasks[task].state, ENGINE_TASK_WITH_CLAIM);
}

/* engine.c: initialises the data of the task that was just appended to an open workload. */
void engine_init_task(struct engine *engine, uint32_t task);

/* To be called after a change that may make engine_next_s() earlier: the engine has a turn. */
static inline void engine_stir(struct engine *engine)
{
	engine->stirred = true;
}

/* engine_record.c */

/* Initialises engine->records, for tasks below tasks_max. */
void engine_records_init(struct engine *engine, uint32_t tasks_max);
void engine_records_finish(struct engine *engine);

/* Ends the run as aborted. The first reason is kept. */
void engine_abort(struct engine *engine, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Records a task at once. */
void engine_record_task(struct engine *engine, uint32_t task);

/* Marks a task for the next engine_record_changed(). */
void engine_touch(struct engine *engine, uint32_t task);

/* The record of a task is as the task is: engine_record_changed() leaves it out. */
void engine_untouch(struct engine *engine, uint32_t task);

/* Records the tasks that engine_touch() marked. */
void engine_record_changed(struct engine *engine);

/* Records the present suspension of a task, or its last one. */
void engine_record_suspension(struct engine *engine, uint32_t task);

/* Records an event with its detail, which is freed. */
void engine_record_object(struct engine *engine, double time_s, enum engine_event_kind kind,
			  json_t *object);

/* Records an event of a task; reason may be NULL. */
void engine_record_event(struct engine *engine, double time_s, enum engine_event_kind kind,
			 uint32_t task, const char *reason);

/* Records that the attempt of a task was lost at `time_s`; reason may be NULL. */
void engine_record_lost(struct engine *engine, uint32_t task, double time_s, const char *reason);

/* The user of the present request (engine_set_asker()), borrowed; NULL: not known. */
const char *engine_asker(const struct engine *engine);

/* Records an event for a user's request about a task, with the user (engine_set_asker()). */
void engine_record_request(struct engine *engine, enum engine_event_kind kind, uint32_t task);

/*
 * Records an event that repeats what the task's record says, if engine_setup.record_steps is set.
 */
void engine_record_step(struct engine *engine, double time_s, enum engine_event_kind kind,
			uint32_t task, const char *reason);

/*
 * Records an "ended" event from the task's state, time and reason, if engine_setup.record_steps is
 * set. No effect if the task has not ended.
 */
void engine_record_end(struct engine *engine, uint32_t task);

/*
 * To be called after a change of the task was recorded. Drops task->reason, except for ended tasks,
 * whose reason users ask for later.
 */
void engine_release_reason(struct engine *engine, struct engine_task *task);

/* Records the state of pruning as of `time_s`. */
void engine_record_pruner(struct engine *engine, const struct sched_pruner *pruner, double time_s);

/* Records an event of a node. `reason` and `user`, the user who asked for it, may be NULL. */
void engine_record_node(struct engine *engine, double time_s, enum engine_event_kind kind,
			const struct sched_node *node, const char *reason, const char *user);

/* yield.c */

/* The virtual time of a task at `time_s`, in seconds. */
double engine_virtual_s(const struct engine_task *task, double time_s);

/* Sets the yield of a task from now on, and records it; the caller tells the backend. */
void engine_set_yield(struct engine *engine, uint32_t task, double yield);

/* lifecycle.c */

/*
 * Whether an event moves a task on from its state. An event that is impossible in the state is
 * logged and counted (engine_result.impossible_events); in tests the log entry is fatal.
 */
bool engine_expects(struct engine *engine, uint32_t task, enum engine_task_event event);

/* Moves a task on by an event; no effect if engine_expects() is false. */
void engine_move_task(struct engine *engine, uint32_t task, enum engine_task_event event);

/* Lets the tasks arrive whose arrival is at or before `time_s`. */
void engine_arrive(struct engine *engine, double time_s);

/* Gives a task a placement: cluster, P-state, nodes, and the estimates that follow from them. */
void engine_set_place(struct engine *engine, uint32_t task, uint32_t cluster, uint32_t pstate,
		      const uint32_t *nodes, uint32_t nodes_count);

/*
 * Prepares the start of a task at its placement: state, times, allocated nodes. The task leaves the
 * mappable tasks. The caller flushes the record and then calls engine_launch(). If nodes are still
 * being left, the task gets a claim instead and starts when they are free.
 */
void engine_begin(struct engine *engine, uint32_t task);

/* Notes that a queued task began at `time_s`, on a cluster that keeps its queue itself. */
void engine_begin_queued(struct engine *engine, uint32_t task, double time_s);

/* Prepares the start of a task whose claim has come due. */
void engine_begin_claimed(struct engine *engine, uint32_t task);

/*
 * The entry of a task in the list of running tasks, on `nodes` of its cluster (borrowed) from
 * start_s on, after the execution time that it has already.
 */
struct sched_running engine_running(const struct engine *engine, uint32_t task,
				    const uint32_t *nodes, double start_s);

/* The expected end of a task whose present interval began at start_s. */
double engine_expected_end_s(const struct engine_task *task, double start_s);

/*
 * Sets whether policies may suspend a task: not while it is being started or resumed, and not after
 * ENGINE_RETRIES_MAX failures.
 */
void engine_set_preemptible(struct engine *engine, uint32_t task);

/* Cancels a task's reservation or place-holder: the task is mappable again. */
void engine_cancel_planned(struct engine *engine, uint32_t task);

/* Asks the backend to start a task that engine_begin() prepared. */
void engine_launch(struct engine *engine, uint32_t task);

/*
 * Puts a task that lost its attempt among the waiting, or lets it fail after too many attempts.
 * Returns the event that its state has yet to be moved by: LOSE, FAIL or KILL.
 */
enum engine_task_event engine_after_loss(struct engine *engine, uint32_t task, double time_s,
					 const char *reason);

/* utility_log.c */

/* Initialises engine->utility_log: no task has completed. */
void engine_utility_log_init(struct engine *engine);
void engine_utility_log_finish(struct engine *engine);

/* To be called when a completed task was restored: the log is recomputed when it is needed. */
void engine_rebuild_utility_log(struct engine *engine);

/* Logs the utility of a task that completes at time_s; to be called before its state changes. */
void engine_note_utility(struct engine *engine, double time_s, double utility);

/* task_energy.c */

/* Sets the energy of a task whose attempt has ended: the account's, or the backend's `event_j`. */
void engine_take_energy(struct engine *engine, uint32_t task, double event_j);

/* backend_events.c */

/*
 * The part, in [0, 1], of a task's execution that lies in the day (engine_setup.lead_s). The last
 * interval of the task is from start_s to end_s; the time for which it was suspended is no
 * execution (Machovec 2017, section II).
 */
double engine_day_share(const struct engine *engine, uint32_t task, double start_s, double end_s);

/*
 * Moves a node on by an event at `time_s`. If it takes tasks no more, claims and planned starts on
 * it are cancelled; if it takes tasks again, reservations are recomputed at the next event.
 * `reason`: as for engine_move_node().
 */
void engine_change_node(struct engine *engine, const struct sched_node *node, enum node_event event,
			const char *reason, double time_s);

/* Handles an event of the backend. */
void engine_handle(struct engine *engine, const struct backend_event *event);

/* control_running.c */

/* What a user asks for about a task. */
enum engine_request {
	ENGINE_REQUEST_CANCEL,
	ENGINE_REQUEST_HOLD,
	ENGINE_REQUEST_RELEASE,
	ENGINE_REQUEST_SUSPEND,
	ENGINE_REQUEST_MIGRATE,
	ENGINE_REQUESTS,
};

/* Whether a request is refused because the run or the task has ended, or for the task's state. */
enum engine_refusal engine_check_request(const struct engine *engine, enum engine_request request,
					 uint32_t task);

/* restore.c */

/* Of a run that was interrupted: asks the backend once more for the steps that were under way. */
void engine_resend_steps(struct engine *engine);

/* The present, in run time. */
static inline double engine_now_s(const struct engine *engine)
{
	return backend_now_s(engine->backend);
}
