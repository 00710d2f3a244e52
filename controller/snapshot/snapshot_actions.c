/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions are read back into a plan. What the estimates say may be missing, and is filled in. */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/snapshot/snapshot_rows.h"

/* Reading of one list. */
struct reader {
	const struct sched_snapshot *snapshot;
	const struct snapshot_json *names; /* of the clusters */
	struct arena *arena;
	/* What the snapshot knows by id; NULL until a value is filled in. */
	GHashTable *tasks;  /* const struct sched_task * */
	GHashTable *places; /* const struct sched_allocation *: where it runs, or ran */
};

static void note_places(struct reader *reader, const struct sched_allocation *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const gpointer id = GUINT_TO_POINTER(list[i].task->id);

		g_hash_table_insert(reader->tasks, id, (gpointer)list[i].task);
		g_hash_table_insert(reader->places, id, (gpointer)&list[i]);
	}
}

static void note_tasks(struct reader *reader)
{
	const struct sched_snapshot *snapshot = reader->snapshot;

	if (reader->tasks)
		return;
	reader->tasks = g_hash_table_new(NULL, NULL);
	reader->places = g_hash_table_new(NULL, NULL);
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		g_hash_table_insert(reader->tasks, GUINT_TO_POINTER(snapshot->waiting[i]->id),
				    (gpointer)snapshot->waiting[i]);
	note_places(reader, snapshot->suspended, snapshot->suspended_count);
	note_places(reader, snapshot->running, snapshot->running_count);
}

/* The execution time of a task that is resumed before this event. */
static double executed_s(const struct reader *reader, uint32_t task)
{
	const struct sched_snapshot *snapshot = reader->snapshot;
	const struct sched_allocation *place =
		g_hash_table_lookup(reader->places, GUINT_TO_POINTER(task));

	if (!place)
		return 0;
	return place->executed_s + (place->nodes ? snapshot->now_s - place->start_s : 0);
}

/*
 * Fills in what `object` leaves out. Without an option of the task there the values stay 0: such an
 * action is not legal, which is not found here (plan_rules.h).
 */
static void fill(struct reader *reader, const json_t *object, struct sched_action *action)
{
	const bool has_end = json_object_get(object, "end_s");
	const bool has_energy = json_object_get(object, "energy_j");
	const bool has_utility = json_object_get(object, "utility");
	const struct sched_task *task;
	const struct sched_option *option = NULL;
	struct sched_option rest;

	if (has_end && has_energy && has_utility)
		return;
	note_tasks(reader);
	task = g_hash_table_lookup(reader->tasks, GUINT_TO_POINTER(action->task));
	if (task && action->pstate < reader->snapshot->system->clusters[action->cluster].pstates)
		option = sched_system_option(reader->snapshot->system, task->row, action->cluster,
					     action->pstate);
	if (!option)
		return;
	rest = sched_option_rest(option, action->kind == SCHED_ACTION_RESUME
						 ? executed_s(reader, action->task)
						 : 0);
	if (!has_end)
		action->end_s = action->start_s + rest.etc_s;
	if (action->kind == SCHED_ACTION_ENQUEUE)
		return;
	if (!has_energy)
		action->energy_j = rest.eec_j;
	if (!has_utility)
		action->utility = sched_task_utility(task, action->end_s);
}

/* Takes the nodes, which the record owns, into the arena. */
static bool keep_nodes(struct reader *reader, struct sched_action *action, GError **error)
{
	uint32_t *nodes = arena_array(reader->arena, action->nodes_count, sizeof(*nodes));

	if (nodes && action->nodes_count > 0)
		memcpy(nodes, action->nodes, action->nodes_count * sizeof(*nodes));
	g_free((uint32_t *)action->nodes);
	action->nodes = nodes;
	if (!nodes)
		g_set_error_literal(error, JSON_ERROR, JSON_ERROR_KEY, "out of memory");
	return nodes != NULL;
}

/* Sets the start that is left out of an action, where that can only be the present. */
static bool begin_now(struct reader *reader, struct sched_action *action, GError **error)
{
	switch (action->kind) {
	case SCHED_ACTION_PLACEHOLDER:
	case SCHED_ACTION_RESERVE:
	case SCHED_ACTION_DEFER:
		g_set_error_literal(error, JSON_ERROR, JSON_ERROR_KEY,
				    "key \"start_s\" is missing");
		return false;
	case SCHED_ACTION_DROP:
	case SCHED_ACTION_SUSPEND:
	case SCHED_ACTION_PAUSE:
		return true;
	default:
		action->start_s = reader->snapshot->now_s;
		return true;
	}
}

static bool read_action(struct reader *reader, const json_t *object, struct sched_action *action,
			GError **error)
{
	const struct sched_system *system = reader->snapshot->system;
	const struct record_field *kind = record_field_find(&snapshot_action_record, "kind");
	g_autoptr(json_t) bare = json_copy((json_t *)object);
	unsigned variant;

	if (!json_is_object(object)) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "expected an object, got %s",
			    json_type_name(object));
		return false;
	}
	json_object_del(bare, "considered");
	if (!record_field_from_json(&snapshot_action_record, kind, bare, action, error))
		return false;
	if (action->kind == SCHED_ACTION_NONE) {
		g_set_error_literal(error, JSON_ERROR, JSON_ERROR_KEY,
				    "key \"kind\": \"none\" is no action");
		return false;
	}
	variant = snapshot_action_variant(system, action->kind);
	if (!record_read(&snapshot_action_record, bare, action, variant,
			 (struct snapshot_json *)reader->names, error))
		return false;
	if (!json_object_get(bare, "reason"))
		action->reason = SCHED_REASON_OUTSIDE;
	if (variant & (ACTION_SHARE | ACTION_PLACE) && !keep_nodes(reader, action, error))
		return false;
	if (system->shared)
		action->end_s = NAN;
	if (!json_object_get(bare, "start_s") && !begin_now(reader, action, error))
		return false;
	if (variant & (ACTION_PLACE | ACTION_ENQUEUE))
		fill(reader, bare, action);
	return true;
}

/* Whether an entry is an explanation and no action. */
static bool is_explanation(const json_t *object)
{
	const char *kind = json_string_value(json_object_get(object, "kind"));

	return kind && (g_str_equal(kind, "wait") || g_str_equal(kind, "judge") ||
			g_str_equal(kind, "unexplained"));
}

bool snapshot_json_read_actions(const json_t *list, const struct sched_snapshot *snapshot,
				struct arena *arena, struct sched_plan *ret_plan, GError **error)
{
	const struct snapshot_json names = {
		.parts.clusters = snapshot->system->clusters,
		.parts.clusters_count = snapshot->system->clusters_count,
	};
	struct reader reader = {.snapshot = snapshot, .names = &names, .arena = arena};
	struct sched_action *actions;
	uint32_t *entries;
	uint32_t count = 0;
	bool good = true;

	if (!json_is_array(list) || json_array_size(list) > COUNT_MAX) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    "expected an array of at most %d actions, got %s", COUNT_MAX,
			    list ? json_type_name(list) : "nothing");
		return false;
	}
	actions = arena_array(arena, json_array_size(list), sizeof(*actions));
	entries = arena_array(arena, json_array_size(list), sizeof(*entries));
	if (!actions || !entries) {
		g_set_error_literal(error, JSON_ERROR, JSON_ERROR_KEY, "out of memory");
		return false;
	}
	for (size_t i = 0; good && i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);

		if (is_explanation(entry))
			continue;
		entries[count] = (uint32_t)i;
		good = read_action(&reader, entry, &actions[count++], error);
		if (!good)
			g_prefix_error(error, "actions[%zu]: ", i);
	}
	g_clear_pointer(&reader.tasks, g_hash_table_unref);
	g_clear_pointer(&reader.places, g_hash_table_unref);
	if (good)
		*ret_plan = (struct sched_plan){.actions_count = count,
						.actions = actions,
						.entries = entries,
						.pruner = snapshot->pruner};
	return good;
}
