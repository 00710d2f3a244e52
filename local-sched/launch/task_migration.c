/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_migration.h"

#include <string.h>

#include "common/json.h"

struct task_migration *task_migration_new(uint32_t n, const uint32_t *from, const uint32_t *to,
					  uint32_t count, int64_t now_ns)
{
	struct task_migration *migration = g_new0(struct task_migration, 1);

	migration->n = n;
	migration->attempt = 1;
	migration->count = count;
	migration->vms = g_new0(struct task_migration_vm, count);
	migration->placed = g_memdup2(from, count * sizeof(*from));
	migration->requested_ns = now_ns;
	for (uint32_t i = 0; i < count; i++)
		migration->vms[i] = (struct task_migration_vm){
			.from = from[i], .to = to[i], .total_ns = -1, .downtime_ns = -1};
	return migration;
}

void task_migration_free(struct task_migration *migration)
{
	if (!migration)
		return;
	for (uint32_t i = 0; i < migration->count; i++) {
		g_free(migration->vms[i].from_host);
		g_free(migration->vms[i].to_host);
	}
	g_free(migration->vms);
	g_free(migration->placed);
	g_free(migration->reason);
	g_free(migration);
}

void task_migration_set_moved(struct task_migration *migration, uint32_t vm, bool moved)
{
	migration->vms[vm].moved = moved;
	migration->placed[vm] = moved ? migration->vms[vm].to : migration->vms[vm].from;
}

bool task_migration_goes_to(const struct task_migration *migration, const uint32_t *nodes,
			    uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < migration->count; i++)
		for (uint32_t j = 0; j < count; j++)
			found += migration->vms[i].to == nodes[j];
	return found == count && count == migration->count;
}

bool task_migration_came_about(const struct task_migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++)
		if (migration->vms[i].moved)
			return true;
	return false;
}

/* A value that is not known is null. */
static json_t *known_json(int64_t ns, int64_t unknown)
{
	return ns == unknown ? json_null() : json_integer(ns);
}

static json_t *vms_json(const struct task_migration *migration)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < migration->count; i++) {
		const struct task_migration_vm *vm = &migration->vms[i];

		json_array_append_new(
			array,
			json_pack("{s:I, s:I, s:o, s:o, s:b, s:o, s:o}", "from",
				  (json_int_t)vm->from, "to", (json_int_t)vm->to, "from_host",
				  json_string_or_null(vm->from_host), "to_host", json_string_or_null(vm->to_host),
				  "moved", vm->moved, "total_ns", known_json(vm->total_ns, -1),
				  "downtime_ns", known_json(vm->downtime_ns, -1)));
	}
	return array;
}

static const struct {
	const char *key;
	size_t offset;
} times[] = {
	{"requested_ns", offsetof(struct task_migration, requested_ns)},
	{"begun_ns", offsetof(struct task_migration, begun_ns)},
	{"moved_ns", offsetof(struct task_migration, moved_ns)},
	{"settled_ns", offsetof(struct task_migration, settled_ns)},
};

json_t *task_migration_to_json(const struct task_migration *migration)
{
	json_t *object = json_object();

	json_object_set_new(object, "n", json_integer(migration->n));
	json_object_set_new(object, "try", json_integer(migration->attempt));
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
		const int64_t *t_ns = (const void *)((const char *)migration + times[i].offset);

		json_object_set_new(object, times[i].key, known_json(*t_ns, 0));
	}
	json_object_set_new(object, "reason", json_string_or_null(migration->reason));
	json_object_set_new(object, "vms", vms_json(migration));
	return object;
}

static int64_t known(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void restore_vm(struct task_migration *migration, uint32_t i, const json_t *item)
{
	struct task_migration_vm *vm = &migration->vms[i];

	vm->from = (uint32_t)json_integer_value(json_object_get(item, "from"));
	vm->to = (uint32_t)json_integer_value(json_object_get(item, "to"));
	vm->from_host = g_strdup(json_string_value(json_object_get(item, "from_host")));
	vm->to_host = g_strdup(json_string_value(json_object_get(item, "to_host")));
	vm->total_ns = known(item, "total_ns");
	vm->downtime_ns = known(item, "downtime_ns");
	task_migration_set_moved(migration, i, json_is_true(json_object_get(item, "moved")));
}

struct task_migration *task_migration_restore(const json_t *object)
{
	const json_t *vms = json_object_get(object, "vms");
	size_t count = json_array_size(vms);
	g_autofree uint32_t *none = g_new0(uint32_t, count);
	struct task_migration *migration;

	if (count == 0)
		return NULL;
	migration = task_migration_new((uint32_t)json_integer_value(json_object_get(object, "n")),
				       none, none, (uint32_t)count, 0);
	migration->attempt = json_integer_value(json_object_get(object, "try"));
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
		int64_t *t_ns = (void *)((char *)migration + times[i].offset);

		*t_ns = json_integer_value(json_object_get(object, times[i].key));
	}
	migration->reason = g_strdup(json_string_value(json_object_get(object, "reason")));
	for (uint32_t i = 0; i < migration->count; i++)
		restore_vm(migration, i, json_array_get(vms, i));
	return migration;
}
