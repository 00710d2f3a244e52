/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_usage.h"

#include <inttypes.h>
#include <string.h>

#include "common/json.h"
#include "common/read_number.h"

#define WHAT "usage of the local scheduler"
#define SEQ_MAX (INT64_C(1) << 53)

/* More than any CPU time; a few of them can be added in 64 bits. */
#define CPU_MAX_NS (INT64_C(1) << 56)

/* more than any host has used (nine years of a kilowatt) */
#define COUNTER_MAX_UJ (INT64_C(1) << 58)

/* a UUID has 36 */
#define COUNTER_ID_MAX 64

/* docs/reference/api.md: the maximum power of a sample */
#define MW_MAX INT32_MAX

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
	if (!json_is_object(tasks)) {
		g_set_error_literal(error, JSON_ERROR, JSON_ERROR_KEY,
				    WHAT ": tasks: not an object");
		return false;
	}
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

/* Earlier versions of local schedulers do not report it. */
static bool read_counter(struct remote_usage *usage, const json_t *object, GError **error)
{
	const char *counter;

	if (json_is_null(json_object_get(object, "counter")) || !json_object_get(object, "counter"))
		return true;
	if (!json_get_string(object, "counter", WHAT, &counter, error))
		return false;
	if (!*counter || strlen(counter) > COUNTER_ID_MAX) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    WHAT ": counter: must have 1 to %d characters", COUNTER_ID_MAX);
		return false;
	}
	usage->counter = g_strdup(counter);
	return true;
}

static bool read_others(struct remote_usage *usage, const json_t *object, GError **error)
{
	usage->others_ns = -1;
	return json_is_null(json_object_get(object, "others_ns")) ||
	       json_get_integer(object, "others_ns", WHAT, 0, CPU_MAX_NS, &usage->others_ns, error);
}

/* Converts the times to our clock: not in the future, and so small that sums do not overflow. */
static bool convert_times(struct remote_usage *usage, const struct remote_clock *clock,
			  int64_t now_ns, GError **error)
{
	usage->length_ns = usage->to_ns - usage->from_ns;
	usage->from_ns = remote_clock_ours_ns(clock, usage->from_ns);
	usage->to_ns = remote_clock_ours_ns(clock, usage->to_ns);
	if (usage->from_ns > -REMOTE_CLOCK_MAX_NS &&
	    usage->to_ns <= now_ns + REMOTE_CLOCK_AHEAD_MAX_NS)
		return true;
	g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
		    WHAT ": interval %" PRId64 " ends %.0f s from now", usage->seq,
		    ((double)usage->to_ns - (double)now_ns) * 1e-9);
	return false;
}

/* mW x ns = 1e-6 uJ; 1 for rounding. */
static bool check_energy(const struct remote_usage *usage, GError **error)
{
	const int64_t uj = usage->to_uj - usage->from_uj;

	if ((double)uj <= MW_MAX * (double)usage->length_ns * 1e-6 + 1)
		return true;
	g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
		    WHAT ": interval %" PRId64 ": %.0f J in %.3f s is more than a host can draw",
		    usage->seq, (double)uj * 1e-6, (double)usage->length_ns * 1e-9);
	return false;
}

static bool read_one(struct remote_usage *usage, const json_t *object,
		     const struct remote_clock *clock, int64_t now_ns, GError **error)
{
	const char *host;

	if (!json_get_integer(object, "seq", WHAT, 1, SEQ_MAX, &usage->seq, error) ||
	    !json_get_string(object, "host", WHAT, &host, error) ||
	    !json_get_integer(object, "from_ns", WHAT, 0, REMOTE_CLOCK_MAX_NS, &usage->from_ns,
			      error) ||
	    !json_get_integer(object, "to_ns", WHAT, usage->from_ns, REMOTE_CLOCK_MAX_NS,
			      &usage->to_ns, error) ||
	    !json_get_integer(object, "from_uj", WHAT, 0, COUNTER_MAX_UJ, &usage->from_uj, error) ||
	    !json_get_integer(object, "to_uj", WHAT, usage->from_uj, COUNTER_MAX_UJ, &usage->to_uj,
			      error) ||
	    !json_get_integer(object, "vms_ns", WHAT, 0, CPU_MAX_NS, &usage->vms_ns, error) ||
	    !read_counter(usage, object, error) || !read_others(usage, object, error) ||
	    !read_tasks(usage, object, error) || !convert_times(usage, clock, now_ns, error) ||
	    !check_energy(usage, error))
		return false;
	usage->host = g_strdup(host);
	usage->gap = json_is_true(json_object_get(object, "gap"));
	usage->read = json_is_true(json_object_get(object, "read"));
	return true;
}

/* Skips a malformed interval, if it has a number; the first one is reported. */
static bool skip_interval(const json_t *object, int64_t *last, GError **ret_wrong, GError *why)
{
	int64_t seq;

	if (!json_get_integer(object, "seq", WHAT, 1, SEQ_MAX, &seq, NULL))
		return false;
	*last = MAX(*last, seq);
	if (*ret_wrong)
		g_error_free(why);
	else
		*ret_wrong = why;
	return true;
}

GPtrArray *remote_usage_parse(const json_t *body, const struct remote_clock *clock, int64_t now_ns,
			      const char **ret_stream, int64_t *ret_last, GError **ret_wrong,
			      GError **error)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(remote_usage_free);
	g_autoptr(GError) wrong = NULL;
	int64_t last = 0;
	json_t *intervals;

	if (!json_get_string(body, "stream", WHAT, ret_stream, error) ||
	    !json_get_array(body, "intervals", WHAT, &intervals, error))
		return NULL;
	for (size_t i = 0; i < json_array_size(intervals); i++) {
		const json_t *object = json_array_get(intervals, i);
		struct remote_usage *usage = g_new0(struct remote_usage, 1);
		GError *why = NULL;

		if (read_one(usage, object, clock, now_ns, &why)) {
			last = MAX(last, usage->seq);
			g_ptr_array_add(list, usage);
			continue;
		}
		remote_usage_free(usage);
		if (!skip_interval(object, &last, &wrong, why)) {
			g_propagate_error(error, why);
			return NULL;
		}
	}
	*ret_last = last;
	*ret_wrong = g_steal_pointer(&wrong);
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
	g_free(usage->counter);
	g_free(usage);
}

/*
 * Digits only, as they are printed: no sign, space or leading zero, so that a task has only one id.
 */
static bool read_part(const char **text, uint32_t *ret_number)
{
	uint64_t number;
	const char *end = read_number_front_unsigned(*text, &number);
	const bool good = end && number <= UINT32_MAX && (**text != '0' || end == *text + 1);

	if (good) {
		*text = end;
		*ret_number = (uint32_t)number;
	}
	return good;
}

bool remote_usage_task_of(const char *experiment, int64_t run, const char *id, uint32_t *ret_task,
			  uint32_t *ret_attempt)
{
	g_autofree char *prefix = g_strdup_printf("%s-%" PRId64 "-", experiment, run);

	if (!g_str_has_prefix(id, prefix))
		return false;
	id += strlen(prefix);
	return read_part(&id, ret_task) && *id++ == '-' && read_part(&id, ret_attempt) && !*id;
}
