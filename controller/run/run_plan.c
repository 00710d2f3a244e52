/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_plan.h"

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_file.h"
#include "common/record/record.h"
#include "controller/store/store.h"

#define NAME_KEPT 23

G_DEFINE_QUARK(virtbed_run_plan, run_plan_error)

char *run_plan_experiment_id(const struct config *config)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autofree char *time = g_date_time_format(now, "%Y%m%dT%H%M%S");
	g_autofree char *name = g_strndup(config->name, NAME_KEPT);

	g_strcanon(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", '-');
	return g_strdup_printf("%s-%s", name, time);
}

/* Fractions of the budget. */
static bool read_limits(const struct record_reading *reading, const struct record_field *field,
			const json_t *value, void *data)
{
	for (size_t i = 0; i < json_array_size(value); i++) {
		const double limit = json_number_value(json_array_get(value, i));

		if (!(limit > 0 && limit <= 1))
			return record_refuse(
				reading, "limits: not a list of fractions above 0 and at most 1");
	}
	return record_read_value(reading, field, value, data);
}

#define COUNT(field_)                                                                              \
	{                                                                                          \
		RECORD_FIELD_U32(run_plan, field_), .max = 1000000                                 \
	}
static const struct record_field plan_fields[] = {
	{RECORD_FIELD_TEXT(run_plan, experiment)},
	{RECORD_FIELD_TEXT(run_plan, api)},
	{RECORD_FIELD_TEXT(run_plan, listen), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{RECORD_FIELD_TEXT(run_plan, estimates)},
	{RECORD_FIELD_BOOL(run_plan, profile), .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_BOOL(run_plan, run), .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_BOOL(run_plan, serve), .flags = RECORD_OPTIONAL | RECORD_OMIT_ZERO},
	{RECORD_FIELD_U32(run_plan, store_version), .flags = RECORD_OPTIONAL},
	COUNT(profile_repeats),
	COUNT(repeats),
	{RECORD_FIELD_BOOL(run_plan, until_verdict), .flags = RECORD_OPTIONAL | RECORD_OMIT_ZERO},
	{RECORD_AT(run_plan, most_h), .type = RECORD_REAL,
	 .flags = RECORD_OPTIONAL | RECORD_OMIT_ZERO},
	{RECORD_AT(run_plan, limits), .type = RECORD_REALS, .read = read_limits,
	 .count_offset = offsetof(struct run_plan, limits_count)},
	{RECORD_AT(run_plan, policies), .type = RECORD_TEXTS},
	{RECORD_AT(run_plan, schedulers), .type = RECORD_TEXTS},
	{NULL},
};
static const struct record plan_record = {.size = sizeof(struct run_plan),
					  .fields = plan_fields,
					  .open = true};
RECORD_DEFINE_FREE(run_plan, plan_record)

bool run_plan_save(const struct run_plan *plan, const char *dir, GError **error)
{
	struct run_plan present = *plan;
	g_autofree char *path = g_build_filename(dir, "plan.json", NULL);
	g_autofree char *text = NULL;
	g_autoptr(json_t) json = NULL;

	present.store_version = STORE_SCHEMA_VERSION;
	json = record_to_json(&plan_record, &present);
	text = json_pretty(json);
	return g_file_set_contents_full(path, text, -1,
					G_FILE_SET_CONTENTS_CONSISTENT |
						G_FILE_SET_CONTENTS_DURABLE,
					0666, error);
}

struct run_plan *run_plan_load(const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, "plan.json", NULL);
	g_autofree char *text = NULL;
	g_autoptr(json_t) json = NULL;
	g_autoptr(run_plan_t) plan = record_new(&plan_record);
	g_autoptr(GError) reason = NULL;
	size_t length;

	text = read_file(path, READ_FILE_SMALL_MAX, &length, &reason);
	if (text)
		json = json_parse(text, length, path, &reason);
	if (json && record_from_json(&plan_record, json, plan, &reason))
		return g_steal_pointer(&plan);
	return error_null(
		error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
		"%s%s%s; without its plan a run cannot continue: start another, with another "
		"--out",
		json ? path : "", json ? ": " : "", reason->message);
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
