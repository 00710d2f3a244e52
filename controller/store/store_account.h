/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Whose energy it was, in whole microjoules (controller/run/energy_split.h): the account of a service.
 * Per host there is one interval after the other, each of which is split exactly; sums by day, and by
 * task and day, are kept for ever, while the intervals go when they are old. Where each host's account
 * stands is written together with the interval that led there, in one transaction: after a crash
 * it goes on from there, and nothing is counted twice or lost.
 */
typedef struct store_account_meter store_account_meter_t; /* for g_autoptr() */

/* Where the account of a host stands. */
struct store_account_meter {
	int64_t run;
	char *host;
	char *cluster;
	int64_t before_uj; /* of counters that came to an end: what they rose by */
	int64_t begin_uj;  /* where the counter was when this account of it began */
	int64_t at_uj;     /* where it was at the end of the last interval */
	double at_s;       /* when that was, seconds of the run */
	int64_t n;         /* number of the last interval; 0: none yet */
	char *stream;      /* of the local scheduler's intervals, and the last one of it */
	int64_t seq;
	char *counter;     /* which one at_uj is of, as the local scheduler names it; NULL: it does not */
};

/* The part of one attempt of a task. */
struct store_account_part {
	uint32_t task, attempt;
	int64_t cpu_ns;
	int64_t uj;
};

/* What tasks had of some intervals of a host that ended on one day, in any order. */
struct store_account_parts {
	const char *policy, *day; /* as of an interval */
	int64_t n;                /* number of the first interval with which they are summed up, */
	double to_s;              /* ... and when it ended, seconds of the run */
	const struct store_account_part *parts;
	uint32_t count;
};

/* One interval of a host: to_uj - from_uj = idle + tasks + management + unattributed. */
struct store_account_interval {
	const char *policy; /* that scheduled meanwhile */
	const char *day;    /* in which it ended, UTC: "2026-01-31" */
	double from_s, to_s;
	int64_t from_uj, to_uj;
	int64_t idle_uj, tasks_uj, management_uj, unattributed_uj;
	/* NULL: measured. "gap", "unread", "missed", "unserved", "new-counter": docs/reference/store.md. */
	const char *mark;
};

/* Marks that the program itself goes by. */
#define STORE_ACCOUNT_UNSERVED "unserved"

/*
 * What is put into accounts between these two is there as a whole or not at all, within a transaction or without one.
 * The second returns `good`, or false where what was put cannot be kept.
 */
bool store_begin_account(struct store *store, GError **error);
bool store_end_account(struct store *store, bool good, GError **error);

/* Adds an interval of a host, whose number is the meter's n, to the record and to its day: all but its parts. */
bool store_add_account(struct store *store, const struct store_account_meter *meter,
		       const struct store_account_interval *interval, GError **error);

/* Adds `parts` to what these tasks had of the intervals since parts->n, and of that day under that policy. */
bool store_add_account_parts(struct store *store, const struct store_account_meter *meter,
			     const struct store_account_parts *parts, GError **error);

/* Where a host's account stands. */
bool store_put_account_meter(struct store *store, const struct store_account_meter *meter,
			     GError **error);

/* By host: GPtrArray of struct store_account_meter, owned by the caller. None before version 6. */
GPtrArray *store_account_meters(struct store *store, int64_t run, GError **error);
/* NULL is allowed. */
void store_account_meter_free(struct store_account_meter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_account_meter_t, store_account_meter_free)

/* One sum. */
struct store_account_sum {
	char *key;          /* the day, host, cluster, policy, user, type, or number of the task */
	int64_t tasks;      /* how many of them used energy */
	int64_t tasks_uj;
	/* The others are 0 of sums by user, type and task. */
	int64_t idle_uj, management_uj, unattributed_uj;
	int64_t unserved_uj; /* of unattributed: while nobody served */
	int64_t meter_uj;
};

/* What there are sums by: "user", "task", "type", "cluster", "host", "policy", "day". NULL-terminated. */
extern const char *const store_account_keys[];

/*
 * The sums of a run by a key of store_account_keys; of hosts, clusters, policies and days in their order, of the
 * others the largest first. GPtrArray of struct store_account_sum, owned by the caller. None before
 * version 6.
 */
GPtrArray *store_account_sums(struct store *store, int64_t run, const char *by, GError **error);
void store_account_sum_free(struct store_account_sum *sum);

/* Dynamic energy, all but idle, of the intervals that ended at `from_s` or later while somebody served. */
bool store_account_dynamic_since(struct store *store, int64_t run, double from_s, int64_t *ret_uj,
				 GError **error);
