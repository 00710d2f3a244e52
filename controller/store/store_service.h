/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * What a service (`virtbed serve`) stores beside the rows of its single run: the submissions, from
 * which its tasks can be made again, and the drained nodes.
 */

/* The meta key of the service's time: a JSON object with `time_s`, seconds of its run. */
#define STORE_SERVICE_ACCOUNT "service_account"

/* The meta key of the service's policies: a line "SECONDS UTC NAME" for the beginning of each. */
#define STORE_SERVICE_POLICIES "service_policies"

/* A policy and the time from which the service used it. */
struct store_service_policy {
	double from_s; /* since the start of the run */
	char *from_utc;
	char *policy;
};

typedef struct store_submission store_submission_t; /* for g_autoptr() */
typedef struct store_drain store_drain_t;

/* A submitted task. Strings other than `type` and `submitted_utc` may be NULL. */
struct store_submission {
	int64_t run;
	uint32_t task;
	char *type;
	char *name;  /* given by its owner */
	char *user;  /* the user that submitted it; NULL: unknown */
	int64_t uid; /* of that user; -1: unknown */
	char *submitted_utc;
	double arrival_s; /* since the start of the run */
	/*
	 * of the request, chosen by the client: a repeated request with this key submits nothing
	 * new
	 */
	char *key;
	uint32_t first; /* the first task of the request */
	uint32_t count; /* number of tasks of the request: `first` and the next ones */
	double utility_max;
	double constant_s, zero_s, deadline_s; /* as requested, since the arrival; NAN: not given */
	bool held;                             /* not to be started until it is released */
	bool cancelled;                        /* cancelled by its owner */
	/* higher priorities are considered first; 0 in files before version 7 */
	int64_t priority;
	/* whether it was submitted as held; -1: unknown, as in files before version 10 */
	int64_t asked_held;
	/* of task_script_summary(); NULL: no script, or unknown, as asked_held */
	char *script_sha256;
};

/* A drained node. */
struct store_drain {
	int64_t run;
	char *cluster;
	uint32_t node;
	char *reason; /* NULL: none given */
	char *user;   /* NULL: unknown */
	char *since_utc;
};

/* An action of a stored decision. */
struct store_action {
	double time_s;
	char *action; /* a JSON object as in docs/reference/snapshot.md */
};

/* Inserts or replaces the row (run, task). */
bool store_put_submission(struct store *store, const struct store_submission *submission,
			  GError **error);
/*
 * The submissions of a run, by task: GPtrArray of struct store_submission, owned by the caller.
 * None in files before version 5.
 */
GPtrArray *store_submissions(struct store *store, int64_t run, GError **error);
/*
 * Counts the different task numbers in the rows of `task` and `submission` together, since either
 * may be missing from a damaged file. *ret_count is one more than the highest number below `most`.
 * False with `error` on failure.
 */
bool store_count_tasks(struct store *store, int64_t run, uint32_t most, uint32_t *ret_numbers,
		       uint32_t *ret_count, GError **error);
/*
 * The numbers of these rows that are not in 0 .. most - 1, as text, "-1, 70000": the first 20.
 * NULL: none. The caller frees.
 */
char *store_stray_tasks(struct store *store, int64_t run, uint32_t most);
/* NULL is allowed, here and below. */
void store_submission_free(struct store_submission *submission);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_submission_t, store_submission_free)

/* Inserts or replaces the row (run, cluster, node). */
bool store_put_drain(struct store *store, const struct store_drain *drain, GError **error);
/* Removes the row; no error where there is none. */
bool store_drop_drain(struct store *store, int64_t run, const char *cluster, uint32_t node,
		      GError **error);
/*
 * By cluster and node: GPtrArray of struct store_drain, owned by the caller. None before version 5.
 */
GPtrArray *store_drains(struct store *store, int64_t run, GError **error);
void store_drain_free(struct store_drain *drain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_drain_t, store_drain_free)

/*
 * Records that the service uses `policy` from now on, unless it did so before. `utc` is now.
 * Returns true, or false with `error`.
 */
bool store_note_policy(struct store *store, const char *policy, double from_s, const char *utc,
		       GError **error);
/*
 * The policies of a service, in order: GPtrArray of struct store_service_policy, owned by the
 * caller. Empty where none is recorded. They are never pruned.
 */
GPtrArray *store_service_policies(struct store *store);

/*
 * The decisions about a task between from_s and until_s (INFINITY: now): the last `most` actions,
 * the latest first. Only decisions of that time are read. GPtrArray of struct store_action, owned
 * by the caller.
 */
GPtrArray *store_task_actions(struct store *store, int64_t run, uint32_t task, double from_s,
			      double until_s, uint32_t most, GError **error);

/*
 * The latest time of a service that is on record, in nanoseconds since it began: that of its last
 * event, or of its energy account; 0: none. False with `error` (DATABASE_ERROR).
 */
bool store_service_last_ns(struct store *store, int64_t run, int64_t *ret_ns, GError **error);

/*
 * Removes the samples, intervals of energy, deliveries, shares, decisions and events of a run from
 * before before_s, except the last event, so that ids keep increasing; and full states from before
 * then, except the newest, and those above 2,000, be they younger. The inputs and decisions that
 * follow on a full state that is left stay, and so do tasks, submissions and sums of energy.
 * before_s may be -INFINITY. At most `most` rows (from 1) of each table, to bound the time;
 * *ret_more: there may be more.
 */
bool store_prune(struct store *store, int64_t run, double before_s, uint32_t most, bool *ret_more,
		 GError **error);
