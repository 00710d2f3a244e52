/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_plan.h"

#include <jansson.h>

#include "common/json.h"
#include "common/read_file.h"
#include "controller/store/store.h"

#define NAME_KEPT 23

G_DEFINE_QUARK(virtbed - run - plan, run_plan_error)

char *run_plan_experiment_id(const struct config *config)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autofree char *time = g_date_time_format(now, "%Y%m%dT%H%M%S");
	g_autofree char *name = g_strndup(config->name, NAME_KEPT);

	g_strcanon(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", '-');
	return g_strdup_printf("%s-%s", name, time);
}

static json_t *strings_json(char *const *strings)
{
	json_t *list = json_array();

	for (; strings && *strings; strings++)
		json_array_append_new(list, json_string(*strings));
	return list;
}

static json_t *limits_json(const struct run_plan *plan)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < plan->limits_count; i++)
		json_array_append_new(list, json_real(plan->limits[i]));
	return list;
}

bool run_plan_save(const struct run_plan *plan, const char *dir, GError **error)
{
	g_autoptr(json_t) json = json_pack(
		"{s:s, s:s, s:s, s:b, s:i, s:b, s:o, s:i, s:o, s:i, s:o}", "experiment",
		plan->experiment, "api", plan->api, "estimates", plan->estimates, "profile",
		plan->profile, "profile_repeats", (int)plan->profile_repeats, "run", plan->run,
		"policies", strings_json(plan->policies), "store_version", STORE_SCHEMA_VERSION,
		"limits", limits_json(plan), "repeats", (int)plan->repeats, "schedulers",
		strings_json(plan->schedulers));
	g_autofree char *path = g_build_filename(dir, "plan.json", NULL);
	g_autofree char *text = NULL;

	if (plan->serve)
		json_object_set_new(json, "serve", json_true());
	if (plan->listen)
		json_object_set_new(json, "listen", json_string(plan->listen));
	text = json_pretty(json);
	return g_file_set_contents_full(path, text, -1,
					G_FILE_SET_CONTENTS_CONSISTENT |
						G_FILE_SET_CONTENTS_DURABLE,
					0666, error);
}

static bool get_strings(const json_t *object, const char *path, const char *key,
			char ***ret_strings, GError **error)
{
	g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
	json_t *list;

	if (!json_get_array(object, key, path, &list, error))
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text) {
			g_set_error(error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
				    "%s: %s: not a list of texts", path, key);
			return false;
		}
		g_ptr_array_add(strings, g_strdup(text));
	}
	g_ptr_array_add(strings, NULL);
	*ret_strings = (char **)g_ptr_array_free(g_steal_pointer(&strings), FALSE);
	return true;
}

static bool get_limits(const json_t *object, const char *path, struct run_plan *plan,
		       GError **error)
{
	json_t *list;

	if (!json_get_array(object, "limits", path, &list, error))
		return false;
	plan->limits_count = (uint32_t)json_array_size(list);
	plan->limits = g_new0(double, plan->limits_count + 1);
	for (uint32_t i = 0; i < plan->limits_count; i++) {
		plan->limits[i] = json_number_value(json_array_get(list, i));
		if (plan->limits[i] > 0 && plan->limits[i] <= 1)
			continue;
		g_set_error(error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
			    "%s: limits: not a list of fractions above 0 and at most 1", path);
		return false;
	}
	return true;
}

static bool get_count(const json_t *object, const char *path, const char *key,
		      uint32_t *ret_count, GError **error)
{
	int64_t value;

	if (!json_get_integer(object, key, path, 0, 1000000, &value, error))
		return false;
	*ret_count = (uint32_t)value;
	return true;
}

static bool read_plan(const json_t *json, const char *path, struct run_plan *plan, GError **error)
{
	const char *experiment;
	const char *api;
	const char *estimates;

	if (!json_get_string(json, "experiment", path, &experiment, error) ||
	    !json_get_string(json, "api", path, &api, error) ||
	    !json_get_string(json, "estimates", path, &estimates, error))
		return false;
	plan->experiment = g_strdup(experiment);
	plan->api = g_strdup(api);
	plan->listen = g_strdup(json_string_value(json_object_get(json, "listen")));
	plan->estimates = g_strdup(estimates);
	plan->profile = json_is_true(json_object_get(json, "profile"));
	plan->run = json_is_true(json_object_get(json, "run"));
	plan->serve = json_is_true(json_object_get(json, "serve"));
	plan->store_version = (uint32_t)json_integer_value(json_object_get(json, "store_version"));
	return get_count(json, path, "profile_repeats", &plan->profile_repeats, error) &&
	       get_count(json, path, "repeats", &plan->repeats, error) &&
	       get_limits(json, path, plan, error) &&
	       get_strings(json, path, "policies", &plan->policies, error) &&
	       get_strings(json, path, "schedulers", &plan->schedulers, error);
}

struct run_plan *run_plan_load(const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, "plan.json", NULL);
	g_autofree char *text = NULL;
	g_autoptr(json_t) json = NULL;
	g_autoptr(run_plan_t) plan = g_new0(struct run_plan, 1);
	g_autoptr(GError) reason = NULL;
	size_t length;

	text = read_file(path, READ_FILE_SMALL_MAX, &length, &reason);
	if (text)
		json = json_parse(text, length, path, &reason);
	if (json && read_plan(json, path, plan, &reason))
		return g_steal_pointer(&plan);
	g_set_error(error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
		    "%s; without its plan a run cannot continue: start another, with another --out",
		    reason->message);
	return NULL;
}

bool run_plan_rename(struct run_plan *plan, const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, STORE_FILE, NULL);
	g_autoptr(store_t) store = NULL;

	if (plan->store_version > 0 || !g_file_test(path, G_FILE_TEST_EXISTS))
		return true;
	store = store_open(dir, false, error);
	if (!store)
		return false;
	for (char **name = plan->policies; *name; name++) {
		char *now = store_policy_now(store, *name, error);

		if (!now)
			return false;
		g_free(*name);
		*name = now;
	}
	return true;
}

void run_plan_free(struct run_plan *plan)
{
	if (!plan)
		return;
	g_free(plan->experiment);
	g_free(plan->api);
	g_free(plan->listen);
	g_free(plan->estimates);
	g_strfreev(plan->policies);
	g_free(plan->limits);
	g_strfreev(plan->schedulers);
	g_free(plan);
}
