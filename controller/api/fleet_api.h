/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/run/run_session.h"

/*
 * Clusters and nodes in the controller's API (docs/reference/controller-api.json): what their local schedulers
 * said last, and which task has them. Handlers of status_api.c's table.
 */

/*
 * The clusters as text, which is kept until they stand otherwise: everybody who watches asks for them again and again.
 */
struct fleet_texts;

struct fleet_texts *fleet_texts_new(const struct run_session *session);
void fleet_texts_free(struct fleet_texts *texts);

/* GET /v1/clusters: also what the numbers rest on that is not the real thing (notes). */
void fleet_api_clusters(struct http_request *request, const char *const *arguments, json_t *body,
			void *data);

/* How a node stands, by what is known now. */
enum fleet_node_state {
	FLEET_NODE_IDLE = 0,
	FLEET_NODE_BUSY,
	FLEET_NODE_DOWN,     /* or it boots */
	FLEET_NODE_DRAINED,  /* nothing starts there until a person says so */
	FLEET_NODE_DRAINING, /* the same, and what runs there goes on */
	FLEET_NODE_STATES,
};

/* "idle", ... */
const char *fleet_node_state_name(enum fleet_node_state state);

/* Whether the local scheduler behind `link` has not answered for long, or ever. */
bool fleet_away(const struct remote_link *link);

/*
 * Where the watts of the cluster behind `link` come from: "meter", "model" (fed by CPU time) or "simulation" (what
 * estimates say); NULL: it has not said.
 */
const char *fleet_watts_from(const struct remote_link *link);

/* How many nodes of a cluster are in each state; `ret_counts` has FLEET_NODE_STATES of them. */
void fleet_count_nodes(const struct run_session *session, uint32_t cluster, uint32_t *ret_counts);

#define FLEET_NO_TASK UINT32_MAX

/* Where a node stands, as far as it is known. What it points to is borrowed until the main loop runs again. */
struct fleet_standing {
	enum fleet_node_state state;
	uint32_t task;      /* FLEET_NO_TASK: none; on shared hosts only the local scheduler knows */
	const char *reason; /* NULL: nothing to say */
	const char *host;   /* NULL: not known */
	const json_t *caps; /* NULL: not known */
};

struct fleet_standing fleet_stand(const struct run_session *session, uint32_t cluster,
				  uint32_t node);

/* The node as JSON: an element of the answer to GET /v1/nodes. */
json_t *fleet_node_json(const struct run_session *session, uint32_t cluster, uint32_t node);
