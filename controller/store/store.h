/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"

/*
 * The store: one SQLite file (`run.sqlite`, WAL) that holds an experiment: its runs, and for each
 * run the tasks, events, decisions with their reasons, power samples, and where all of it comes from.
 * Measured and simulated experiments have the same schema. Everything is written in the order it
 * happened; a run that was interrupted can be read up to its last committed row.
 *
 * All functions that return bool set `error` (STORE_ERROR) on failure. A store belongs to one thread.
 */
struct store;

#define STORE_ERROR (store_error_quark())
GQuark store_error_quark(void);
enum store_error { STORE_ERROR_OPEN = 1, STORE_ERROR_SCHEMA, STORE_ERROR_SQL, STORE_ERROR_FULL };

/* One run: a policy under a limit, one repeat (measured) or trial (simulated). */
struct store_run {
	int64_t run;        /* row id, from 1; 0 when not stored yet */
	char *policy;
	double limit;       /* fraction of the budget */
	double limit_j;
	uint32_t repeat;    /* from 1 */
	uint64_t seed;
	bool measured;
	char *started_utc;
	int64_t t0_ns;      /* boot-clock reading at time 0 of a measured run, with boot_id */
	char *boot_id;
	char *ended_by;     /* NULL: not ended; "limit", "time", "done", "aborted" */
	double ended_s;
	double utility;
	double energy_j;    /* dynamic */
	double idle_w;      /* measured baseline, sum over hosts */
	double gap_s;       /* metering gaps within the run, summed over hosts */
	double host_load;   /* mean busy cores of this machine during a measured run; NAN: unknown */
	uint32_t tasks_arrived, tasks_completed, tasks_failed, tasks_dropped;
};

/* One task of a run. Times in seconds since the start of the run, NAN where it never came to it. */
struct store_task {
	int64_t run;
	uint32_t task;
	char *type;
	double arrival_s;
	double utility_max;
	char *state;      /* "waiting", "planned", "starting", "running", "completed", "failed", "dropped", "killed", "unfinished" */
	char *cluster;    /* NULL: never placed */
	char *nodes;      /* "0,1" */
	uint32_t attempts;
	double planned_start_s, started_s, ended_s;
	double exec_s, etc_s, energy_j, eec_j;
	double utility;   /* earned */
	char *reason;
};

/* Opens (`create`: and creates) the store of run directory `dir`. */
struct store *store_open(const char *dir, bool create, GError **error);
/* NULL is allowed. */
void store_close(struct store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(struct store, store_close)

/* Key-value facts about the experiment ("kind" = measured|simulated, "version", "config_name", host facts). */
bool store_set_meta(struct store *store, const char *key, const char *value, GError **error);
/* The value (the caller frees) or NULL when there is none. */
char *store_get_meta(struct store *store, const char *key);

/* Adds a run and sets run->run; updates it by run->run; marks it ended through store_update_run(). */
bool store_add_run(struct store *store, struct store_run *run, GError **error);
bool store_update_run(struct store *store, const struct store_run *run, GError **error);
/* All runs in order of row id: GPtrArray of struct store_run, owned by the caller. */
GPtrArray *store_runs(struct store *store, GError **error);
void store_run_free(struct store_run *run);

/* Inserts or replaces the row (run, task). */
bool store_put_task(struct store *store, const struct store_task *task, GError **error);
GPtrArray *store_tasks(struct store *store, int64_t run, GError **error);
void store_task_free(struct store_task *task);

/* Appends an event: time, kind, JSON detail (may be NULL). */
bool store_add_event(struct store *store, int64_t run, double time_s, const char *kind,
		     const char *detail, GError **error);

/*
 * Appends a decision: the snapshot the policy saw and the actions it gave, both as the JSON of
 * docs/snapshot.md (actions carry their reasons).
 */
bool store_add_decision(struct store *store, int64_t run, double time_s, const char *snapshot,
			const char *actions, GError **error);
/* Calls `row` for each decision of a run in order; stops early when it returns false. */
bool store_each_decision(struct store *store, int64_t run,
			 bool (*row)(double time_s, const char *snapshot, const char *actions,
				     void *data),
			 void *data, GError **error);

/* One power sample as published by a local scheduler; (run, host, seq) is unique: a repeat is ignored. */
bool store_add_sample(struct store *store, int64_t run, const char *host, int64_t seq,
		      double time_s, int64_t mw, int64_t energy_uj, bool gap, GError **error);

/* The estimates the experiment used (given or profiled). */
bool store_put_estimates(struct store *store, const struct config_estimate *estimates,
			 uint32_t count, GError **error);

/* Groups writes: everything between begin and commit is one transaction. */
bool store_begin(struct store *store, GError **error);
bool store_commit(struct store *store, GError **error);
