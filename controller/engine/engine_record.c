/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls the recorder. A callback that fails ends the run. */
#include "controller/engine/engine_record.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/placement.h"
#include "controller/engine/state_json.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/sched/decision_sum.h"

const char *const engine_event_names[] = {
	[ENGINE_EVENT_SLID] = "slid",
	[ENGINE_EVENT_CANCELLED] = "cancelled",
	[ENGINE_EVENT_OVERDUE] = "overdue",
	[ENGINE_EVENT_OVERTAKEN] = "overtaken",
	[ENGINE_EVENT_LATE] = "late",
	[ENGINE_EVENT_LOST] = "lost",
	[ENGINE_EVENT_STAYED] = "stayed",
	[ENGINE_EVENT_UNMOVED] = "unmoved",
	[ENGINE_EVENT_NODE_DOWN] = "node-down",
	[ENGINE_EVENT_NODE_UP] = "node-up",
	[ENGINE_EVENT_PRUNER] = "pruner",
	[ENGINE_EVENT_LIMIT] = "limit",
	[ENGINE_EVENT_ABORTED] = "aborted",
	[ENGINE_EVENT_REFUSED] = "refused",
	[ENGINE_EVENT_EXHAUSTED] = "exhausted",
	[ENGINE_EVENT_RECOVERED] = "recovered",
	[ENGINE_EVENT_WINDOW] = "window",
	[ENGINE_EVENT_HELD] = "held",
	[ENGINE_EVENT_RELEASED] = "released",
	[ENGINE_EVENT_CANCEL] = "cancel",
	[ENGINE_EVENT_SUSPEND] = "suspend",
	[ENGINE_EVENT_RESUME] = "resume",
	[ENGINE_EVENT_MIGRATE] = "migrate",
	[ENGINE_EVENT_DRAINED] = "drained",
	[ENGINE_EVENT_UNDRAINED] = "undrained",
	[ENGINE_EVENT_ENDED] = "ended",
	[ENGINE_EVENT_SUSPENDED] = "suspended",
	[ENGINE_EVENT_RESUMED] = "resumed",
	[ENGINE_EVENT_USER_SUBMITTED] = "user-submitted",
	[ENGINE_EVENT_FALLBACK] = "fallback",
	NULL,
};

struct records {
	bool *dirty; /* per task: changed since it was recorded */
	/* Indices of the dirty tasks, and of some that are not dirty any more. */
	GArray *changed;
	GStringChunk *ends; /* texts why tasks ended, each stored once */
	char *asker;        /* user of the requests that follow: engine_set_asker() */
};

void engine_records_init(struct engine *engine, uint32_t tasks_max)
{
	engine->records = g_new(struct records, 1);
	*engine->records = (struct records){
		.dirty = g_new0(bool, tasks_max),
		.changed = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.ends = g_string_chunk_new(256),
	};
}

void engine_records_finish(struct engine *engine)
{
	g_free(engine->records->dirty);
	g_array_unref(engine->records->changed);
	g_string_chunk_free(engine->records->ends);
	g_free(engine->records->asker);
	g_free(engine->records);
}

void engine_abort(struct engine *engine, const char *format, ...)
{
	va_list arguments;

	if (engine->reason)
		return;
	va_start(arguments, format);
	engine->reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	engine->ended = true;
	engine_count_end(engine, ENGINE_END_ABORTED, backend_now_s(engine->backend));
}

void engine_record_task(struct engine *engine, uint32_t task)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	engine_note_change(engine);
	engine->records->dirty[task] = false;
	if (recorder && recorder->task && !recorder->task(recorder, &engine->tasks[task]))
		engine_abort(engine, "task %u could not be recorded", task);
}

void engine_touch(struct engine *engine, uint32_t task)
{
	engine_note_change(engine);
	if (!engine->setup.recorder || engine->records->dirty[task])
		return;
	engine->records->dirty[task] = true;
	g_array_append_val(engine->records->changed, task);
}

void engine_untouch(struct engine *engine, uint32_t task)
{
	engine->records->dirty[task] = false;
}

void engine_record_changed(struct engine *engine)
{
	struct records *records = engine->records;

	for (guint i = 0; i < records->changed->len; i++) {
		const uint32_t task = g_array_index(records->changed, uint32_t, i);

		if (records->dirty[task])
			engine_record_task(engine, task);
	}
	g_array_set_size(records->changed, 0);
}

void engine_record_suspension(struct engine *engine, uint32_t task)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	engine_note_change(engine);
	if (recorder && recorder->suspension &&
	    !recorder->suspension(recorder, engine_suspension_at(engine, task)))
		engine_abort(engine, "the suspension of task %u could not be recorded", task);
}

void engine_record_object(struct engine *engine, double time_s, enum engine_event_kind kind,
			  json_t *object)
{
	struct engine_recorder *recorder = engine->setup.recorder;
	g_autoptr(json_t) detail = object;
	g_autofree char *text = json_text(detail);

	if (recorder && recorder->event &&
	    !recorder->event(recorder, time_s, engine_event_names[kind], text))
		engine_abort(engine, "event \"%s\" could not be recorded",
			     engine_event_names[kind]);
}

static bool records_events(const struct engine *engine)
{
	return engine->setup.recorder && engine->setup.recorder->event;
}

void engine_record_event(struct engine *engine, double time_s, enum engine_event_kind kind,
			 uint32_t task, const char *reason)
{
	if (records_events(engine))
		engine_record_object(engine, time_s, kind,
				     json_pack("{s:i, s:i, s:s*}", "task", (int)task, "attempt",
					       (int)engine->tasks[task].attempts, "reason",
					       reason));
}

void engine_record_lost(struct engine *engine, uint32_t task, double time_s, const char *reason)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	if (recorder && recorder->lost &&
	    !recorder->lost(recorder, &engine->tasks[task], time_s, reason))
		engine_abort(engine, "that task %u was lost could not be recorded", task);
}

void engine_set_asker(struct engine *engine, const char *user)
{
	g_free(engine->records->asker);
	engine->records->asker = user ? g_utf8_make_valid(user, -1) : NULL;
}

const char *engine_asker(const struct engine *engine)
{
	return engine->records->asker;
}

void engine_record_request(struct engine *engine, enum engine_event_kind kind, uint32_t task)
{
	if (records_events(engine))
		engine_record_object(engine, fmax(0, backend_now_s(engine->backend)), kind,
				     json_pack("{s:i, s:i, s:s*}", "task", (int)task, "attempt",
					       (int)engine->tasks[task].attempts, "user",
					       engine->records->asker));
}

void engine_record_step(struct engine *engine, double time_s, enum engine_event_kind kind,
			uint32_t task, const char *reason)
{
	if (engine->setup.record_steps)
		engine_record_event(engine, time_s, kind, task, reason);
}

void engine_record_end(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	if (!engine->setup.record_steps || !records_events(engine) || !engine_task_over(task))
		return;
	engine_record_object(engine, task->ended_s, ENGINE_EVENT_ENDED,
			     json_pack("{s:i, s:i, s:s, s:s*}", "task", (int)index, "attempt",
				       (int)task->attempts, "state",
				       engine_task_state_name(task->state), "reason",
				       task->reason));
}

void engine_release_reason(struct engine *engine, struct engine_task *task)
{
	task->reason = task->reason && engine_task_over(task)
			       ? g_string_chunk_insert_const(engine->records->ends, task->reason)
			       : NULL;
}

void engine_record_pruner(struct engine *engine, const struct sched_pruner *pruner, double time_s)
{
	if (records_events(engine))
		engine_record_object(engine, time_s, ENGINE_EVENT_PRUNER,
				     json_pack("{s:f, s:b}", "level", pruner->level, "dropping",
					       (int)pruner->dropping));
}

void engine_record_node(struct engine *engine, double time_s, enum engine_event_kind kind,
			const struct sched_node *node, const char *reason, const char *user)
{
	if (records_events(engine))
		engine_record_object(engine, time_s, kind,
				     json_pack("{s:s, s:i, s:s*, s:s*}", "cluster",
					       engine->setup.system->clusters[node->cluster].name,
					       "node", (int)node->node, "reason", reason, "user",
					       user));
}

void engine_flush(struct engine *engine)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	if (recorder && recorder->flush && !recorder->flush(recorder))
		engine_abort(engine, "the record could not be written");
}

/* Decisions. */

/*
 * Records decisions. The snapshot of a decision names every waiting task: without the check for
 * unchanged decisions a service, which never ends, would record the same queue over and over.
 */

/* A plan that leaves all waiting tasks waiting, by a sum of it. */
struct waiting_plan {
	bool waits; /* false: the plan does more, or plans are not compared */
	uint64_t sum;
};

/* A decision in the form that is recorded. */
struct entry {
	struct waiting_plan waiting;
	bool known; /* the last recorded decision has the same plan */
	/* Without texts: recorder->decision() writes them itself. */
	struct engine_description description;
};

struct decision_record {
	/* The pending decision; belongs to the policy's thread until the answer is taken. */
	struct entry entry;
	struct waiting_plan recorded; /* record_changes: of the last recorded decision */
};

void engine_decision_record_init(struct engine *engine)
{
	engine->decision_record = g_new0(struct decision_record, 1);
}

void engine_decision_record_finish(struct engine *engine)
{
	engine_clear_entry(engine);
	g_free(engine->decision_record);
}

static bool leaves_waiting(const struct sched_action *action)
{
	return action->kind == SCHED_ACTION_PLACEHOLDER || action->kind == SCHED_ACTION_DEFER;
}

static void add(uint64_t *sum, uint64_t word)
{
	*sum = sched_sums_join(*sum, word);
}

static void add_action(uint64_t *sum, const struct sched_action *action)
{
	uint64_t start;

	memcpy(&start, &action->start_s, sizeof(start));
	add(sum, (uint64_t)action->kind << 32 | action->task);
	add(sum, (uint64_t)action->cluster << 32 | action->pstate);
	add(sum, action->nodes_count);
	add(sum, start);
	for (uint32_t i = 0; i < action->nodes_count; i++)
		add(sum, action->nodes[i]);
}

static struct waiting_plan describe_waiting(const struct sched_plan *plan)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		if (!leaves_waiting(&plan->actions[i]))
			return (struct waiting_plan){false, 0};
		add_action(&sum, &plan->actions[i]);
	}
	for (const char *at = plan->note; at && *at; at++)
		add(&sum, (unsigned char)*at);
	return (struct waiting_plan){true, sum};
}

/* Whether the last recorded decision has the same plan. */
static bool is_recorded(const struct engine *engine, const struct entry *entry)
{
	const struct waiting_plan *recorded = &engine->decision_record->recorded;

	return recorded->waits && entry->waiting.waits && recorded->sum == entry->waiting.sum;
}

static void prepare_entry(const struct engine *engine, const struct sched_plan *plan,
			  struct entry *ret_entry)
{
	const bool compares = engine->setup.record_changes && !engine->placement->records_repeats;

	*ret_entry = (struct entry){{false, 0}};
	if (compares)
		ret_entry->waiting = describe_waiting(plan);
	ret_entry->known = is_recorded(engine, ret_entry);
}

void engine_prepare_entry(const struct policy *policy, const struct sched_snapshot *snapshot,
			  const struct sched_plan *plan, void *data)
{
	struct engine *engine = data;
	const struct engine_recorder *recorder = engine->setup.recorder;
	struct entry *entry = &engine->decision_record->entry;

	prepare_entry(engine, plan, entry);
	if (recorder && recorder->describe && !entry->known)
		recorder->describe(recorder, policy, snapshot, plan, &entry->description);
}

void engine_clear_entry(struct engine *engine)
{
	struct entry *entry = &engine->decision_record->entry;

	g_clear_pointer(&entry->description.snapshot, g_free);
	g_clear_pointer(&entry->description.actions, g_free);
}

void engine_note_decided(struct engine *engine, const struct policy *policy,
			 const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	if (recorder && recorder->decided && !recorder->decided(recorder, policy, snapshot, plan))
		engine_abort(engine, "the decision could not be recorded");
}

void engine_record_decision(struct engine *engine, const struct policy *policy,
			    const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct engine_recorder *recorder = engine->setup.recorder;
	struct entry *entry = &engine->decision_record->entry;
	bool good = true;

	engine_note_decided(engine, policy, snapshot, plan);
	if (!recorder || !recorder->decision)
		return;
	if (!engine_decides_apart(engine))
		prepare_entry(engine, plan, entry);
	if (!entry->known && entry->description.actions)
		good = recorder->described(recorder, &entry->description);
	else if (!entry->known)
		good = recorder->decision(recorder, policy, snapshot, plan);
	engine->decision_record->recorded = entry->waiting;
	engine_clear_entry(engine);
	if (!good)
		engine_abort(engine, "the decision could not be recorded");
}

/* Full states. */

static const struct state_field waiting_fields[] = {
	STATE_FIELD(waiting_plan, waits, BOOL),
	STATE_FIELD(waiting_plan, sum, U64),
	{NULL},
};

json_t *engine_save_recorded(const struct engine *engine)
{
	return state_write(waiting_fields, &engine->decision_record->recorded);
}

bool engine_load_recorded(struct engine *engine, const json_t *state)
{
	return state_read(waiting_fields, state, &engine->decision_record->recorded);
}

/* Inputs. */

const char *const engine_input_names[] = {
	[ENGINE_INPUT_NONE] = "none",       [ENGINE_INPUT_BEGIN] = "begin",
	[ENGINE_INPUT_TIME] = "time",       [ENGINE_INPUT_EVENT] = "event",
	[ENGINE_INPUT_STOP] = "stop",       [ENGINE_INPUT_LATE] = "late",
	[ENGINE_INPUT_FINISH] = "finish",   [ENGINE_INPUT_RESTORE] = "restore",
	[ENGINE_INPUT_SUBMIT] = "submit",   [ENGINE_INPUT_HOLD] = "hold",
	[ENGINE_INPUT_FREE] = "free",       [ENGINE_INPUT_CANCEL] = "cancel",
	[ENGINE_INPUT_SUSPEND] = "suspend", [ENGINE_INPUT_RESUME] = "resume",
	[ENGINE_INPUT_MIGRATE] = "migrate", [ENGINE_INPUT_DRAIN] = "drain",
	[ENGINE_INPUT_UNDRAIN] = "undrain", [ENGINE_INPUT_POLICY] = "policy",
	[ENGINE_INPUT_WINDOW] = "window",   [ENGINE_INPUT_SETTLE] = "settle",
	[ENGINE_INPUT_CORRECT] = "correct", [ENGINE_INPUT_SHIFT] = "shift",
	[ENGINE_INPUT_ENERGY] = "energy",   NULL,
};
G_STATIC_ASSERT(G_N_ELEMENTS(engine_input_names) == ENGINE_INPUT_KINDS + 1);

bool engine_notes(const struct engine *engine)
{
	const struct engine_recorder *recorder = engine->setup.recorder;

	return recorder && recorder->input && !engine->noting;
}

static engine_noting begin(struct engine *engine, const struct engine_input *input)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	if (!engine_notes(engine))
		return (engine_noting){NULL};
	engine->noting = true;
	if (!recorder->input(recorder, input))
		engine_abort(engine, "an input could not be recorded");
	return (engine_noting){engine};
}

engine_noting engine_note_at(struct engine *engine, enum engine_input_kind kind, double time_s,
			     json_t *detail)
{
	g_autoptr(json_t) owned = detail;

	return begin(engine, &(struct engine_input){kind, time_s, NULL, owned});
}

engine_noting engine_note(struct engine *engine, enum engine_input_kind kind, json_t *detail)
{
	return engine_note_at(engine, kind, (double)NAN, detail);
}

engine_noting engine_note_event(struct engine *engine, enum engine_input_kind kind,
				const struct backend_event *event)
{
	return begin(engine, &(struct engine_input){kind, event->time_s, event, NULL});
}

engine_noting engine_note_task(struct engine *engine, enum engine_input_kind kind, uint32_t task)
{
	return engine_note(engine, kind,
			   engine_notes(engine) ? json_pack("{s:I}", "task", (json_int_t)task)
						: NULL);
}

void engine_noted(struct engine *engine)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	engine->noting = false;
	if (recorder->input_done && !recorder->input_done(recorder))
		engine_abort(engine, "an input could not be recorded");
}
