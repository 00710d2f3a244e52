/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The seam between the engine and the ways in which a system gives nodes to tasks:
 *
 *    exclusive   a task has its nodes for itself (placement_exclusive.c)
 *    shared      VMs of several tasks share the memory and the CPU of hosts, Stillwell 2010
 *                (placement_shared.c)
 *    queued      a cluster executes the tasks of its queue one after the other, each on nodes of
 *                its own, Gentry 2019 (placement_queued.c)
 *
 * The engine has one of them for its whole run. What `exclusive` and `queued` have in common is in
 * own_nodes.h. All members are set. What several placements lack are the functions at the end of
 * this file, which do nothing. Nodes are indices in the task's cluster.
 */

/* What a placement remembers: engine->placement_state. Each file defines its own. */
struct placement;

struct placement_ops {
	const char *name;

	/*
	 * A policy may decide on a thread of its own (engine_setup.apart): a plan stays legal where
	 * actions that became impossible meanwhile are left out.
	 */
	bool decides_apart;
	/*
	 * A decision that leaves all tasks waiting is recorded even if the one before was equal:
	 * the state that it was made in was another one.
	 */
	bool records_repeats;
	/* The records of tasks on nodes can be restored: an interrupted run can be continued. */
	bool restorable;
	/*
	 * Why a user's request to suspend, resume or migrate a task is refused, whatever its state;
	 * ENGINE_REFUSAL_NONE: it is not.
	 */
	enum engine_refusal suspend_refusal;
	enum engine_refusal resume_refusal;
	enum engine_refusal migrate_refusal;

	/*
	 * Create and free engine->placement_state. init() is called by engine_new() after tasks and
	 * nodes have been initialised.
	 */
	void (*init)(struct engine *engine);
	void (*finish)(struct engine *engine);

	/* Nodes of a task. */

	/* The largest number of nodes that a task can get. Called before init(). */
	uint32_t (*width)(const struct sched_system *system, const struct sched_task *task);
	/* Sets the estimates that follow from the task's cluster and P-state. */
	void (*estimate)(struct engine *engine, uint32_t task);
	/* Allocates these nodes to the task, as many as its placement has; and frees them. */
	void (*allocate)(struct engine *engine, uint32_t task, const uint32_t *nodes);
	void (*free)(struct engine *engine, uint32_t task, const uint32_t *nodes);
	/* Notes that the task begins to leave these nodes (`leaves`), or that it is off them. */
	void (*set_departing)(struct engine *engine, uint32_t task, uint32_t cluster,
			      const uint32_t *nodes, uint32_t count, bool leaves);

	/* Claims (nodes.h). */

	/*
	 * How many of the nodes that were just allocated to the task have to be left by others
	 * first; on shared hosts, how many of its VMs wait for that.
	 */
	uint32_t (*count_waits)(const struct engine *engine, uint32_t task, const uint32_t *nodes);
	/* A task with a claim to a node; ENGINE_NO_TASK: there is none. */
	uint32_t (*find_claimant)(struct engine *engine, uint32_t cluster, uint32_t node);
	/*
	 * To be called when VMs have left these nodes, or will not leave them after all, and when
	 * the task `leaver` (ENGINE_NO_TASK: none), which has a claim itself, has left them. Writes
	 * the tasks whose claims have come due to ret_tasks, which has room for count + 1 tasks and
	 * for all running ones, and returns their number.
	 */
	uint32_t (*find_due_claims)(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
				    uint32_t count, uint32_t leaver, uint32_t *ret_tasks);

	/* Why a task waits. */

	/* Whether a task fits somewhere on the nodes that are up, as if nothing else ran there. */
	bool (*fits)(const struct engine *engine, uint32_t task);
	/*
	 * Why a task that fits waits, as far as its nodes are the cause; else NULL. The text is
	 * constant or in engine->because.
	 */
	const char *(*waits_because)(const struct engine *engine, uint32_t task);

	/* Migrations. */

	/*
	 * Whether a node takes one more VM of a migrating task that gets the `count` nodes of
	 * `chosen` as well. Room for all of them is checked by find_full_node().
	 */
	bool (*takes_vm)(const struct engine *engine, uint32_t cluster, uint32_t node,
			 const uint32_t *chosen, uint32_t count);
	/* The first of these nodes that has no room for a running task; UINT32_MAX: all have. */
	uint32_t (*find_full_node)(const struct engine *engine, uint32_t task,
				   const uint32_t *nodes);
	/* Brings the nodes of a task into the order in which they are kept: ascending, or by VM. */
	void (*order_nodes)(uint32_t *nodes, uint32_t count);
	/*
	 * Writes the nodes that VMs leave in a migration to ret_left, which has room for all nodes
	 * of the task, and returns their number.
	 */
	uint32_t (*find_left)(const struct engine_migration *migration, uint32_t *ret_left);
	/*
	 * Has the policy asked if it could decide otherwise now: after a user's migration has begun
	 * (ENGINE_TASK_MIGRATE), after any has ended (MIGRATE_DONE, MIGRATE_FAILED).
	 */
	void (*note_migration)(struct engine *engine, enum engine_task_event event);

	/* Intervals of execution. */

	/*
	 * An interval of a task's execution begins; it makes progress after a pause of pause_s >= 0
	 * seconds.
	 */
	void (*begin_interval)(struct engine *engine, uint32_t task, double pause_s);
	/* The interval ends at `time_s`. */
	void (*end_interval)(struct engine *engine, uint32_t task, double time_s);
	/* Tells the backend the share of its hosts' CPU that the task has. */
	void (*send_share)(struct engine *engine, uint32_t task);

	/* Decisions. */

	/* What the policy keeps between its decisions (policy_context.memory); NULL: nothing. */
	struct queueing_memory *(*policy_memory)(const struct engine *engine);
	/* Whether there is anything to decide for a policy. */
	bool (*has_to_decide)(const struct engine *engine);
	/*
	 * The earliest time after `after_s` at which a policy that decides at changes is asked
	 * though no task arrives and no event comes; INFINITY: none.
	 */
	double (*next_s)(const struct engine *engine, double after_s);
	/*
	 * Completes a snapshot whose waiting, suspended and running tasks are listed. It adds the
	 * nodes that are up and cannot take tasks, and the fields that only this placement has.
	 * Called for each decision; borrows from the engine.
	 */
	void (*fill_snapshot)(struct engine *engine, struct sched_snapshot *snapshot);
	/* Takes over what a decision on a snapshot says beside its actions, and records it. */
	void (*note_decision)(struct engine *engine, const struct sched_plan *plan,
			      const struct sched_snapshot *snapshot);

	/* Plans (mapping.h). */

	/* NULL if an action on a task that has arrived is legal now, else why it is not. */
	const char *(*check_action)(const struct engine *engine, const struct sched_action *action);
	/*
	 * Prepares the step of a legal action, which is recorded next; then launch_action() asks
	 * the backend for it, unless the step has to wait.
	 */
	void (*prepare_action)(struct engine *engine, const struct sched_action *action);
	void (*launch_action)(struct engine *engine, const struct sched_action *action);
	/* After all actions: NULL if no node promises more than it has, else what is too much. */
	const char *(*check_plan)(const struct engine *engine);

	/* Queues. */

	/* Whether a task is in a queue, executing or not. */
	bool (*has_queued)(const struct engine *engine);
	/* Starts the first task of every queue whose cluster is idle. */
	void (*start_next)(struct engine *engine);
	/*
	 * Handles what an event of the backend means for queues. Returns whether it means nothing
	 * else. Called for each event, first.
	 */
	bool (*handle_event)(struct engine *engine, const struct backend_event *event);
	/*
	 * To be called when a task has ended, or has lost its attempt and waits again. `former`:
	 * its state before.
	 */
	void (*task_ended)(struct engine *engine, uint32_t task, enum engine_task_state former);
	/* At the end of a run: has the backend kill the queued tasks that no cluster executes. */
	void (*kill_queued)(struct engine *engine);

	/* Interrupted runs (restore.c). */

	/*
	 * Takes back the nodes, or the place in a queue, of a task that was on nodes or queued
	 * according to its record. Its placement and its number in the queue are set, its state is
	 * not. Returns false, without effect, if that is impossible.
	 */
	bool (*restore_place)(struct engine *engine, uint32_t task,
			      const struct engine_task *record);
	/* Restores the state of pruning, after all tasks. */
	void (*restore_pruner)(struct engine *engine, const struct sched_pruner *pruner);
	/* Asks the backend once more for the contents of queues that it keeps. */
	void (*resend_queues)(struct engine *engine);
};

extern const struct placement_ops placement_exclusive;
extern const struct placement_ops placement_shared;
extern const struct placement_ops placement_queued;

/* The placement of a system. */
const struct placement_ops *placement_of(const struct sched_system *system);

/* Whether the policy decides on a thread of its own (async_decider.h). */
bool engine_decides_apart(const struct engine *engine);

/* What a placement lacks: these functions do nothing. */

/* State of its own. */
void placement_without_state(struct engine *engine);

/* Shares of hosts: tasks execute at the speed of their nodes. */
void placement_without_progress(struct engine *engine, uint32_t task, double unused_s);
void placement_without_share(struct engine *engine, uint32_t task);
const char *placement_without_limit(const struct engine *engine);

/* Queues, and the pruning of their tasks. */
struct queueing_memory *placement_without_memory(const struct engine *engine);
bool placement_without_queued(const struct engine *engine);
void placement_without_queues(struct engine *engine);
bool placement_without_queue_events(struct engine *engine, const struct backend_event *event);
void placement_without_deadlines(struct engine *engine, uint32_t task,
				 enum engine_task_state former);
void placement_without_notes(struct engine *engine, const struct sched_plan *plan,
			     const struct sched_snapshot *snapshot);
void placement_without_pruner(struct engine *engine, const struct sched_pruner *pruner);
