/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/energy/ledger.h"
#include "controller/experiment/experiment.h"
#include "controller/journal/recorder_store.h"
#include "controller/plugin/plugin_config.h"
#include "controller/service/run_service.h"
#include "controller/session/run_session_private.h"
#include "controller/store/store_check.h"

/*
 * The bound of the sum over all hosts; energy beyond it is not counted (146 years of a kilowatt).
 */
#define RUN_SERVICE_COUNTED_MAX_UJ (INT64_MAX / 2)

#define SECONDS_PER_DAY 86400.0

/*
 * The inside of a service, for its files: run_service.c (its life cycle), run_service_restore.c
 * (continuing from the store), run_service_tasks.c (users' requests), run_service_account.c (its
 * time and baseline, and for how long records are kept), run_service_energy.c (the energy account
 * of hosts), run_service_task_energy.c (the energy of tasks), run_service_unreported.c (the energy
 * that is not reported yet) and run_service_limit.c (the energy limit).
 */
struct run_service {
	struct run_session *session;
	struct config_service config;
	struct experiment *experiment;
	struct workload *workload; /* the tasks so far, at most config.tasks_max */
	GPtrArray *submissions;    /* struct store_submission, by task */
	/* "UID KEY" -> the first struct store_submission of the request */
	GHashTable *keys;
	/* task -> why its record was unusable when the service was continued */
	GHashTable *bad;
	struct store_run row;
	struct engine_setup setup;
	struct plugin *plugin; /* of policies from outside; the policy may be one after a reload */
	struct backend *backend;
	struct recorder_store *recorder;
	struct store_sync *sync;
	/* struct store_sync_request: until the present transaction is safe; NULL: none */
	GArray *waiters;
	guint recording;           /* source that records, while there are waiters */
	struct store_check *check; /* check of the whole file, in the background */
	struct engine *engine;
	struct ledger *ledger; /* of the run's joules */
	bool ledger_complete;  /* the sums of the store were read */
	/* struct host_account, of the ledger, by host: the configuration no longer has these hosts */
	GPtrArray *departed;
	/* the ends of attempts that are not reported yet (run_service_task_energy.c) */
	struct provisional *provisional;
	/* times before it were not served, by an earlier controller; -INFINITY: there is none */
	double served_s;
	double window_begin_s; /* the beginning of a window of the limit, time of the run */
	bool window_counted;   /* all meters had samples when the engine was given the limit */
	/*
	 * The provisional energy when the service was last recorded, for the ledger: struct
	 * ledger_expected; NULL: none.
	 */
	GPtrArray *expected;
	/*
	 * Of a service that an older version recorded, for the ledger: its window, which had used
	 * older_spent_j (NAN: it was not recorded so) by older.until_s, or what is left of that.
	 */
	struct ledger_older older;
	double older_spent_j;
	guint tick; /* source, once a second */
	uint32_t ticks;
	/* an acknowledgement to local schedulers, of what is on disk, is due */
	bool telling;
	double state_due_s; /* when the next full state is to be stored */
	bool pruning;       /* more old records are left to remove */
	/* the scripts of tasks below this were removed, as far as no longer needed */
	uint32_t scripts_dropped;
	double counted_s; /* when its tasks were counted */
};

/*
 * For remote_run.describe; `data` is the service: adds the task's user, the number of tasks in its
 * request, and its script. A task without a known user belongs to the overflow user id 65534.
 */
bool run_service_describe(uint32_t task, json_t *body, void *data, GError **error);

/* Records the last submissions, and calls the waiters, while there is a `sync`. */
void run_service_record(struct run_service *service);

/* Adds the key of a request's first task to `keys`. */
void run_service_note_key(struct run_service *service, struct store_submission *submission);

/*
 * Fills in the task that `submission` describes; false: its type is unknown, and its type index is
 * UINT32_MAX.
 */
bool run_service_make_task(const struct run_service *service,
			   const struct store_submission *submission, struct sched_task *ret_task);

/*
 * run_service_restore.c: makes the workload from the earlier submissions. Missing numbers are
 * filled in, and unusable records are put into `bad`. False with `error`: the store cannot be read,
 * or there is no room for them.
 */
bool run_service_recall(struct run_service *service, GError **error);

/*
 * After run_service_recall(): puts all tasks back into the engine, which is made again each time
 * that more bad records are found. False with `error`: the store cannot be read.
 */
bool run_service_restore(struct run_service *service, GError **error);

/* Makes notes of the tasks in `bad`, and of rows without a task. */
void run_service_note_quarantined(struct run_service *service);

/*
 * run_service_account.c: continues the time and the meters of a run in the store; to be called
 * before the first answer of a local scheduler. Sets row.t0_ns, and boot_id.
 */
bool run_service_account_resume(struct run_service *service, GError **error);

/* Stores the present time and the samples; false with `error`: not stored. */
bool run_service_account_keep(struct run_service *service, GError **error);

/*
 * The hosts with a meter whose idle watts were not measured when the service first began, since the
 * configuration did not have them then; NULL: none (the caller frees). All of their energy counts
 * as dynamic.
 */
char *run_service_unknown_idle(const struct run_service *service);

/*
 * run_service_energy.c: continues the energy accounts of all hosts, and asks the local schedulers
 * for the intervals since then. session->service must be set.
 */
bool run_service_energy_begin(struct run_service *service, GError **error);

/*
 * At the end, while session->service is still set: waits, two seconds at most, for the last reports
 * of the local schedulers.
 */
void run_service_energy_end(struct run_service *service);

/*
 * run_service_limit.c: gives the engine the configuration's limit per window, or none, with the
 * energy used of the window under way. After run_service_energy_begin(). False with `error`: the
 * store failed.
 */
bool run_service_limit_begin(struct run_service *service, GError **error);

/*
 * Its two halves: finding the window that `config` gives, which changes nothing, and passing it to
 * the engine.
 */
bool run_service_limit_find(struct run_service *service, const struct config_service *config,
			    struct engine_window *ret_window, GError **error);
void run_service_limit_set(struct run_service *service, const struct engine_window *window);

/* When the window under way began that `config` gives, time of the run. */
double run_service_limit_begin_s(const struct run_service *service,
				 const struct config_service *config);

/*
 * Once a second: computes the energy used again once all meters have answered, looks for a clock
 * that was set, and corrects what the engine has counted by the ledger.
 */
bool run_service_limit_tick(struct run_service *service, GError **error);

/*
 * For remote_run.sample and remote_run.usage; `data` is the session. Both write into the
 * transaction of the engine's records: the rows of many hosts of one second share pages, which are
 * then written once and not once per host.
 */
void run_service_energy_sample(double time_s, const struct remote_meter *meter,
			       const struct wire_sample *sample, void *data);
void run_service_energy_take(uint32_t cluster, const char *stream, const GPtrArray *intervals,
			     void *data);

/*
 * Reads the ledger of service->row.run; to be called before tasks are restored. False with `error`:
 * the store cannot be read.
 */
bool run_service_energy_load(struct run_service *service, GError **error);

/*
 * run_service_task_energy.c: set up and free the ledger, and the ends of attempts that are not
 * reported yet.
 */
void run_service_energy_init(struct run_service *service);
void run_service_energy_clear(struct run_service *service);

/* For engine_setup.task_ended_j; `data` is the service. */
double run_service_energy_ended(uint32_t task, enum engine_energy_kind *ret_kind, void *data);

/*
 * After the tasks were restored: finds which energy of ended tasks is the account's, and whether it
 * is final. False with `error`: the store cannot be read.
 */
bool run_service_recall_energy(struct run_service *service, GError **error);

/*
 * After reports of a cluster: the energy of a task is final when all hosts of its clusters have
 * reported beyond its attempts' ends. O(hosts), and O(unreported ends) if there is one.
 */
void run_service_settle_energy(struct run_service *service, uint32_t cluster);

/*
 * After an interval with `parts` (struct store_account_part) of tasks: brings the energy of those
 * that have ended up to date. Hosts where an attempt was lost may report long after the end of the
 * task.
 */
void run_service_update_energy(struct run_service *service, const GArray *parts);

/*
 * What the hosts have used since the ends of their accounts, until now_ns, as it is stored: a list
 * of struct ledger_expected, owned by the caller. Provisional energy of the hosts stays as it is.
 */
GPtrArray *run_service_energy_provisional(const struct run_service *service, int64_t now_ns);

/*
 * Another counter of a host began at from_ns: what its meter had counted by the last sample of the
 * former one, and no report has brought, is provisional energy of the account from now on.
 */
void run_service_expect_counted(struct run_service *service, struct host_account *account,
				int64_t from_ns);

/*
 * Gives service->expected to the ledger, after ledger_load(), and frees it. False with `error`: the
 * store cannot be read.
 */
bool run_service_recall_provisional(struct run_service *service, GError **error);

/*
 * After that: has the ledger keep what an older version counted beyond the accounts of the hosts,
 * if it is of the window that began at begin_s, time of the run, and makes a note of it. False with
 * `error`: the store cannot be read.
 */
bool run_service_recall_older(struct run_service *service, double begin_s, GError **error);

/*
 * Dynamic energy since begin_s, time of the run: what the ledger has, and what the meters have
 * counted since. False with `error`: the store cannot be read.
 */
bool run_service_used_since(const struct run_service *service, double begin_s, double *ret_j,
			    GError **error);

/*
 * As run_service_used_since(), until now_ns, in O(hosts) where begin_s is that of the last call.
 * False with `error`: the store cannot be read.
 */
bool run_service_used_until(struct run_service *service, double begin_s, int64_t now_ns,
			    double *ret_j, GError **error);

/*
 * Dynamic energy since the service first began, as far as reported, while a controller served; NAN
 * if a host has no meter.
 */
double run_service_energy_j(const struct run_service *service);

/*
 * Removes some of the records older than config.retention_days, and sets `pruning` to whether more
 * are left.
 */
bool run_service_prune(struct run_service *service, GError **error);
