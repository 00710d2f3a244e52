/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of remote.h, for its files alone: remote.c (the backend and what the links tell it),
 * remote_attempt.c (an attempt of a task: requests, and what becomes of it), remote_suspend_ctl.c (its
 * suspensions and resumptions), remote_migrate_ctl.c (its migrations), remote_share_ctl.c (its share) and
 * remote_slots.c (nodes of hosts that are shared).
 */
#include "controller/backend/remote.h"

/* How long after its deadline, or after a kill, a task may stay silent. */
#define REMOTE_GRACE_S 30.0

/* A node is let go a moment after its task left it was told; until then the answer is 409. */
#define REMOTE_CONFLICT_TRIES 15
#define REMOTE_CONFLICT_WAIT_MS 200

/* On shared hosts a VM may have to boot at a node first. */
#define REMOTE_CONFLICT_TRIES_SHARED 450

/* Where an attempt is between its suspensions. */
enum remote_step {
	REMOTE_STEP_NONE = 0,
	REMOTE_STEP_SUSPENDING, /* suspend() was called, nothing came of it yet */
	REMOTE_STEP_SUSPENDED,
	REMOTE_STEP_RESUMING,   /* resume() was called, nothing came of it yet */
};

/* One attempt of a task. */
struct remote_attempt {
	struct remote_backend *remote;
	char *id;
	uint32_t task, attempt, type, cluster;
	/* That it is on, or was on last; on shared hosts the places of its VMs, in their order. */
	uint32_t *nodes;
	uint32_t nodes_count;
	uint32_t *hosts; /* shared: of each VM, where the start or the last resumption put it */
	int64_t start_ns;  /* start() */
	int64_t killed_ns; /* DELETE sent; 0: not */
	double deadline_s;
	double last_s; /* time of its last event */
	guint conflicts;
	guint retry_source;
	bool adopted;
	bool asked; /* the PUT was answered */
	bool kill_wanted;
	bool started, ended;
	bool abandoned; /* given up; to be killed if it turns up again */
	bool check_open; /* it is asked how it is */
	bool doubted;       /* it was noted that something said of it cannot be */
	int64_t unclear_ns; /* since when the answers to that were of no use; 0: they were */
	bool undeleted;  /* the request to end it was given up */
	bool queued;    /* enqueue()d: it waits for its turn */
	bool begun;     /* ... which has come */
	double start_before_s; /* of that, time of the run */

	enum remote_step step;
	uint32_t suspended, resumed; /* how often SUSPENDED and RESUMED were told */
	const char *keep;     /* where the VMs are to go: "auto", "memory", "disk" */
	uint32_t *step_nodes; /* RESUMING: nodes_count, where to */
	int64_t step_ns;      /* suspend() or resume() */
	bool seen;            /* adopted: a description of it was read */
	bool step_adopted;    /* an earlier controller called it: step_ns is not when */
	bool step_asked;      /* the request of the present step was answered */
	bool step_open;       /* a request of a step is under way */
	enum remote_step open_step; /* which, if so */
	bool step_failed;     /* told so before the request was answered */
	char *step_reason;    /* of that; NULL: nothing to say */
	guint step_conflicts;
	guint step_source;
	double paused_s;      /* between stretches, those before the last one */
	int64_t frozen_ns;    /* suspended since; 0: not now */

	bool described;       /* adopted: the local scheduler said how it is */
	bool migrating;       /* migrate() was called, nothing came of it yet */
	uint32_t migrate_n;   /* what it was called with last */
	uint32_t migrated;    /* migrations that moved a VM, as the local scheduler counts them */
	uint32_t migrate_open_n; /* adopted: one that was under way when last described; 0: none */
	GPtrArray *migrate_past; /* adopted: of struct remote_migration, as first described, or NULL */
	uint32_t *migrate_nodes; /* migrating: nodes_count, where to */
	uint32_t *migrate_hosts; /* the same on shared hosts; NULL: they are not */
	int64_t migrate_ns;   /* migrate() */
	bool migrate_asked;   /* its request was answered */
	bool migrate_open;    /* it is under way */
	bool migrate_failed;  /* told so before the request was answered */
	char *migrate_reason; /* of that; NULL: nothing to say */
	guint migrate_conflicts;
	guint migrate_source;

	double share_wanted, share_sent, share_given; /* of what its nodes may use; at first 1 */
	int64_t share_n;      /* of the last request; 0: none */
	guint share_failures; /* in a row: its VMs did not get it */
	bool share_open;
	guint share_source;
};

struct remote_backend {
	struct backend base;
	struct remote_fleet *fleet;
	const struct config *config;
	struct remote_run run;
	struct remote_listener listener;
	GHashTable *entries; /* id -> struct remote_attempt */
	GQueue events;       /* struct backend_event, by time */
	struct backend_event *delivered; /* the event that was delivered last owns its parts */
	double limit_j;
	bool limit_reported, aborted;
	bool woken; /* wait() is to return */
	int64_t checked_ns; /* energy was compared with the limit up to here */
	guint guard_source;
	struct remote_orphans *orphans; /* one per cluster; NULL: not looked for */
};

/* remote.c */

/* A reading of our clock as time of the run. */
double remote_run_s(const struct remote_backend *remote, int64_t t_ns);

/* Tells the run of something worth recording (remote_run.note). */
void remote_note(struct remote_backend *remote, const char *kind, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Queues a copy of `event` with what it points to. Equal times keep the order of arrival. */
void remote_push(struct remote_backend *remote, const struct backend_event *event);

/* remote_orphans.c */

/* The link is there (again): what it has that nobody knows of is killed, if that is looked for. */
void remote_orphans_look(struct remote_backend *remote, uint32_t cluster);

/* Looks again where it has to; to be called every now and then. */
void remote_orphans_guard(struct remote_backend *remote, int64_t now_ns);

/* Looks no more. */
void remote_orphans_free(struct remote_backend *remote);

/* remote_attempt.c */

/* The link to the local scheduler of the entry's cluster. */
struct remote_link *remote_attempt_link(const struct remote_attempt *entry);

/* The path of its requests; the caller frees. */
char *remote_attempt_path(const struct remote_attempt *entry);

/* The `try` of a request made now: milliseconds of the run, so that a later one has a higher number. */
int64_t remote_attempt_try(const struct remote_attempt *entry);

/* An event of the entry at t_ns, or at its last one if that was later. */
struct backend_event remote_attempt_event(struct remote_attempt *entry, enum backend_event_kind kind,
					int64_t t_ns);

/* What the local scheduler says of the attempt, times on our clock. */
void remote_attempt_take(struct remote_attempt *entry, const struct remote_task *task);

/*
 * Reads the answer to a request: a task object that must be the entry's. Sets *ret_state, which may
 * be NULL, to what it says. False with `error`: it makes no sense.
 */
bool remote_attempt_read(struct remote_attempt *entry, const json_t *body,
		       enum remote_task_state *ret_state, GError **error);

/* Notes that the local scheduler answered rubbish. */
void remote_attempt_note_protocol_error(struct remote_attempt *entry, const GError *wrong);

/* Ends the attempt in a way that the local scheduler has not told us about. */
void remote_attempt_end(struct remote_attempt *entry, enum backend_outcome outcome, const char *reason);

/*
 * Whether a request about it was answered that there is no such task, by `status` and `error`. Then it is over:
 * lost, or, of one that was kept once (410) and may have had any end, failed.
 */
bool remote_attempt_unknown(struct remote_attempt *entry, int status, const GError *error);

/* Ends it as lost and kills it if it turns up again. */
void remote_attempt_abandon(struct remote_attempt *entry, const char *reason);

/* Asks for it to be started. */
void remote_attempt_start(struct remote_attempt *entry);
/* Asks for it to be ended. */
void remote_attempt_kill(struct remote_attempt *entry);
/* Asks for its end once more, or when it turned up again. */
void remote_attempt_delete(struct remote_attempt *entry);
/* Asks how it is, unless that is asked already. */
void remote_attempt_check(struct remote_attempt *entry);

/*
 * Looks after requests that were given up; to be called every now and then. An attempt of which nothing is known for as
 * long as a local scheduler may be silent is given up, as if that were away. Returns whether all is as it should be.
 */
bool remote_attempt_guard(struct remote_attempt *entry, int64_t now_ns);

/* Frees it, and what it asked for is nobody's any more. Takes a struct remote_attempt. */
void remote_attempt_free(void *entry);

/* remote_suspend_ctl.c */

/* suspend() of the backend, where the VMs go by `keep`. */
void remote_suspend_ctl_suspend(struct remote_attempt *entry, uint32_t n, const char *keep);
/* resume() of the backend. */
void remote_suspend_ctl_resume(struct remote_attempt *entry, uint32_t n, const uint32_t *nodes,
			uint32_t nodes_count);

/* Takes up where an earlier controller left; entry->nodes are those it is on, or is to go to. */
void remote_suspend_ctl_adopt(struct remote_attempt *entry, const struct remote_past *past);

/* All ranks run now: what had to wait for that is asked for. */
void remote_suspend_ctl_started(struct remote_attempt *entry);

/* Tells what is new in the suspensions of `task`. */
void remote_suspend_ctl_take(struct remote_attempt *entry, const struct remote_task *task);

/* An event said that the step failed. */
void remote_suspend_ctl_stayed(struct remote_attempt *entry, bool resume, const char *reason);

/* A check was answered: the task is in that state. */
void remote_suspend_ctl_checked(struct remote_attempt *entry, enum remote_task_state state);

/* Looks after a step that takes long; to be called every now and then. */
void remote_suspend_ctl_guard(struct remote_attempt *entry, int64_t now_ns);

/* How long the attempt has executed at now_ns, in seconds. */
double remote_suspend_ctl_executed_s(const struct remote_attempt *entry, int64_t now_ns);

/* remote_migrate_ctl.c */

/* migrate() of the backend. */
void remote_migrate_ctl_migrate(struct remote_attempt *entry, uint32_t n, const uint32_t *nodes,
			 uint32_t nodes_count);

/* Tells what is new in the migrations of `task`. */
void remote_migrate_ctl_take(struct remote_attempt *entry, const struct remote_task *task);

/* An event said that the migration failed, and no description that a VM was moved. */
void remote_migrate_ctl_stayed(struct remote_attempt *entry, const char *reason);

/* The task runs now, or is known: what had to wait for that is asked for. */
void remote_migrate_ctl_continue(struct remote_attempt *entry);

/* A check was answered, and the task was described. */
void remote_migrate_ctl_checked(struct remote_attempt *entry);

/* Looks after a migration that takes long; to be called every now and then. */
void remote_migrate_ctl_guard(struct remote_attempt *entry, int64_t now_ns);

/* remote_share_ctl.c */

/* share() of the backend. */
void remote_share_ctl_want(struct remote_attempt *entry, double yield);

/* Asks for the share that is wanted, if the task does not have it and can get it now. */
void remote_share_ctl_continue(struct remote_attempt *entry);

/* An event said that a VM has not got it. */
void remote_share_ctl_failed(struct remote_attempt *entry, const char *reason);

/* Tells what the VMs of `task` make of their share. */
void remote_share_ctl_take(struct remote_attempt *entry, const struct remote_task *task);

/* remote_slots.c */

/* Whether its cluster's hosts are shared, so that the engine's nodes are hosts. */
bool remote_slots_shared(const struct remote_attempt *entry);

/* How often a request that finds no node ready is repeated. */
guint remote_slots_tries(const struct remote_attempt *entry);

/* The engine's node for a node of the cluster: its host where hosts are shared. */
uint32_t remote_slots_host(const struct config_cluster *cluster, uint32_t node);

/*
 * A request to put it on `nodes`, nodes_count of them, found them not ready for as long as one asks: hosts of
 * which one is down take no tasks until one of their nodes comes up. Nothing where hosts are not shared.
 */
void remote_slots_give_up(const struct remote_attempt *entry, const uint32_t *nodes);

/*
 * A node for each VM of the entry on the hosts given, one per VM, that no other task has. Where `stay`
 * is not NULL, VMs that are on their host already keep the node that they have there. The caller
 * frees.
 */
uint32_t *remote_slots_pick(const struct remote_attempt *entry, const uint32_t *hosts,
			     const uint32_t *stay);

/* A host for each of `vms` VMs, dealt out evenly over hosts_count of them. The caller frees. */
uint32_t *remote_slots_spread(const uint32_t *hosts, uint32_t hosts_count, uint32_t vms);
