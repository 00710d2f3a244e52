/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/json.h"
#include "controller/snapshot/snapshot_rows.h"

void snapshot_json_free(struct snapshot_json *read)
{
	if (!read)
		return;
	record_clear(&snapshot_record, read);
	sched_system_free(read->system);
	pet_free(read->pet);
	g_hash_table_unref(read->by_id);
	g_ptr_array_unref(read->lists);
	json_decref(read->text);
	g_free(read);
}

struct snapshot_json *snapshot_json_read(const json_t *object, const char *what, GError **error)
{
	const json_t *system = json_object_get(object, "system");
	const json_t *shared = json_object_get(system, "shared");
	const json_t *queueing = json_object_get(system, "queueing");
	const unsigned variant = queueing                           ? QUEUES
				 : shared && !json_is_false(shared) ? SHARED
								    : PLAIN;
	g_autoptr(snapshot_json_t) read = g_new0(struct snapshot_json, 1);

	read->text = json_incref((json_t *)object);
	read->by_id = g_hash_table_new(NULL, NULL);
	read->lists = g_ptr_array_new_with_free_func(g_free);
	record_init(&snapshot_record, read);
	if (json_is_string(json_object_get(queueing, "pet"))) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    "%s: \"pet\" is a name for what the run's store has; take the "
			    "snapshot from its view whole_decision",
			    what);
		return NULL;
	}
	if (!record_read(&snapshot_record, object, read, variant, read, error)) {
		g_prefix_error(error, "%s: ", what);
		return NULL;
	}
	read->snapshot.system = read->system;
	return g_steal_pointer(&read);
}
