/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_usage.h"

#include <inttypes.h>
#include <string.h>

#include "common/json.h"

#define WHAT "usage of the local scheduler"
#define SEQ_MAX (INT64_C(1) << 53)

/* More than any CPU time that there is: sums of them fit into 64 bits. */
#define CPU_MAX_NS (INT64_C(1) << 56)

static void task_clear(void *data)
{
	g_free(((struct remote_usage_task *)data)->id);
}

static bool read_tasks(struct remote_usage *usage, const json_t *object, GError **error)
{
	json_t *tasks = json_object_get(object, "tasks");
	const char *id;
	json_t *value;

	usage->tasks = g_array_new(FALSE, FALSE, sizeof(struct remote_usage_task));
	g_array_set_clear_func(usage->tasks, task_clear);
	json_object_foreach (tasks, id, value) {
		struct remote_usage_task task = {NULL, json_integer_value(value)};

		if (!json_is_integer(value) || task.cpu_ns < 0 || task.cpu_ns > CPU_MAX_NS) {
			g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
				    WHAT ": tasks: '%.64s' must have CPU time in nanoseconds", id);
			return false;
		}
		task.id = g_strdup(id);
		g_array_append_val(usage->tasks, task);
	}
	return true;
}

static bool read_others(struct remote_usage *usage, const json_t *object, GError **error)
{
	usage->others_ns = -1;
	return json_is_null(json_object_get(object, "others_ns")) ||
	       json_get_integer(object, "others_ns", WHAT, 0, CPU_MAX_NS, &usage->others_ns, error);
}

static bool read_one(struct remote_usage *usage, const json_t *object,
		     const struct remote_clock *clock, GError **error)
{
	const char *host;

	if (!json_get_integer(object, "seq", WHAT, 1, SEQ_MAX, &usage->seq, error) ||
	    !json_get_string(object, "host", WHAT, &host, error) ||
	    !json_get_integer(object, "from_ns", WHAT, 0, INT64_MAX, &usage->from_ns, error) ||
	    !json_get_integer(object, "to_ns", WHAT, usage->from_ns, INT64_MAX, &usage->to_ns,
			      error) ||
	    !json_get_integer(object, "from_uj", WHAT, 0, INT64_MAX, &usage->from_uj, error) ||
	    !json_get_integer(object, "to_uj", WHAT, usage->from_uj, INT64_MAX, &usage->to_uj,
			      error) ||
	    !json_get_integer(object, "vms_ns", WHAT, 0, CPU_MAX_NS, &usage->vms_ns, error) ||
	    !read_others(usage, object, error) || !read_tasks(usage, object, error))
		return false;
	usage->host = g_strdup(host);
	usage->length_ns = usage->to_ns - usage->from_ns;
	usage->from_ns = remote_clock_ours_ns(clock, usage->from_ns);
	usage->to_ns = remote_clock_ours_ns(clock, usage->to_ns);
	usage->gap = json_is_true(json_object_get(object, "gap"));
	usage->read = json_is_true(json_object_get(object, "read"));
	return true;
}

GPtrArray *remote_usage_parse(const json_t *body, const struct remote_clock *clock,
			      const char **ret_stream, GError **error)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(remote_usage_free);
	json_t *intervals;

	if (!json_get_string(body, "stream", WHAT, ret_stream, error) ||
	    !json_get_array(body, "intervals", WHAT, &intervals, error))
		return NULL;
	for (size_t i = 0; i < json_array_size(intervals); i++) {
		struct remote_usage *usage = g_new0(struct remote_usage, 1);

		g_ptr_array_add(list, usage);
		if (!read_one(usage, json_array_get(intervals, i), clock, error))
			return NULL;
	}
	return g_steal_pointer(&list);
}

void remote_usage_free(void *data)
{
	struct remote_usage *usage = data;

	if (!usage)
		return;
	if (usage->tasks)
		g_array_unref(usage->tasks);
	g_free(usage->host);
	g_free(usage);
}

/* Digits only: a number has no sign, and no space before it. */
static bool read_number(const char **text, uint32_t *ret_number)
{
	uint64_t number = 0;
	const char *from = *text;

	for (; g_ascii_isdigit(**text) && number <= UINT32_MAX; ++*text)
		number = number * 10 + (uint64_t)(**text - '0');
	*ret_number = (uint32_t)number;
	return *text > from && number <= UINT32_MAX;
}

bool remote_usage_task_of(const char *experiment, int64_t run, const char *id, uint32_t *ret_task,
			  uint32_t *ret_attempt)
{
	g_autofree char *prefix = g_strdup_printf("%s-%" PRId64 "-", experiment, run);

	if (!g_str_has_prefix(id, prefix))
		return false;
	id += strlen(prefix);
	return read_number(&id, ret_task) && *id++ == '-' && read_number(&id, ret_attempt) && !*id;
}
