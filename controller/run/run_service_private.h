/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/experiment.h"
#include "controller/engine/recorder_store.h"
#include "controller/run/host_account.h"
#include "controller/run/run_service.h"
#include "controller/store/store_check.h"

/*
 * The inside of a service, for its files: run_service.c (its life), run_service_restore.c (going on from
 * what is on record), run_service_tasks.c (what people ask for), run_service_account.c (its time and
 * baseline, and what is kept for how long), run_service_energy.c (whose energy the meters counted) and
 * run_service_limit.c (how much of it may be used).
 */
struct run_service {
	struct run_session *session;
	struct config_service config;
	struct experiment *experiment;
	struct workload *workload;  /* the tasks so far; config.tasks_max says how many there may be */
	GPtrArray *submissions;     /* struct store_submission, by task */
	GHashTable *keys;           /* "UID KEY" -> struct store_submission, the first of the request */
	GHashTable *bad;            /* task -> why its record could not be used when the service went on */
	struct store_run row;
	struct engine_setup setup;
	struct backend *backend;
	struct recorder_store *recorder;
	struct store_sync *sync;
	GArray *waiters;            /* struct waiter, to know that what is recorded now is safe; NULL: none */
	guint recording;            /* source, where there are some */
	struct store_check *check;  /* of the whole file, beside serving */
	struct engine *engine;
	GHashTable *accounts;       /* host -> struct host_account */
	double served_s;            /* what ended before was while nobody served; -INFINITY: no such time */
	int64_t counted_uj;         /* by all counters, as far as they were told of */
	int64_t dynamic_uj;         /* all but idle, while somebody served, as far as it was told */
	double window_begin_s;      /* when a window of the limit begins, time of the run */
	bool window_counted;        /* all meters have told what was spent of it */
	/* What was on record of a window when the service began, or went on: NAN: nothing. */
	double kept_begin_s, kept_spent_j;
	guint tick;                 /* source, once a second */
	uint32_t ticks;
	bool telling;               /* local schedulers are about to be told what is on disk */
	bool pruning;               /* there is more to be removed that is old */
	uint32_t scripts_dropped;   /* of tasks below all scripts are gone that nobody needs any more */
	/* Tasks below `settled` have ended; what they came to. */
	uint32_t settled, settled_completed;
	double settled_utility;
	double counted_s; /* when the others were counted */
};

/* Records what was submitted last, and has those told who wait for that, while there is a `sync`. */
void run_service_record(struct run_service *service);

/* Adds to `keys` what the first task of a request was submitted with. */
void run_service_note_key(struct run_service *service, struct store_submission *submission);

/* Fills in the task that `submission` describes; false: there is no such type, and its row is UINT32_MAX. */
bool run_service_make_task(const struct run_service *service,
			   const struct store_submission *submission, struct sched_task *ret_task);

/*
 * run_service_restore.c: what was submitted before becomes the workload that goes on. Numbers that are
 * missing are filled in, and what cannot be used is noted in `bad`. False with `error`: it cannot be
 * read, or there is no room for it.
 */
bool run_service_recall(struct run_service *service, GError **error);

/*
 * After that: puts all tasks back into the engine, which is made anew for each time that more bad
 * records have come to light. False with `error`: the store cannot be read.
 */
bool run_service_restore(struct run_service *service, GError **error);

/* Tells people of the tasks in `bad`, and of rows that are no task's. */
void run_service_note_quarantined(struct run_service *service);

/*
 * run_service_account.c: goes on with the time and the meters of a run that is on record: before the first
 * answer of a local scheduler. Sets row.t0_ns, and boot_id.
 */
bool run_service_account_resume(struct run_service *service, GError **error);

/* Notes how far time is, and the samples; false with `error`: not on record. */
bool run_service_account_keep(struct run_service *service, GError **error);

/*
 * The hosts with a meter whose idle watts were not measured when the service first began, since the
 * configuration had not got them then, or NULL (the caller frees). All that these draw counts as dynamic.
 */
char *run_service_unknown_idle(const struct run_service *service);

/*
 * run_service_energy.c: goes on with the accounts of all hosts, and asks the local schedulers for what
 * there is since. When service is the session's.
 */
bool run_service_energy_begin(struct run_service *service, GError **error);

/*
 * When nobody serves any more, but the service still is the session's: waits, for two seconds at most, for what the
 * local schedulers have not told yet.
 */
void run_service_energy_end(struct run_service *service);

/*
 * run_service_limit.c: gives the engine the limit per window of the configuration, or that there is none, with what
 * was spent of the window under way. After run_service_energy_begin(). False with `error`: the store.
 */
bool run_service_limit_begin(struct run_service *service, GError **error);

/* Its two halves: what that would be under `config`, which changes nothing, and giving it to the engine. */
bool run_service_limit_find(struct run_service *service, const struct config_service *config,
			    struct engine_window *ret_window, GError **error);
void run_service_limit_set(struct run_service *service, const struct engine_window *window);

/* Once a second: what was spent, again, when all meters have answered; and a clock that was set. */
bool run_service_limit_tick(struct run_service *service, GError **error);

/*
 * For remote_run.sample and remote_run.usage; `data` is the session. Both write into the transaction of what the
 * engine records: many hosts' rows of a second are in the same pages, which go on record once and not for each host.
 */
void run_service_energy_sample(double time_s, const struct remote_meter *meter,
			       const struct remote_sample *sample, void *data);
void run_service_energy_take(uint32_t cluster, const char *stream, const GPtrArray *intervals,
			     void *data);

/*
 * Dynamic energy since the service first began, as far as it was told, while somebody served; NAN where a
 * host has no meter.
 */
double run_service_energy_j(const struct run_service *service);

/* Removes some of what is older than config.retention_days, and notes in `pruning` whether there is more. */
bool run_service_prune(struct run_service *service, GError **error);
