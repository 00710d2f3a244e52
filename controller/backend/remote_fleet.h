/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"
#include "controller/backend/remote_link.h"

/*
 * All local schedulers of a configuration. The fleet lives as long as the controller: it waits for
 * nodes to be ready, measures the idle baseline, and carries one run (remote.h) after another.
 * Every wait iterates the default main context, so an API on it stays available.
 */
struct remote_fleet;

#define REMOTE_ERROR (remote_error_quark())
GQuark remote_error_quark(void);
enum remote_error {
	REMOTE_ERROR_ADDRESS = 1, /* an address of a local scheduler is malformed */
	REMOTE_ERROR_NOT_READY,   /* nodes or meters were not ready in time */
	REMOTE_ERROR_METER,       /* the baseline could not be measured */
	REMOTE_ERROR_STOPPED,     /* remote_fleet_stop() was called */
};

/* Power of the idle hosts, in the order of remote_fleet_meters(). */
struct remote_baseline {
	double *idle_w; /* `count` elements */
	uint32_t count;
	double sum_w;
	double duration_s; /* length of the measurement */
};
/* Frees and zeroes the members, not the struct itself. */
void remote_baseline_clear(struct remote_baseline *baseline);

/*
 * Connects to the local schedulers of `config` (borrowed); `addresses` holds one per cluster, in
 * order. Does not wait. Returns NULL with `error` (REMOTE_ERROR_ADDRESS).
 */
struct remote_fleet *remote_fleet_new(const struct platform *platform, const struct config *config,
				      const char *const *addresses, GError **error);
/* Drops the requests under way; every backend on it must be destroyed before. NULL is allowed. */
void remote_fleet_free(struct remote_fleet *fleet);

/* The platform given to remote_fleet_new(). */
const struct platform *remote_fleet_platform(const struct remote_fleet *fleet);
/* The configuration given to remote_fleet_new() (borrowed). */
const struct config *remote_fleet_config(const struct remote_fleet *fleet);
/* The link to the local scheduler of the cluster with this index; owned by the fleet. */
struct remote_link *remote_fleet_link(const struct remote_fleet *fleet, uint32_t cluster);

/* Meters of all clusters, in order: GPtrArray of struct remote_meter, owned by the fleet. */
GPtrArray *remote_fleet_meters(const struct remote_fleet *fleet);

/* Sets the listener (borrowed) for tasks, nodes, samples and notes of all links; NULL: none. */
void remote_fleet_listen(struct remote_fleet *fleet, const struct remote_listener *listener);

/*
 * Ends every wait with REMOTE_ERROR_STOPPED, now and later; a run ends with BACKEND_EVENT_ABORTED.
 * `reason` is shown to users. Only the first call counts.
 */
void remote_fleet_stop(struct remote_fleet *fleet, const char *reason);
/* The reason (borrowed), or NULL if remote_fleet_stop() was not called. */
const char *remote_fleet_stopped(const struct remote_fleet *fleet);

/*
 * Waits until every local scheduler answers, every node is ready for a task and every meter gives
 * samples. Gives up if no further node or spare VM got ready for `timeout_s`, since few boot at a
 * time; `error` then says what is missing.
 */
bool remote_fleet_wait_ready(struct remote_fleet *fleet, double timeout_s, GError **error);

/*
 * Excuses the clusters that are not ready (remote_link_excuse()), and no others: work for the ready
 * clusters shall not wait for them. False: no cluster has a node that is up.
 */
bool remote_fleet_excuse_unready(struct remote_fleet *fleet);

/*
 * The longest time that a local scheduler gives a node to get ready, among those that have reported
 * it, at most a day; 0: none has reported it.
 */
double remote_fleet_boot_timeout_s(const struct remote_fleet *fleet);

/*
 * Waits only until every local scheduler has answered and reported which nodes are up: for a
 * continued run, whose nodes may be busy.
 */
bool remote_fleet_wait_known(struct remote_fleet *fleet, double timeout_s, GError **error);

/*
 * As remote_fleet_wait_known(), but local schedulers that have not answered after `timeout_s` join
 * later. False: remote_fleet_stop() was called.
 */
bool remote_fleet_wait_heard(struct remote_fleet *fleet, double timeout_s, GError **error);

/* What remote_fleet_wait_ready() would wait for (the caller frees), or NULL when all is ready. */
char *remote_fleet_missing(const struct remote_fleet *fleet);

/*
 * Runs the main loop until `done` returns true, at most `timeout_s`; with `heed_stop` at
 * most until remote_fleet_stop(). Returns the last result of `done`.
 */
bool remote_fleet_until(struct remote_fleet *fleet, bool (*done)(void *data), void *data,
			double timeout_s, bool heed_stop);

/* Waits `duration_s`, or less if stopped (false with `error`). */
bool remote_fleet_wait(struct remote_fleet *fleet, double duration_s, GError **error);

/* Waits until samples of all meters cover `t_ns`, at most `timeout_s`; true if they do. */
bool remote_fleet_wait_covered(struct remote_fleet *fleet, int64_t t_ns, double timeout_s);

/*
 * Measures the idle baseline from the energy counters over `duration_s`, at least three sampling
 * intervals. For a meter with fewer than two samples by then it waits longer, up to thirty
 * intervals times the patience of the configuration. The caller ensures that no task runs.
 */
bool remote_fleet_baseline(struct remote_fleet *fleet, double duration_s,
			   struct remote_baseline *ret_baseline, GError **error);

/* Kills every task that the local schedulers list as not ended: leftovers of a crash. */
void remote_fleet_kill_all(struct remote_fleet *fleet);

/*
 * Kills those tasks of a list that have not ended and for which `wanted` returns true (NULL: all).
 * `body` is the answer of the local scheduler behind `link` to GET /v1/tasks; NULL: no answer.
 * Returns the number of kills.
 */
uint32_t remote_fleet_kill_listed(struct remote_link *link, const json_t *body,
				  bool (*wanted)(const char *id, void *data), void *data);
