/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_suspension.h"

#include <string.h>

#include "common/json.h"
#include "common/read_number.h"
#include "local-sched/launch/task.h"

#define WHAT "suspension"
#define NUMBER_MAX 1000000
#define TRY_MAX (G_MAXINT64 / 2) /* clients may count in milliseconds */

static const char *const keep_names[] = {
	[CONFIG_KEEP_AUTO] = "auto",
	[CONFIG_KEEP_MEMORY] = "memory",
	[CONFIG_KEEP_DISK] = "disk",
};

const char *task_keep_name(enum config_keep keep)
{
	return keep_names[keep];
}

static bool find_keep(const char *name, enum config_keep *ret_keep)
{
	for (size_t i = 0; i < G_N_ELEMENTS(keep_names); i++) {
		if (g_strcmp0(keep_names[i], name) == 0) {
			*ret_keep = (enum config_keep)i;
			return true;
		}
	}
	return false;
}

struct task_suspension *task_suspension_new(uint32_t n, const uint32_t *nodes, uint32_t count,
					    int64_t now_ns)
{
	struct task_suspension *suspension = g_new0(struct task_suspension, 1);

	suspension->n = n;
	suspension->attempt = 1;
	suspension->count = count;
	suspension->nodes = g_memdup2(nodes, count * sizeof(*nodes));
	suspension->vms = g_new0(struct task_suspension_vm, count);
	suspension->requested_ns = now_ns;
	suspension->skew_ns = -1;
	return suspension;
}

void task_suspension_free(struct task_suspension *suspension)
{
	if (!suspension)
		return;
	g_free(suspension->nodes);
	g_free(suspension->resumed_nodes);
	g_free(suspension->vms);
	g_free(suspension);
}

void task_suspension_undo(struct task_suspension *suspension)
{
	g_clear_pointer(&suspension->resumed_nodes, g_free);
	suspension->resume_requested_ns = suspension->running_ns = 0;
	for (uint32_t i = 0; i < suspension->count; i++)
		suspension->vms[i].move_ns = suspension->vms[i].restore_ns =
			suspension->vms[i].resume_ns = 0;
}

static json_t *time_json(int64_t t_ns)
{
	return t_ns ? json_integer(t_ns) : json_null();
}

static json_t *numbers_json(const uint32_t *numbers, uint32_t count)
{
	json_t *array = json_array();

	if (!numbers) {
		json_decref(array);
		return json_null();
	}
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(numbers[i]));
	return array;
}

static json_t *vms_json(const struct task_suspension *suspension)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < suspension->count; i++) {
		const struct task_suspension_vm *vm = &suspension->vms[i];

		json_array_append_new(
			array, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "node",
					 (json_int_t)suspension->nodes[i], "freeze_ns",
					 (json_int_t)vm->freeze_ns, "save_ns",
					 (json_int_t)vm->save_ns, "move_ns",
					 (json_int_t)vm->move_ns, "restore_ns",
					 (json_int_t)vm->restore_ns, "resume_ns",
					 (json_int_t)vm->resume_ns));
	}
	return array;
}

/* The times and their keys, for both directions. */
static const struct {
	const char *key;
	size_t offset;
} times[] = {
	{"requested_ns", offsetof(struct task_suspension, requested_ns)},
	{"frozen_ns", offsetof(struct task_suspension, frozen_ns)},
	{"suspended_ns", offsetof(struct task_suspension, suspended_ns)},
	{"resume_requested_ns", offsetof(struct task_suspension, resume_requested_ns)},
	{"running_ns", offsetof(struct task_suspension, running_ns)},
	{"resumed_ns", offsetof(struct task_suspension, resumed_ns)},
};

json_t *task_suspension_to_json(const struct task_suspension *suspension)
{
	json_t *object = json_object();

	json_object_set_new(object, "n", json_integer(suspension->n));
	json_object_set_new(object, "try", json_integer(suspension->attempt));
	json_object_set_new(object, "keep", json_string(task_keep_name(suspension->keep)));
	json_object_set_new(object, "nodes", numbers_json(suspension->nodes, suspension->count));
	json_object_set_new(object, "resumed_nodes",
			    numbers_json(suspension->resumed_nodes, suspension->count));
	json_object_set_new(object, "resume_try", json_integer(suspension->resume_attempt));
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
		const int64_t *t_ns =
			(const void *)((const char *)suspension + times[i].offset);

		json_object_set_new(object, times[i].key, time_json(*t_ns));
	}
	json_object_set_new(object, "skew_ns",
			    suspension->skew_ns < 0 ? json_null() :
						      json_integer(suspension->skew_ns));
	json_object_set_new(object, "vms", vms_json(suspension));
	return object;
}

static uint32_t *numbers_of(const json_t *array, size_t count)
{
	uint32_t *numbers;

	if (!json_is_array(array) || json_array_size(array) != count)
		return NULL;
	numbers = g_new0(uint32_t, count);
	for (size_t i = 0; i < count; i++)
		numbers[i] = (uint32_t)json_integer_value(json_array_get(array, i));
	return numbers;
}

static void restore_vms(struct task_suspension *suspension, const json_t *array)
{
	for (uint32_t i = 0; i < suspension->count; i++) {
		const json_t *item = json_array_get(array, i);
		struct task_suspension_vm *vm = &suspension->vms[i];

		vm->freeze_ns = json_integer_value(json_object_get(item, "freeze_ns"));
		vm->save_ns = json_integer_value(json_object_get(item, "save_ns"));
		vm->move_ns = json_integer_value(json_object_get(item, "move_ns"));
		vm->restore_ns = json_integer_value(json_object_get(item, "restore_ns"));
		vm->resume_ns = json_integer_value(json_object_get(item, "resume_ns"));
	}
}

struct task_suspension *task_suspension_restore(const json_t *object)
{
	const json_t *skew = json_object_get(object, "skew_ns");
	size_t count = json_array_size(json_object_get(object, "nodes"));
	g_autofree uint32_t *nodes = numbers_of(json_object_get(object, "nodes"), count);
	struct task_suspension *suspension;

	if (!nodes)
		return NULL;
	suspension = task_suspension_new(
		(uint32_t)json_integer_value(json_object_get(object, "n")), nodes,
		(uint32_t)count, 0);
	suspension->attempt = json_integer_value(json_object_get(object, "try"));
	suspension->resume_attempt = json_integer_value(json_object_get(object, "resume_try"));
	find_keep(json_string_value(json_object_get(object, "keep")), &suspension->keep);
	suspension->resumed_nodes = numbers_of(json_object_get(object, "resumed_nodes"), count);
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
		int64_t *t_ns = (void *)((char *)suspension + times[i].offset);

		*t_ns = json_integer_value(json_object_get(object, times[i].key));
	}
	suspension->skew_ns = json_is_integer(skew) ? json_integer_value(skew) : -1;
	restore_vms(suspension, json_object_get(object, "vms"));
	return suspension;
}

/* Requests. */

static bool bad_request(GError **error, const char *key, const char *what)
{
	g_set_error(error, TASK_ERROR, TASK_ERROR_REQUEST, WHAT ": %s: %s", key, what);
	return false;
}

/* The common part of both requests. */
static bool parse_numbers(const char *n, const json_t *body, uint32_t *ret_n,
			  int64_t *ret_attempt, GError **error)
{
	guint64 number = 0;
	int64_t attempt = 1;

	if (!read_number_unsigned(n, 1, NUMBER_MAX, &number))
		return bad_request(error, "number", "must be a whole number from 1");
	if (!json_is_object(body))
		return bad_request(error, "body", "must be an object");
	if (json_object_get(body, "try") &&
	    !json_get_integer(body, "try", WHAT, 1, TRY_MAX, &attempt, error))
		return false;
	*ret_n = (uint32_t)number;
	*ret_attempt = attempt;
	return true;
}

bool task_suspend_request_parse(const char *n, const json_t *body,
				struct task_suspend_request *ret_request, GError **error)
{
	struct task_suspend_request request = {.keep = CONFIG_KEEP_AUTO};
	const char *keep = "auto";

	if (!parse_numbers(n, body, &request.n, &request.attempt, error))
		return false;
	if (json_object_get(body, "keep") && !json_get_string(body, "keep", WHAT, &keep, error))
		return false;
	if (!find_keep(keep, &request.keep))
		return bad_request(error, "keep", "not known; give auto, memory or disk");
	*ret_request = request;
	return true;
}

static bool is_new(const uint32_t *nodes, uint32_t count, uint32_t node)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i] == node)
			return false;
	return true;
}

bool task_resume_request_parse(const char *n, const json_t *body, uint32_t nodes,
			       struct task_resume_request *ret_request, GError **error)
{
	struct task_resume_request request = {0};
	g_autofree uint32_t *list = NULL;
	json_t *array;

	if (!parse_numbers(n, body, &request.n, &request.attempt, error) ||
	    !json_get_array(body, "nodes", WHAT, &array, error))
		return false;
	if (json_array_size(array) == 0 || json_array_size(array) > nodes)
		return bad_request(error, "nodes", "must name one to all nodes of the cluster");
	list = g_new0(uint32_t, json_array_size(array));
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);
		json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;

		if (value < 0 || value >= (json_int_t)nodes)
			return bad_request(error, "nodes", "no such node in the cluster");
		if (!is_new(list, request.count, (uint32_t)value))
			return bad_request(error, "nodes", "a node is named twice");
		list[request.count++] = (uint32_t)value;
	}
	request.nodes = g_steal_pointer(&list);
	*ret_request = request;
	return true;
}
