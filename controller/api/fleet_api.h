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

/*
 * The source of a cluster's watts: "meter", "model" (fed by CPU time) or "simulation" (by
 * estimates); NULL: not reported yet.
 */
const char *fleet_watts_from(const struct run_session *session, uint32_t cluster);

/* Counts the nodes of a cluster by state; `ret_counts` has VIEW_NODE_STATES elements. */
void fleet_count_nodes(const struct run_session *session, uint32_t cluster, uint32_t *ret_counts);

/* The node as JSON: an element of the answer to GET /v1/nodes. */
json_t *fleet_node_json(const struct run_session *session, uint32_t cluster, uint32_t node);
