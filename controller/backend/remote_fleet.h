/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/remote_link.h"

/*
 * All local schedulers of a configuration. The fleet lives as long as the controller: it waits for
 * nodes to be ready, measures the idle baseline, and carries one run (remote.h) after another. All
 * waiting iterates the default main context, so an API on it goes on being served.
 */
struct remote_fleet;

#define REMOTE_ERROR (remote_error_quark())
GQuark remote_error_quark(void);
enum remote_error {
	REMOTE_ERROR_ADDRESS = 1, /* an address of a local scheduler makes no sense */
	REMOTE_ERROR_NOT_READY,   /* nodes or meters were not ready in time */
	REMOTE_ERROR_METER,       /* the baseline could not be measured */
	REMOTE_ERROR_STOPPED,     /* remote_fleet_stop() was called */
};

/* Power of the idle testbed, per host, in the order of remote_fleet_meters(). */
struct remote_baseline {
	double *idle_w; /* count of them */
	uint32_t count;
	double sum_w;
	double duration_s; /* over which it was measured */
};
/* Frees the array in it and empties it; not the struct itself. */
void remote_baseline_clear(struct remote_baseline *baseline);

/*
 * Connects to the local schedulers of `config` (borrowed); `addresses` holds one per cluster, in
 * order. Does not wait. Returns NULL with `error` (REMOTE_ERROR_ADDRESS).
 */
struct remote_fleet *remote_fleet_new(const struct config *config, const char *const *addresses,
				      GError **error);
/* Drops what is under way; every backend on it was destroyed before. NULL is allowed. */
void remote_fleet_free(struct remote_fleet *fleet);

/* The configuration it was made from (borrowed). */
const struct config *remote_fleet_config(const struct remote_fleet *fleet);
/* The link to the local scheduler of the cluster with this index; owned by the fleet. */
struct remote_link *remote_fleet_link(const struct remote_fleet *fleet, uint32_t cluster);

/* Meters of all clusters, in order: GPtrArray of struct remote_meter, owned by the fleet. */
GPtrArray *remote_fleet_meters(const struct remote_fleet *fleet);

/* Sets who hears of tasks, nodes, samples and notes; NULL: nobody. Borrowed. */
void remote_fleet_listen(struct remote_fleet *fleet, const struct remote_listener *listener);

/*
 * Ends all waiting with REMOTE_ERROR_STOPPED, now and later; a run ends with
 * BACKEND_EVENT_ABORTED. `reason` is what people are told. Only the first call counts.
 */
void remote_fleet_stop(struct remote_fleet *fleet, const char *reason);
/* The reason (borrowed), or NULL when nobody stopped it. */
const char *remote_fleet_stopped(const struct remote_fleet *fleet);

/*
 * Waits until every local scheduler answers, every node is ready for a task and every meter gives
 * samples. Gives up when no more nodes or spare VMs got ready for `timeout_s`, since few boot at a time;
 * `error` then says what is missing.
 */
bool remote_fleet_wait_ready(struct remote_fleet *fleet, double timeout_s, GError **error);

/*
 * Excuses the clusters that are not ready (remote_link_excuse()), and no others: what can be done without them is
 * not to wait for them any more. False: no cluster has a node that is up.
 */
bool remote_fleet_excuse_unready(struct remote_fleet *fleet);

/*
 * The longest that a local scheduler gives a node to get ready, as far as they have said, at most a day; 0: nobody said
 * it.
 */
double remote_fleet_boot_timeout_s(const struct remote_fleet *fleet);

/*
 * Waits only until every local scheduler has answered and said which nodes are up: for a run that
 * goes on where nodes are busy.
 */
bool remote_fleet_wait_known(struct remote_fleet *fleet, double timeout_s, GError **error);

/* The same, but whoever has not answered after `timeout_s` comes in later. False: it was stopped. */
bool remote_fleet_wait_heard(struct remote_fleet *fleet, double timeout_s, GError **error);

/* What remote_fleet_wait_ready() would wait for (the caller frees), or NULL when all is ready. */
char *remote_fleet_missing(const struct remote_fleet *fleet);

/*
 * Iterates until `done` says so, at most `timeout_s`; with `heed_stop` also no longer than until
 * remote_fleet_stop(). Returns what `done` said last.
 */
bool remote_fleet_until(struct remote_fleet *fleet, bool (*done)(void *data), void *data,
			double timeout_s, bool heed_stop);

/* Waits `duration_s`, or less when stopped (false with `error`). */
bool remote_fleet_wait(struct remote_fleet *fleet, double duration_s, GError **error);

/* Waits until samples cover `t_ns` on all meters, at most `timeout_s`; true when they do. */
bool remote_fleet_wait_covered(struct remote_fleet *fleet, int64_t t_ns, double timeout_s);

/*
 * Measures the idle baseline over `duration_s`, at least three sampling intervals, from the energy
 * counters, and waits longer, up to thirty intervals times the patience of the configuration, for a meter that
 * has given fewer than two samples by then. The caller makes sure that nothing runs.
 */
bool remote_fleet_baseline(struct remote_fleet *fleet, double duration_s,
			   struct remote_baseline *ret_baseline, GError **error);

/* Kills every task that the local schedulers say is not ended; for leftovers of a crash. */
void remote_fleet_kill_all(struct remote_fleet *fleet);

/*
 * Of the tasks that the local scheduler behind `link` listed (`body`, the answer to GET /v1/tasks; NULL:
 * none came), kills those that have not ended and that `wanted` says yes to (NULL: all). Returns their
 * number.
 */
uint32_t remote_fleet_kill_listed(struct remote_link *link, const json_t *body,
				  bool (*wanted)(const char *id, void *data), void *data);
