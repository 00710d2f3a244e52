/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/input_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/sched/decision_sum.h"

static const char *const event_names[] = {
	[BACKEND_EVENT_NONE] = "none",
	[BACKEND_EVENT_STARTED] = "started",
	[BACKEND_EVENT_ENDED] = "ended",
	[BACKEND_EVENT_NODE_DOWN] = "node-down",
	[BACKEND_EVENT_NODE_UP] = "node-up",
	[BACKEND_EVENT_ENERGY_LIMIT] = "energy-limit",
	[BACKEND_EVENT_ABORTED] = "aborted",
	[BACKEND_EVENT_SUSPENDED] = "suspended",
	[BACKEND_EVENT_RESUMED] = "resumed",
	[BACKEND_EVENT_SUSPENSION_FAILED] = "suspension-failed",
	[BACKEND_EVENT_BEGAN] = "began",
	[BACKEND_EVENT_MIGRATED] = "migrated",
	[BACKEND_EVENT_MIGRATION_FAILED] = "migration-failed",
};

/* Stored names that are shorter. */
static const char *const short_names[G_N_ELEMENTS(event_names)] = {
	[BACKEND_EVENT_STARTED] = "s",
	[BACKEND_EVENT_ENDED] = "e",
};

const char *input_name(const struct engine_input *input)
{
	if (input->kind == ENGINE_INPUT_TIME)
		return NULL;
	return input->kind != ENGINE_INPUT_EVENT
		       ? engine_input_names[input->kind]
		       : short_names[input->event->kind] ?: event_names[input->event->kind];
}

/* The event of that name, short or whole; NONE: there is no such event. */
static enum backend_event_kind find_event(const char *name)
{
	for (guint i = BACKEND_EVENT_NONE + 1; i < G_N_ELEMENTS(event_names); i++)
		if (g_str_equal(event_names[i], name) || g_strcmp0(short_names[i], name) == 0)
			return (enum backend_event_kind)i;
	return BACKEND_EVENT_NONE;
}

const char *input_title(const char *name)
{
	const enum backend_event_kind event = name ? find_event(name) : BACKEND_EVENT_NONE;

	return event != BACKEND_EVENT_NONE ? event_names[event] : name ?: "time";
}

bool input_find(const char *name, enum engine_input_kind *ret_kind,
		enum backend_event_kind *ret_event)
{
	*ret_event = BACKEND_EVENT_NONE;
	*ret_kind = ENGINE_INPUT_TIME;
	if (!name)
		return true;
	*ret_event = find_event(name);
	if (*ret_event != BACKEND_EVENT_NONE) {
		*ret_kind = ENGINE_INPUT_EVENT;
		return true;
	}
	for (guint i = ENGINE_INPUT_NONE + 1; i < ENGINE_INPUT_KINDS; i++)
		if (i != ENGINE_INPUT_EVENT && g_str_equal(engine_input_names[i], name)) {
			*ret_kind = (enum engine_input_kind)i;
			return true;
		}
	return false;
}

/* Events. */

/* A number of an event that is left out where it is 0. */
struct number_key {
	const char *name;
	size_t offset;
	enum { KEY_U32, KEY_I64, KEY_REAL, KEY_ENUM } type;
};

#define KEY(name_, type_)                                                                          \
	{                                                                                          \
#name_, offsetof(struct backend_event, name_), type_                               \
	}

static const struct number_key number_keys[] = {
	KEY(cause, KEY_ENUM),   KEY(done, KEY_I64), KEY(total, KEY_I64),
	KEY(since_s, KEY_REAL), KEY(n, KEY_U32),
};
G_STATIC_ASSERT(sizeof(enum task_cause) == sizeof(uint32_t));

static json_int_t whole_of(const struct number_key *key, const void *at)
{
	return key->type == KEY_I64 ? (json_int_t) * (const int64_t *)at
				    : (json_int_t) * (const uint32_t *)at;
}

static void write_number(json_t *object, const struct number_key *key, const void *at)
{
	if (key->type == KEY_REAL) {
		if (*(const double *)at != 0)
			json_object_set_new(object, key->name,
					    json_number_or_null(*(const double *)at));
	} else if (whole_of(key, at) != 0) {
		json_object_set_new(object, key->name, json_integer(whole_of(key, at)));
	}
}

static json_t *write_overhead(const struct backend_overhead *overhead)
{
	return json_pack("[o, o, o, o, o]", json_number_or_null(overhead->freeze_s),
			 json_number_or_null(overhead->save_s),
			 json_number_or_null(overhead->restore_s),
			 json_number_or_null(overhead->resume_s),
			 json_number_or_null(overhead->skew_s));
}

static bool is_about_task(enum backend_event_kind kind)
{
	return kind != BACKEND_EVENT_NODE_DOWN && kind != BACKEND_EVENT_NODE_UP &&
	       kind != BACKEND_EVENT_ENERGY_LIMIT && kind != BACKEND_EVENT_ABORTED;
}

static json_t *write_rest(const struct backend_event *event)
{
	static const struct backend_overhead none;
	json_t *object = json_object();

	/* How most tasks end need not be said. */
	if (event->kind == BACKEND_EVENT_ENDED && event->outcome != BACKEND_OUTCOME_COMPLETED)
		json_object_set_new(object, "outcome", json_integer(event->outcome));
	if (event->kind == BACKEND_EVENT_NODE_DOWN || event->kind == BACKEND_EVENT_NODE_UP) {
		json_object_set_new(object, "cluster", json_integer(event->cluster));
		json_object_set_new(object, "node", json_integer(event->node));
	}

	for (guint i = 0; i < G_N_ELEMENTS(number_keys); i++)
		write_number(object, &number_keys[i], (const char *)event + number_keys[i].offset);
	if (memcmp(&event->overhead, &none, sizeof(none)) != 0)
		json_object_set_new(object, "overhead", write_overhead(&event->overhead));
	for (uint32_t i = 0; event->vms && i < event->vms_count; i++) {
		if (i == 0)
			json_object_set_new(object, "vms", json_array());
		json_array_append_new(json_object_get(object, "vms"),
				      json_pack("[I, o]", (json_int_t)event->vms[i].node,
						write_overhead(&event->vms[i].overhead)));
	}
	for (uint32_t i = 0; event->moves && i < event->moves_count; i++) {
		const struct backend_vm_move *move = &event->moves[i];

		if (i == 0)
			json_object_set_new(object, "moves", json_array());
		json_array_append_new(json_object_get(object, "moves"),
				      json_pack("[I, I, o, o]", (json_int_t)move->from,
						(json_int_t)move->to,
						json_number_or_null(move->total_s),
						json_number_or_null(move->downtime_s)));
	}
	if (event->reason)
		json_object_set_new(object, "reason", json_string_or_null(event->reason));
	if (json_object_size(object) > 0)
		return object;
	json_decref(object);
	return NULL;
}

void input_write_event(const struct backend_event *event, struct store_input *row)
{
	const bool ended = event->kind == BACKEND_EVENT_ENDED;
	g_autoptr(json_t) rest = write_rest(event);

	row->task = is_about_task(event->kind) ? (int64_t)event->task : -1;
	row->attempt = is_about_task(event->kind) ? (int64_t)event->attempt : -1;
	row->exec_s = ended || event->kind == BACKEND_EVENT_SUSPENDED ? event->exec_s : (double)NAN;
	row->energy_j = ended ? event->energy_j : (double)NAN;
	row->detail = rest ? json_text(rest) : NULL;
}

static double real_of(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

void input_write_energy(const json_t *detail, struct store_input *row)
{
	row->task = json_integer_value(json_object_get(detail, "task"));
	row->attempt = json_integer_value(json_object_get(detail, "kind"));
	row->energy_j = real_of(json_object_get(detail, "energy_j"));
	row->exec_s = real_of(json_object_get(detail, "change_j"));
}

json_t *input_read_energy(const struct store_input *row)
{
	return json_pack("{s:I, s:o, s:I, s:o}", "task", (json_int_t)row->task, "energy_j",
			 json_number_or_null(row->energy_j), "kind", (json_int_t)row->attempt,
			 "change_j", json_number_or_null(row->exec_s));
}

static void read_number(const json_t *value, const struct number_key *key, void *at)
{
	if (key->type == KEY_REAL)
		*(double *)at = real_of(value);
	else if (key->type == KEY_I64)
		*(int64_t *)at = json_integer_value(value);
	else
		*(uint32_t *)at = (uint32_t)json_integer_value(value);
}

static void read_overhead(const json_t *list, struct backend_overhead *ret_overhead)
{
	*ret_overhead = (struct backend_overhead){
		real_of(json_array_get(list, 0)), real_of(json_array_get(list, 1)),
		real_of(json_array_get(list, 2)), real_of(json_array_get(list, 3)),
		real_of(json_array_get(list, 4)),
	};
}

/* What the row has of an event beside its detail, with how it ended. */
static struct backend_event read_row(enum backend_event_kind kind, const struct store_input *row,
				     const json_t *detail)
{
	const bool ended = kind == BACKEND_EVENT_ENDED;
	const json_t *outcome = json_object_get(detail, "outcome");
	struct backend_event event = {.kind = kind, .time_s = row->time_s};

	if (is_about_task(kind)) {
		event.task = (uint32_t)row->task;
		event.attempt = (uint32_t)row->attempt;
	}
	event.exec_s = ended || kind == BACKEND_EVENT_SUSPENDED ? row->exec_s : 0;
	event.energy_j = ended ? row->energy_j : 0;
	event.cluster = (uint32_t)json_integer_value(json_object_get(detail, "cluster"));
	event.node = (uint32_t)json_integer_value(json_object_get(detail, "node"));
	if (ended)
		event.outcome = outcome ? (enum backend_outcome)json_integer_value(outcome)
					: BACKEND_OUTCOME_COMPLETED;
	return event;
}

bool input_read_event(enum backend_event_kind kind, const struct store_input *row,
		      const json_t *detail, struct input_event *event)
{
	const json_t *vms = json_object_get(detail, "vms");
	const json_t *moves = json_object_get(detail, "moves");
	const json_t *overhead = json_object_get(detail, "overhead");
	const json_t *value;

	*event = (struct input_event){.event = read_row(kind, row, detail)};
	for (guint i = 0; i < G_N_ELEMENTS(number_keys); i++) {
		value = json_object_get(detail, number_keys[i].name);
		if (value)
			read_number(value, &number_keys[i],
				    (char *)&event->event + number_keys[i].offset);
	}
	if (event->event.outcome > BACKEND_OUTCOME_LOST || event->event.cause > TASK_CAUSE_OTHER ||
	    (is_about_task(kind) && (row->task < 0 || row->task > UINT32_MAX)))
		return false;
	if (overhead)
		read_overhead(overhead, &event->event.overhead);
	event->vms = vms ? g_new(struct backend_vm_overhead, json_array_size(vms)) : NULL;
	for (size_t i = 0; i < json_array_size(vms); i++) {
		value = json_array_get(vms, i);
		event->vms[i].node = (uint32_t)json_integer_value(json_array_get(value, 0));
		read_overhead(json_array_get(value, 1), &event->vms[i].overhead);
	}
	event->moves = moves ? g_new(struct backend_vm_move, json_array_size(moves)) : NULL;
	for (size_t i = 0; i < json_array_size(moves); i++) {
		value = json_array_get(moves, i);
		event->moves[i] = (struct backend_vm_move){
			(uint32_t)json_integer_value(json_array_get(value, 0)),
			(uint32_t)json_integer_value(json_array_get(value, 1)),
			real_of(json_array_get(value, 2)),
			real_of(json_array_get(value, 3)),
		};
	}
	event->event.vms = event->vms;
	event->event.vms_count = (uint32_t)json_array_size(vms);
	event->event.moves = event->moves;
	event->event.moves_count = (uint32_t)json_array_size(moves);
	event->event.reason = json_string_value(json_object_get(detail, "reason"));
	return true;
}

void input_event_clear(struct input_event *event)
{
	g_clear_pointer(&event->vms, g_free);
	g_clear_pointer(&event->moves, g_free);
}

/* The setup. */

static json_t *write_sum(uint64_t sum)
{
	char text[17];

	g_snprintf(text, sizeof(text), "%016" PRIx64, sum);
	return json_string(text);
}

/* Removes what is false, 0 or empty. */
static json_t *without_nothing(json_t *object)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe (object, next, key, value)
		if (json_is_false(value) ||
		    (json_is_number(value) && json_number_value(value) == 0) ||
		    (json_is_array(value) && json_array_size(value) == 0))
			json_object_del(object, key);
	return object;
}

json_t *input_write_setup(const struct engine_setup *setup, const struct backend *backend)
{
	const struct backend_ops *ops = backend->ops;
	json_t *marks = json_array();

	for (uint32_t i = 0; i < setup->marks_count; i++)
		json_array_append_new(marks, json_real(setup->marks_j[i]));
	return without_nothing(json_pack(
		"{s:s, s:s, s:o, s:o, s:b, s:f, s:b, s:f, s:f, s:f, s:i, s:f, s:b, s:I,"
		" s:o, s:f, s:o, s:b, s:b, s:o, s:b, s:b, s:b, s:b, s:b, s:b, s:b}",
		"policy", setup->policy.name, "backend", ops->name, "system",
		write_sum(sched_system_sum(setup->system)), "tasks",
		write_sum(sched_tasks_sum(setup->workload->tasks, setup->workload->tasks_count)),
		"open", setup->open != NULL, "limit_j", setup->limit_j, "gate", (int)setup->gate,
		"lead_s", setup->lead_s, "lead_limit_j", setup->lead_limit_j, "mapping_interval_s",
		setup->mapping_interval_s, "moments", (int)setup->moments, "changes_apart_s",
		setup->changes_apart_s, "apart", (int)setup->apart, "at_once",
		(json_int_t)setup->at_once, "duration_s", json_number_or_null(setup->duration_s),
		"virtual_pause_s", setup->virtual_pause_s, "seed",
		json_integer((json_int_t)setup->seed), "record_changes", (int)setup->record_changes,
		"trim", (int)setup->trim, "marks_j", marks, "account", setup->task_ended_j != NULL,
		"shares", ops->share != NULL, "queues", ops->enqueue != NULL, "migrates",
		ops->migrate != NULL, "energy_at", ops->energy_at_j != NULL, "watermark",
		ops->watermark != NULL, "requests", true));
}
