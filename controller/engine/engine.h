/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/backend.h"
#include "controller/sched/model.h"
#include "controller/sched/policy.h"
#include "controller/workload/workload.h"

/*
 * The engine: the one mapping loop, task life cycle and ledger of utility and energy, for measured
 * and simulated runs alike. At every mapping event it shows the policy a snapshot and carries out
 * the plan through the backend; between events it starts what was promised nodes and takes note of
 * what ended.
 *
 * Order at one instant: completions and other news from the backend, arrivals, starts that are due,
 * the mapping event. Mapping events are at multiples of the interval from 0, before the run's
 * duration. Place-holders that have not started vanish at the next event. A task that outlives its
 * ETC is taken to be busy until the next event, and what was promised its nodes slides with it. Reservations
 * stay where they are otherwise, but for nodes that go or come back: a task that starts later than one ever said is
 * on record ("overdue"), with the reason.
 *
 * In a shared system (model.h) the nodes are hosts with several tasks, and the engine keeps an account
 * of their memory and CPU, of yields and of virtual times. A task that migrates runs on meanwhile, where the
 * backend can do that and its new hosts have room; else it is suspended and resumed by one plan. How long tasks take
 * is not known there: etc_s is INFINITY.
 *
 * Where machines have queues (model.h), a queued task starts when the one before it is gone, after the
 * mapping event at that instant. A policy that takes executing tasks off at their deadlines is asked
 * then, too.
 *
 * A task that a plan suspends keeps its progress. What the plan puts on its nodes starts, or goes
 * on, when the backend says that they are free; where suspending fails, the task runs on and the
 * others are mappable again. A plan that is not legal ends the run with a reason.
 *
 * With a limit per window (struct engine_window) policies see the waiting tasks alone that what is left
 * allows for, starts beyond that are refused, and when it is used up all tasks are suspended until the next
 * window.
 *
 * A run ends when the metered dynamic energy reaches the limit, at its duration, when every task
 * has ended and none is to come (never, where tasks may come at any time), or when the backend aborts. Utility counts
 * the tasks that completed by then, also where the backend tells of it a moment later.
 */
struct engine;

/* Where a task stands. Every task is counted once, by its last state. */
enum engine_task_state {
	ENGINE_TASK_COMING = 0, /* has not arrived */
	ENGINE_TASK_WAITING,
	ENGINE_TASK_PLANNED,    /* holds a reservation or a place-holder */
	ENGINE_TASK_QUEUED,     /* in the queue of a machine, which does not execute it yet */
	ENGINE_TASK_STARTING,   /* the backend was asked to start it */
	ENGINE_TASK_RUNNING,    /* all of its ranks run */
	ENGINE_TASK_SUSPENDING, /* the backend was asked to take it off its nodes */
	ENGINE_TASK_SUSPENDED,  /* it keeps its progress and occupies no nodes */
	ENGINE_TASK_RESUMING,   /* the backend was asked to let it go on */
	ENGINE_TASK_MIGRATING,  /* it runs, and the backend was asked to bring its VMs elsewhere */
	ENGINE_TASK_COMPLETED,
	ENGINE_TASK_FAILED,     /* by its own fault, or lost too often */
	ENGINE_TASK_DROPPED,    /* could earn nothing (or too little) any more */
	ENGINE_TASK_KILLED,
	ENGINE_TASK_UNFINISHED, /* the run ended before it did */
	/* Its record cannot be used: it takes part in nothing until a person cancels or releases it. */
	ENGINE_TASK_QUARANTINED,
};

/* "coming", "waiting", ... as in the store; NULL: unknown. */
const char *engine_task_state_name(enum engine_task_state state);
/* The state of that name, or -1. */
int engine_task_state_parse(const char *name);

/*
 * How often a task is started at most: a task lost so often has failed. Of an open run, which is stopped
 * and goes on any number of times, starts before the last time that it went on do not count.
 */
#define ENGINE_ATTEMPTS_MAX 3

/* A task of the run. Times are NAN until they are known. */
struct engine_task {
	const struct sched_task *task;
	enum engine_task_state state;
	uint32_t cluster;         /* valid when nodes_count > 0 */
	uint32_t pstate;
	uint32_t nodes_count;     /* of the last place it got; 0: never placed */
	const uint32_t *nodes;    /* ascending; of a suspended task those that it left */
	uint32_t attempts;        /* starts so far */
	uint32_t attempts_before; /* of these, those that do not count: ENGINE_ATTEMPTS_MAX */
	uint32_t suspensions;     /* of the last attempt, one that is under way included */
	uint32_t migrations;      /* of the last attempt, those asked for so far */
	/*
	 * A person holds it: SUSPENDING or SUSPENDED, it is not mappable until a person resumes it;
	 * WAITING, until a person releases it.
	 */
	bool held;
	bool cancelled;           /* by a person: under way, the backend was asked to kill it */
	bool reservation;         /* PLANNED: permanent; otherwise a place-holder */
	double planned_start_s;   /* of the last promise */
	double promised_s;        /* the earliest start that a reservation gave it; INFINITY: none */
	unsigned int slid;        /* why promises to it slid or were taken back, as far as it is on record */
	double waited_s;          /* from its arrival to its starts so far: of all attempts, suspensions left out */
	double waits_since_s;     /* it waits since then: its arrival, or when an attempt was lost; NAN: it does not */
	double started_s;         /* the start that the engine asked for */
	double since_s;           /* when its last stretch began: started_s, or when it went on */
	double executed_s;        /* execution time of the stretches before it; 0: none */
	double expected_end_s;    /* while it runs: since_s + ETC - executed_s; later if it is late */
	bool late;                /* that had passed and was moved, in this stretch; not restored */
	bool claims_late;         /* or of its claim to nodes that others leave */
	double ended_s;
	double exec_s;            /* measured, of all stretches; NAN until it ends */
	double etc_s;             /* estimated, for the place it got */
	double energy_j;          /* attributed by the backend */
	double eec_j;
	double utility;           /* earned; 0 unless COMPLETED */
	double yield;             /* shared: the last one asked for; 0: none */
	double virtual_s;         /* shared: its virtual time until sharing_s */
	double sharing_s;         /* ... from when it goes on at its yield; NAN: stands still */
	double chance;            /* with queues: to be on time, when last queued or dropped */
	double threshold;         /* ... which it was held against then */
	uint32_t queued_n;        /* how many of the run had been queued with it; 0: it was not */
	const char *reason;       /* of the last change, or NULL. Valid during callbacks; of one that has ended, always */
};

/* What ended a run. */
enum engine_end {
	ENGINE_END_NONE = 0,
	ENGINE_END_LIMIT,   /* the energy limit */
	ENGINE_END_TIME,    /* the duration */
	ENGINE_END_DONE,    /* every task ended, none to come */
	ENGINE_END_ABORTED, /* the backend or the recorder could not go on */
};

/* "limit", "time", "done", "aborted"; NULL: unknown. */
const char *engine_end_name(enum engine_end end);

/* What the lengths of mapping events are sorted by: upper bounds in seconds, in order. */
#define ENGINE_MAPPING_BOUNDS 12
extern const double engine_mapping_bounds_s[ENGINE_MAPPING_BOUNDS];

/* The outcome of a run. */
struct engine_result {
	enum engine_end ended_by;
	double ended_s;
	double utility;
	double energy_j; /* dynamic */
	uint32_t tasks_arrived;
	uint32_t tasks_completed;
	uint32_t tasks_failed;
	uint32_t tasks_dropped;
	double utility_max; /* the most that could be earned, by the caller; 0: not known */
	/* On shared hosts; memory in hosts' worth, of the VMs that were paused or went elsewhere. */
	uint64_t pauses;    /* of jobs */
	uint64_t migrations;
	double paused_memory;
	double moved_memory;
	/*
	 * Bounded stretches (Stillwell 2010, II.B) of the jobs that arrived, by the caller; 0: not known. Those of a
	 * cluster that did not complete count as dfrs_stretch_at_least() says; of an environment all
	 * have to.
	 */
	double stretch_max;
	double stretch_mean;
	double span_s;      /* from the first arrival to the last end; so too */
	/* On machines with queues (robustness.h), by the caller; none counted: not known. */
	uint32_t tasks_counted;
	uint32_t tasks_on_time;
	double type_variance;
	double busy_s;
	double cost;
	uint64_t decisions; /* mapping events with a mappable task, lead included */
	double decide_s;    /* processor time that the policy took for them */
	double mapping_s;   /* wall time of these events, from the snapshot until the plan was carried out */
	double mapping_longest_s; /* of one */
	uint64_t mapping_counts[ENGINE_MAPPING_BOUNDS + 1]; /* above one bound, to the next; last: above all */
};

/*
 * One suspension of a task: that it was asked for, what came of it, and so on until it went on.
 * Times are NAN until they are known, and suspended_s stays so when it was rolled back or the task
 * ended first.
 */
struct engine_suspension {
	uint32_t task;
	uint32_t attempt;
	uint32_t n;               /* which one of the attempt, from 1 */
	uint32_t cluster;
	uint32_t nodes_count;
	const uint32_t *nodes;    /* that it left */
	const uint32_t *to_nodes; /* that it goes to; valid once resume_requested_s is known */
	bool by_person;           /* a person asked for it, or told it to stay so, or to go on */
	bool held;                /* a person is to resume it; not by_person: the next window, until it went on */
	double requested_s;
	double suspended_s;       /* its nodes take tasks again */
	double exec_s;            /* execution time of the stretch that ended with it */
	double resume_requested_s;
	double resumed_s;         /* it was known to go on */
	double since_s;           /* it went on */
	struct backend_overhead overhead; /* NAN: not known (yet) */
	/* The same by VM, of the step that has just come to its end; NULL: not known. */
	const struct backend_vm_overhead *vms;
	uint32_t vms_count;
};

/* One migration of a task that runs: that it was asked for, and where its VMs were after it. */
struct engine_migration {
	uint32_t task;
	uint32_t attempt;
	uint32_t n;               /* which one that was asked for in the attempt, from 1 */
	uint32_t cluster;
	uint32_t nodes_count;
	const uint32_t *nodes;    /* where its VMs were */
	const uint32_t *to_nodes; /* where they are to go, and once it is over where they are */
	bool by_person;
	double requested_s;
	double ended_s;           /* NAN: it is under way, or the task ended first */
	const char *reason;       /* why a VM could not be moved; NULL: all were */
	const struct backend_vm_move *moves; /* per VM, when it has just ended; NULL: not known */
	uint32_t moves_count;
};

/* A decision as it goes on record: JSON. */
struct engine_description {
	double now_s;
	char *snapshot, *actions;
};

/*
 * What is to be remembered of a run. Every callback is optional; each returns false when it could
 * not do its work (a full disk), upon which the engine ends the run as aborted. The arguments are
 * borrowed for the call.
 */
struct engine_recorder {
	/*
	 * A mapping event with at least one mappable task, before its actions are carried out;
	 * engine_setup.record_changes says which.
	 */
	bool (*decision)(struct engine_recorder *recorder, const struct policy *policy,
			 const struct sched_snapshot *snapshot, const struct sched_plan *plan);
	/*
	 * The same in two steps, for an engine whose policy decides apart: a plan that starts thousands of tasks is
	 * long to write. describe() is called on the policy's thread, and must look at nothing that anybody changes
	 * meanwhile; the caller frees both texts. Both or none.
	 */
	void (*describe)(const struct engine_recorder *recorder, const struct policy *policy,
			 const struct sched_snapshot *snapshot, const struct sched_plan *plan,
			 struct engine_description *ret_description);
	bool (*described)(struct engine_recorder *recorder,
			  const struct engine_description *description);
	/* A task changed; also called once for each task when it arrives. */
	bool (*task)(struct engine_recorder *recorder, const struct engine_task *task);
	/* A suspension began, or a step of it came to its end. */
	bool (*suspension)(struct engine_recorder *recorder,
			   const struct engine_suspension *suspension);
	/* A migration began, or came to its end. */
	bool (*migration)(struct engine_recorder *recorder,
			  const struct engine_migration *migration);
	/* An attempt was lost at ended_s, and the task waits again: it stands as it did until then. */
	bool (*lost)(struct engine_recorder *recorder, const struct engine_task *task, double ended_s,
		     const char *reason);
	/* On shared hosts: the yield of a task from time_s on. */
	bool (*share)(struct engine_recorder *recorder, double time_s,
		      const struct engine_task *task);
	/*
	 * Something happened that no task record tells: "slid", "overdue", "late", "lost", "cancelled",
	 * "stayed", "unmoved", "node-down", "node-up", "limit", "aborted", of a limit per window
	 * "refused", "exhausted", "window", and what people asked for:
	 * "held", "released", "cancel", "suspend", "resume" (with the `user`), "drained", "undrained"; and what
	 * task records tell as well where engine_setup.record_steps says so: "ended" (`state`, `reason`),
	 * "suspended", "resumed". `detail` is a JSON object or NULL.
	 */
	bool (*event)(struct engine_recorder *recorder, double time_s, const char *kind,
		      const char *detail);
	/*
	 * What was recorded so far must survive the death of the process: called before the backend is
	 * asked for anything that the records speak of. It need not survive a loss of power.
	 */
	bool (*flush)(struct engine_recorder *recorder);
};

/*
 * A limit of dynamic energy in every window of time, for runs that do not end with it. Windows follow one another
 * at begin_s + n x length_s; they do not roll.
 */
struct engine_window {
	double limit_j;  /* 0: none */
	double length_s; /* > 0 */
	double begin_s;  /* when one of the windows begins, time of the run; may be negative */
	double spent_j;  /* so far in the window under way, of which the engine knows nothing */
};

/* Where the window under way stands. */
struct engine_window_state {
	double limit_j;     /* NAN: there is no such limit */
	double begin_s, end_s;
	double spent_j;
	double committed_j; /* that running tasks are still to use in a window's length, by their estimates */
	double forecast_j;  /* spent when the window ends, if what runs now goes on as estimated */
	bool exhausted;     /* nothing runs, or is not to, until it ends */
	uint32_t refusals;  /* tasks that were refused, in this window */
	/*
	 * The longest from the limit until a task stood still or ended, or the window did, since this engine
	 * began; of a task that does not stand still yet, until now.
	 */
	double reaction_s;
	double overshoot_j; /* the most by which the limit was exceeded, since then */
	/* Windows since then that ended while a meter was silent, which has not told of that end since. */
	uint32_t unknown;
};

/* Everything a run needs; borrowed until engine_free(). */
struct engine_setup {
	const struct sched_system *system;
	const struct workload *workload;
	/*
	 * `workload` itself where tasks may come at any time (engine_submit()), which then are added
	 * to it: the run is over at its duration at the earliest, which may be INFINITY. NULL: the
	 * workload is closed.
	 */
	struct workload *open;
	struct policy policy;
	double limit_j;            /* the run ends there; 0: no limit */
	/*
	 * No option may need more than what remains of the limit (sched_snapshot.gate): simulated
	 * environments. The testbed has no such gate: its runs end at the limit.
	 */
	bool gate;
	/*
	 * A simulated day (Machovec 2018, sections 2.4 and 4.1): the run begins lead_s before the day
	 * that counts, with an allowance of lead_limit_j of its own; then all counters start anew.
	 * A task that spans the beginning or the end of the day counts pro rata to its execution
	 * time in it. A multiple of the mapping interval. 0: no lead, and tasks count as a whole.
	 */
	double lead_s;
	double lead_limit_j;
	double mapping_interval_s; /* > 0; of the periodic mapping events */
	/*
	 * Which mapping events there are. At changes: when tasks have arrived or ended, nodes have
	 * come or gone, or the time of a deferred task has come.
	 */
	enum policy_moments moments;
	/*
	 * Mapping events for such changes are this far apart at least: the first of many takes place at
	 * once, the next one is for all that came meanwhile. 0: there is one for each.
	 */
	double changes_apart_s;
	/*
	 * The policy decides on a thread of its own while the engine goes on with what happens: for a
	 * service. What has become impossible meanwhile of its plan is left out, and it is asked again.
	 * Needs a backend that waits on the default main context. Has no effect where machines have
	 * queues or tasks share hosts.
	 */
	bool apart;
	/*
	 * With `apart`: so many actions of a plan are carried out before others have a turn, if it does nothing but
	 * start tasks and promise nodes; what has become impossible by then is left out. 0: all.
	 */
	uint32_t at_once;
	double duration_s;         /* > 0; INFINITY: of an open workload without a limit */
	/*
	 * Shared hosts: the virtual time of a task that goes on after a suspension stands still for so
	 * long, >= 0, though it has its yield: a penalty that does not count (Stillwell 2010, III.A and IV.A).
	 * For backends where suspending takes no time and never fails.
	 */
	double virtual_pause_s;
	uint64_t seed;             /* of the policy's own choices */
	struct engine_recorder *recorder; /* NULL: none */
	/*
	 * Runs that never end: a decision is not recorded that leaves all tasks waiting as the one
	 * before it did, with the same promises. Has no effect where machines have queues.
	 */
	bool record_changes;
	bool record_steps; /* events for those who follow a run: tasks that ended, were suspended, go on */
	/*
	 * Lower limits, ascending and below limit_j (or any when that is 0), at which to take an
	 * interim result as if the run had ended there. Only for policies that do not read the
	 * budget.
	 */
	const double *marks_j;
	uint32_t marks_count;
	bool trim; /* leave out place-holders that cannot matter (POLICY_TRIM) */
};

/*
 * Prepares a run on `backend`, which stays the caller's. A run that goes on after an interruption
 * starts where backend_now_s() stands: engine_restore_task() is then called for every task that is
 * recorded. Never fails.
 */
struct engine *engine_new(const struct engine_setup *setup, struct backend *backend);

/*
 * Puts back a task of an interrupted run; to be called before engine_run(), once per recorded task.
 * Of `record` these count: state, cluster, pstate, nodes, attempts, reservation, planned_start_s,
 * started_s, ended_s, exec_s, energy_j, utility, chance, threshold, queued_n and, of one that has ended,
 * reason (copied). Nothing is put back of a shared system. Tasks that were starting or running are taken to
 * be so still: the backend says what became of them. Promises of nodes still stand. Returns true,
 * or false when the record does not fit the workload or the system.
 */
bool engine_restore_task(struct engine *engine, uint32_t task, const struct engine_task *record);

/*
 * Instead of that, where the record of the task cannot be used: it is QUARANTINED, and nothing is recorded of
 * it, so that what is on record stays. `attempts`: starts so far, 0 where that is not known either. `reason` is
 * borrowed until engine_free(). False: there is no such task, or it was put back before.
 */
bool engine_restore_quarantined(struct engine *engine, uint32_t task, uint32_t attempts,
				const char *reason);

/*
 * Puts back a suspension of an interrupted run, after its task; to be called for all suspensions in
 * the order of their numbers. Those of former attempts have no effect. Of steps that were under way
 * the backend is asked once more when the run goes on. Returns true, or false when it does not fit
 * the task.
 */
bool engine_restore_suspension(struct engine *engine, const struct engine_suspension *record);

/*
 * Puts back that an attempt of a task was lost, after its task; once for each, in any order. What the task waited
 * follows from them.
 */
void engine_restore_lost(struct engine *engine, uint32_t task, uint32_t attempt, double started_s,
			 double ended_s);

/*
 * After all tasks, where machines have queues: what pruning remembered after the last mapping event.
 * How much each type has suffered follows from how its tasks ended.
 */
void engine_restore_pruner(struct engine *engine, const struct sched_pruner *pruner);

/* The same of a migration, after the suspensions. */
bool engine_restore_migration(struct engine *engine, const struct engine_migration *record);

/*
 * After all of that, where machines have queues that they keep themselves: asks the backend once more for
 * what is in them. What began, or ended, since it was recorded is known before the run goes on, if
 * engine_run() is called once the backend has answered: tasks whose deadlines have passed meanwhile may
 * have been on time.
 */
void engine_queue_again(struct engine *engine);

/* Whether the task, if it was put back as (being) suspended, resumed or migrated, has its record of that. */
bool engine_restored_well(const struct engine *engine, uint32_t task);

/*
 * Runs to the end and fills *ret_result. What still runs then is killed and counts as unfinished.
 * An aborted run has a result too; engine_reason() says why it was aborted.
 */
void engine_run(struct engine *engine, struct engine_result *ret_result);

/* Who asks for what is requested next, for the events that say so; copied. NULL: nobody, or it is not known. */
void engine_set_asker(struct engine *engine, const char *user);

/*
 * A person wants a task suspended: it leaves its nodes and is not mappable until a person resumes
 * it, preemptible or not. May be called while the engine waits for the backend. Returns NULL when
 * the backend was asked (or the task was suspended already), or a sentence why it cannot be.
 */
const char *engine_request_suspend(struct engine *engine, uint32_t task);

/*
 * A person wants a suspended task to go on: as soon as its cluster has idle nodes for it, before the
 * policy is asked; a policy that preempts may have it go on earlier. Otherwise as above.
 */
const char *engine_request_resume(struct engine *engine, uint32_t task);

/* Why a task cannot be migrated now, wherever to, or NULL. */
const char *engine_why_not_migrate(const struct engine *engine, uint32_t task);

/*
 * A person wants the VMs of a running task on other hosts of its cluster, dealt out over the
 * hosts_count hosts given, each there once; as few as possible move. node_hosts has the host of each of
 * the cluster's nodes. Otherwise as engine_request_suspend(); *ret_full is the host that has no room, where
 * that is the reason, else UINT32_MAX.
 */
const char *engine_request_migrate(struct engine *engine, uint32_t task, const uint32_t *hosts,
				   uint32_t hosts_count, const uint32_t *node_hosts,
				   uint32_t *ret_full);

/*
 * What people ask for of tasks that come at any time (control.c), and of nodes. Each may be called while
 * the engine waits for the backend, which it then stops doing where a mapping event may follow, or before
 * engine_run(). Asking for what is so already has no effect. Those that return text return NULL, or a
 * sentence why it cannot be. All but engine_submit() are flushed when they return, or have aborted the run.
 */

/*
 * A task arrives now, with which `task` is copied to the end of the open workload. Its id and arrival_s
 * are set; the rest must be as workload_check() wants it, and a deadline_s after that arrival. `held`: it
 * waits until a person releases it. Returns its index, or UINT32_MAX: there is no room left, or the run has
 * ended, or its workload is closed. After the last task of what a person submits, and before that is
 * answered, engine_flush() is to be called. O(1) in the number of tasks.
 */
uint32_t engine_submit(struct engine *engine, const struct sched_task *task, bool held);

/* How many tasks the workload has, those to come included. */
uint32_t engine_tasks_count(const struct engine *engine);

/* What was recorded so far is flushed (struct engine_recorder); where that fails the run is aborted. */
void engine_flush(struct engine *engine);

/*
 * A person wants a task ended. One that waits, or is queued, is KILLED at once, one that is under way when the
 * backend says that it has ended, or COMPLETED or FAILED where it was over before. O(promises), and on machines
 * with queues O(their length).
 */
const char *engine_request_cancel(struct engine *engine, uint32_t task);

/* A person wants a waiting task not to be mappable, whatever it was promised. O(promises). */
const char *engine_request_hold(struct engine *engine, uint32_t task);

/* ... and to be mappable again; a task that is not held is refused. O(1). */
const char *engine_request_release(struct engine *engine, uint32_t task);

/*
 * A person wants nothing new on a node (of shared hosts: a host): what runs there goes on, on shared
 * hosts unless the policy takes it elsewhere. `reason` is copied; NULL: none, and a node that is drained
 * already keeps the one it has. O(promises x their nodes), on shared hosts O(running tasks).
 */
const char *engine_request_drain(struct engine *engine, uint32_t cluster, uint32_t node,
				 const char *reason);

/* ... and tasks on it again. O(1). */
const char *engine_request_undrain(struct engine *engine, uint32_t cluster, uint32_t node);

/*
 * Lets another policy decide from now on, with periodic mapping events that are `mapping_interval_s` (> 0)
 * apart; it is asked at once. What was promised stands, and who was suspended goes on as soon as there are idle nodes
 * where it is a policy that knows of nobody who is. The policy must fit the system. O(1).
 */
void engine_request_policy(struct engine *engine, const struct policy *policy,
			   double mapping_interval_s);

/* Whether a person wants nothing new on the node. */
bool engine_drained(const struct engine *engine, uint32_t cluster, uint32_t node);

/* What is known of a node. */
struct engine_node {
	bool down;          /* the backend says so */
	bool drained;
	const char *reason; /* why it was drained; NULL: none was given. Until it is no longer */
	uint32_t task;      /* on it, or to come; UINT32_MAX: none, or on shared hosts not known */
	uint32_t leaver;    /* leaving it; as `task` */
};

/* O(1). */
struct engine_node engine_node(const struct engine *engine, uint32_t cluster, uint32_t node);

/*
 * Why a task does not run yet: NULL where it is under way or has ended. Text that lives as long as the
 * engine, or until the next call. O(nodes of the clusters).
 */
const char *engine_waits_because(const struct engine *engine, uint32_t task);

/*
 * Of an interrupted run that goes on, after all tasks, suspensions and migrations: a task that is WAITING
 * is held; one that is under way was to be cancelled; nothing new is to start on a node. Returns true, or
 * false when there is no such task or node.
 */
bool engine_restore_held(struct engine *engine, uint32_t task);
bool engine_restore_cancelled(struct engine *engine, uint32_t task);
bool engine_restore_drained(struct engine *engine, uint32_t cluster, uint32_t node,
			    const char *reason);

/*
 * Sets, changes or (limit_j 0) ends a limit per window, before engine_run() or while it waits for the backend; the
 * setup has no limit_j, no marks, no queues and no shared hosts then. What was suspended for another one goes on as
 * far as this one goes.
 */
void engine_set_window(struct engine *engine, const struct engine_window *window);

/*
 * Meters tell of a moment when it is over: what was spent when the window began, as it is known by now. Mapping events
 * see to it; where these are rare, to be called once a second, before engine_run() or while it waits for the backend.
 */
void engine_window_settle(struct engine *engine);

/* Where the window under way stands. O(running tasks). */
struct engine_window_state engine_window(const struct engine *engine);

/*
 * The wall clock was set: windows begin at begin_s + n x length_s from the next one on. The one under way keeps its
 * end; the next lasts between a half and one and a half windows, so that a clock that is set
 * back and forth does not make new ones.
 */
void engine_shift_window(struct engine *engine, double begin_s);

/* The virtual time of a task on shared hosts until now: the integral of its yield. */
double engine_virtual_time_s(const struct engine *engine, uint32_t task);

/* The interim result at marks_j[mark]; equal to the result of the run when it was not reached. */
const struct engine_result *engine_mark_result(const struct engine *engine, uint32_t mark);

/* While it runs: `decisions`, `decide_s` and `ended_by` so far; the rest is for the end. Borrowed. */
const struct engine_result *engine_counts(const struct engine *engine);

/* That a task completed, and what all had earned by then. */
struct engine_utility_change {
	double time_s;
	double utility; /* the task's */
	double sum;
};

/*
 * What was earned so far, by time: an entry for each task that completed (borrowed, until the engine goes on). Kept as
 * tasks complete: asking costs nothing but for the first time after tasks were restored.
 */
const struct engine_utility_change *engine_utility_log(struct engine *engine, uint32_t *ret_count);

/* Why the run was aborted, or NULL. Valid until engine_free(). */
const char *engine_reason(const struct engine *engine);

/*
 * Whether a task has ended for good: nothing of it is needed any more. Of one that is quarantined nobody knows;
 * a release starts it anew.
 */
static inline bool engine_task_over(const struct engine_task *task)
{
	return task->state >= ENGINE_TASK_COMPLETED && task->state != ENGINE_TASK_QUARANTINED;
}

/* The task at an index of the workload. */
const struct engine_task *engine_task(const struct engine *engine, uint32_t task);

/* What a backend is told of the present attempt of a task. */
struct backend_start engine_task_start(const struct engine_task *task);

/* NULL is allowed. Leaves the backend alone. */
void engine_free(struct engine *engine);
typedef struct engine engine_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(engine_t, engine_free)
