/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/nodes_api.h"

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"
#include "controller/api/fleet_api.h"
#include "controller/api/status_api_private.h"
#include "controller/service/run_service.h"

/* The last text of a node, and what it was made of. */
struct cached_node {
	enum view_node_state state;
	uint32_t task;
	char *reason, *host;
	json_t *caps;
	char *text; /* NULL: not yet */
};

struct nodes_api {
	const struct run_session *session;
	struct cached_node *nodes; /* of all clusters, one after the other */
	uint32_t count;
	GBytes *whole; /* the whole answer; NULL: to be made */
	/* identifies this process in the ETag, since `changes` starts again with each */
	guint32 life;
	guint64 changes;
};

static void node_text_clear(struct cached_node *cached)
{
	g_free(cached->reason);
	g_free(cached->host);
	json_decref(cached->caps);
	g_free(cached->text);
	*cached = (struct cached_node){0};
}

struct nodes_api *nodes_api_new(const struct run_session *session)
{
	struct nodes_api *api = g_new0(struct nodes_api, 1);
	const struct config *config = view_config(session);

	api->session = session;
	for (uint32_t i = 0; i < config->clusters_count; i++)
		api->count += config->clusters[i].nodes;
	api->nodes = g_new0(struct cached_node, api->count);
	api->life = platform_random_number(view_platform(session));
	return api;
}

void nodes_api_free(struct nodes_api *api)
{
	if (!api)
		return;
	for (uint32_t i = 0; i < api->count; i++)
		node_text_clear(&api->nodes[i]);
	g_free(api->nodes);
	g_clear_pointer(&api->whole, g_bytes_unref);
	g_free(api);
}

/* Whether a node is as it was when its text was made; if not, notes how it is. */
static bool is_same(const struct run_session *session, struct cached_node *cached, uint32_t cluster,
		    uint32_t node)
{
	const char *reason;
	const enum view_node_state state = view_node_state(session, cluster, node, &reason);
	const uint32_t task = view_node_task(session, cluster, node);
	const char *host = view_node_host(session, cluster, node);
	json_t *caps = view_node_report(session, cluster, node)->caps;

	if (cached->text && cached->state == state && cached->task == task &&
	    g_strcmp0(cached->reason, reason) == 0 && g_strcmp0(cached->host, host) == 0 &&
	    (cached->caps == caps || json_equal(cached->caps, caps)))
		return true;
	node_text_clear(cached);
	cached->state = state;
	cached->task = task;
	cached->reason = g_strdup(reason);
	cached->host = g_strdup(host);
	cached->caps = json_incref(caps);
	return false;
}

/* The text of a node in its present state. */
static const char *node_text(struct nodes_api *api, struct cached_node *cached, uint32_t cluster,
			     uint32_t node)
{
	g_autoptr(json_t) json = NULL;

	if (is_same(api->session, cached, cluster, node))
		return cached->text;
	json = fleet_node_json(api->session, cluster, node);
	cached->text = json_text(json);
	g_clear_pointer(&api->whole, g_bytes_unref);
	api->changes++;
	return cached->text;
}

/* The answer for the named clusters; NULL: for all, whose texts must be up to date. */
static GBytes *put_together(struct nodes_api *api, const char *const *wanted)
{
	const struct config *config = view_config(api->session);
	GString *text = g_string_new("{\"nodes\":[");
	struct cached_node *cached = api->nodes;
	const char *comma = "";

	for (uint32_t i = 0; i < config->clusters_count; cached += config->clusters[i++].nodes) {
		if (wanted && !g_strv_contains(wanted, config->clusters[i].name))
			continue;
		for (uint32_t k = 0; k < config->clusters[i].nodes; k++, comma = ",") {
			g_string_append(text, comma);
			g_string_append(text,
					wanted ? node_text(api, &cached[k], i, k) : cached[k].text);
		}
	}
	g_string_append(text, "]}");
	return g_string_free_to_bytes(text);
}

static void tell_all(struct nodes_api *api)
{
	const struct config *config = view_config(api->session);
	struct cached_node *cached = api->nodes;

	for (uint32_t i = 0; i < config->clusters_count; i++)
		for (uint32_t k = 0; k < config->clusters[i].nodes; k++)
			node_text(api, cached++, i, k);
}

static void reply_whole(struct http_request *request, struct nodes_api *api)
{
	g_autofree char *tag = NULL;

	tell_all(api);
	if (!api->whole)
		api->whole = put_together(api, NULL);
	tag = g_strdup_printf("\"%08x-%" G_GUINT64_FORMAT "\"", api->life, api->changes);
	api_reply_tagged(request, tag, "private, no-cache", "application/json", api->whole);
}

void nodes_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data)
{
	struct nodes_api *api = ((struct status_api *)data)->nodes;
	const char *text = http_request_query(request, "cluster");
	g_auto(GStrv) wanted = text ? g_strsplit(text, ",", -1) : NULL;
	g_autoptr(GBytes) some = NULL;

	if (!wanted) {
		reply_whole(request, api);
		return;
	}
	if (!*wanted) { /* an empty text is split into an empty list */
		http_request_fail(request, 404, "there is no cluster ''");
		return;
	}
	for (char **name = wanted; *name; name++) {
		if (config_cluster_find(view_config(api->session), *name))
			continue;
		http_request_fail(request, 404,
				  "there is no cluster '%.64s'; `virtbed clusters` lists them",
				  *name);
		return;
	}
	some = put_together(api, (const char *const *)wanted);
	http_request_reply_bytes(request, 200, "application/json", some);
}

/* Draining. */

static bool find_node(struct http_request *request, const struct config *config,
		      const char *const *arguments, uint32_t *ret_cluster, uint32_t *ret_node)
{
	const struct config_cluster *cluster = config_cluster_find(config, arguments[0]);
	guint64 node;

	if (!cluster)
		return http_request_fail(
			request, 404, "there is no cluster '%.64s'; `virtbed clusters` lists them",
			arguments[0]);
	if (!read_number_unsigned(arguments[1], 0, cluster->nodes - 1, &node))
		return http_request_fail(request, 404, "cluster '%s' has no node '%.32s'",
					 arguments[0], arguments[1]);
	*ret_cluster = (uint32_t)(cluster - config->clusters);
	*ret_node = (uint32_t)node;
	return true;
}

void nodes_api_drain(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	static const char *const keys[] = {"reason", NULL};
	struct run_session *session = ((struct status_api *)data)->session;
	const bool drain = http_request_what(request) == NODES_API_DRAIN;
	g_autofree char *user = api_peer_name(request);
	g_autoptr(GError) error = NULL;
	char *reason = NULL;
	uint32_t cluster = 0;
	uint32_t node = 0;

	if (!api_is_served(request, session) ||
	    !find_node(request, view_config(session), arguments, &cluster, &node))
		return;
	if (api_check_keys(body, keys, &error) && api_get_text(body, "reason", &reason, &error) &&
	    (!drain || reason ||
	     api_wrong(&error, "reason: missing; say why the node is drained")) &&
	    run_service_drain(view_service(session), drain, cluster, node, reason, user, &error))
		api_answer_safely(request, session, 202, fleet_node_json(session, cluster, node));
	else
		api_refuse(request, error);
}
