/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_migration.h"

#include <math.h>

#include "common/json.h"
#include "controller/backend/remote_json.h"

#define WHAT "migration of a task of the local scheduler"
#define SHARE "share of a task of the local scheduler"

/* More than any run can have; longer lists are malformed. */
#define MIGRATIONS_MAX 100000
#define VMS_MAX 65536

static void migration_free(void *data)
{
	struct remote_migration *migration = data;

	g_free(migration->reason);
	g_array_unref(migration->vms);
	g_free(migration);
}

static bool fail_schema(GError **error, const char *what)
{
	g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, WHAT ": %s", what);
	return false;
}

static bool parse_vm(const json_t *object, struct remote_vm_move *ret_vm, GError **error)
{
	int64_t from;
	int64_t to;

	if (!json_get_integer(object, "from", WHAT, 0, UINT32_MAX, &from, error) ||
	    !json_get_integer(object, "to", WHAT, 0, UINT32_MAX, &to, error) ||
	    !remote_json_length(object, "total_ns", WHAT, &ret_vm->total_s, error) ||
	    !remote_json_length(object, "downtime_ns", WHAT, &ret_vm->downtime_s, error))
		return false;
	ret_vm->from = (uint32_t)from;
	ret_vm->to = (uint32_t)to;
	ret_vm->moved = json_is_true(json_object_get(object, "moved"));
	return true;
}

static bool parse_migration(const json_t *object, struct remote_migration *migration,
			    GError **error)
{
	json_t *list;
	int64_t n;

	if (!json_get_integer(object, "n", WHAT, 1, MIGRATIONS_MAX, &n, error) ||
	    !remote_json_time(object, "requested_ns", WHAT, &migration->requested_ns, error) ||
	    !remote_json_time(object, "settled_ns", WHAT, &migration->settled_ns, error) ||
	    !json_get_array(object, "vms", WHAT, &list, error))
		return false;
	if (json_array_size(list) > VMS_MAX)
		return fail_schema(error, "more VMs than there can be");
	migration->n = (uint32_t)n;
	migration->reason = g_strdup(json_string_value(json_object_get(object, "reason")));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct remote_vm_move vm = {0};

		if (!parse_vm(json_array_get(list, i), &vm, error))
			return false;
		g_array_append_val(migration->vms, vm);
	}
	return true;
}

GPtrArray *remote_migrations_parse(const json_t *array, GError **error)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(migration_free);
	uint32_t last = 0;

	if (array && !json_is_null(array) && !json_is_array(array)) {
		fail_schema(error, "not a list");
		return NULL;
	}
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct remote_migration *migration = g_new0(struct remote_migration, 1);

		migration->vms = g_array_new(FALSE, FALSE, sizeof(struct remote_vm_move));
		g_ptr_array_add(list, migration);
		if (!parse_migration(json_array_get(array, i), migration, error))
			return NULL;
		if (migration->n <= last) {
			fail_schema(error, "n does not ascend");
			return NULL;
		}
		last = migration->n;
	}
	return g_steal_pointer(&list);
}

/* An optional quantity, at least 0: null and absent are NAN. */
static bool get_cores(const json_t *object, const char *key, double *ret_cores, GError **error)
{
	*ret_cores = (double)NAN;
	if (remote_json_is_absent(object, key))
		return true;
	if (!json_get_number(object, key, SHARE, ret_cores, error))
		return false;
	if (*ret_cores >= 0)
		return true;
	g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, SHARE ": %s: %g is negative", key,
		    *ret_cores);
	return false;
}

bool remote_share_parse(const json_t *object, struct remote_share *ret_share, GError **error)
{
	const struct remote_share none = { .asked_cores = (double)NAN, .given_cores = (double)NAN };

	*ret_share = none;
	if (!object || json_is_null(object))
		return true;
	if (json_get_integer(object, "n", SHARE, 0, INT64_MAX, &ret_share->n, error) &&
	    json_get_number(object, "share", SHARE, &ret_share->share, error) &&
	    get_cores(object, "asked_cores", &ret_share->asked_cores, error) &&
	    get_cores(object, "given_cores", &ret_share->given_cores, error)) {
		ret_share->set = !remote_json_is_absent(object, "set_ns");
		return true;
	}
	*ret_share = none;
	return false;
}
