/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of remote.h, for its files alone: remote.c (the backend and the listener of the
 * links), remote_report.c (notes and events), remote_attempt.c (an attempt of a task: its start and
 * its end), remote_step.c (requests to suspend, resume and migrate it), remote_suspend_ctl.c (its
 * suspensions and resumptions), remote_migrate_ctl.c (its migrations), remote_share_ctl.c (its CPU
 * share), remote_slots.c (nodes of shared hosts) and remote_orphans.c (attempts without a record).
 */
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

/* What an attempt does after its start. */
enum remote_step {
	REMOTE_STEP_NONE = 0,
	REMOTE_STEP_SUSPENDING, /* suspend() was called, no result yet */
	REMOTE_STEP_SUSPENDED,
	REMOTE_STEP_RESUMING,  /* resume() was called, no result yet */
	REMOTE_STEP_MIGRATING, /* migrate() was called, no result yet */
};

/* A request that is sent again after some time. */
struct remote_retry {
	guint source; /* that sends it; 0: it does not wait */
	guint count;  /* refusals or failures so far, as its user counts them */
};

/* The state of the request for a step. */
enum remote_request_state {
	REMOTE_REQUEST_WAITING =
		0, /* to be sent when the task and `open` allow it, or by `retry` */
	REMOTE_REQUEST_SENT,
	REMOTE_REQUEST_FAILED,   /* sent; the step's failure was reported before the answer */
	REMOTE_REQUEST_ANSWERED, /* the step's result is to come */
};

/* The request for the present step: suspension, resumption or migration. */
struct remote_request {
	enum remote_request_state state;
	bool open;         /* a request, perhaps that of an earlier step, is not answered yet */
	uint32_t n;        /* of the call */
	const char *keep;  /* SUSPENDING: where the VMs are to be kept: "auto", "memory", "disk" */
	uint32_t *nodes;   /* RESUMING, MIGRATING: nodes_count target nodes, owned; or NULL */
	uint32_t *hosts;   /* shared hosts: the target host of each VM, owned; or NULL */
	int64_t called_ns; /* 0: an earlier controller made the call */
	int64_t answered_ns; /* ANSWERED: since when */
	struct remote_retry retry;
	char *reason; /* FAILED: why; NULL: no reason is known */
};

/* The migrations of an attempt. */
struct remote_migrations {
	uint32_t called; /* the `n` of the last migrate() */
	uint32_t moved;  /* migrations that moved a VM, by the local scheduler's count */
	uint32_t open;   /* the migration under way when last described; 0: none */
	/* adopted: struct task_migration elements as first described, or NULL */
	GPtrArray *past;
};

/* The CPU share of an attempt: fractions of what its nodes may use; 1 at first. */
struct remote_share {
	double wanted, sent, given;
	int64_t n;                 /* number of the last request; 0: none */
	bool open;                 /* a request is not answered yet */
	struct remote_retry retry; /* counts failures in a row: its VMs did not get the share */
};

/* One attempt of a task. */
struct remote_attempt {
	struct remote_backend *remote;
	char *id;
	uint32_t task, attempt, type, cluster;
	/*
	 * Its present nodes, or the last ones; on shared hosts the nodes of its VMs, in their
	 * order.
	 */
	uint32_t *nodes;
	uint32_t nodes_count;
	uint32_t *hosts;   /* shared hosts: the host of each VM after the start */
	int64_t start_ns;  /* time of start() */
	int64_t killed_ns; /* time of the DELETE; 0: none was sent */
	double deadline_s;
	double last_s; /* time of its last event */
	struct remote_retry start_retry;
	bool adopted;
	bool described; /* adopted: the local scheduler has described it */
	bool asked;     /* the PUT was answered */
	bool kill_wanted;
	bool started, ended;
	bool abandoned;  /* given up; to be killed if it turns up again */
	bool check_open; /* a check is under way */
	bool doubted;    /* a note about an impossible value in its description was made */
	/* since when answers to checks are unusable; 0: the last one was usable */
	int64_t unclear_ns;
	bool undeleted;        /* the request to end it was given up */
	bool queued;           /* by enqueue(): it waits for its turn */
	bool begun;            /* queued: BEGAN was reported */
	double start_before_s; /* of enqueue(); time of the run */

	enum remote_step step;
	struct remote_request request; /* of the step */
	uint32_t suspended, resumed;   /* how often SUSPENDED and RESUMED were reported */
	double paused_s;               /* sum of the suspensions before the last interval */
	int64_t frozen_ns;             /* suspended since; 0: not suspended now */
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

/* Calls `function`, which clears retry->source, with the attempt in `ms` milliseconds. */
void remote_retry_in(struct remote_retry *retry, guint ms, GSourceFunc function,
		     struct remote_attempt *entry);
/* Cancels that; the count stays. */
void remote_retry_stop(struct remote_retry *retry);

/* The link to the local scheduler of the attempt's cluster. */
struct remote_link *remote_attempt_link(const struct remote_attempt *entry);

/* The path of its requests; the caller frees. */
char *remote_attempt_path(const struct remote_attempt *entry);

/*
 * The `try` of a request made now: milliseconds of the run, so a later request has a higher number.
 */
int64_t remote_attempt_try(const struct remote_attempt *entry);

/* An event of the attempt at t_ns, or at its last event if that was later. */
struct backend_event remote_attempt_event(struct remote_attempt *entry,
					  enum backend_event_kind kind, int64_t t_ns);

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

/* remote_attempt.c */

/* Processes the local scheduler's description of the attempt; times are on our clock. */
void remote_attempt_take(struct remote_attempt *entry, const struct remote_task *task);

/*
 * Reads the answer to a request: a task object that must be this attempt's. Sets *ret_state, which
 * may be NULL. False with `error`: the answer is malformed.
 */
bool remote_attempt_read(struct remote_attempt *entry, const json_t *body,
			 enum task_state *ret_state, GError **error);

/* Makes a note that the local scheduler's answer was malformed. */
void remote_attempt_note_protocol_error(struct remote_attempt *entry, const GError *wrong);

/* Ends the attempt in a way that the local scheduler has not reported. */
void remote_attempt_end(struct remote_attempt *entry, enum backend_outcome outcome,
			const char *reason);

/*
 * Whether `status` and `error` mean that the local scheduler does not have the task. The attempt
 * then ends: as lost, or, if the local scheduler had it once (410) so that its end is unknown, as
 * failed.
 */
bool remote_attempt_unknown(struct remote_attempt *entry, int status, const GError *error);

/* Ends the attempt as lost, and kills it if it turns up again. */
void remote_attempt_abandon(struct remote_attempt *entry, const char *reason);

/* Requests its start. */
void remote_attempt_start(struct remote_attempt *entry);
/* Requests its end. */
void remote_attempt_kill(struct remote_attempt *entry);
/* Repeats the request for its end, or sends it for an attempt that turned up again. */
void remote_attempt_delete(struct remote_attempt *entry);
/* Requests its state, unless such a request is under way. */
void remote_attempt_check(struct remote_attempt *entry);

/*
 * Repeats requests that were given up; to be called periodically. An attempt of which nothing is
 * known for as long as a local scheduler may be silent is abandoned, as if the local scheduler were
 * away. Returns whether the attempt has not ended and its state is not in doubt.
 */
bool remote_attempt_guard(struct remote_attempt *entry, int64_t now_ns);

/* Frees a struct remote_attempt; callbacks of its requests are dropped. */
void remote_attempt_free(void *entry);

/* remote_step.c */

/* Whether the task executes, once it has started: it may be migrating. */
static inline bool remote_step_executes(const struct remote_attempt *entry)
{
	return entry->step == REMOTE_STEP_NONE || entry->step == REMOTE_STEP_MIGRATING;
}

/* Whether the VMs are on the attempt's nodes, or are being moved from there. */
static inline bool remote_step_is_up(const struct remote_attempt *entry)
{
	return entry->step != REMOTE_STEP_SUSPENDED && entry->step != REMOTE_STEP_RESUMING;
}

/*
 * Begins a step for the call with number `n`, for RESUMING and MIGRATING also with the engine's
 * `nodes`, which are copied; remote_step_send() requests it.
 */
void remote_step_begin(struct remote_attempt *entry, enum remote_step step, uint32_t n);
void remote_step_aim(struct remote_attempt *entry, const uint32_t *nodes, uint32_t nodes_count);

/* Begins a step that an earlier controller requested, number `n`: its result is to come. */
void remote_step_reattach(struct remote_attempt *entry, enum remote_step step, uint32_t n);

/*
 * Sends the request for the step, unless it was sent, or has to wait until the task runs, is
 * described, or an earlier request is answered.
 */
void remote_step_send(struct remote_attempt *entry);

/* The step has ended, and the attempt is in the state `step`. */
void remote_step_end(struct remote_attempt *entry, enum remote_step step);

/*
 * Reports that a call for `step` is impossible; nothing changes. `reason` is copied, here and
 * below.
 */
void remote_step_reject(struct remote_attempt *entry, enum remote_step step, uint32_t n,
			const char *reason);

/* Processes the event that `step` failed; no effect if the attempt is in another one. */
void remote_step_failed(struct remote_attempt *entry, enum remote_step step, const char *reason);

/* Processes the state of the task in the answer to a check. */
void remote_step_checked(struct remote_attempt *entry, enum task_state state);

/* Checks a step that takes long; to be called periodically. */
void remote_step_guard(struct remote_attempt *entry, int64_t now_ns);

/* remote_suspend_ctl.c */

/* suspend() of the backend; `keep` says where the VMs are kept. */
void remote_suspend_ctl_suspend(struct remote_attempt *entry, uint32_t n, const char *keep);
/* resume() of the backend. */
void remote_suspend_ctl_resume(struct remote_attempt *entry, uint32_t n, const uint32_t *nodes,
			       uint32_t nodes_count);

/*
 * Reattaches the suspensions that an earlier controller requested; entry->nodes are the nodes that
 * the attempt is on or is to go to.
 */
void remote_suspend_ctl_adopt(struct remote_attempt *entry, const struct remote_past *past);

/* Reports what is new in the suspensions of `task`. */
void remote_suspend_ctl_take(struct remote_attempt *entry, const struct remote_task *task);

/*
 * Processes the first description of an adopted task: reattaches a step that an earlier controller
 * requested.
 */
void remote_suspend_ctl_reattach(struct remote_attempt *entry, const struct remote_task *task);

/* How long the attempt has executed at now_ns, in seconds. */
double remote_suspend_ctl_executed_s(const struct remote_attempt *entry, int64_t now_ns);

/* remote_migrate_ctl.c */

/* migrate() of the backend. */
void remote_migrate_ctl_migrate(struct remote_attempt *entry, uint32_t n, const uint32_t *nodes,
				uint32_t nodes_count);

/* Reports what is new in the migrations of `task`. */
void remote_migrate_ctl_take(struct remote_attempt *entry, const struct remote_task *task);

/*
 * Whether the migration that is to be requested is under way or has ended, because an earlier
 * controller requested it; its end then is reported.
 */
bool remote_migrate_ctl_reattach(struct remote_attempt *entry);

/* remote_share_ctl.c */

/* share() of the backend. */
void remote_share_ctl_want(struct remote_attempt *entry, double yield);

/* Requests the wanted share if the task does not have it yet and can get it now. */
void remote_share_ctl_continue(struct remote_attempt *entry);

/* Processes the event that a VM has not got its share. */
void remote_share_ctl_failed(struct remote_attempt *entry, const char *reason);

/* Reports how much CPU the VMs of `task` get of their share. */
void remote_share_ctl_take(struct remote_attempt *entry, const struct remote_task *task);

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
