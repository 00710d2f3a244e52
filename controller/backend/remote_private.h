/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of remote.h, for its files alone. Each of them depends only on files named after it:
 *  remote.c              the backend, and the listener of the links
 *  remote_orphans.c      attempts without a record
 *  remote_request.c      requests to local schedulers about an attempt, their answers, and what
 *                        takes too long
 *  remote_attempt.c      an attempt of a task: its descriptions and its end
 *  remote_steps.c        its suspensions, resumptions and migrations, and its CPU share
 *  remote_operation.c    the states of an operation
 *  remote_slots.c        nodes of shared hosts
 *  remote_report.c       notes and events
 *  attempt_fsm.c         the states of an attempt
 *
 * Only remote_request.c sends requests about an attempt. The files after it change the states of
 * operations; their callers, the files before them, then call remote_request_due().
 */
#include "controller/backend/attempt_fsm.h"
#include "controller/backend/operation_fsm.h"
#include "controller/backend/remote.h"

/* How long an attempt may be silent after its deadline or a kill before it is checked. */
#define REMOTE_GRACE_S 30.0

/*
 * A local scheduler frees a node a moment after it reports that the task left; it answers 409 until
 * then.
 */
#define REMOTE_CONFLICT_TRIES 15
#define REMOTE_CONFLICT_WAIT_MS 200

/* On shared hosts a VM may have to boot at the node first, so more tries are needed. */
#define REMOTE_CONFLICT_TRIES_SHARED 450

/* What a local scheduler is requested to do with an attempt. */
enum remote_operation_kind {
	REMOTE_OPERATION_START = 0,
	REMOTE_OPERATION_SUSPEND,
	REMOTE_OPERATION_RESUME,
	REMOTE_OPERATION_MIGRATE,
	REMOTE_OPERATION_SHARE,
	REMOTE_OPERATION_KILL,
};

struct remote_operation {
	struct remote_attempt *entry;
	enum remote_operation_kind kind;
	enum operation_state state; /* written by remote_operation_move() alone */
	bool open;         /* a request, perhaps that of an earlier call, is not answered yet */
	uint32_t n;        /* SUSPEND, RESUME, MIGRATE: number of the call */
	const char *keep;  /* SUSPEND: where the VMs are to be kept: "auto", "memory", "disk" */
	uint32_t *nodes;   /* RESUME, MIGRATE: nodes_count target nodes, owned; or NULL */
	uint32_t *hosts;   /* shared hosts: the target host of each VM, owned; or NULL */
	int64_t called_ns; /* 0: an earlier controller made the call; KILL: when it was last sent */
	int64_t answered_ns; /* ANSWERED: since when */
	/* it is put off for so long, from the next remote_request_due() on; 0: it is not */
	guint wait_ms;
	guint source;   /* that ends this time; 0: it has not begun */
	guint refusals; /* so far; SHARE: failures in a row */
	char *reason;   /* FAILED: why; NULL: no reason is known */
};

/* Whether an operation of that kind was called and has no result yet. */
static inline bool remote_operation_is(const struct remote_operation *operation,
				       enum remote_operation_kind kind)
{
	return operation->state != OPERATION_NONE && operation->kind == kind;
}

/*
 * What distinguishes a kind; the array is indexed by kinds. Of a kind that has a result (a step, or
 * an operation of its own that calls functions of remote_operation.c) all members are required but
 * stays_running.
 */
struct remote_kind {
	const char *path; /* of its requests, below that of the task; NULL: that of the task */
	/* of a start and a kind with a result: what the task then is */
	const char *participle;
	/* of a kind with a result: */
	const char *impossible;         /* why a call is refused in other states of the attempt */
	enum backend_event_kind failed; /* the event of a failure */
	/*
	 * Whether the task is as before the operation, by its last description: its state there,
	 * and what was taken from it.
	 */
	bool (*is_back)(const struct remote_attempt *entry, enum task_state state);
	/*
	 * Its task is `running` all the while, so that the state in the answer to a request does
	 * not tell that it has failed: its result is an event, or a later description.
	 */
	bool stays_running;
	/*
	 * After so long without a result remote_guard_attempt() kills the task; above
	 * REMOTE_OPERATION_CHECK_S. INFINITY: it is not killed, but checked again and again.
	 */
	double stuck_s;
};
extern const struct remote_kind remote_kinds[];

/* The migrations of an attempt. */
struct remote_migrations {
	uint32_t called; /* the `n` of the last migrate() */
	uint32_t moved;  /* migrations that moved a VM, by the local scheduler's count */
	uint32_t open;   /* the migration under way when last described; 0: none */
	/* reattached: struct task_migration elements as first described, or NULL */
	GPtrArray *past;
};

/* The CPU share of an attempt: fractions of what its nodes may use; 1 at first. */
struct remote_share {
	double wanted, sent, given; /* given: NAN if it is not the same for all VMs */
	int64_t n;                  /* number of the last request; 0: none */
	struct remote_operation operation;
};

/* One attempt of a task. */
struct remote_attempt {
	struct remote_backend *remote;
	char *id;
	uint32_t task, attempt, type, cluster;
	enum attempt_state state; /* written by attempt_move() alone */
	/*
	 * Its present nodes, or the last ones; on shared hosts the nodes of its VMs, in their
	 * order.
	 */
	uint32_t *nodes;
	uint32_t nodes_count;
	uint32_t *hosts;  /* shared hosts: the host of each VM after the start */
	int64_t start_ns; /* its execution time counts from here; at first: time of start() */
	double deadline_s;
	double last_s; /* time of its last event */
	/* How it was requested: no event changes it. */
	bool reattached;       /* by an earlier controller; remote_backend_adopt() */
	bool enqueued;         /* by enqueue(), perhaps of an earlier controller */
	double start_before_s; /* of enqueue(); time of the run */
	/* Of its checks and notes, which can be made in any state but NEW: no part of the state. */
	bool check_open; /* a check is under way */
	bool doubted;    /* a note about an impossible value in its description was made */
	/* since when answers to checks are unusable; 0: the last one was usable */
	int64_t unclear_ns;

	struct remote_operation start;
	struct remote_operation step; /* the suspension, resumption or migration; one at a time */
	struct remote_operation kill;
	uint32_t suspensions; /* how often SUSPENDED was reported */
	double paused_s;      /* sum of the suspensions before the last interval */
	/*
	 * since when it does not execute, by its last description; 0: it does, perhaps already
	 * while its resumption is not reported and its state is SUSPENDED
	 */
	int64_t frozen_ns;
	struct remote_migrations migrations;
	struct remote_share share;
};

struct remote_backend {
	struct backend base;
	struct remote_fleet *fleet;
	const struct config *config;
	struct remote_run run;
	struct remote_listener listener;
	GHashTable *entries; /* id -> struct remote_attempt */
	GQueue events;       /* struct backend_event, by time */
	/* the event delivered last; it owns what the caller borrows */
	struct backend_event *delivered;
	double limit_j;
	bool limit_reported, aborted;
	int64_t checked_ns; /* energy up to here was compared with the limit */
	guint guard_source;
	/* one element per cluster; NULL: orphans are not searched for */
	struct remote_orphans *orphans;
};

/* The time on our clock. */
static inline int64_t remote_now_ns(const struct remote_backend *remote)
{
	return platform_now_ns(remote_fleet_platform(remote->fleet));
}

/* remote_orphans.c */

/*
 * Lists the tasks of the local scheduler, whose link has (again) come up, and kills orphans, if
 * remote_backend_kill_orphans() was called.
 */
void remote_orphans_search(struct remote_backend *remote, uint32_t cluster);

/* Repeats failed listings when they are due; to be called periodically. */
void remote_orphans_guard(struct remote_backend *remote, int64_t now_ns);

/* Ends the search and frees its state. */
void remote_orphans_free(struct remote_backend *remote);

/* remote_request.c */

/*
 * Judges what takes long; to be called periodically. An attempt that outlives its deadline and the
 * grace period, or whose step does, is killed, and abandoned if no end is reported. One of which
 * nothing is known for as long as a local scheduler may be silent is abandoned, as if the local
 * scheduler were away. A request to end an attempt that was given up is repeated.
 */
void remote_guard_attempt(struct remote_attempt *entry, int64_t now_ns);

/*
 * Sends the requests of the attempt's operations that wait and can be sent: for a kill once the
 * start is answered or withdrawn, for a step and a share once the task runs and is described. To be
 * called after every change of the attempt.
 */
void remote_request_due(struct remote_attempt *entry);

/* start() and enqueue() of the backend, for an attempt with its nodes. */
void remote_request_start(struct remote_attempt *entry);

/* kill() of the backend. An attempt whose start was put off ends at once. */
void remote_request_kill(struct remote_attempt *entry);

/* Sends a kill now, also again, or for an attempt that has turned up again. */
void remote_request_delete(struct remote_attempt *entry);

/* Requests its state, unless such a request is under way. */
void remote_request_check(struct remote_attempt *entry);

/* remote_attempt.c */

/* Whether its state is in a set of states. */
static inline bool remote_attempt_is(const struct remote_attempt *entry, uint32_t set)
{
	return (set & ATTEMPT_SET(entry->state)) != 0;
}

/* Moves the attempt on by an event; see attempt_move(). */
static inline bool remote_attempt_move(struct remote_attempt *entry, enum attempt_event event)
{
	return attempt_move(&entry->state, event, entry->id);
}

/* Moves an operation on by an event; see operation_move(). */
static inline bool remote_operation_move(struct remote_operation *operation,
					 enum operation_event event)
{
	return operation_move(&operation->state, event, operation->entry->id);
}

/* Whether its local scheduler has answered that it has the attempt, or has been asked to end it. */
static inline bool remote_attempt_is_asked(const struct remote_attempt *entry)
{
	return entry->start.state == OPERATION_ANSWERED;
}

/* Whether it was requested, or is to be requested, to end the attempt. */
static inline bool remote_attempt_is_killed(const struct remote_attempt *entry)
{
	return entry->kill.state != OPERATION_NONE;
}

/* Processes the local scheduler's description of the attempt; times are on our clock. */
void remote_attempt_take(struct remote_attempt *entry, const struct task *task);

/*
 * Reads the answer to a request: a task object that must be this attempt's. Sets *ret_state, which
 * may be NULL. False with `error`: the answer is malformed.
 */
bool remote_attempt_read(struct remote_attempt *entry, const json_t *body,
			 enum task_state *ret_state, GError **error);

/* Ends the attempt in a way that the local scheduler has not reported. */
void remote_attempt_end(struct remote_attempt *entry, enum backend_outcome outcome,
			const char *reason);

/*
 * Whether `status` and `error` mean that the local scheduler does not have the task. The attempt
 * then ends: as lost, or, if the local scheduler had it once (410) so that its end is unknown, as
 * failed.
 */
bool remote_attempt_unknown(struct remote_attempt *entry, int status, const GError *error);

/* Ends the attempt as lost; it is to be killed if it turns up again. */
void remote_attempt_abandon(struct remote_attempt *entry, const char *reason);

/* Frees a struct remote_attempt; callbacks of its requests are dropped. */
void remote_attempt_free(void *entry);

/* remote_steps.c: suspensions */

/* Whether the task executes, once it has started: it may be migrating. */
static inline bool remote_suspend_executes(const struct remote_attempt *entry)
{
	return !remote_attempt_is(entry, ATTEMPT_ANY_SUSPENDED) &&
	       !remote_operation_is(&entry->step, REMOTE_OPERATION_SUSPEND);
}

/*
 * Reattaches the suspensions that an earlier controller requested; entry->nodes are the nodes that
 * the attempt is on or is to go to.
 */
void remote_suspend_adopt(struct remote_attempt *entry, const struct remote_past *past);

/* Reports what is new in the suspensions of `task`. */
void remote_suspend_take(struct remote_attempt *entry, const struct task *task);

/*
 * Processes the first description of a reattached task: reattaches a step that an earlier
 * controller requested.
 */
void remote_suspend_reattach(struct remote_attempt *entry, const struct task *task);

/* How long the attempt has executed at now_ns, in seconds. */
double remote_suspend_executed_s(const struct remote_attempt *entry, int64_t now_ns);

/* remote_steps.c: migrations */

/* Reports what is new in the migrations of `task`. */
void remote_migrate_take(struct remote_attempt *entry, const struct task *task);

/*
 * Whether the migration that is to be requested is under way or has ended, because an earlier
 * controller requested it; its end then is reported.
 */
bool remote_migrate_reattach(struct remote_attempt *entry);

/* remote_steps.c: its CPU share */

/* share() of the backend. */
void remote_share_want(struct remote_attempt *entry, double yield);

/* Processes the answer to the request. */
void remote_share_answered(struct remote_attempt *entry, int status, const GError *error);

/* Processes the event that a VM has not got its share. */
void remote_share_failed(struct remote_attempt *entry, const char *reason);

/* Reports how much CPU the VMs of `task` get of their share. */
void remote_share_take(struct remote_attempt *entry, const struct task *task);

/* remote_operation.c */

/*
 * suspend(), resume() or migrate() of the backend, with `keep` of a suspension (borrowed) and the
 * target `nodes` of the others (copied), else NULL: begins the step, or reports that it is
 * impossible. No effect if it was begun before, or the attempt has ended or is to be killed.
 */
void remote_operation_call(struct remote_attempt *entry, enum remote_operation_kind kind,
			   uint32_t n, const char *keep, const uint32_t *nodes,
			   uint32_t nodes_count);

/* Begins a step that an earlier controller requested, number `n`: its result is to come. */
void remote_operation_reattach(struct remote_operation *step, enum remote_operation_kind kind,
			       uint32_t n);

/* It is not put off any longer. */
void remote_operation_unwait(struct remote_operation *operation);

/* The operation has its result, or is dropped. */
void remote_operation_end(struct remote_operation *operation);

/*
 * Ends the step and reports its failure; the task is as before, as far as is known. `reason` is
 * copied, here and below, and may be NULL.
 */
void remote_operation_fail(struct remote_operation *step, const char *reason);

/* The local scheduler will report the result. */
void remote_operation_accept(struct remote_operation *step);

/* Processes the event that a step of that kind failed; no effect if there is none. */
void remote_operation_failed(struct remote_operation *step, enum remote_operation_kind kind,
			     const char *reason);

/* Processes the answer to the step's request: its status, and the task's state. */
void remote_operation_answered(struct remote_operation *step, int status, enum task_state state);

/* Processes the state of the task in the answer to a check. */
void remote_operation_checked(struct remote_operation *step, enum task_state state);

/* For how long the step has been ANSWERED, in seconds; 0: it is not. */
double remote_operation_answered_s(const struct remote_operation *step, int64_t now_ns);

/* For so long an answer to an older request may not show a step that was accepted. */
#define REMOTE_OPERATION_CHECK_S 15.0

/* remote_slots.c */

/* Whether the cluster's hosts are shared, so that the engine's nodes are hosts. */
bool remote_slots_shared(const struct remote_attempt *entry);

/* How often a request is repeated that finds no node ready. */
guint remote_slots_tries(const struct remote_attempt *entry);

/* The engine's node for a node of the cluster: its host if hosts are shared. */
static inline uint32_t remote_slots_host(const struct config_cluster *cluster, uint32_t node)
{
	return cluster->shared ? config_cluster_host(cluster, node) : node;
}

/*
 * A request to put the attempt on its nodes_count `nodes` found them not ready for all tries. Marks
 * hosts of which one node is down: they take no tasks until one of their nodes comes up. No effect
 * if hosts are not shared.
 */
void remote_slots_give_up(const struct remote_attempt *entry, const uint32_t *nodes);

/*
 * Chooses a node for each VM of the attempt on the hosts given, one per VM, that no other task has.
 * If `stay` is not NULL, VMs that are on their host already keep their node. The caller frees.
 */
uint32_t *remote_slots_pick(const struct remote_attempt *entry, const uint32_t *hosts,
			    const uint32_t *stay);

/* A host for each of `vms` VMs, dealt out evenly over hosts_count of them. The caller frees. */
uint32_t *remote_slots_spread(const uint32_t *hosts, uint32_t hosts_count, uint32_t vms);

/* remote_report.c */

/* Converts a reading of our clock to time of the run. */
double remote_run_s(const struct remote_backend *remote, int64_t t_ns);

/* Reports something to record (remote_run.note). */
void remote_note(struct remote_backend *remote, const char *kind, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Queues a deep copy of `event`. Events with equal times keep the order of arrival. */
void remote_push(struct remote_backend *remote, const struct backend_event *event);
/* Frees a copy. */
void remote_event_free(void *event);

/* The link to the local scheduler of the attempt's cluster. */
struct remote_link *remote_attempt_link(const struct remote_attempt *entry);

/* An event of the attempt at t_ns, or at its last event if that was later. */
struct backend_event remote_attempt_event(struct remote_attempt *entry,
					  enum backend_event_kind kind, int64_t t_ns);
