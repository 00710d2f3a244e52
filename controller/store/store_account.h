/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * The energy account of a service, in whole microjoules (controller/energy/ledger.h). A host
 * has successive intervals, each of which is divided exactly. Sums by day, and by task and day, are
 * kept for ever; intervals are removed when they are old. The position of a host's account is
 * written in one transaction with the interval that led there: after a crash it continues from
 * there, and nothing is counted twice or lost.
 */
typedef struct store_account_meter store_account_meter_t; /* for g_autoptr() */

/* The position of a host's account. */
struct store_account_meter {
	int64_t run;
	char *host;
	char *cluster;
	int64_t before_uj; /* increase of earlier counters, which have ended */
	int64_t begin_uj;  /* the counter when its account began */
	int64_t at_uj;     /* the counter at the end of the last interval */
	double at_s;       /* time of that end, seconds of the run */
	int64_t n;         /* number of the last interval; 0: none yet */
	/* the local scheduler's stream of intervals, and the last number of it */
	char *stream;
	int64_t seq;
	/*
	 * the counter that at_uj refers to, as the local scheduler names it; NULL: it has no names
	 */
	char *counter;
};

/* The part of one attempt of a task. */
struct store_account_part {
	uint32_t task, attempt;
	int64_t cpu_ns;
	int64_t uj;
};

/* The parts of tasks in some intervals of a host that ended on one day, in any order. */
struct store_account_parts {
	const char *policy, *day; /* as in struct store_account_interval */
	int64_t n;                /* number of the first interval that the parts belong to */
	double to_s;              /* end of that interval, seconds of the run */
	const struct store_account_part *parts;
	uint32_t count;
};

/* An interval of a host: to_uj - from_uj = idle + tasks + management + unattributed. */
struct store_account_interval {
	const char *policy; /* the scheduling policy during the interval */
	const char *day;    /* of its end, UTC: "2026-01-31" */
	double from_s, to_s;
	int64_t from_uj, to_uj;
	int64_t idle_uj, tasks_uj, management_uj, unattributed_uj;
	/*
	 * NULL: measured. "gap", "unread", "missed", "unserved", "new-counter":
	 * docs/reference/store.md.
	 */
	const char *mark;
};

/* Marks that the program itself uses. */
#define STORE_ACCOUNT_UNSERVED "unserved"
#define STORE_ACCOUNT_NEW_COUNTER "new-counter"

/*
 * All that is added to accounts between these two calls is stored as a whole or not at all, within
 * a transaction or without. The second returns `good`, or false with `error` where it cannot be
 * stored.
 */
bool store_begin_account(struct store *store, GError **error);
bool store_end_account(struct store *store, bool good, GError **error);

/*
 * Adds an interval of a host, whose number is the meter's n, without its parts, to the intervals
 * and to the sums of its day.
 */
bool store_add_account(struct store *store, const struct store_account_meter *meter,
		       const struct store_account_interval *interval, GError **error);

/*
 * Adds `parts` to the energy of their tasks in the intervals since parts->n, and on that day under
 * that policy.
 */
bool store_add_account_parts(struct store *store, const struct store_account_meter *meter,
			     const struct store_account_parts *parts, GError **error);

/* Stores the position of a host's account. */
bool store_put_account_meter(struct store *store, const struct store_account_meter *meter,
			     GError **error);

/* By host: GPtrArray of struct store_account_meter, owned by the caller. None before version 6. */
GPtrArray *store_account_meters(struct store *store, int64_t run, GError **error);
/* NULL is allowed. */
void store_account_meter_free(struct store_account_meter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_account_meter_t, store_account_meter_free)

/* What a host's counter rose by in an interval; -1: not known, since another counter began. */
struct store_account_rise {
	double from_s, to_s;
	int64_t uj;
};

/*
 * The rises of a host's intervals after the nth, which ended at at_s, in order: GPtrArray of struct
 * store_account_rise, owned by the caller.
 */
GPtrArray *store_account_rises(struct store *store, const struct store_account_meter *meter,
			       int64_t n, double at_s, GError **error);

/* A sum. */
struct store_account_sum {
	char *key;     /* the day, host, cluster, policy, user, type, or number of the task */
	int64_t tasks; /* number of tasks that used energy */
	int64_t tasks_uj;
	/* 0 in sums by user, type and task. */
	int64_t idle_uj, management_uj, unattributed_uj;
	int64_t unserved_uj; /* of unattributed: while no service ran */
	int64_t meter_uj;
};

/* The keys of sums: "user", "task", "type", "cluster", "host", "policy", "day". NULL-terminated. */
extern const char *const store_account_keys[];

/*
 * The sums of a run by a key of store_account_keys, sorted by key for hosts, clusters, policies and
 * days, else the largest first. GPtrArray of struct store_account_sum, owned by the caller. None
 * before version 6.
 */
GPtrArray *store_account_sums(struct store *store, int64_t run, const char *by, GError **error);
void store_account_sum_free(struct store_account_sum *sum);

/*
 * Dynamic energy, that is all but idle, of the intervals since `from_s` while the service ran; of
 * an interval that began before it the part by time.
 */
bool store_account_dynamic_since(struct store *store, int64_t run, double from_s, int64_t *ret_uj,
				 GError **error);
