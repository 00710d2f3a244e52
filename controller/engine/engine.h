/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"
#include "controller/backend/backend.h"
#include "controller/engine/node_fsm.h"
#include "controller/engine/refusal.h"
#include "controller/engine/request_fsm.h"
#include "controller/engine/resumption_fsm.h"
#include "controller/engine/suspension_fsm.h"
#include "controller/engine/task_fsm.h"
#include "controller/sched/model.h"
#include "controller/sched/policy.h"
#include "controller/workload/workload.h"

/*
 * The engine: the mapping loop, the life cycle of tasks, and the ledger of utility and energy, for
 * measured and simulated runs. At every mapping event it takes a snapshot, asks the policy for a
 * plan and carries the plan out through the backend. Between events it starts the tasks whose
 * planned start has come and handles the backend's events.
 *
 * Order at one instant: the backend's events, arrivals, planned starts, the mapping event. Mapping
 * events are at the multiples of the interval from 0, before the run's duration. Place-holders that
 * have not started are dropped at the next event. A task that outlives its ETC is taken to occupy
 * its nodes until the next event, and reservations of these nodes slide with it. Otherwise
 * reservations stay where they are, unless their nodes go down or come back: when a task starts
 * later than a reservation of it ever said, an "overdue" event with the reason is recorded.
 *
 * In a shared system (model.h) the nodes are hosts with several tasks, and the engine keeps account
 * of their memory and CPU, of yields and of virtual times. A task that migrates runs on meanwhile
 * if the backend can migrate and the new hosts have room; otherwise one plan suspends and resumes
 * it. Execution times are not known there: etc_s is INFINITY.
 *
 * In a system with queues (model.h) a queued task starts when the one before it is gone, after the
 * mapping event at that instant. A policy that evicts executing tasks at their deadlines is asked
 * then, too.
 *
 * A task that a plan suspends keeps its progress. The tasks that the plan puts on its nodes start,
 * or resume, when the backend reports that the nodes are free. If the suspension fails, the task
 * runs on, and the others are mappable again. A plan that is not legal ends the run with a reason.
 *
 * With a limit per window (struct engine_window) policies see only those waiting tasks that the
 * energy left allows for, further starts are refused, and when the limit is reached all tasks are
 * suspended until the next window.
 *
 * A run ends when the metered dynamic energy reaches the limit, at its duration, when every task
 * has ended and none is to come (never, where tasks may come at any time), or when the backend
 * aborts. Utility counts the tasks that completed by then, also if the backend reports it a moment
 * later.
 */
struct engine;

/*
 * How often a task is started at most: a task that lost so many attempts has failed. In an open
 * run, which may be stopped and continued any number of times, starts before the last continuation
 * do not count.
 */
#define ENGINE_ATTEMPTS_MAX 3

/* Where the figure of a task's energy is from. */
enum engine_energy_kind {
	/* the backend attributed it to the last attempt, by the energy of its hosts meanwhile */
	ENGINE_ENERGY_ESTIMATED = 0,
	/* the account of a service has it for all attempts, but for what is not reported yet */
	ENGINE_ENERGY_PROVISIONAL,
	ENGINE_ENERGY_FINAL, /* and everything is reported */
};
/* "estimated", ...: for users; NULL-terminated. */
extern const char *const engine_energy_names[];

/* A task of the run. Times are NAN until they are known. */
struct engine_task {
	const struct sched_task *task;
	enum engine_task_state state; /* the engine's: written by task_fsm.c alone */
	uint32_t cluster;             /* valid if nodes_count > 0 */
	uint32_t pstate;
	uint32_t nodes_count;       /* of its last placement; 0: never placed */
	const uint32_t *nodes;      /* ascending; of a suspended task the nodes that it left */
	uint32_t attempts;          /* starts so far */
	uint32_t attempts_before;   /* the attempts that do not count towards ENGINE_ATTEMPTS_MAX */
	uint32_t suspensions;       /* of the last attempt, including one under way */
	uint32_t migrations;        /* migrations requested in the last attempt */
	enum request_state request; /* a user's: written by engine_move_request() alone */
	bool reservation;           /* PLANNED: it has a reservation; otherwise a place-holder */
	double planned_start_s;     /* of its last reservation or place-holder */
	/* The earliest start of all its reservations; INFINITY: it had none. */
	double promised_s;
	/*
	 * Why its reservations slid or were cancelled, as far as recorded: bits of enum slide
	 * (reservations.c).
	 */
	unsigned int slid;
	/*
	 * Waiting time of all attempts so far, from arrival or loss to start, without suspensions.
	 */
	double waited_s;
	/* It has waited since its arrival, or since an attempt was lost; NAN: it does not wait. */
	double waits_since_s;
	double started_s; /* the start that the engine asked for */
	/* Start of its last interval: started_s, or its last resumption. */
	double since_s;
	double executed_s; /* execution time of the intervals before the last; 0: none */
	/* While it runs: since_s + ETC - executed_s, or later if it is late. */
	double expected_end_s;
	/* expected_end_s passed and was moved, in this interval; not restored. */
	bool late;
	/* As `late`, for its claim to nodes that other tasks still have to leave. */
	bool claims_late;
	double ended_s;
	double exec_s;   /* measured execution time of all intervals; NAN until it ends */
	double etc_s;    /* estimated, for its placement */
	double energy_j; /* what it has used; NAN: not known */
	enum engine_energy_kind energy_kind;
	double eec_j;
	double utility;   /* earned; 0 unless COMPLETED */
	double yield;     /* shared hosts: the last yield that was requested; 0: none */
	double virtual_s; /* shared hosts: its virtual time until sharing_s */
	/* From then on virtual_s grows at its yield; NAN: virtual_s stands still. */
	double sharing_s;
	/* With queues: its chance to be on time, when last queued or dropped. */
	double chance;
	double threshold; /* the threshold that `chance` was compared with */
	/* With queues: its number in the order of queueing, from 1; 0: never queued. */
	uint32_t queued_n;
	/*
	 * Reason of the last change, or NULL. Valid during callbacks; of an ended task, until
	 * engine_free().
	 */
	const char *reason;
};

/* What ended a run. */
enum engine_end {
	ENGINE_END_NONE = 0,
	ENGINE_END_LIMIT,   /* the energy limit */
	ENGINE_END_TIME,    /* the duration */
	ENGINE_END_DONE,    /* every task has ended, and none is to come */
	ENGINE_END_ABORTED, /* the backend or the recorder failed */
};

/* The names of enum engine_end, NULL-terminated. */
extern const char *const engine_end_names[];

/* "limit", "time", "done", "aborted"; NULL: not ended. */
const char *engine_end_name(enum engine_end end);

/* Upper bounds of the histogram of lengths of mapping events, in seconds, ascending. */
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
	/* The most that could be earned, filled in by the caller; 0: not known. */
	double utility_max;
	/* Shared hosts. Memory is in whole hosts, of the VMs that were paused or went elsewhere. */
	uint64_t pauses; /* pauses of tasks; a task may have several */
	uint64_t migrations;
	double paused_memory;
	double moved_memory;
	/*
	 * Bounded stretches (Stillwell 2010, II.B) of the tasks that arrived, filled in by the
	 * caller; 0: not known. For tasks of a cluster that did not complete,
	 * dfrs_stretch_at_least() gives the value; all tasks of an environment have to complete.
	 */
	double stretch_max;
	double stretch_mean;
	/* From the first arrival to the last end, filled in by the caller; 0: not known. */
	double span_s;
	/*
	 * Clusters with queues (Gentry 2019, VII), filled in by the caller. tasks_counted 0: not
	 * known.
	 */
	uint32_t tasks_counted;
	uint32_t tasks_on_time;
	double type_variance;
	double busy_s;
	double cost;
	uint64_t decisions; /* mapping events with a mappable task, lead included */
	double decide_s;    /* processor time that the policy took for them */
	/* Decisions that the fallback of a policy from outside made. */
	uint64_t fallbacks;
	/* Wall time of these events, from the snapshot until the plan was carried out, seconds. */
	double mapping_s;
	double mapping_longest_s; /* wall time of the longest of them, seconds */
	/* Events above the bound before, up to this bound; last: above all bounds. */
	uint64_t mapping_counts[ENGINE_MAPPING_BOUNDS + 1];
	/* Events that were impossible in the state of their task or window: defects. */
	uint64_t impossible_events;
};

/*
 * One suspension of a task, from the request to the resumption. Times are NAN until they are known.
 * suspended_s stays NAN if the suspension was rolled back or the task ended first.
 */
struct engine_suspension {
	uint32_t task;
	uint32_t attempt;
	uint32_t n; /* number within the attempt, from 1 */
	/* How far it has come, and what resumes the task: the engine's; not restored from a record. */
	enum suspension_state state;
	enum resumption_state resumption;
	uint32_t cluster;
	uint32_t nodes_count;
	const uint32_t *nodes; /* the nodes that it left */
	/* The nodes that it resumes on; valid once resume_requested_s is known. */
	const uint32_t *to_nodes;
	bool by_person; /* a user requested it, or held or resumed the task */
	/*
	 * The task is held, or has not resumed since a window held it (resumption_fsm.h).
	 * by_person: until a user resumes it; otherwise until the next window.
	 */
	bool held;
	double requested_s;
	double suspended_s; /* from then on its nodes take tasks again */
	double exec_s;      /* execution time of the interval that ended with it */
	double resume_requested_s;
	double resumed_s;                 /* when its resumption was reported */
	double since_s;                   /* when it resumed */
	struct backend_overhead overhead; /* fields NAN: not known (yet) */
	/* The overhead by VM, of the step that has just ended; NULL: not known. */
	const struct backend_vm_overhead *vms;
	uint32_t vms_count;
};

/* One migration of a running task. */
struct engine_migration {
	uint32_t task;
	uint32_t attempt;
	/* Number within the attempt, counting all that were requested, from 1. */
	uint32_t n;
	uint32_t cluster;
	uint32_t nodes_count;
	const uint32_t *nodes;    /* where its VMs were */
	const uint32_t *to_nodes; /* where they are to go; after the end, where they are */
	bool by_person;
	double requested_s;
	double ended_s;                      /* NAN: under way, or the task ended first */
	const char *reason;                  /* why a VM could not be moved; NULL: all were */
	const struct backend_vm_move *moves; /* per VM, if it has just ended; NULL: not known */
	uint32_t moves_count;
};

/* A decision as it is recorded: JSON. */
struct engine_description {
	double now_s;
	char *snapshot, *actions;
};

/*
 * What happens in a run besides the changes that records of tasks show, with the keys of its
 * detail, which is a JSON object.
 */
enum engine_event_kind {
	ENGINE_EVENT_SLID,      /* a reservation begins later: task, attempt, reason */
	ENGINE_EVENT_CANCELLED, /* a reservation is given up: task, attempt, reason */
	/* a task starts later than its reservation said: task, attempt, reason */
	ENGINE_EVENT_OVERDUE,
	/* the state changed before an action was applied: task, attempt, reason */
	ENGINE_EVENT_OVERTAKEN,
	ENGINE_EVENT_LATE,      /* a task runs longer than estimated: task, attempt, reason */
	ENGINE_EVENT_LOST,      /* an attempt was lost: task, attempt, reason */
	ENGINE_EVENT_STAYED,    /* a suspension or resumption failed: task, attempt, reason */
	ENGINE_EVENT_UNMOVED,   /* a migration failed: task, attempt, reason */
	ENGINE_EVENT_NODE_DOWN, /* cluster, node, reason */
	ENGINE_EVENT_NODE_UP,   /* cluster, node */
	ENGINE_EVENT_PRUNER,    /* pruning: level, dropping */
	ENGINE_EVENT_LIMIT,     /* the run ends at its limit of energy: limit_j */
	ENGINE_EVENT_ABORTED,   /* the run ends before its time: reason */
	/* a window has no energy left for tasks: task, tasks, estimate_j, limit_j, ... */
	ENGINE_EVENT_REFUSED,
	/* the limit of a window is reached: limit_j, spent_j, window_end_s */
	ENGINE_EVENT_EXHAUSTED,
	/* by a correction it is not: limit_j, spent_j, window_end_s */
	ENGINE_EVENT_RECOVERED,
	ENGINE_EVENT_WINDOW, /* a window ends: limit_j, spent_j, refusals */
	ENGINE_EVENT_HELD,   /* a user held a task: task, attempt, user; so below */
	ENGINE_EVENT_RELEASED,
	ENGINE_EVENT_CANCEL,
	ENGINE_EVENT_SUSPEND,
	ENGINE_EVENT_RESUME,
	ENGINE_EVENT_MIGRATE,
	ENGINE_EVENT_DRAINED,   /* an operator drained a node: cluster, node, reason, user */
	ENGINE_EVENT_UNDRAINED, /* cluster, node, user */
	ENGINE_EVENT_ENDED,     /* record_steps: a task ended: task, attempt, state, reason */
	ENGINE_EVENT_SUSPENDED, /* record_steps: task, attempt; so below */
	ENGINE_EVENT_RESUMED,
	/* of a workload with users who react, a task arrives: task, user (absent: of none) */
	ENGINE_EVENT_USER_SUBMITTED,
	/*
	 * The policy from outside did not decide, and its fallback did: policy, fallback, number
	 * and time_s of the snapshot, reason
	 */
	ENGINE_EVENT_FALLBACK,
};
/* "slid", ...: as events are stored; NULL-terminated. */
extern const char *const engine_event_names[];

struct engine_setup;
struct engine_input;

/*
 * Records a run. Every callback is optional. A callback returns false if it failed (a full disk);
 * the engine then ends the run as aborted. The arguments are borrowed for the call.
 */
struct engine_recorder {
	/*
	 * A mapping event with at least one mappable task, before its actions are carried out.
	 * Which ones are recorded: engine_setup.record_changes.
	 */
	bool (*decision)(struct engine_recorder *recorder, const struct policy *policy,
			 const struct sched_snapshot *snapshot, const struct sched_plan *plan);
	/*
	 * The same in two steps, for an engine whose policy decides on its own thread: the text of
	 * a plan that starts thousands of tasks takes long to write. describe() is called on the
	 * policy's thread and must read nothing that changes meanwhile; the caller frees both
	 * texts. described() records them. Both callbacks or neither.
	 */
	void (*describe)(const struct engine_recorder *recorder, const struct policy *policy,
			 const struct sched_snapshot *snapshot, const struct sched_plan *plan,
			 struct engine_description *ret_description);
	bool (*described)(struct engine_recorder *recorder,
			  const struct engine_description *description);
	/* A task changed, or arrived. */
	bool (*task)(struct engine_recorder *recorder, const struct engine_task *task);
	/* A suspension began, or a step of it ended. */
	bool (*suspension)(struct engine_recorder *recorder,
			   const struct engine_suspension *suspension);
	/* A migration began or ended. */
	bool (*migration)(struct engine_recorder *recorder,
			  const struct engine_migration *migration);
	/*
	 * An attempt was lost at ended_s, and the task waits again. `task` is as it was before the
	 * loss.
	 */
	bool (*lost)(struct engine_recorder *recorder, const struct engine_task *task,
		     double ended_s, const char *reason);
	/* Shared hosts: the yield of a task from time_s on. */
	bool (*share)(struct engine_recorder *recorder, double time_s,
		      const struct engine_task *task);
	/* An event: one of engine_event_names[], with its detail. */
	bool (*event)(struct engine_recorder *recorder, double time_s, const char *kind,
		      const char *detail);
	/*
	 * Makes what was recorded so far survive the death of the process. Called before the
	 * backend is asked for anything that the records describe. It need not survive a loss of
	 * power.
	 */
	bool (*flush)(struct engine_recorder *recorder);
	/*
	 * Called by engine_new(): the backend that the engine is to use, which may be `backend`
	 * itself or another that passes everything on to it and listens. `setup` is borrowed until
	 * engine_free(). The engine does not free what is returned.
	 */
	struct backend *(*listen)(struct engine_recorder *recorder,
				  const struct engine_setup *setup, struct backend *backend);
	/*
	 * The engine begins to handle an input, and has handled it. All that the engine asks the
	 * backend for in between depends on the backend alone, so that the inputs with these
	 * answers determine a run. Inputs do not overlap.
	 */
	bool (*input)(struct engine_recorder *recorder, const struct engine_input *input);
	bool (*input_done)(struct engine_recorder *recorder);
	/*
	 * During an input: another answer from outside, of engine_setup.task_ended_j().
	 */
	void (*answer)(struct engine_recorder *recorder, double value);
	/*
	 * Every decision, before decision(), which not every decision is recorded by; of a policy's
	 * thread also a decision that is dropped, as its answer comes.
	 */
	bool (*decided)(struct engine_recorder *recorder, const struct policy *policy,
			const struct sched_snapshot *snapshot, const struct sched_plan *plan);
};

/* The kinds of inputs of an engine. */
enum engine_input_kind {
	ENGINE_INPUT_NONE = 0,
	ENGINE_INPUT_BEGIN,   /* engine_begin_run() */
	ENGINE_INPUT_TIME,    /* engine_event(): the time has come, or nothing has */
	ENGINE_INPUT_EVENT,   /* engine_event() with an event of the backend */
	ENGINE_INPUT_STOP,    /* engine_stop_run() */
	ENGINE_INPUT_LATE,    /* engine_late_event() */
	ENGINE_INPUT_FINISH,  /* engine_finish_run() */
	ENGINE_INPUT_RESTORE, /* a run that was interrupted is restored (recorder_store.h) */
	/* Requests of users and settings of a service, with the keys of their details. */
	ENGINE_INPUT_SUBMIT, /* the task: struct sched_task but its demand; held */
	ENGINE_INPUT_HOLD,   /* task; so below */
	ENGINE_INPUT_FREE,   /* it is released */
	ENGINE_INPUT_CANCEL,
	ENGINE_INPUT_SUSPEND,
	ENGINE_INPUT_RESUME,
	ENGINE_INPUT_MIGRATE, /* task, hosts, node_hosts */
	ENGINE_INPUT_DRAIN,   /* cluster, node, reason */
	ENGINE_INPUT_UNDRAIN, /* cluster, node */
	ENGINE_INPUT_POLICY,  /* policy, interval_s */
	ENGINE_INPUT_WINDOW,  /* limit_j, length_s, begin_s, spent_j */
	ENGINE_INPUT_SETTLE,  /* engine_window_settle() */
	ENGINE_INPUT_CORRECT, /* spent_j, by the input's time */
	ENGINE_INPUT_SHIFT,   /* begin_s */
	ENGINE_INPUT_ENERGY,  /* task, energy_j, kind */
	ENGINE_INPUT_KINDS,
};
/* "begin", "time", ...: as inputs are stored. */
extern const char *const engine_input_names[];

/* What the engine takes from outside. Borrowed for the call. */
struct engine_input {
	enum engine_input_kind kind;
	double time_s; /* of the event; else the time that the input is about, NAN: none */
	const struct backend_event *event; /* EVENT and LATE, else NULL */
	const json_t *detail;              /* of a request; NULL: none */
};

/*
 * A limit of dynamic energy in every window of time, for runs that do not end at a limit. Windows
 * follow one another at begin_s + n x length_s; they do not roll.
 */
struct engine_window {
	double limit_j;  /* 0: none */
	double length_s; /* > 0 */
	double begin_s;  /* begin of one of the windows, in run time; may be negative */
	double spent_j;  /* joules used in the window under way that the engine does not know of */
};

/* State of the window under way. */
struct engine_window_state {
	double limit_j; /* NAN: there is no such limit */
	double begin_s, end_s;
	double spent_j;
	/* Joules that running tasks will still use within a window's length, by their estimates. */
	double committed_j;
	/* Joules used when the window ends, if the running tasks proceed as estimated. */
	double forecast_j;
	/* The limit is reached: tasks are being suspended, or are, until the window ends. */
	bool exhausted;
	uint32_t refusals; /* tasks refused in this window */
	/*
	 * The longest time, in seconds, from the limit until a task was suspended or ended, or the
	 * window ended, since this engine began. For a task that is still being suspended, until
	 * now.
	 */
	double reaction_s;
	/* The most joules by which the limit was exceeded, since this engine began. */
	double overshoot_j;
	/* Ended windows, since this engine began, whose end no sample of some meter covers yet. */
	uint32_t unknown;
};

/* The parameters of a run; borrowed until engine_free(). */
struct engine_setup {
	const struct sched_system *system;
	const struct workload *workload;
	/*
	 * `workload` itself if tasks may be submitted at any time (engine_submit()) and appended to
	 * it: the run then ends at its duration at the earliest, which may be INFINITY. NULL: the
	 * workload is closed.
	 */
	struct workload *open;
	struct policy policy;
	double limit_j; /* the run ends when its energy reaches this; 0: no limit */
	/*
	 * No option may need more than what remains of the limit (sched_snapshot.gate): simulated
	 * environments. The testbed has no such gate: its runs end at the limit.
	 */
	bool gate;
	/*
	 * A simulated day (Machovec 2018, sections 2.4 and 4.1): the run begins lead_s before the
	 * day that counts, with an allowance of lead_limit_j of its own; then all counters start
	 * from 0. A task that spans the beginning or the end of the day counts pro rata to its
	 * execution time in it. A multiple of the mapping interval. 0: no lead, and tasks count as
	 * a whole.
	 */
	double lead_s;
	double lead_limit_j;
	double mapping_interval_s; /* > 0; of the periodic mapping events */
	/*
	 * When mapping events are held. A change: tasks arrived or ended, nodes came or went, or
	 * the time of a deferred task came.
	 */
	enum policy_moments moments;
	/*
	 * Least time between mapping events for such changes, in seconds: the first of many changes
	 * has its event at once, the next event is for all changes meanwhile. 0: each change has
	 * its own event.
	 */
	double changes_apart_s;
	/*
	 * The policy decides on a thread of its own while the engine handles events: for a service.
	 * Actions of its plan that became impossible meanwhile are skipped, and the policy is asked
	 * again. Needs `platform`, and a caller that runs the default main context (run_loop.h). No
	 * effect where tasks share hosts.
	 */
	bool apart;
	/*
	 * With `apart`: the number of actions that are carried out before other work has a turn,
	 * for plans that only start tasks and make reservations and place-holders. Actions that
	 * became impossible by then are skipped. 0: all.
	 */
	uint32_t at_once;
	double duration_s; /* > 0; INFINITY: an open workload without a limit */
	/*
	 * Shared hosts: how long the virtual time of a resumed task stands still although it has
	 * its yield, >= 0 seconds: a penalty that does not count (Stillwell 2010, III.A and IV.A).
	 * For backends where suspending takes no time and never fails.
	 */
	double virtual_pause_s;
	uint64_t seed; /* of the policy's own choices */
	/*
	 * What decides if the policy is from outside, on the thread that decides; NULL: the policy
	 * never is. The run ends as aborted where it does not decide.
	 */
	struct policy_outside *outside;
	struct engine_recorder *recorder; /* NULL: none */
	/*
	 * For runs that never end: a decision that leaves all tasks waiting, with the same
	 * reservations as the decision before it, is not recorded. No effect where clusters have
	 * queues.
	 */
	bool record_changes;
	/* Record events for followers of a run: tasks that ended, were suspended or resumed. */
	bool record_steps;
	/*
	 * Lower limits, ascending and below limit_j (any values if that is 0), at which an interim
	 * result is taken as if the run had ended there. Only for policies that do not read the
	 * budget.
	 */
	const double *marks_j;
	uint32_t marks_count;
	bool trim; /* leave out place-holders that cannot matter (POLICY_TRIM) */
	/*
	 * Whose clocks measure how long mapping events take: decide_s and mapping_... of the
	 * result. NULL: they are 0. A simulation would spend a third of its time on reading the
	 * clocks of processor time, a system call.
	 */
	const struct platform *platform;
	/*
	 * What a task whose attempt has just ended has used, by an account of energy, as far as it
	 * is reported, and whether that is all (ENGINE_ENERGY_FINAL) or provisional:
	 * engine_set_energy() brings the rest. NAN: the account does not have the task. NULL: there
	 * is no account, and the backend attributes the energy.
	 */
	double (*task_ended_j)(uint32_t task, enum engine_energy_kind *ret_kind, void *data);
	void *task_ended_data;
};

/*
 * Prepares a run on `backend`, which stays the caller's. A run that was interrupted continues at
 * backend_now_s(): engine_restore_task() is then called for every recorded task. Never fails.
 */
struct engine *engine_new(const struct engine_setup *setup, struct backend *backend);

/*
 * Restores that a task of a workload with users who react arrived, as the event "user-submitted"
 * says; `user` is UINT32_MAX where it names none. To be called for each of them in the order of the
 * tasks, before engine_restore_task(). Returns true, or false if it does not fit the workload.
 */
bool engine_restore_submission(struct engine *engine, uint32_t task, uint32_t user,
			       double arrival_s);

/*
 * Restores a task of an interrupted run. To be called before the run begins, once per recorded
 * task. A claim is restored as a reservation, or left out if the task is suspended. The fields of
 * `record` that count: state, cluster, pstate, nodes, attempts, reservation,
 * planned_start_s, started_s, ended_s, exec_s, energy_j, utility, chance, threshold, queued_n and,
 * of an ended task, reason (copied). A shared system is not restored. Tasks that were starting or
 * running are taken to be so still: the backend reports what became of them. Reservations and
 * place-holders still stand. Returns true, or false if the record does not fit the workload or the
 * system.
 */
bool engine_restore_task(struct engine *engine, uint32_t task, const struct engine_task *record);

/*
 * Sets what a task has used, and where the figure is from. If the joules change, the task is
 * recorded, and the energy of completed tasks that policies read changes by as much; neither is
 * done for a task whose place the configuration does not have any more. O(1).
 */
void engine_set_energy(struct engine *engine, uint32_t task, double energy_j,
		       enum engine_energy_kind kind);

/*
 * Instead of engine_restore_task(), if the record of the task cannot be used: the task is
 * QUARANTINED, and nothing is recorded of it, so that its stored record stays. `attempts`: starts
 * so far, 0 if that is not known either. `reason` is borrowed until engine_free(). False: there is
 * no such task, or it was restored before.
 */
bool engine_restore_quarantined(struct engine *engine, uint32_t task, uint32_t attempts,
				const char *reason);

/*
 * Restores a suspension of an interrupted run, after its task. To be called for all suspensions in
 * the order of their numbers. Those of former attempts have no effect. Steps that were under way
 * are requested from the backend once more by engine_begin_run(). Returns true, or false if the
 * record does not fit the task.
 */
bool engine_restore_suspension(struct engine *engine, const struct engine_suspension *record);

/*
 * Restores the loss of an attempt, after its task; once for each lost attempt, in any order. The
 * task's waiting time is computed from them.
 */
void engine_restore_lost(struct engine *engine, uint32_t task, uint32_t attempt, double started_s,
			 double ended_s);

/*
 * Restores the state of pruning after the last mapping event. To be called after all tasks, where
 * clusters have queues. The sufferage of each type is computed from how its tasks ended.
 */
void engine_restore_pruner(struct engine *engine, const struct sched_pruner *pruner);

/*
 * Restores a migration of an interrupted run, after the suspensions. Returns true, or false if the
 * record does not fit the task.
 */
bool engine_restore_migration(struct engine *engine, const struct engine_migration *record);

/*
 * To be called after all of the above, where clusters keep their queues themselves: asks the
 * backend once more for the contents of the queues. If the run begins after the backend has
 * answered, tasks that began or ended since they were recorded are known before the run continues;
 * tasks whose deadlines have passed meanwhile may have been on time.
 */
void engine_queue_again(struct engine *engine);

/*
 * Whether a task restored as suspended, resuming, migrating or suspending has the record of that
 * step.
 */
bool engine_restore_is_complete(const struct engine *engine, uint32_t task);

/*
 * A run in steps. The caller takes the events of the backend, in a main loop
 * (controller/session/run_loop.h) or of a simulation (controller/experiment/simulation.h):
 *
 *    engine_begin_run(engine);
 *    while (!engine_has_ended(engine)) {
 *            (until an event of the backend arrives, engine_next_s() at the latest;
 *            an event at that time comes before the time itself)
 *            engine_event(engine, &event);
 *    }
 *    engine_stop_run(engine);
 *    (engine_late_event() for what the backend reports late)
 *    engine_finish_run(engine, &result);
 *
 * Between the calls users' requests may change the engine, after which engine_next_s() may be
 * earlier.
 */

/* Begins the run: restored steps are requested once more. */
void engine_begin_run(struct engine *engine);

/*
 * When engine_event() is to be called if no event comes before; -INFINITY: at once. Takes no note
 * of events. O(1).
 */
double engine_next_s(const struct engine *engine);

/*
 * Handles an event of the backend, or, with kind NONE, that the time has come to event->time_s.
 * Then takes the decision of a policy that has decided on its own thread, or carries out the next
 * part of its plan. No effect after the run has ended.
 */
void engine_event(struct engine *engine, const struct backend_event *event);

/* Whether the run has ended. */
bool engine_has_ended(const struct engine *engine);

/*
 * After the end: asks the backend to kill what is still under way. Returns whether tasks count
 * that ended before the run did and whose end is reported only now: not if the run was aborted.
 */
bool engine_stop_run(struct engine *engine);

/*
 * After engine_stop_run(): counts a task if the event is its end, by itself, before the run's, or
 * in an open run before it was killed.
 */
void engine_late_event(struct engine *engine, const struct backend_event *event);

/*
 * After engine_stop_run(): what has not ended is unfinished. Fills *ret_result, of an aborted run
 * too; engine_reason() says why it was aborted.
 */
void engine_finish_run(struct engine *engine, struct engine_result *ret_result);

/*
 * Sets the user of the requests that follow, for their events; copied. NULL: no user, or not known.
 */
void engine_set_asker(struct engine *engine, const char *user);

/*
 * Suspends a task for a user, preemptible or not: it leaves its nodes and is not mappable until a
 * user resumes it. May be called between two events. Returns
 * ENGINE_REFUSAL_NONE if the backend was asked (or the task was suspended already), else why it
 * cannot be suspended.
 */
enum engine_refusal engine_request_suspend(struct engine *engine, uint32_t task);

/*
 * Resumes a suspended task for a user: as soon as its cluster has idle nodes for it, before the
 * policy is asked; a policy that preempts may resume it earlier. Returns as
 * engine_request_suspend().
 */
enum engine_refusal engine_request_resume(struct engine *engine, uint32_t task);

/* Why a task cannot be migrated now, to any host. */
enum engine_refusal engine_check_migrate(const struct engine *engine, uint32_t task);

/*
 * Migrates the VMs of a running task, for a user, to the hosts_count hosts given (each once) of its
 * cluster: the VMs are distributed over these, and as few as possible move. node_hosts has the host
 * of each of the cluster's nodes. Returns as engine_request_suspend(). *ret_full is the host that
 * has no room if that is the reason, else UINT32_MAX.
 */
enum engine_refusal engine_request_migrate(struct engine *engine, uint32_t task,
					   const uint32_t *hosts, uint32_t hosts_count,
					   const uint32_t *node_hosts, uint32_t *ret_full);

/*
 * Requests of users about tasks that are submitted at any time, and about nodes (control.c). Each
 * may be called before the run begins, or between two events; engine_next_s() is then -INFINITY if
 * a mapping event may follow. A request for what is so already has no effect. The records of all
 * but engine_submit() are flushed when they return, or the run is aborted.
 */

/*
 * Submits a task, which arrives now: `task` is copied to the end of the open workload. Its id and
 * arrival_s are set; the rest must be as workload_check() requires, with deadline_s after the
 * arrival. `held`: the task waits until a user releases it. Returns its index, or UINT32_MAX if
 * there is no room left, the run has ended, or its workload is closed. After the last task of a
 * submission, and before the user is answered, engine_flush() is to be called. O(1) in the number
 * of tasks.
 */
uint32_t engine_submit(struct engine *engine, const struct sched_task *task, bool held);

/* The number of tasks of the workload, including those to come. */
uint32_t engine_tasks_count(const struct engine *engine);

/* Flushes what was recorded so far (struct engine_recorder); if that fails the run is aborted. */
void engine_flush(struct engine *engine);

/*
 * Cancels a task for a user. A waiting or queued task is KILLED at once; a task under way is KILLED
 * when the backend reports its end, or is COMPLETED or FAILED if it ended before. O(reservations),
 * with queues O(their length).
 */
enum engine_refusal engine_request_cancel(struct engine *engine, uint32_t task);

/*
 * Holds a waiting task for a user: it is not mappable, and its reservation is cancelled.
 * O(reservations).
 */
enum engine_refusal engine_request_hold(struct engine *engine, uint32_t task);

/*
 * Releases a held task for a user: it is mappable again. A task that is not held is refused. O(1).
 */
enum engine_refusal engine_request_release(struct engine *engine, uint32_t task);

/*
 * Whether the policy may not have the task: a user holds it, or it is suspended until a user resumes
 * it or the next energy window begins. O(1).
 */
bool engine_is_held(const struct engine *engine, uint32_t task);

/*
 * Drains a node (in a shared system: a host) for a user: it gets no new tasks. Running tasks stay;
 * on shared hosts the policy may move them. `reason` is copied; NULL: none, and a node that is
 * drained already keeps its reason. O(reservations x their nodes), on shared hosts O(running
 * tasks).
 */
enum engine_refusal engine_request_drain(struct engine *engine, uint32_t cluster, uint32_t node,
					 const char *reason);

/* Undrains a node for a user: it gets tasks again. O(1). */
enum engine_refusal engine_request_undrain(struct engine *engine, uint32_t cluster, uint32_t node);

/*
 * Replaces the policy, with periodic mapping events `mapping_interval_s` (> 0) apart; the new
 * policy is asked at once. Reservations stand. If the new policy does not know suspended tasks,
 * these resume as soon as there are idle nodes. The policy must fit the system. O(1).
 */
void engine_request_policy(struct engine *engine, const struct policy *policy,
			   double mapping_interval_s);

/* Whether the node is drained. */
bool engine_drained(const struct engine *engine, uint32_t cluster, uint32_t node);

/* A node. */
struct engine_node {
	enum node_state state;
	/* Why it was drained; NULL: no reason given. Valid until it is drained or undrained. */
	const char *reason;
	/* The task that has it or claims it; UINT32_MAX: none, or shared hosts. */
	uint32_t task;
	uint32_t leaver; /* the task that is leaving it; UINT32_MAX as above */
};

/* O(1). */
struct engine_node engine_node_at(const struct engine *engine, uint32_t cluster, uint32_t node);

/*
 * Why a task does not run yet; NULL if it is under way or has ended. The text is valid until the
 * next call or engine_free(). O(nodes of the clusters).
 */
const char *engine_waits_because(const struct engine *engine, uint32_t task);

/*
 * For an interrupted run, after all tasks, suspensions and migrations: restore that a WAITING task
 * is held, that a task under way was to be cancelled, that a node is drained. Return true, or false
 * if there is no such task or node.
 */
bool engine_restore_held(struct engine *engine, uint32_t task);
bool engine_restore_cancelled(struct engine *engine, uint32_t task);
bool engine_restore_drained(struct engine *engine, uint32_t cluster, uint32_t node,
			    const char *reason);

/*
 * Sets, changes or (limit_j 0) ends a limit per window, before the run begins or between two
 * events. Allowed only if the setup has no limit_j, no marks, no queues and no
 * shared hosts. Tasks suspended for the former limit resume as far as the new one allows.
 */
void engine_set_window(struct engine *engine, const struct engine_window *window);

/*
 * Updates, from later samples, the energy that was used when the window began: meters report a
 * moment only after it has passed. Mapping events do this; where these are rare, to be called once
 * a second, before the run begins or between two events.
 */
void engine_window_settle(struct engine *engine);

/*
 * Corrects the energy that the window under way has used by time_s, which the caller's account
 * says, where it is off by more than ENGINE_WINDOW_OFF of the limit. The limit is held against it
 * from then on: a window that has reached it, as far as samples show, is exhausted; what is
 * estimated since then exhausts none. An exhausted window that has used less, by more than
 * ENGINE_WINDOW_OFF of the limit, is open again. Between two events; no effect where there is no
 * limit.
 */
#define ENGINE_WINDOW_OFF 1e-4
void engine_window_correct(struct engine *engine, double time_s, double spent_j);

/* When the window under way began; only where there is a limit. */
double engine_window_begin_s(const struct engine *engine);

/* The state of the window under way. O(running tasks). */
struct engine_window_state engine_window_now(const struct engine *engine);

/*
 * To be called after the wall clock was set: windows begin at begin_s + n x length_s from the next
 * one on. The window under way keeps its end. The next one lasts between a half and one and a half
 * lengths, so that a clock that is set back and forth does not begin new windows.
 */
void engine_shift_window(struct engine *engine, double begin_s);

/* The virtual time of a task on shared hosts until now: the integral of its yield. */
double engine_virtual_time_s(const struct engine *engine, uint32_t task);

/* The interim result at marks_j[mark]; equal to the result of the run when it was not reached. */
const struct engine_result *engine_mark_result(const struct engine *engine, uint32_t mark);

/*
 * During the run: `decisions`, `decide_s`, `fallbacks`, `impossible_events` and `ended_by` so far;
 * the other fields are set at the end. Borrowed.
 */
const struct engine_result *engine_counts(const struct engine *engine);

/* The completion of a task, and the utility of all tasks by then. */
struct engine_utility_change {
	double time_s;
	double utility; /* the task's */
	double sum;
};

/*
 * The utility earned so far, by time: an entry for each completed task. Borrowed, until the engine
 * runs again. The log is kept as tasks complete: a call costs O(1), except the first after tasks
 * were restored.
 */
const struct engine_utility_change *engine_utility_log(struct engine *engine, uint32_t *ret_count);

/* Why the run was aborted, or NULL. Valid until engine_free(). */
const char *engine_reason(const struct engine *engine);

/*
 * Whether a task has ended for good. A QUARANTINED task has not: it may be released and start
 * again.
 */
static inline bool engine_task_over(const struct engine_task *task)
{
	return engine_task_state_in(task->state, ENGINE_TASK_OVER);
}

/*
 * Whether a task completed by its deadline, up to rounding. Only where clusters have queues.
 */
bool engine_on_time(const struct engine *engine, uint32_t task);

/* The task at an index of the workload. */
const struct engine_task *engine_task_at(const struct engine *engine, uint32_t task);

/* A task with the nodes of its last placement, as a backend gets it; other members are 0. */
static inline struct sched_allocation engine_task_allocation(const struct engine_task *task)
{
	return (struct sched_allocation){
		.task = task->task,
		.cluster = task->cluster,
		.pstate = task->pstate,
		.nodes_count = task->nodes_count,
		.nodes = task->nodes,
	};
}

/* NULL is allowed. The backend is not freed. */
void engine_free(struct engine *engine);
typedef struct engine engine_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(engine_t, engine_free)
