/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "common/sqlite/database.h"

/*
 * The store: one SQLite file (`run.sqlite`, WAL) that holds an experiment: its runs, and for each
 * run the tasks, events, decisions with their reasons, power samples, and the provenance of all of
 * it. Measured and simulated experiments have the same schema, which docs/reference/store.md
 * describes. Everything is written in the order in which it happened; an interrupted run can be
 * read up to its last committed row.
 *
 * All functions that return bool or a pointer set `error` (DATABASE_ERROR,
 * common/sqlite/database.h) on failure; a failed write leaves the store as it was. A store belongs
 * to one thread; several processes may read it while another writes.
 */
struct store;
typedef struct store store_t; /* for g_autoptr() */
typedef struct store_run store_run_t;
typedef struct store_task store_task_t;
typedef struct store_suspension store_suspension_t;
typedef struct store_migration store_migration_t;

/* Whether a program answers `error` with exit status 2, bad input. */
bool store_error_is_input(const GError *error);

/*
 * The file's name within a run directory, and the schema version that this program writes. Files of
 * an older version can be read; with `create` they are upgraded.
 */
#define STORE_FILE "run.sqlite"
#define STORE_SCHEMA_VERSION 13

/*
 * A run: a policy under a limit, one repeat (measured) or trial (simulated). Strings may be NULL.
 */
struct store_run {
	int64_t run; /* row id, from 1; 0 when not stored yet */
	char *policy;
	double limit; /* fraction of the budget */
	double limit_j;
	uint32_t repeat; /* from 1: the repeat of the workload, or the trial */
	uint64_t seed;   /* of the workload */
	bool measured;
	char *started_utc;
	int64_t t0_ns; /* boot-clock reading at time 0 of a measured run, with boot_id */
	char *boot_id;
	char *ended_by; /* NULL: not ended; "limit", "time", "done", "aborted" */
	double ended_s;
	double utility;
	double energy_j; /* dynamic energy */
	double idle_w;   /* measured idle baseline, sum over hosts */
	double gap_s;    /* metering gaps within the run, summed over hosts */
	/* mean number of busy cores of this machine during the run; NAN: unknown */
	double host_load;
	uint32_t tasks_arrived, tasks_completed, tasks_failed, tasks_dropped;
};

/*
 * A task of a run (table `task`). Times in seconds since the start of the run, NAN where the task
 * did not get so far.
 *
 * A row of table `lost_attempt` is the task as it was when it lost an attempt, after which it waited
 * again. It has only run, task, attempts (the number of the lost one), cluster, nodes, started_s,
 * ended_s and reason; all else is 0 or NULL. The attempt that follows is in the task's own row, or
 * has been lost as well.
 */
struct store_task {
	int64_t run;
	uint32_t task;
	char *type;
	double arrival_s;
	double utility_max;
	char *state;   /* engine_task_state_name() */
	char *cluster; /* NULL: never placed */
	char *nodes;   /* "0,1" */
	uint32_t pstate;
	bool reservation; /* of a planned task: true for a reservation, false for a place-holder */
	uint32_t attempts;
	double planned_start_s, started_s, ended_s;
	double exec_s, etc_s, energy_j, eec_j;
	double utility; /* earned */
	char *reason;
	/* For queueing clusters; missing in files of version 2. */
	double deadline_s;
	double chance;    /* of completing on time, when the task was last queued or dropped */
	double threshold; /* the threshold that `chance` was compared with */
	/* how many tasks of the run had been queued, including it; 0: it was not queued */
	uint32_t queued_n;
};

/*
 * A suspension of a task: when it was requested, when the task left its nodes, and when it was
 * resumed. Times in seconds since the start of the run; NAN: not reached, or unknown. See
 * docs/reference/store.md.
 */
struct store_suspension {
	int64_t run;
	uint32_t task, attempt;
	uint32_t n; /* number of the suspension in its attempt, from 1 */
	char *cluster;
	char *nodes;    /* the nodes that it left: "0,1" */
	char *to_nodes; /* the nodes on which it was resumed; NULL: no resumption was requested */
	bool by_person;
	/* kept by a user until they resume it; by an energy window until it was resumed */
	bool held;
	double requested_s, suspended_s;
	double exec_s; /* execution time of the interval before it */
	double resume_requested_s, resumed_s, since_s;
	double freeze_s, save_s, restore_s, resume_s, skew_s; /* as in backend.h */
};

/* The overhead of one VM of the task in a suspension: a row of the table suspension_vm. */
struct store_vm_overhead {
	int64_t run;
	uint32_t task, attempt, n;
	uint32_t vm;                                  /* from 0, in the order of the task's nodes */
	double freeze_s, save_s, restore_s, resume_s; /* NAN: not known; leaves what is stored */
};

/*
 * A migration of a running task: when it was requested, and where its VMs were after it. Times as
 * above.
 */
struct store_migration {
	int64_t run;
	uint32_t task, attempt;
	uint32_t n; /* number of the migration in its attempt, from 1 */
	char *cluster;
	char *nodes;    /* the nodes before: "0,1"; on shared hosts the host of each VM */
	char *to_nodes; /* the requested nodes; after the end the actual ones */
	bool by_person;
	double requested_s, ended_s;
	/* why a VM was not moved; NULL: all were, or the migration is under way */
	char *reason;
};

/* The part of one VM of the task in a migration. */
struct store_migration_vm {
	int64_t run;
	uint32_t task, attempt, n;
	uint32_t vm; /* from 0 */
	uint32_t from_node, to_node;
	double total_s, downtime_s; /* NAN: unknown, or the VM did not change its host */
};

/* The yield of a task on shared hosts from time_s on, and its virtual time at time_s. */
struct store_share {
	int64_t run;
	uint32_t task, attempt;
	double time_s, yield, virtual_s;
};

/* The CPU that the VMs of a task used together, as a part of what their share allows, at time_s. */
struct store_delivery {
	int64_t run;
	uint32_t task, attempt;
	double time_s;
	double share; /* of the CPU that its nodes may use */
	double asked_cores, given_cores;
};

/* An event of a run. */
struct store_event {
	int64_t id; /* from 1, ascending over all runs of a store */
	int64_t run;
	double time_s;
	char *kind;
	char *detail; /* a JSON object, or NULL */
};

/*
 * A decision of a run: the snapshot that the policy got, and the actions that it returned, as JSON.
 */
struct store_decision {
	int64_t id; /* as of an event */
	int64_t run;
	double time_s;
	char *snapshot;
	char *actions;
};

/*
 * An input of a run's engine (engine_input of engine.h), by which the run can be carried out again.
 */
struct store_input {
	int64_t run;
	uint32_t n;    /* in the order of the inputs, from 1 */
	char *kind;    /* NULL: a time, as most are */
	double time_s; /* NAN: it is about no time */
	/* Of an event of the backend, as in backend.h: the task (-1: none), its attempt, ... */
	int64_t task, attempt;
	double exec_s, energy_j;
	char *detail; /* a JSON object with the rest, or NULL */
	char *answers; /* what the backend answered meanwhile (journal/listener.h); NULL: as expected */
	/*
	 * Of what was decided in it (sched/decision_sum.h), as signed numbers; -1: nothing was, and
	 * -2 for -1.
	 */
	int64_t snapshot_sum, plan_sum;
	/* Of what was requested of the backend (journal/listener.h); -1: nothing was. */
	int64_t request_sum;
	/*
	 * How often its records were flushed until the process ended; -1: it was handled to its end.
	 */
	int64_t cut;
	/* Not in a row. It was packed: of its sums only the bits below are known. */
	bool packed;
	/* Of the last one in a pack: how many it has, and all their sums (store_join_sums()); else 0. */
	uint32_t pack_count;
	uint64_t pack_sums;
};

/* The bits of sums that packs keep. Of requests, the kinds are among them. */
#define STORE_PACKED_SNAPSHOT UINT64_C(0xff)
#define STORE_PACKED_PLAN UINT64_C(0xffff)
#define STORE_PACKED_REQUEST (UINT64_C(0xff) << 39 | 0xff)

/* As many inputs are packed together, unless a full state is between them. */
#define STORE_PACK_INPUTS 2048

/* Inputs n to `last` of a run (input_pack.h). */
struct store_input_pack {
	int64_t run;
	uint32_t n, last;
	uint32_t begins, restores; /* how many inputs of these kinds it has */
	int64_t sums;              /* of all its inputs (store_join_sums()) */
	GBytes *inputs;
};

/*
 * A full state of a service's engine (engine/full_state.h), from which its run can be carried out
 * again.
 */
struct store_state {
	int64_t run;
	uint32_t n; /* of the next input */
	double time_s;
	bool start;    /* the service has begun or continued; else the state is one of its run */
	GBytes *state; /* journal/state_pack.h */
};

/* A power sample as published by a local scheduler (docs/reference/api.md, "Energy"). */
struct store_sample {
	int64_t run;
	char *host;
	int64_t seq;
	double time_s; /* since the start of the run; negative before it */
	int64_t mw;
	int64_t energy_uj; /* the host's counter right after the sample */
	bool gap;          /* the time before it was estimated */
};

/*
 * Opens the store of run directory `dir`; with `create`, makes the directory and the file if
 * missing. Without `create` the file must exist and is checked; reading needs write permission only
 * while another process writes. Returns NULL with `error`.
 */
struct store *store_open(const char *dir, bool create, GError **error);
/*
 * As store_open() with `create`, for a daemon, which stands on `platform`. With `serve`, for a
 * service, whose file grows for months, it does not check the pages of the tables that
 * store_prune() shortens, which no start reads; store_check_new() does so while the service runs.
 */
struct store *store_open_on(const struct platform *platform, const char *dir, bool serve,
			    GError **error);
/* Rolls an open transaction back. NULL is allowed. */
void store_close(struct store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_t, store_close)

/*
 * The present name of the policy that was called `name` when the file was made
 * (docs/reference/store.md, `run`): policies of Pair have other names in files before version 10.
 * The caller frees; NULL with `error`.
 */
char *store_policy_now(struct store *store, const char *name, GError **error);

/*
 * Sets a fact about the experiment; docs/reference/store.md lists the keys. `value` NULL removes
 * it.
 */
bool store_set_meta(struct store *store, const char *key, const char *value, GError **error);
/* The value, which the caller frees, or NULL where there is none. */
char *store_get_meta(struct store *store, const char *key);
/* A fact that is a JSON document, a new reference. NULL: there is none, or it is no JSON. */
json_t *store_get_document(struct store *store, const char *key);

/* Adds a run and sets run->run, for store_update_run(), which also marks it as ended. */
bool store_add_run(struct store *store, struct store_run *run, GError **error);
/* Writes all of `run` to the row run->run. False with `error`: nothing was written. */
bool store_update_run(struct store *store, const struct store_run *run, GError **error);
/* All runs in order of row id: GPtrArray of struct store_run, owned by the caller. */
GPtrArray *store_runs(struct store *store, GError **error);
/* NULL is allowed, here and below. */
void store_run_free(struct store_run *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_run_t, store_run_free)

/* Inserts or replaces the row (run, task). */
bool store_put_task(struct store *store, const struct store_task *task, GError **error);
/* The tasks of a run by number: GPtrArray of struct store_task, owned by the caller. */
GPtrArray *store_tasks(struct store *store, int64_t run, GError **error);
void store_task_free(struct store_task *task);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_task_t, store_task_free)

/* Inserts or replaces the lost attempt (run, task, attempts). */
bool store_put_lost(struct store *store, const struct store_task *lost, GError **error);
/*
 * The lost attempts of a run by task and attempt: GPtrArray of struct store_task, owned by the
 * caller. None in files before version 10.
 */
GPtrArray *store_lost(struct store *store, int64_t run, GError **error);
/* The lost attempts of one task. */
GPtrArray *store_task_lost(struct store *store, int64_t run, uint32_t task, GError **error);

/* Inserts or replaces the row (run, task, attempt, n). */
bool store_put_suspension(struct store *store, const struct store_suspension *suspension,
			  GError **error);
/*
 * The suspensions of a run by task, attempt and number: GPtrArray of struct store_suspension, owned
 * by the caller. None in files of version 1.
 */
GPtrArray *store_suspensions(struct store *store, int64_t run, GError **error);
/* The suspensions of one attempt of a task, by number. */
GPtrArray *store_task_suspensions(struct store *store, int64_t run, uint32_t task, uint32_t attempt,
				  GError **error);
void store_suspension_free(struct store_suspension *suspension);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_suspension_t, store_suspension_free)

/* Inserts the row (run, task, attempt, n, vm), or updates its known values. */
bool store_put_vm_overhead(struct store *store, const struct store_vm_overhead *vm, GError **error);
/*
 * By task, attempt, number and VM: GPtrArray of struct store_vm_overhead, to be freed with
 * g_free() each.
 */
GPtrArray *store_vm_overheads(struct store *store, int64_t run, GError **error);

/* Inserts or replaces the row (run, task, attempt, n). */
bool store_put_migration(struct store *store, const struct store_migration *migration,
			 GError **error);
/*
 * The migrations of a run by task, attempt and number: GPtrArray of struct store_migration, owned
 * by the caller. Files before version 4 have none, nor any rows of the next three kinds.
 */
GPtrArray *store_migrations(struct store *store, int64_t run, GError **error);
/* The migrations of one attempt of a task, by number. */
GPtrArray *store_task_migrations(struct store *store, int64_t run, uint32_t task, uint32_t attempt,
				 GError **error);
void store_migration_free(struct store_migration *migration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(store_migration_t, store_migration_free)

/* Inserts or replaces the row (run, task, attempt, n, vm). */
bool store_put_migration_vm(struct store *store, const struct store_migration_vm *vm,
			    GError **error);
/*
 * By task, attempt, number and VM: GPtrArray of struct store_migration_vm, to be freed with
 * g_free() each.
 */
GPtrArray *store_migration_vms(struct store *store, int64_t run, GError **error);

/* Inserts or replaces the row (run, task, attempt, time). */
bool store_put_share(struct store *store, const struct store_share *share, GError **error);
/* By task, attempt and time: GPtrArray of struct store_share, to be freed with g_free() each. */
GPtrArray *store_shares(struct store *store, int64_t run, GError **error);

/* Inserts or replaces the row (run, task, attempt, time). */
bool store_put_delivery(struct store *store, const struct store_delivery *delivery, GError **error);
/* By task, attempt and time: GPtrArray of struct store_delivery, to be freed with g_free() each. */
GPtrArray *store_deliveries(struct store *store, int64_t run, GError **error);
/*
 * The last delivery of an attempt of a task, to be freed with g_free(). NULL: there is none, or
 * with `error` a failure.
 */
struct store_delivery *store_last_delivery(struct store *store, int64_t run, uint32_t task,
					   uint32_t attempt, GError **error);

/* Appends an event: time, kind, JSON detail (may be NULL). */
bool store_add_event(struct store *store, int64_t run, double time_s, const char *kind,
		     const char *detail, GError **error);
/*
 * The events of a run in the order of their ids: GPtrArray of struct store_event, owned by the
 * caller.
 */
GPtrArray *store_events(struct store *store, int64_t run, GError **error);
/* As store_events(), only ids above `after`, at most `most` events; `run` 0: of all runs. */
GPtrArray *store_events_after(struct store *store, int64_t run, int64_t after, uint32_t most,
			      GError **error);
void store_event_free(struct store_event *event);
/*
 * Calls `event` for each event of a kind of a run, in order, with its detail (JSON or NULL,
 * borrowed for the call). Returns false with `error`. O(events of the run).
 */
bool store_each_event(struct store *store, int64_t run, const char *kind,
		      void (*event)(const char *detail, void *data), void *data, GError **error);
/* The id of the last event; 0: there is none, or a failure. */
int64_t store_last_event(struct store *store);
/*
 * Sets a function that is called after each store_add_event(); NULL: none. The event may still be
 * rolled back. The function must not write to the store.
 */
void store_watch_events(struct store *store, void (*added)(void *data), void *data);

/*
 * Appends a decision: the snapshot that the policy got and the actions that it returned, both as
 * the JSON of docs/reference/snapshot.md (actions have their reasons).
 */
bool store_add_decision(struct store *store, int64_t run, double time_s, const char *snapshot,
			const char *actions, GError **error);

/* Inserts or replaces the row (run, n). */
bool store_put_input(struct store *store, const struct store_input *input, GError **error);
/*
 * The first `most` inputs of a run with numbers above `after`: GPtrArray of struct store_input,
 * owned by the caller. None in files before version 11. Those in packs have the lowest bits of their
 * sums alone.
 */
GPtrArray *store_inputs_after(struct store *store, int64_t run, uint32_t after, uint32_t most,
			      GError **error);
/*
 * Packs the rows of inputs up to number `until`, the earliest first, `most` packs of them; to be
 * called in a transaction.
 */
bool store_pack_inputs(struct store *store, int64_t run, uint32_t until, uint32_t most,
		       GError **error);
/* Stores inputs, GPtrArray of struct store_input, at least one, that have no rows, as a pack. */
bool store_put_input_pack(struct store *store, const GPtrArray *inputs, GError **error);
void store_input_pack_free(struct store_input_pack *pack);
/* The sum of inputs' sums and those of the next one; of no inputs it is 0. */
uint64_t store_join_sums(uint64_t sums, const struct store_input *input);
/* The detail of the first input "begin" with a number of at least `from`; the caller frees. */
char *store_next_begin(struct store *store, int64_t run, uint32_t from);
/* How often a run was continued after a restart: its inputs "restore". */
uint32_t store_count_restores(struct store *store, int64_t run);
/* Sets *ret_last to the number of the last input, 0: there is none. False with `error`. */
bool store_last_input(struct store *store, int64_t run, uint32_t *ret_last, GError **error);
void store_input_free(struct store_input *input);

/* Inserts or replaces the row (run, n). */
bool store_put_state(struct store *store, const struct store_state *state, GError **error);
/*
 * The first full state of a run whose `n` is at least `from`, for store_state_free(). NULL: there
 * is none, or an error is set.
 */
struct store_state *store_next_state(struct store *store, int64_t run, uint32_t from,
				     GError **error);
void store_state_free(struct store_state *state);
/* The id of the last decision of a run; 0: there is none. */
int64_t store_last_decision(struct store *store, int64_t run);
/* Sets *ret_count to the number of decisions of a run. False with `error`. */
bool store_count_decisions(struct store *store, int64_t run, int64_t *ret_count, GError **error);
/*
 * The first decision of a run with an id above `after`, to be freed with store_decision_free().
 * NULL: there is none, or with `error` a failure.
 */
struct store_decision *store_decision_after(struct store *store, int64_t run, int64_t after,
					    GError **error);
void store_decision_free(struct store_decision *decision);
/* The version of the file's schema. */
int store_version(const struct store *store);

/*
 * Adds a power sample as published by a local scheduler. A sample of the same host with the same
 * number and time is ignored as a repetition; times are compared to 50 ms, since clocks of other
 * machines are translated. A local scheduler that lost its state counts from 1 again, and its
 * samples are kept.
 */
bool store_add_sample(struct store *store, int64_t run, const char *host, int64_t seq,
		      double time_s, int64_t mw, int64_t energy_uj, bool gap, GError **error);
/*
 * The samples of a run by host, then time: GPtrArray of struct store_sample, owned by the caller.
 */
GPtrArray *store_samples(struct store *store, int64_t run, GError **error);
void store_sample_free(struct store_sample *sample);

/* Replaces the estimates that the experiment used (given or profiled). */
bool store_put_estimates(struct store *store, const struct config_estimate *estimates,
			 uint32_t count, GError **error);
/*
 * The estimates by type, then cluster: GPtrArray of struct config_estimate, owned by the caller.
 * Unknown deviations are NAN.
 */
GPtrArray *store_estimates(struct store *store, GError **error);

/*
 * Begins a transaction that groups the writes until store_commit(). Without it every write is a
 * transaction. A failed commit is rolled back.
 */
bool store_begin(struct store *store, GError **error);
/* Ends the transaction of store_begin(). False with `error`: it was rolled back. */
bool store_commit(struct store *store, GError **error);
/*
 * Whether the transaction of store_begin() is still open. False with `error`: a failed write rolled
 * it back as a whole.
 */
bool store_check_begun(const struct store *store, GError **error);
/* Undoes everything since store_begin(); no effect outside a transaction. */
void store_rollback(struct store *store);
/*
 * Ends the transaction: commits it, or undoes it where `good` is false. Whether it was committed.
 */
bool store_end(struct store *store, bool good, GError **error);
