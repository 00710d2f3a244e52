/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * What a profile has done so far, so that one that was interrupted goes on with the rest: every
 * measurement as it was made, the pairs of type and cluster that were given up, and what suspending took.
 */

/* A task of a profile whose execution time counts. */
struct store_measurement {
	int64_t n;       /* row id, ascending in the order of their ends; 0 when not stored yet */
	char *type;
	char *cluster;
	int64_t round;   /* of its measurements on the cluster; STORE_NO_ROUND: it kept nodes busy */
	char *work;      /* what was executed, where: another configuration has other measurements */
	double exec_s;
	double energy_j; /* NAN: not known */
};
#define STORE_NO_ROUND (-1)

/* A pair that could not be measured. */
struct store_unmeasured {
	char *type;
	char *cluster;
	char *reason;
	double task_deadline_s; /* as configured then; 0: not */
};

/* A suspension that was measured. */
struct store_overhead {
	char *cluster;
	char *keep;   /* "memory", "disk" */
	char *detail; /* JSON: its entry in profile.json */
};

/*
 * Whether a commit is on the disk, and survives a loss of power, before it returns; as SQLite does it
 * otherwise it survives the death of the process alone. Outside of a transaction.
 */
bool store_set_durable(struct store *store, bool durable, GError **error);

/* Appends a measurement; a pair is measured once in a round. */
bool store_add_measurement(struct store *store, const struct store_measurement *measurement,
			   GError **error);
/* All of them in order: GPtrArray of struct store_measurement, owned by the caller. None before version 10. */
GPtrArray *store_measurements(struct store *store, GError **error);
/* Forgets the measurement of row id `n`. */
bool store_drop_measurement(struct store *store, int64_t n, GError **error);

/* Inserts or replaces the row (type, cluster). */
bool store_put_unmeasured(struct store *store, const struct store_unmeasured *unmeasured,
			  GError **error);
/* By type and cluster: GPtrArray of struct store_unmeasured, owned by the caller. None before version 10. */
GPtrArray *store_unmeasured(struct store *store, GError **error);
/* Forgets that the pair could not be measured. */
bool store_drop_unmeasured(struct store *store, const char *type, const char *cluster,
			   GError **error);

/* Appends what a suspension took. */
bool store_add_overhead(struct store *store, const struct store_overhead *overhead,
			GError **error);
/* In order: GPtrArray of struct store_overhead, owned by the caller. None before version 10. */
GPtrArray *store_overheads(struct store *store, GError **error);
