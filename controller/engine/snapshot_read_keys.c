/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The keys that a snapshot may have. An unknown key is an error: it may be misspelt, and would be
 * ignored.
 */
#include <string.h>

#include "controller/engine/snapshot_reader.h"

/* A key, with the keys of the objects below it: of its value, or of each entry of its array. */
struct known_key {
	const char *name; /* NULL: the end */
	const struct known_key *below; /* NULL: no objects */
};

static const struct known_key cluster_keys[] = {
	{"name", NULL}, {"nodes", NULL}, {"cores", NULL}, {"pstates", NULL}, {NULL, NULL},
};
static const struct known_key option_keys[] = {
	{"cluster", NULL}, {"pstate", NULL}, {"nodes", NULL},
	{"etc_s", NULL},   {"eec_j", NULL},  {NULL, NULL},
};
static const struct known_key type_keys[] = {
	{"name", NULL}, {"options", option_keys}, {NULL, NULL},
};
static const struct known_key pruning_keys[] = {
	{"drop_threshold", NULL}, {"defer_threshold", NULL},    {"adjustment", NULL},
	{"recency", NULL},        {"toggle", NULL},             {"separation", NULL},
	{"fairness", NULL},       {"cull_threshold", NULL},     {"evicting_baselines", NULL},
	{"merge", NULL},          {NULL, NULL},
};
static const struct known_key pet_keys[] = {
	{"type", NULL}, {"cluster", NULL}, {"first", NULL}, {"masses", NULL}, {NULL, NULL},
};
static const struct known_key queueing_keys[] = {
	{"bin_s", NULL}, {"length", NULL}, {"pruning", pruning_keys}, {"pet", pet_keys},
	{NULL, NULL},
};
static const struct known_key system_keys[] = {
	{"clusters", cluster_keys}, {"types", type_keys}, {"immediate", NULL},
	{"shared", NULL},           {"queueing", queueing_keys},  {NULL, NULL},
};
static const struct known_key completed_keys[] = {
	{"tasks", NULL}, {"energy_j", NULL}, {"resources", NULL}, {NULL, NULL},
};
static const struct known_key segment_keys[] = {
	{"curve", NULL},        {"duration_s", NULL}, {"start_fraction", NULL},
	{"end_fraction", NULL}, {"rate_per_s", NULL}, {NULL, NULL},
};
static const struct known_key utility_keys[] = {
	{"max", NULL}, {"segments", segment_keys}, {NULL, NULL},
};
static const struct known_key task_keys[] = {
	{"id", NULL},          {"type", NULL},        {"arrival_s", NULL}, {"utility", utility_keys},
	{"may_preempt", NULL}, {"preemptible", NULL}, {"priority", NULL},  {NULL, NULL},
};
static const struct known_key suspended_keys[] = {
	{"task", NULL}, {"cluster", NULL}, {"pstate", NULL}, {"executed_s", NULL}, {NULL, NULL},
};
static const struct known_key running_keys[] = {
	{"task", NULL},    {"cluster", NULL}, {"pstate", NULL},     {"nodes", NULL},
	{"start_s", NULL}, {"end_s", NULL},   {"executed_s", NULL}, {NULL, NULL},
};
static const struct known_key planned_keys[] = {
	{"task", NULL},    {"cluster", NULL}, {"pstate", NULL}, {"nodes", NULL},
	{"start_s", NULL}, {"end_s", NULL},   {NULL, NULL},
};
static const struct known_key down_keys[] = {{"cluster", NULL}, {"node", NULL}, {NULL, NULL}};
static const struct known_key snapshot_keys[] = {
	{"policy", NULL},
	{"seed", NULL},
	{"event", NULL},
	{"now_s", NULL},
	{"next_event_s", NULL},
	{"day_start_s", NULL},
	{"end_s", NULL},
	{"consumed_j", NULL},
	{"budget_j", NULL},
	{"gate", NULL},
	{"between", NULL},
	{"completed", completed_keys},
	{"system", system_keys},
	{"tasks", task_keys},
	{"waiting", NULL},
	{"suspended", suspended_keys},
	{"running", running_keys},
	{"reservations", planned_keys},
	{"placeholders", planned_keys},
	{"down", down_keys},
	{NULL, NULL},
};

/* The keys in a shared system. */
static const struct known_key sharing_task_keys[] = {
	{"id", NULL},  {"arrival_s", NULL}, {"vms", NULL},
	{"cpu", NULL}, {"memory", NULL},    {NULL, NULL},
};
static const struct known_key deferred_keys[] = {
	{"task", NULL}, {"count", NULL}, {"until_s", NULL}, {NULL, NULL},
};
static const struct known_key paused_keys[] = {
	{"task", NULL}, {"cluster", NULL}, {"virtual_s", NULL}, {NULL, NULL},
};
static const struct known_key sharing_keys[] = {
	{"task", NULL},  {"cluster", NULL},   {"nodes", NULL},
	{"yield", NULL}, {"virtual_s", NULL}, {"busy", NULL},
	{NULL, NULL},
};
static const struct known_key shared_snapshot_keys[] = {
	{"policy", NULL},
	{"seed", NULL},
	{"event", NULL},
	{"now_s", NULL},
	{"next_event_s", NULL},
	{"day_start_s", NULL},
	{"end_s", NULL},
	{"consumed_j", NULL},
	{"budget_j", NULL},
	{"gate", NULL},
	{"between", NULL},
	{"completed", completed_keys},
	{"system", system_keys},
	{"tasks", sharing_task_keys},
	{"waiting", NULL},
	{"deferred", deferred_keys},
	{"suspended", paused_keys},
	{"running", sharing_keys},
	{"reservations", planned_keys},
	{"placeholders", planned_keys},
	{"down", down_keys},
	{NULL, NULL},
};

/* The keys in a system with queues. */
static const struct known_key queueing_task_keys[] = {
	{"id", NULL},       {"type", NULL},     {"arrival_s", NULL},
	{"deadline_s", NULL}, {"priority", NULL}, {NULL, NULL},
};
static const struct known_key queue_keys[] = {
	{"cluster", NULL}, {"tasks", NULL}, {"start_s", NULL}, {NULL, NULL},
};
static const struct known_key pruner_keys[] = {{"level", NULL}, {"dropping", NULL}, {NULL, NULL}};
static const struct known_key queueing_snapshot_keys[] = {
	{"policy", NULL},
	{"seed", NULL},
	{"event", NULL},
	{"now_s", NULL},
	{"next_event_s", NULL},
	{"day_start_s", NULL},
	{"end_s", NULL},
	{"consumed_j", NULL},
	{"budget_j", NULL},
	{"gate", NULL},
	{"between", NULL},
	{"completed", completed_keys},
	{"system", system_keys},
	{"tasks", queueing_task_keys},
	{"waiting", NULL},
	{"running", running_keys},
	{"queues", queue_keys},
	{"pruner", pruner_keys},
	{"missed", NULL},
	{"sufferage", NULL},
	{"reservations", planned_keys},
	{"placeholders", planned_keys},
	{"down", down_keys},
	{NULL, NULL},
};

static const struct known_key *find_key(const struct known_key *known, const char *name)
{
	while (known->name && strcmp(known->name, name) != 0)
		known++;
	return known->name ? known : NULL;
}

static bool refuse_unknown_key(const struct snapshot_reader *reader, const char *place,
			       const char *key,
		   const struct known_key *known)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (; known->name; known++)
		g_string_append_printf(names, " %s", known->name);
	return snapshot_refuse(reader, "%s%sunknown key \"%s\"; known:%s", place,
			       *place ? ": " : "", key, names->str);
}

/*
 * Checks the keys of an object. `place` is the path of the object, "" for the snapshot. Values that
 * are not objects are ignored here.
 */
static bool check_object(const struct snapshot_reader *reader, json_t *object, const char *place,
			 const struct known_key *known);

static bool check_below(const struct snapshot_reader *reader, json_t *value, const char *place,
			const struct known_key *known)
{
	json_t *entry;
	size_t i;

	if (!json_is_array(value))
		return check_object(reader, value, place, known);
	json_array_foreach(value, i, entry) {
		g_autofree char *at = g_strdup_printf("%s[%zu]", place, i);

		if (!check_object(reader, entry, at, known))
			return false;
	}
	return true;
}

static bool check_object(const struct snapshot_reader *reader, json_t *object, const char *place,
			 const struct known_key *known)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		const struct known_key *is = find_key(known, key);
		g_autofree char *at = g_strdup_printf("%s%s%s", place, *place ? "." : "", key);

		if (!is)
			return refuse_unknown_key(reader, place, key, known);
		if (is->below && !check_below(reader, value, at, is->below))
			return false;
	}
	return true;
}

bool snapshot_read_keys(const struct snapshot_reader *reader)
{
	const json_t *system = json_object_get(reader->object, "system");
	const json_t *value = json_object_get(system, "shared");
	const bool shared = value && !json_is_false(value);

	const bool queueing = json_object_get(system, "queueing") != NULL;

	return check_object(reader, (json_t *)reader->object, "",
			    shared     ? shared_snapshot_keys
			    : queueing ? queueing_snapshot_keys
				       : snapshot_keys);
}
