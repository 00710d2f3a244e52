/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/service/run_service_scripts.h"

#include <glib/gstdio.h>
#include <string.h>

#include "common/json.h"
#include "controller/service/run_service_private.h"

/* The maximum length of a list of types in an error. */
#define KNOWN_CHARS 1000

/* A script in base64 with its names: TASK_SCRIPT_BYTES_MAX and more. */
#define SCRIPT_TEXT_MAX ((size_t)8 << 20)

/* A request for nodes gets exactly as many, since each of them runs the script. */
static bool suffices(const struct config_type *type, uint32_t nodes, uint32_t cores, double time_s)
{
	return config_type_is_script(type) && type->time_s >= time_s && type->nodes == nodes &&
	       (nodes > 0 || type->cores >= cores);
}

const char *run_service_script_type(const struct config *config, uint32_t nodes, uint32_t cores,
				    double time_s)
{
	const struct config_type *best = NULL;

	for (uint32_t i = 0; i < config->types_count; i++) {
		const struct config_type *type = &config->types[i];

		if (!suffices(type, nodes, cores, time_s))
			continue;
		if (!best || type->time_s < best->time_s ||
		    (type->time_s <= best->time_s && type->cores < best->cores))
			best = type;
	}
	return best ? best->name : NULL;
}

/*
 * The type of the same range that has `nodes` nodes, named as by config_expand_types(); NULL: there
 * is none.
 */
static const struct config_type *in_range(GHashTable *types, const struct config_type *type,
					  uint32_t nodes)
{
	g_autofree char *end = g_strdup_printf(".%u", type->nodes);
	g_autofree char *name = NULL;
	const struct config_type *found;

	if (type->nodes == 0 || nodes == 0 || !g_str_has_suffix(type->name, end))
		return NULL;
	name = g_strdup_printf("%.*s.%u", (int)(strlen(type->name) - strlen(end)), type->name,
			       nodes);
	found = g_hash_table_lookup(types, name);
	return found && found->nodes == nodes && found->time_s == type->time_s ? found : NULL;
}

static void append_known(GString *text, GHashTable *types, const struct config_type *type)
{
	const struct config_type *last = type;
	const struct config_type *next;

	g_string_append_printf(text, "%s%s", text->len ? ", " : "", type->name);
	if (!config_type_is_script(type))
		return;
	while ((next = in_range(types, last, last->nodes + 1)))
		last = next;
	if (last != type)
		g_string_append_printf(text, " to %s (%u to %u nodes, %g s)", last->name,
				       type->nodes, last->nodes, type->time_s);
	else
		g_string_append_printf(text, " (%u %s%s, %g s)", type->nodes ?: type->cores,
				       type->nodes > 0 ? "node" : "core",
				       (type->nodes ?: type->cores) == 1 ? "" : "s", type->time_s);
}

char *run_service_known_types(const struct config *config, bool scripts)
{
	g_autoptr(GHashTable) types = g_hash_table_new(g_str_hash, g_str_equal);
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < config->types_count; i++)
		g_hash_table_insert(types, config->types[i].name, &config->types[i]);
	for (uint32_t i = 0; i < config->types_count; i++) {
		const struct config_type *type = &config->types[i];

		if ((scripts && !config_type_is_script(type)) ||
		    in_range(types, type, type->nodes - 1))
			continue;
		if (text->len > KNOWN_CHARS) {
			g_string_append(text, " ...");
			break;
		}
		append_known(text, types, type);
	}
	return g_string_free(text, FALSE);
}

static char *script_path(const struct run_session *session, uint32_t first)
{
	g_autofree char *name = g_strdup_printf("%u.json", first);

	return g_build_filename(session->dir, "scripts", name, NULL);
}

bool run_service_keep_script(const struct run_session *session, uint32_t first,
			     const struct task_script *script, GError **error)
{
	g_autofree char *path = script_path(session, first);
	g_autofree char *directory = g_path_get_dirname(path);
	g_autoptr(json_t) object = task_script_to_json(script);
	g_autofree char *text = json_text(object);

	g_mkdir(directory, 0700); /* if this fails, writing the file reports why */
	return platform_write(session->platform, path, text, strlen(text), true, error);
}

bool run_service_add_script(const struct run_session *session, uint32_t first, json_t *body,
			    GError **error)
{
	g_autofree char *path = script_path(session, first);
	gsize length;
	g_autofree char *text =
		platform_read(session->platform, path, SCRIPT_TEXT_MAX, &length, error);
	json_t *script;

	if (!text)
		return false;
	script = json_parse(text, length, "script that was kept", error);
	if (script)
		json_object_set_new(body, "script", script);
	return script != NULL;
}

static bool is_script(const struct config *config, const char *name)
{
	const struct config_type *type = config_type_find(config, name);

	return type && config_type_is_script(type);
}

static bool has_ended(const struct run_service *service, const struct store_submission *request)
{
	for (uint32_t i = 0; i < request->count; i++)
		if (!engine_task_over(engine_task_at(service->engine, request->first + i)))
			return false;
	return true;
}

/*
 * Looks at requests that have not ended again the next time, and at those after the first of them.
 */
void run_service_drop_scripts(struct run_service *service)
{
	bool all = true;
	uint32_t i = service->scripts_dropped;

	while (i < service->submissions->len) {
		const struct store_submission *request = g_ptr_array_index(service->submissions, i);
		g_autofree char *path = script_path(service->session, request->first);
		const bool ended = has_ended(service, request);

		i = request->first + request->count;
		if (ended && is_script(service->session->config, request->type))
			platform_remove(service->session->platform, path);
		all = all && ended;
		if (all)
			service->scripts_dropped = i;
	}
}
