/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_task.h"

#include <math.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/wire/wire_report.h"
#include "controller/backend/remote_clock.h"

#define WHAT "task of the local scheduler"

/*
 * Impossible numbers in a local scheduler's description of a task: negative, too large, or no
 * numbers at all. They do not make the description's other members unusable, so a task still ends:
 * such a value becomes "not known", with a note.
 */

/* 300 years of CPU time of a single CPU; 2^58 uJ are more than any energy counter shows. */
#define QUANTITY_MAX_S 1e10
#define QUANTITY_MAX 288230376151711744.0
#define QUOTE_MAX 64

/* Appends "WHAT" to the list in `doubts`. */
static void add_doubt(GString *doubts, const char *what)
{
	g_string_append_printf(doubts, "%s%s", doubts->len ? "; " : "", what);
}

/* Appends "cpu_s VALUE"; for nested members only the last name. */
static void add_value(GString *doubts, const char *key, const json_t *value)
{
	g_autofree char *text = json_text(value);
	g_autofree char *what = g_strdup_printf("%s %.*s", key, QUOTE_MAX, text);

	add_doubt(doubts, what);
}

static bool is_quantity(const json_t *value, double max)
{
	return json_is_number(value) && json_number_value(value) >= 0 &&
	       json_number_value(value) <= max;
}

static bool is_time(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0 &&
	       json_integer_value(value) <= WIRE_CLOCK_MAX_NS;
}

/* Whether `value` is possible for the member `key`. */
static bool can_be(const char *key, const json_t *value, bool times)
{
	if (json_is_null(value))
		return true;
	if (g_str_has_suffix(key, "_ns"))
		return !times || is_time(value);
	if (g_str_has_suffix(key, "_s"))
		return is_quantity(value, QUANTITY_MAX_S);
	if (g_str_has_suffix(key, "_uj") || g_str_has_suffix(key, "_cores"))
		return is_quantity(value, QUANTITY_MAX);
	return true;
}

/*
 * A copy of a task object (docs/reference/api.md) or a part of it in which each impossible quantity
 * (members whose names end with _s, _uj or _cores) is null, and with `times` each instant and
 * duration in nanoseconds (_ns) as well. What was replaced is appended to `doubts`, for a note.
 * Returns a new reference, also for a value that is no object.
 */
static json_t *sanitize(const json_t *value, bool times, GString *doubts);

static json_t *sanitize_object(const json_t *object, bool times, GString *doubts)
{
	json_t *clean = json_object();
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		if (can_be(key, value, times)) {
			json_object_set_new(clean, key, sanitize(value, times, doubts));
		} else {
			add_value(doubts, key, value);
			json_object_set_new(clean, key, json_null());
		}
	}
	return clean;
}

static json_t *sanitize(const json_t *value, bool times, GString *doubts)
{
	json_t *list;

	if (json_is_object(value))
		return sanitize_object(value, times, doubts);
	if (!json_is_array(value))
		return json_incref((json_t *)value);
	list = json_array();
	for (size_t i = 0; i < json_array_size(value); i++)
		json_array_append_new(list, sanitize(json_array_get(value, i), times, doubts));
	return list;
}

/* Reading. */

/* A reached deadline is the task's own fault (backend.h). */
static const enum backend_outcome outcomes[] = {
	[TASK_OUTCOME_NONE] = BACKEND_OUTCOME_NONE,
	[TASK_OUTCOME_COMPLETED] = BACKEND_OUTCOME_COMPLETED,
	[TASK_OUTCOME_FAILED] = BACKEND_OUTCOME_FAILED,
	[TASK_OUTCOME_KILLED] = BACKEND_OUTCOME_KILLED,
	[TASK_OUTCOME_DEADLINE] = BACKEND_OUTCOME_FAILED,
	[TASK_OUTCOME_LOST] = BACKEND_OUTCOME_LOST,
};

enum backend_outcome remote_task_outcome(const struct task *task)
{
	return outcomes[task->outcome];
}

static bool parse_state(const char *text, enum task_state *ret_state, GError **error)
{
	const int state = record_word_find(task_state_names, text);

	*ret_state = (enum task_state)MAX(state, 0);
	if (state < 0)
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    WHAT ": state: unknown state '%.32s'", text);
	return state >= 0;
}

static bool parse_outcome(const char *text, struct task *task, GError **error)
{
	const int outcome = record_word_find(task_outcome_names, text);

	if (outcome <= TASK_OUTCOME_NONE)
		return error_fail(error, JSON_ERROR, JSON_ERROR_KEY,
				  WHAT ": outcome: unknown outcome '%.32s'", text);
	task->outcome = (enum task_outcome)outcome;
	return true;
}

/* The quantities were checked before by sanitize(). */
static const struct record_field course_fields[] = {
	{RECORD_FIELD_TIME(task, queued_ns)},
	WIRE_TASK_TIMES,
	WIRE_TASK_USE,
	{RECORD_FIELD_REAL(task, host_energy_uj), .flags = RECORD_OPTIONAL},
	{NULL},
};
static const struct record course_record = {.name = WHAT, .fields = course_fields, .open = true};

/* An unknown name is from a later version. */
static bool parse_cause(const json_t *object, struct task *task, GError **error)
{
	json_t *value = json_object_get(object, "cause");

	if (!value || json_is_null(value))
		return true;
	if (!json_is_string(value))
		return error_fail(error, JSON_ERROR, JSON_ERROR_KEY, WHAT ": cause: not a text");
	task->cause = task_cause_find(json_string_value(value)) ?: TASK_CAUSE_OTHER;
	return true;
}

static bool parse_progress(const json_t *object, struct task *task, GError **error)
{
	json_t *progress = json_object_get(object, "progress");

	if (!progress || json_is_null(progress))
		return true;
	if (json_get_integer(progress, "total", WHAT, 1, INT64_MAX, &task->progress.total, error) &&
	    json_get_integer(progress, "done", WHAT, 0, task->progress.total, &task->progress.done,
			     error))
		return true;
	task->progress.total = 0;
	return false;
}

/*
 * Accepts a part that was parsed (`good`). For a task that has ended a malformed part is only added
 * to `doubts`; otherwise returns false with `error`.
 */
static bool accept_part(struct task *task, bool good, GError **part, GString *doubts,
			GError **error)
{
	if (good)
		return true;
	if (task->state != TASK_ENDED) {
		g_propagate_error(error, g_steal_pointer(part));
		return false;
	}
	add_doubt(doubts, (*part)->message);
	g_clear_error(part);
	return true;
}

static bool parse_end(const json_t *object, struct task *task, GString *doubts, GError **error)
{
	g_autoptr(GError) part = NULL;
	const char *outcome;

	if (task->state != TASK_ENDED)
		return true;
	if (!json_get_string(object, "outcome", WHAT, &outcome, error) ||
	    !parse_outcome(outcome, task, error) ||
	    !accept_part(task, parse_cause(object, task, &part), &part, doubts, error))
		return false;
	if (remote_task_outcome(task) == BACKEND_OUTCOME_FAILED && !task->reason)
		task->reason = g_strdup(outcome);
	return true;
}

static const struct record_field nodes_fields[] = {
	{RECORD_FIELD_NUMBERS(task, nodes, nodes_count), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{NULL},
};
static const struct record nodes_record = {.name = WHAT,
					   .size = sizeof(struct task),
					   .fields = nodes_fields,
					   .open = true};

static bool parse_nodes(const json_t *object, struct task *task, GError **error)
{
	if (record_field_from_json(&nodes_record, &nodes_fields[0], object, task, error))
		return true;
	g_clear_pointer(&task->nodes, g_free);
	task->nodes_count = 0;
	return false;
}

/* Reads a list of suspensions or migrations, whose first field is their number, which ascends. */
static bool parse_steps(const struct record *record, const json_t *array, GPtrArray **ret_steps,
			GError **error)
{
	g_autoptr(GPtrArray) steps = record_list_from_json(record, array, error);
	uint32_t last = 0;

	for (guint i = 0; steps && i < steps->len; i++) {
		const uint32_t n = *(const uint32_t *)steps->pdata[i];

		if (n <= last)
			return error_fail(error, JSON_ERROR, JSON_ERROR_KEY,
					  "%s: n does not ascend", record->name);
		last = n;
	}
	*ret_steps = g_steal_pointer(&steps);
	return *ret_steps != NULL;
}

static bool parse_share(const json_t *object, struct task_share *ret_share, GError **error)
{
	return !object || json_is_null(object) ||
	       record_from_json(&task_share_record, object, ret_share, error);
}

static bool parse_lists(const json_t *object, struct task *task, GString *doubts, GError **error)
{
	g_autoptr(GError) part = NULL;

	if (!accept_part(task,
			 parse_steps(&task_suspension_record,
				     json_object_get(object, "suspensions"), &task->suspensions,
				     &part),
			 &part, doubts, error) ||
	    !accept_part(task,
			 parse_steps(&task_migration_record, json_object_get(object, "migrations"),
				     &task->migrations, &part),
			 &part, doubts, error) ||
	    !accept_part(task, parse_nodes(object, task, &part), &part, doubts, error) ||
	    !accept_part(task, parse_progress(object, task, &part), &part, doubts, error) ||
	    !accept_part(task, parse_share(json_object_get(object, "share"), &task->share, &part),
			 &part, doubts, error))
		return false;
	return true;
}

static bool parse(const json_t *object, struct task *task, GString *doubts, GError **error)
{
	record_init(&course_record, task);
	if (!record_from_json(&course_record, object, task, error))
		return false;
	task->reason = g_strdup(json_string_value(json_object_get(object, "reason")));
	return parse_lists(object, task, doubts, error) && parse_end(object, task, doubts, error);
}

struct task *remote_task_parse(const json_t *object, GError **error)
{
	g_autoptr(task_t) task = g_new0(struct task, 1);
	g_autoptr(GString) doubts = g_string_new(NULL);
	g_autoptr(json_t) clean = NULL;
	const char *id;
	const char *state;

	if (!json_get_string(object, "id", WHAT, &id, error) ||
	    !json_get_string(object, "state", WHAT, &state, error) ||
	    !parse_state(state, &task->state, error))
		return NULL;
	task->id = g_strdup(id);
	record_init(&task_share_record, &task->share);
	clean = sanitize(object, task->state == TASK_ENDED, doubts);
	if (!parse(clean, task, doubts, error))
		return NULL;
	if (doubts->len)
		task->doubts = g_strdup(doubts->str);
	return g_steal_pointer(&task);
}

static void sanitize_time(struct task *task, const char *what, int64_t *t_ns)
{
	g_autoptr(GString) doubts = g_string_new(task->doubts);

	add_doubt(doubts, what);
	*t_ns = 0;
	g_free(task->doubts);
	task->doubts = g_strdup(doubts->str);
}

void remote_task_sanitize_times(struct task *task, int64_t now_ns)
{
	const int64_t last_ns = now_ns + REMOTE_CLOCK_AHEAD_MAX_NS;

	if (task->state != TASK_ENDED)
		return;
	if (task->queued_ns > last_ns)
		sanitize_time(task, "queued_ns is in the future", &task->queued_ns);
	if (task->requested_ns > last_ns)
		sanitize_time(task, "requested_ns is in the future", &task->requested_ns);
	if (task->started_ns > last_ns)
		sanitize_time(task, "started_ns is in the future", &task->started_ns);
	if (task->ended_ns > last_ns)
		sanitize_time(task, "ended_ns is in the future", &task->ended_ns);
	if (task->ended_ns && task->ended_ns < MAX(task->requested_ns, task->started_ns))
		sanitize_time(task, "ended_ns is before the beginning", &task->ended_ns);
}

double remote_task_energy_j(const struct task *task, double idle_j)
{
	double above_idle_j = task->host_energy_uj * 1e-6 - idle_j;

	if (!(task->host_cpu_s > 0) || isnan(task->cpu_s) || isnan(above_idle_j) ||
	    !task->requested_ns || task->ended_ns < task->requested_ns)
		return (double)NAN;
	return fmax(0, above_idle_j) * fmin(1, task->cpu_s / task->host_cpu_s);
}

/* What follows from the suspensions. */

const struct task_suspension *remote_suspensions_find(const GPtrArray *suspensions, uint32_t n)
{
	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(suspensions, i);

		if (one->n == n)
			return one;
	}
	return NULL;
}

/* Whether a suspension succeeded. While a failed one froze the task, that counts as execution. */
static bool has_left(const struct task_suspension *suspension)
{
	return suspension->frozen_ns && suspension->suspended_ns;
}

double remote_suspensions_paused_s(const GPtrArray *suspensions, int64_t until_ns)
{
	double sum_s = 0;

	for (guint i = 0; suspensions && i < suspensions->len; i++) {
		const struct task_suspension *one = g_ptr_array_index(suspensions, i);
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
		const struct task_suspension *one = g_ptr_array_index(suspensions, i);

		if (!has_left(one))
			continue;
		interval.to_ns = MIN(one->frozen_ns, to_ns);
		if (one->nodes) {
			interval.nodes = one->nodes;
			interval.count = one->count;
		}
		g_array_append_val(intervals, interval);
		if (!one->running_ns)
			return intervals;
		interval.from_ns = one->running_ns;
		interval.nodes = one->resumed_nodes;
		interval.count = one->count;
	}
	interval.to_ns = to_ns;
	g_array_append_val(intervals, interval);
	return intervals;
}
