/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/nodes_api.h"

#include <string.h>

#include "common/json.h"
#include "controller/api/fleet_api.h"
#include "controller/api/status_api_private.h"

/* A node as it was told last; what its standing points to is its own. */
struct told {
	struct fleet_standing standing;
	char *text; /* NULL: not yet */
};

struct nodes_api {
	const struct run_session *session;
	struct told *nodes; /* of all clusters, one after the other */
	uint32_t count;
	GBytes *whole;   /* the answer; NULL: to be put together */
	guint32 life;    /* of this controller: another one's changes are others */
	guint64 changes;
};

static void told_clear(struct told *told)
{
	g_free((char *)told->standing.reason);
	g_free((char *)told->standing.host);
	json_decref((json_t *)told->standing.caps);
	g_free(told->text);
	*told = (struct told){0};
}

struct nodes_api *nodes_api_new(const struct run_session *session)
{
	struct nodes_api *api = g_new0(struct nodes_api, 1);

	api->session = session;
	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		api->count += session->config->clusters[i].nodes;
	api->nodes = g_new0(struct told, api->count);
	api->life = g_random_int();
	return api;
}

void nodes_api_free(struct nodes_api *api)
{
	if (!api)
		return;
	for (uint32_t i = 0; i < api->count; i++)
		told_clear(&api->nodes[i]);
	g_free(api->nodes);
	g_clear_pointer(&api->whole, g_bytes_unref);
	g_free(api);
}

static bool is_same(const struct fleet_standing *one, const struct fleet_standing *other)
{
	return one->state == other->state && one->task == other->task &&
	       g_strcmp0(one->reason, other->reason) == 0 &&
	       g_strcmp0(one->host, other->host) == 0 &&
	       (one->caps == other->caps || json_equal(one->caps, other->caps));
}

/* Its text, as it stands now. */
static const char *tell(struct nodes_api *api, struct told *told, uint32_t cluster, uint32_t node)
{
	const struct fleet_standing now = fleet_stand(api->session, cluster, node);
	g_autoptr(json_t) json = NULL;

	if (told->text && is_same(&told->standing, &now))
		return told->text;
	told_clear(told);
	told->standing = now;
	told->standing.reason = g_strdup(now.reason);
	told->standing.host = g_strdup(now.host);
	told->standing.caps = json_incref((json_t *)now.caps);
	json = fleet_node_json(api->session, cluster, node);
	told->text = json_text(json);
	g_clear_pointer(&api->whole, g_bytes_unref);
	api->changes++;
	return told->text;
}

/* The answer with the clusters that are named; NULL: with all, which have just been told. */
static GBytes *put_together(struct nodes_api *api, const char *const *wanted)
{
	const struct config *config = api->session->config;
	GString *text = g_string_new("{\"nodes\":[");
	struct told *told = api->nodes;
	const char *comma = "";

	for (uint32_t i = 0; i < config->clusters_count; told += config->clusters[i++].nodes) {
		if (wanted && !g_strv_contains(wanted, config->clusters[i].name))
			continue;
		for (uint32_t k = 0; k < config->clusters[i].nodes; k++, comma = ",") {
			g_string_append(text, comma);
			g_string_append(text, wanted ? tell(api, &told[k], i, k) : told[k].text);
		}
	}
	g_string_append(text, "]}");
	return g_string_free_to_bytes(text);
}

static void tell_all(struct nodes_api *api)
{
	const struct config *config = api->session->config;
	struct told *told = api->nodes;

	for (uint32_t i = 0; i < config->clusters_count; i++)
		for (uint32_t k = 0; k < config->clusters[i].nodes; k++)
			tell(api, told++, i, k);
}

static bool is_cluster(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (g_str_equal(config->clusters[i].name, name))
			return true;
	return false;
}

static void reply_whole(struct http_request *request, struct nodes_api *api)
{
	const char *known = http_request_header(request, "If-None-Match");
	g_autofree char *tag = NULL;

	tell_all(api);
	if (!api->whole)
		api->whole = put_together(api, NULL);
	tag = g_strdup_printf("\"%08x-%" G_GUINT64_FORMAT "\"", api->life, api->changes);
	http_request_set_header(request, "ETag", tag);
	http_request_set_header(request, "Cache-Control", "private, no-cache");
	if (g_strcmp0(known, tag) == 0)
		http_request_reply(request, 304, NULL);
	else
		http_request_reply_bytes(request, 200, "application/json", api->whole);
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
	if (!*wanted) { /* what an empty text is split into */
		http_request_fail(request, 404, "there is no cluster ''");
		return;
	}
	for (char **name = wanted; *name; name++) {
		if (is_cluster(api->session->config, *name))
			continue;
		http_request_fail(request, 404, "there is no cluster '%.64s'; `virtbed clusters` lists them", *name);
		return;
	}
	some = put_together(api, (const char *const *)wanted);
	http_request_reply_bytes(request, 200, "application/json", some);
}
