/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/view.h"

#include "controller/backend/remote.h"
#include "controller/run/run_utc.h"
#include "controller/session/run_session_private.h"

const struct config *view_config(const struct run_session *session)
{
	return session->config;
}

bool view_serves(const struct run_session *session)
{
	return session->plan->serve;
}

const struct platform *view_platform(const struct run_session *session)
{
	return session->platform;
}

const char *view_directory(const struct run_session *session)
{
	return session->dir;
}

struct store *view_store(const struct run_session *session)
{
	return session->store;
}

struct run_progress *view_progress(const struct run_session *session)
{
	struct run_progress *progress = session->progress;

	if (progress->refresh)
		progress->refresh(progress, progress->refresh_data);
	return progress;
}

struct remote_link *view_link(const struct run_session *session, uint32_t cluster)
{
	return remote_fleet_link(session->fleet, cluster);
}

GPtrArray *view_meters(const struct run_session *session)
{
	return remote_fleet_meters(session->fleet);
}

struct engine *view_engine(struct run_session *session)
{
	return session->engine;
}

struct run_service *view_service(struct run_session *session)
{
	return session->service;
}

/* Clusters and nodes. */

bool view_away(const struct run_session *session, uint32_t cluster)
{
	const struct remote_link *link = view_link(session, cluster);

	return remote_link_away(link) || !remote_link_capabilities(link);
}

const char *view_node_state_name(enum view_node_state state)
{
	static const char *const names[VIEW_NODE_STATES] = {
		[VIEW_NODE_IDLE] = "idle",         [VIEW_NODE_BUSY] = "busy",
		[VIEW_NODE_DOWN] = "down",         [VIEW_NODE_DRAINED] = "drained",
		[VIEW_NODE_DRAINING] = "draining",
	};

	return names[state];
}

/*
 * The engine's state of a node, while there is an engine. Of shared hosts the engine knows hosts,
 * not nodes.
 */
static struct engine_node engine_side(const struct run_session *session, uint32_t cluster,
				      uint32_t node)
{
	const struct config_cluster *config = &session->config->clusters[cluster];

	if (!session->engine)
		return (struct engine_node){.task = VIEW_NO_TASK, .leaver = VIEW_NO_TASK};
	return engine_node_at(session->engine, cluster,
			      config->shared ? config_cluster_host(config, node) : node);
}

uint32_t view_node_task(const struct run_session *session, uint32_t cluster, uint32_t node)
{
	const struct engine_node engine = engine_side(session, cluster, node);

	return engine.task != VIEW_NO_TASK ? engine.task : engine.leaver;
}

const struct wire_node *view_node_report(const struct run_session *session, uint32_t cluster,
					 uint32_t node)
{
	return remote_link_node(view_link(session, cluster), node);
}

const char *view_node_host(const struct run_session *session, uint32_t cluster, uint32_t node)
{
	const struct config_cluster *config = &session->config->clusters[cluster];
	const char *host = view_node_report(session, cluster, node)->host;

	if (!host && config->hosts_count)
		host = config->hosts[config_cluster_host(config, node)].name;
	return host;
}

enum view_node_state view_node_state(const struct run_session *session, uint32_t cluster,
				     uint32_t node, const char **ret_reason)
{
	const struct engine_node engine = engine_side(session, cluster, node);
	const struct wire_node *report = view_node_report(session, cluster, node);
	const bool away = view_away(session, cluster);
	const bool down = away || !report->up;
	const bool drained = !down && node_state_is_drained(engine.state);

	if (ret_reason && drained)
		*ret_reason = engine.reason;
	else if (ret_reason && away)
		*ret_reason = "its local scheduler does not answer";
	else if (ret_reason)
		*ret_reason = down && !report->reason ? report->state : report->reason;
	if (down)
		return VIEW_NODE_DOWN;
	if (view_node_task(session, cluster, node) != VIEW_NO_TASK ||
	    g_strcmp0(report->state, "busy") == 0)
		return drained ? VIEW_NODE_DRAINING : VIEW_NODE_BUSY;
	return drained ? VIEW_NODE_DRAINED : VIEW_NODE_IDLE;
}

/* The run under way. */

int64_t view_run(const struct run_session *session)
{
	return session->run;
}

int64_t view_start_ns(const struct run_session *session)
{
	return session->t0_ns;
}

int64_t view_start_utc_us(const struct run_session *session)
{
	return session->utc && session->t0_ns ? run_utc_zero_us(session->utc, session->t0_ns) : 0;
}

bool view_under_way(const struct run_session *session)
{
	return session->engine != NULL;
}

uint32_t view_tasks_count(const struct run_session *session)
{
	return session->engine ? engine_tasks_count(session->engine) : 0;
}

const struct engine_task *view_task(const struct run_session *session, uint32_t task)
{
	const struct engine_task *it =
		task < view_tasks_count(session) ? engine_task_at(session->engine, task) : NULL;

	return it && it->state != ENGINE_TASK_COMING ? it : NULL;
}

const char *view_waits_because(const struct run_session *session, const struct engine_task *task)
{
	return engine_waits_because(session->engine, task->task->id);
}

bool view_is_held(const struct run_session *session, const struct engine_task *task)
{
	return engine_is_held(session->engine, task->task->id);
}

double view_virtual_time_s(const struct run_session *session, const struct engine_task *task)
{
	return engine_virtual_time_s(session->engine, task->task->id);
}

char *view_attempt_id(const struct run_session *session, const struct engine_task *task)
{
	return remote_attempt_id(session->plan->experiment, session->run, task->task->id,
				 task->attempts);
}

const struct engine_result *view_counts(const struct run_session *session)
{
	return session->engine ? engine_counts(session->engine) : NULL;
}

const struct engine_utility_change *view_utility(const struct run_session *session,
						 uint32_t *ret_count)
{
	*ret_count = 0;
	return session->engine ? engine_utility_log(session->engine, ret_count) : NULL;
}
