/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_task.h"

#include <math.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "controller/backend/remote_clock.h"
#include "controller/backend/remote_sanitize.h"

#define WHAT "task of the local scheduler"

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

/* The quantities were checked before by remote_sanitize(). */
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
	remote_sanitize_add(doubts, (*part)->message);
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
	clean = remote_sanitize(object, task->state == TASK_ENDED, doubts);
	if (!parse(clean, task, doubts, error))
		return NULL;
	if (doubts->len)
		task->doubts = g_strdup(doubts->str);
	return g_steal_pointer(&task);
}

static void sanitize_time(struct task *task, const char *what, int64_t *t_ns)
{
	g_autoptr(GString) doubts = g_string_new(task->doubts);

	remote_sanitize_add(doubts, what);
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
