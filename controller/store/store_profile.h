/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * The progress of a profile, so that an interrupted profile can continue: its measurements, the
 * pairs of type and cluster that it gave up, and the overheads of suspending.
 */

/* A task of a profile whose execution time counts. */
struct store_measurement {
	/* row id, ascending in the order of the tasks' ends; 0 when not stored yet */
	int64_t n;
	char *type;
	char *cluster;
	/*
	 * round of the type's measurements on the cluster; STORE_NO_ROUND: a task that only kept
	 * nodes busy
	 */
	int64_t round;
	/*
	 * identifies what was executed and where: measurements of another configuration do not
	 * count
	 */
	char *work;
	double exec_s;
	double energy_j; /* NAN: not known */
};
#define STORE_NO_ROUND (-1)

/* A pair that could not be measured. */
struct store_unmeasured {
	char *type;
	char *cluster;
	char *reason;
	double task_deadline_s; /* the configured deadline at that time; 0: none */
};

/* A measured suspension. */
struct store_overhead {
	int64_t n; /* row id, ascending; 0 when not stored yet */
	char *cluster;
	char *keep;   /* "memory", "disk" */
	char *detail; /* JSON: its entry in profile.json */
};

/*
 * Sets whether a commit returns only when it is on disk and survives a loss of power; by default it
 * survives only the death of the process. Outside of a transaction.
 */
bool store_set_durable(struct store *store, bool durable, GError **error);

/* Appends a measurement; a pair has one per round. */
bool store_add_measurement(struct store *store, const struct store_measurement *measurement,
			   GError **error);
/*
 * All measurements in order: GPtrArray of struct store_measurement, owned by the caller. None
 * before version 10.
 */
GPtrArray *store_measurements(struct store *store, GError **error);
/* Removes the measurement of row id `n`. */
bool store_drop_measurement(struct store *store, int64_t n, GError **error);

/* Inserts or replaces the row (type, cluster). */
bool store_put_unmeasured(struct store *store, const struct store_unmeasured *unmeasured,
			  GError **error);
/*
 * By type and cluster: GPtrArray of struct store_unmeasured, owned by the caller. None before
 * version 10.
 */
GPtrArray *store_unmeasured(struct store *store, GError **error);
/* Removes the pair's row. */
bool store_drop_unmeasured(struct store *store, const char *type, const char *cluster,
			   GError **error);

/* Appends a measured suspension. */
bool store_add_overhead(struct store *store, const struct store_overhead *overhead, GError **error);
/* In order: GPtrArray of struct store_overhead, owned by the caller. None before version 10. */
GPtrArray *store_overheads(struct store *store, GError **error);
