/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "controller/backend/remote_link.h"
#include "controller/engine/engine.h"
#include "controller/session/run_progress.h"
#include "controller/session/run_session.h"
#include "controller/store/store.h"

/*
 * What the API asks of a session. A question changes nothing: users' requests go to the engine, the
 * service (view_engine(), view_service()) or the session itself (run_session.h). Answers are
 * borrowed, and valid until the main loop runs again unless the comment says more. Questions about
 * a service are in controller/service/run_service.h.
 */

/* The whole session: these are valid as long as it is. */

/* The configuration. A reload changes its values. */
const struct config *view_config(const struct run_session *session);

/* Whether the session is a service, which may still be starting; else it is an experiment. */
bool view_serves(const struct run_session *session);

/* The platform of the daemon. */
const struct platform *view_platform(const struct run_session *session);

/* The run directory. */
const char *view_directory(const struct run_session *session);

/* The store, to read from it. It shows what the main thread has written, committed or not. */
struct store *view_store(const struct run_session *session);

/* The progress, with its figures up to date. */
struct run_progress *view_progress(const struct run_session *session);

/* The link to the local scheduler of a cluster, for its reports and to poll it. */
struct remote_link *view_link(const struct run_session *session, uint32_t cluster);

/* The meters of all clusters: struct remote_meter elements. */
GPtrArray *view_meters(const struct run_session *session);

/*
 * What carries out users' requests: the engine of the run under way (engine_request_...()), and the
 * service under way. NULL: none.
 */
struct engine *view_engine(struct run_session *session);
struct run_service *view_service(struct run_session *session);

/* Clusters and nodes. */

/* Whether the local scheduler of a cluster has not answered for long, or ever. */
bool view_away(const struct run_session *session, uint32_t cluster);

/* The state of a node, as far as known. */
enum view_node_state {
	VIEW_NODE_IDLE = 0,
	VIEW_NODE_BUSY,
	VIEW_NODE_DOWN,     /* or booting */
	VIEW_NODE_DRAINED,  /* no task starts there until a user undrains it */
	VIEW_NODE_DRAINING, /* to be drained, and a task still runs there */
	VIEW_NODE_STATES,
};

/* "idle", ... */
const char *view_node_state_name(enum view_node_state state);

#define VIEW_NO_TASK UINT32_MAX

/*
 * The state of a node. *ret_reason (NULL: not wanted) is why it is down or drained, or else what the
 * local scheduler says of it; NULL: nothing. O(1), as the next ones.
 */
enum view_node_state view_node_state(const struct run_session *session, uint32_t cluster,
				     uint32_t node, const char **ret_reason);

/*
 * The task that has a node or is leaving it; VIEW_NO_TASK: none; on shared hosts only the local
 * scheduler knows.
 */
uint32_t view_node_task(const struct run_session *session, uint32_t cluster, uint32_t node);

/* The host of a node; NULL: unknown. */
const char *view_node_host(const struct run_session *session, uint32_t cluster, uint32_t node);

/* What its local scheduler reported of a node last. */
const struct wire_node *view_node_report(const struct run_session *session, uint32_t cluster,
					 uint32_t node);

/* The run under way. */

/* Its row in the store; 0: there is none. */
int64_t view_run(const struct run_session *session);

/* The start of it, or of the run before, by platform_now_ns(); 0: no run has begun. */
int64_t view_start_ns(const struct run_session *session);

/*
 * The same by the wall clock as it is set now, in microseconds since 1970; 0: no run has begun, or
 * the session has no wall time. Texts made with it become invalid when it changes.
 */
int64_t view_start_utc_us(const struct run_session *session);

/* Its tasks, which can be asked about while its engine runs. Without one there are none. */

/* Whether its engine runs. */
bool view_under_way(const struct run_session *session);

/* The number of tasks, including those to come. */
uint32_t view_tasks_count(const struct run_session *session);

/* A task that has arrived; NULL: there is none with this number. */
const struct engine_task *view_task(const struct run_session *session, uint32_t task);

/* Why a task does not run yet; NULL: it is under way or has ended. Valid until the next call. */
const char *view_waits_because(const struct run_session *session, const struct engine_task *task);

/* Whether the policy may not have a task (engine_is_held()). */
bool view_is_held(const struct run_session *session, const struct engine_task *task);

/* The virtual time of a task on shared hosts until now, seconds. */
double view_virtual_time_s(const struct run_session *session, const struct engine_task *task);

/* The id of the last attempt of a task at the local schedulers. The caller frees it. */
char *view_attempt_id(const struct run_session *session, const struct engine_task *task);

/* The counters of mapping events so far (engine_counts()), or NULL. */
const struct engine_result *view_counts(const struct run_session *session);

/* The utility earned so far (engine_utility_log()): *ret_count changes, by time. */
const struct engine_utility_change *view_utility(const struct run_session *session,
						 uint32_t *ret_count);
