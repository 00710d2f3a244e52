/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * What a service (`virtbed serve`) keeps in the store beside the rows of its one run: what people
 * submitted, so that its tasks can be made again from it, and the nodes that they took out of use.
 */

/* The meta key of what a service keeps of its time: a JSON object with `time_s`, seconds of its run. */
#define STORE_SERVICE_ACCOUNT "service_account"

/* The meta key of the policies that a service had: a line "SECONDS UTC NAME" for each, as it began. */
#define STORE_SERVICE_POLICIES "service_policies"

/* A policy and when the service began to decide by it. */
struct store_service_policy {
	double from_s;   /* since the start of the run */
	char *from_utc;
	char *policy;
};

typedef struct store_submission store_submission_t; /* for g_autoptr() */
typedef struct store_drain store_drain_t;

/* One task that was submitted. Strings but `type` and `submitted_utc` may be NULL. */
struct store_submission {
	int64_t run;
	uint32_t task;
	char *type;
	char *name;          /* that its owner gave it */
	char *user;          /* who submitted it; NULL: not known */
	int64_t uid;         /* of that user; -1: not known */
	char *submitted_utc;
	double arrival_s;    /* since the start of the run */
	char *key;           /* of the request, chosen by the client: the same again is no new one */
	uint32_t first;      /* the first task of the same request */
	uint32_t count;      /* how many there are of it, `first` and the next ones */
	double utility_max;
	double constant_s, zero_s, deadline_s; /* as asked for, since the arrival; NAN: not given */
	bool held;           /* not to be started until it is released */
	bool cancelled;      /* its owner does not want it any more */
	int32_t priority;    /* higher ones are looked at first; 0 in files before version 7 */
	int asked_held;      /* whether it was submitted as held; -1: not known, as in files before version 10 */
	char *script_sha256; /* of task_script_summary(); NULL: no script, or not known, as asked_held */
};

/* A node that takes no new tasks. */
struct store_drain {
	int64_t run;
	char *cluster;
	uint32_t node;
	char *reason; /* NULL: none given */
	char *user;   /* NULL: not known */
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
 * What was submitted to a run, by task: GPtrArray of struct store_submission, owned by the caller.
 * None in files before version 5.
 */
GPtrArray *store_submissions(struct store *store, int64_t run, GError **error);
/*
 * Of the rows of `task` and `submission` together, since either may be missing from a file that was damaged:
 * how many different numbers they have, and one more than the highest one below `most`. False with `error`:
 * they cannot be read.
 */
bool store_count_tasks(struct store *store, int64_t run, uint32_t most, uint32_t *ret_numbers,
		       uint32_t *ret_count, GError **error);
/*
 * The numbers of these rows that are not from 0 to most - 1, as text, "-1, 70000": the first 20. NULL: none.
 * The caller frees.
 */
char *store_stray_tasks(struct store *store, int64_t run, uint32_t most);
/* NULL is allowed, here and below. */
void store_submission_free(struct store_submission *submission);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_submission_t, store_submission_free)

/* Inserts or replaces the row (run, cluster, node). */
bool store_put_drain(struct store *store, const struct store_drain *drain, GError **error);
/* Removes it; no error where there is none. */
bool store_drop_drain(struct store *store, int64_t run, const char *cluster, uint32_t node,
		      GError **error);
/* By cluster and node: GPtrArray of struct store_drain, owned by the caller. None before version 5. */
GPtrArray *store_drains(struct store *store, int64_t run, GError **error);
void store_drain_free(struct store_drain *drain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_drain_t, store_drain_free)

/*
 * Puts on record that the service decides by `policy` from now on, unless it did so before. `utc` is now.
 * Returns true, or false with `error` set.
 */
bool store_note_policy(struct store *store, const char *policy, double from_s, const char *utc,
		       GError **error);
/*
 * The policies that a service had, in order: GPtrArray of struct store_service_policy, owned by the caller. Empty
 * where none is on record. Is never pruned.
 */
GPtrArray *store_service_policies(struct store *store);

/*
 * What was decided of a task from from_s to until_s (INFINITY: now), the last `most` actions of it, the latest
 * first: only the decisions of that time are looked into.
 * GPtrArray of struct store_action, owned by the caller.
 */
GPtrArray *store_task_actions(struct store *store, int64_t run, uint32_t task, double from_s,
			      double until_s, uint32_t most, GError **error);

/*
 * Removes the samples, intervals of energy, deliveries, shares, decisions and events of a run from before
 * before_s (of events all but the last one, so that their ids go on). Tasks, what was submitted and sums of
 * energy stay. At most `most` rows (from 1) of each of these tables, so that it does not take long; *ret_more: there
 * may be others.
 */
bool store_prune(struct store *store, int64_t run, double before_s, uint32_t most, bool *ret_more,
		 GError **error);
