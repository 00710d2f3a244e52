/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/session/run_session.h"

/*
 * Clusters and nodes in the controller's API (docs/reference/controller-api.json): the last reports
 * of their local schedulers, and the tasks on them. Handlers of status_api.c's table.
 */

/*
 * The clusters as text, cached until their state changes, since every watching client asks for them
 * repeatedly.
 */
struct fleet_texts;

struct fleet_texts *fleet_texts_new(const struct run_session *session);
void fleet_texts_free(struct fleet_texts *texts);

/* GET /v1/clusters, with notes about what the numbers rest on instead of real hardware. */
void fleet_api_clusters(struct http_request *request, const char *const *arguments, json_t *body,
			void *data);

/* The state of a node, as far as known. */
enum fleet_node_state {
	FLEET_NODE_IDLE = 0,
	FLEET_NODE_BUSY,
	FLEET_NODE_DOWN,     /* or booting */
	FLEET_NODE_DRAINED,  /* no task starts there until a user undrains it */
	FLEET_NODE_DRAINING, /* to be drained, and a task still runs there */
	FLEET_NODE_STATES,
};

/* "idle", ... */
const char *fleet_node_state_name(enum fleet_node_state state);

/* Whether the local scheduler behind `link` has not answered for long, or ever. */
bool fleet_away(const struct remote_link *link);

/*
 * The source of the watts of the cluster behind `link`: "meter", "model" (fed by CPU time) or
 * "simulation" (by estimates); NULL: not reported yet.
 */
const char *fleet_watts_from(const struct remote_link *link);

/* Counts the nodes of a cluster by state; `ret_counts` has FLEET_NODE_STATES elements. */
void fleet_count_nodes(const struct run_session *session, uint32_t cluster, uint32_t *ret_counts);

#define FLEET_NO_TASK UINT32_MAX

/* The state of a node, as far as known. Pointers are borrowed until the main loop runs again. */
struct fleet_standing {
	enum fleet_node_state state;
	/* FLEET_NO_TASK: none; on shared hosts only the local scheduler knows */
	uint32_t task;
	const char *reason; /* NULL: none */
	const char *host;   /* NULL: unknown */
	const json_t *caps; /* NULL: unknown */
};

struct fleet_standing fleet_stand(const struct run_session *session, uint32_t cluster,
				  uint32_t node);

/* The node as JSON: an element of the answer to GET /v1/nodes. */
json_t *fleet_node_json(const struct run_session *session, uint32_t cluster, uint32_t node);
