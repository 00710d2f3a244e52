/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/fleet_api.h"

#include <string.h>

#include "common/json.h"
#include "controller/api/status_api_private.h"
#include "controller/report/provenance.h"
#include "controller/report/summary.h"

const char *fleet_watts_from(const struct run_session *session, uint32_t cluster)
{
	const json_t *capabilities = remote_link_capabilities(view_link(session, cluster));

	if (!capabilities)
		return NULL;
	if (!json_is_true(json_object_get(capabilities, "modelled_watts")))
		return "meter";
	return g_strcmp0(json_string_value(json_object_get(capabilities, "meter")), "simulated") ==
			       0
		       ? "simulation"
		       : "model";
}

void fleet_count_nodes(const struct run_session *session, uint32_t cluster, uint32_t *ret_counts)
{
	for (int i = 0; i < VIEW_NODE_STATES; i++)
		ret_counts[i] = 0;
	for (uint32_t i = 0; i < view_config(session)->clusters[cluster].nodes; i++)
		ret_counts[view_node_state(session, cluster, i, NULL)]++;
}

json_t *fleet_node_json(const struct run_session *session, uint32_t cluster, uint32_t node)
{
	const char *name = view_config(session)->clusters[cluster].name;
	const uint32_t task = view_node_task(session, cluster, node);
	const char *reason;
	const enum view_node_state state = view_node_state(session, cluster, node, &reason);
	g_autofree char *full = g_strdup_printf("%s-n%u", name, node);

	return json_pack("{s:s, s:i, s:s, s:s?, s:s, s:s?, s:o, s:O?}", "cluster", name, "node",
			 (int)node, "name", full, "host", view_node_host(session, cluster, node),
			 "state", view_node_state_name(state), "reason", reason, "task",
			 task == VIEW_NO_TASK ? json_null() : json_integer(task), "caps",
			 view_node_report(session, cluster, node)->caps);
}

static json_t *types_json(const struct config *config, const struct config_cluster *cluster)
{
	json_t *types = json_array();

	for (uint32_t i = 0; i < config->types_count; i++)
		if (config_type_fits(&config->types[i], cluster) &&
		    !config_is_hole(config, &config->types[i], cluster))
			json_array_append_new(types, json_string(config->types[i].name));
	return types;
}

static json_t *hosts_json(const struct config_cluster *cluster)
{
	json_t *hosts = json_array();

	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		json_array_append_new(hosts, json_string(cluster->hosts[i].name));
	return hosts;
}

/* The capabilities that the cluster's local scheduler reported; null before. */
static void add_capabilities(json_t *object, const json_t *capabilities)
{
	static const char *const keys[] = {"virt_type", "cpu_cap", "caps_effective", "meter",
					   "modelled_watts"};

	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		json_t *value = json_object_get(capabilities, keys[i]);

		json_object_set_new(object, keys[i], value ? json_incref(value) : json_null());
	}
}

static json_t *cluster_json(const struct run_session *session, uint32_t index,
			    const uint32_t *counts)
{
	const struct config *config = view_config(session);
	const struct config_cluster *cluster = &config->clusters[index];
	json_t *object =
		json_pack("{s:s, s:i, s:i, s:I, s:b, s:b, s:o, s:o}", "cluster", cluster->name,
			  "nodes", (int)cluster->nodes, "cores", (int)cluster->cores, "memory_mib",
			  (json_int_t)cluster->memory_mib, "shared", cluster->shared, "away",
			  view_away(session, index), "types", types_json(config, cluster), "hosts",
			  hosts_json(cluster));

	for (int i = 0; i < VIEW_NODE_STATES; i++)
		json_object_set_new(object, view_node_state_name((enum view_node_state)i),
				    json_integer(counts[i]));
	add_capabilities(object, remote_link_capabilities(view_link(session, index)));
	json_object_set_new(object, "watts_from",
			    json_string_or_null(fleet_watts_from(session, index)));
	return object;
}

static json_t *notes_json(struct store *store)
{
	g_autoptr(provenance_t) origin = provenance_of_store(store);
	g_autoptr(GPtrArray) notes = provenance_notes(origin, true, false);

	return summary_texts_json(notes);
}

/* The last text of a cluster, and the data that it was made of. */
struct cached_cluster {
	uint32_t counts[VIEW_NODE_STATES];
	bool away;
	json_t *capabilities;
	char *text; /* NULL: not yet */
};

struct fleet_texts {
	const struct run_session *session;
	struct cached_cluster *clusters;
	uint32_t count;
};

struct fleet_texts *fleet_texts_new(const struct run_session *session)
{
	struct fleet_texts *texts = g_new0(struct fleet_texts, 1);

	texts->session = session;
	texts->count = view_config(session)->clusters_count;
	texts->clusters = g_new0(struct cached_cluster, texts->count);
	return texts;
}

void fleet_texts_free(struct fleet_texts *texts)
{
	if (!texts)
		return;
	for (uint32_t i = 0; i < texts->count; i++) {
		json_decref(texts->clusters[i].capabilities);
		g_free(texts->clusters[i].text);
	}
	g_free(texts->clusters);
	g_free(texts);
}

/* All other parts of the text come from the configuration. */
static const char *cluster_text(struct fleet_texts *texts, uint32_t index)
{
	const json_t *capabilities = remote_link_capabilities(view_link(texts->session, index));
	const bool away = view_away(texts->session, index);
	struct cached_cluster *cached = &texts->clusters[index];
	uint32_t counts[VIEW_NODE_STATES];
	g_autoptr(json_t) json = NULL;

	fleet_count_nodes(texts->session, index, counts);
	if (cached->text && memcmp(counts, cached->counts, sizeof(counts)) == 0 &&
	    cached->away == away && cached->capabilities == capabilities)
		return cached->text;
	memcpy(cached->counts, counts, sizeof(counts));
	cached->away = away;
	json_decref(cached->capabilities);
	cached->capabilities = json_incref((json_t *)capabilities);
	json = cluster_json(texts->session, index, counts);
	g_free(cached->text);
	return cached->text = json_text(json);
}

void fleet_api_clusters(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	const struct run_session *session = api_session(data);
	struct fleet_texts *texts = ((struct status_api *)data)->clusters;
	g_autoptr(json_t) rest = json_pack("{s:s, s:o}", "name", view_config(session)->name,
					   "notes", notes_json(view_store(session)));
	GString *text = g_string_new("{\"clusters\":[");

	for (uint32_t i = 0; i < texts->count; i++) {
		if (i > 0)
			g_string_append_c(text, ',');
		g_string_append(text, cluster_text(texts, i));
	}
	g_string_append_c(text, ']');
	api_reply_parts(request, text, rest);
}
