/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_suspension.h"

#include <math.h>

#include "common/json.h"
#include "controller/backend/remote_json.h"

#define WHAT "suspension of a task of the local scheduler"

/* More than any run can have; longer lists are malformed. */
#define SUSPENSIONS_MAX 100000
#define NODES_MAX 65536

static void suspension_free(void *data)
{
	struct remote_suspension *suspension = data;

	g_free(suspension->keep);
	g_array_unref(suspension->nodes);
	g_array_unref(suspension->resumed_nodes);
	g_array_unref(suspension->vms);
	g_free(suspension);
}

static struct remote_suspension *suspension_new(void)
{
	struct remote_suspension *suspension = g_new0(struct remote_suspension, 1);

	suspension->skew_s = (double)NAN;
	suspension->nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	suspension->resumed_nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	suspension->vms = g_array_new(FALSE, FALSE, sizeof(struct backend_vm_overhead));
	return suspension;
}

/* An optional array; *ret_array is NULL if it is absent. */
static bool get_list(const json_t *object, const char *key, json_t **ret_array, GError **error)
{
	*ret_array = NULL;
	return remote_json_is_absent(object, key) ||
	       json_get_array(object, key, WHAT, ret_array, error);
}

static bool fail_schema(GError **error, const char *what)
{
	g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, WHAT ": %s", what);
	return false;
}

static bool parse_nodes(const json_t *object, const char *key, GArray *nodes, GError **error)
{
	json_t *list;

	if (!get_list(object, key, &list, error))
		return false;
	if (json_array_size(list) > NODES_MAX)
		return fail_schema(error, "more nodes than there can be");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		json_int_t value = json_integer_value(entry);
		uint32_t node = (uint32_t)value;

		if (!json_is_integer(entry) || value < 0 || value > UINT32_MAX)
			return fail_schema(error, "a node that is no number");
		g_array_append_val(nodes, node);
	}
	return true;
}

static bool parse_vm(const json_t *object, struct backend_vm_overhead *ret_vm, GError **error)
{
	double move_s;
	int64_t node;

	if (!json_get_integer(object, "node", WHAT, 0, UINT32_MAX, &node, error) ||
	    !remote_json_length(object, "freeze_ns", WHAT, &ret_vm->overhead.freeze_s, error) ||
	    !remote_json_length(object, "save_ns", WHAT, &ret_vm->overhead.save_s, error) ||
	    !remote_json_length(object, "move_ns", WHAT, &move_s, error) ||
	    !remote_json_length(object, "restore_ns", WHAT, &ret_vm->overhead.restore_s, error) ||
	    !remote_json_length(object, "resume_ns", WHAT, &ret_vm->overhead.resume_s, error))
		return false;
	if (move_s > 0) /* it is on a node only after the move */
		ret_vm->overhead.restore_s += move_s;
	ret_vm->node = (uint32_t)node;
	return true;
}

static bool parse_vms(const json_t *object, GArray *vms, GError **error)
{
	json_t *list;

	if (!get_list(object, "vms", &list, error))
		return false;
	if (json_array_size(list) > NODES_MAX)
		return fail_schema(error, "more VMs than there can be");
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct backend_vm_overhead vm = {0};

		if (!parse_vm(json_array_get(list, i), &vm, error))
			return false;
		g_array_append_val(vms, vm);
	}
	return true;
}

static bool parse_suspension(const json_t *object, struct remote_suspension *suspension,
			     GError **error)
{
	int64_t n;

	if (!json_get_integer(object, "n", WHAT, 1, SUSPENSIONS_MAX, &n, error) ||
	    !remote_json_time(object, "requested_ns", WHAT, &suspension->requested_ns, error) ||
	    !remote_json_time(object, "frozen_ns", WHAT, &suspension->frozen_ns, error) ||
	    !remote_json_time(object, "suspended_ns", WHAT, &suspension->suspended_ns, error) ||
	    !remote_json_time(object, "resume_requested_ns", WHAT, &suspension->resume_requested_ns,
			      error) ||
	    !remote_json_time(object, "running_ns", WHAT, &suspension->running_ns, error) ||
	    !remote_json_time(object, "resumed_ns", WHAT, &suspension->resumed_ns, error) ||
	    !remote_json_length(object, "skew_ns", WHAT, &suspension->skew_s, error) ||
	    !parse_nodes(object, "nodes", suspension->nodes, error) ||
	    !parse_nodes(object, "resumed_nodes", suspension->resumed_nodes, error) ||
	    !parse_vms(object, suspension->vms, error))
		return false;
	suspension->n = (uint32_t)n;
	suspension->keep = g_strdup(json_string_value(json_object_get(object, "keep")));
	return true;
}

GPtrArray *remote_suspensions_parse(const json_t *array, GError **error)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(suspension_free);
	uint32_t last = 0;

	if (array && !json_is_null(array) && !json_is_array(array)) {
		fail_schema(error, "not a list");
		return NULL;
	}
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct remote_suspension *suspension = suspension_new();

		g_ptr_array_add(list, suspension);
		if (!parse_suspension(json_array_get(array, i), suspension, error))
			return NULL;
		if (suspension->n <= last) {
			fail_schema(error, "n does not ascend");
			return NULL;
		}
		last = suspension->n;
	}
	return g_steal_pointer(&list);
}

const struct remote_suspension *remote_suspensions_find(const GPtrArray *suspensions, uint32_t n)
{
	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct remote_suspension *one = g_ptr_array_index(suspensions, i);

		if (one->n == n)
			return one;
	}
	return NULL;
}

/* Whether a suspension succeeded. While a failed one froze the task, that counts as execution. */
static bool has_left(const struct remote_suspension *suspension)
{
	return suspension->frozen_ns && suspension->suspended_ns;
}

double remote_suspensions_paused_s(const GPtrArray *suspensions, int64_t until_ns)
{
	double sum_s = 0;

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct remote_suspension *one = g_ptr_array_index(suspensions, i);
		int64_t end_ns = one->running_ns ? MIN(one->running_ns, until_ns) : until_ns;

		if (has_left(one) && end_ns > one->frozen_ns)
			sum_s += (double)(end_ns - one->frozen_ns) * 1e-9;
	}
	return sum_s;
}

GArray *remote_suspensions_intervals(const GPtrArray *suspensions, int64_t from_ns, int64_t to_ns)
{
	GArray *intervals = g_array_new(FALSE, FALSE, sizeof(struct remote_interval));
	struct remote_interval interval = {.from_ns = from_ns};

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct remote_suspension *one = g_ptr_array_index(suspensions, i);

		if (!has_left(one))
			continue;
		interval.to_ns = MIN(one->frozen_ns, to_ns);
		interval.nodes = one->nodes->len ? one->nodes : interval.nodes;
		g_array_append_val(intervals, interval);
		if (!one->running_ns)
			return intervals;
		interval.from_ns = one->running_ns;
		interval.nodes = one->resumed_nodes->len ? one->resumed_nodes : NULL;
	}
	interval.to_ns = to_ns;
	g_array_append_val(intervals, interval);
	return intervals;
}
