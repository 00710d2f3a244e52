/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records decisions. The snapshot of a decision names every waiting task: without the check for
 * unchanged decisions a service, which never ends, would record the same queue over and over.
 */
#include <string.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/mapping.h"
#include "controller/engine/placement.h"

/* A decision in the form that is recorded. */
struct entry {
	/* Its text, if all waiting tasks keep waiting with it; NULL if the plan does more. */
	GBytes *waiting;
	bool known; /* the last recorded decision has the same text */
	/* Without texts: recorder->decision() writes them itself. */
	struct engine_description description;
};

struct decision_record {
	/* The pending decision; belongs to the policy's thread until the answer is taken. */
	struct entry entry;
	GBytes *recorded; /* record_changes: text of the last recorded decision */
};

void engine_decision_record_init(struct engine *engine)
{
	engine->decision_record = g_new0(struct decision_record, 1);
}

void engine_decision_record_finish(struct engine *engine)
{
	engine_clear_entry(engine);
	g_clear_pointer(&engine->decision_record->recorded, g_bytes_unref);
	g_free(engine->decision_record);
}

static bool leaves_waiting(const struct sched_action *action)
{
	return action->kind == SCHED_ACTION_PLACEHOLDER || action->kind == SCHED_ACTION_DEFER;
}

static void append_bytes(GByteArray *text, const void *data, size_t size)
{
	g_byte_array_append(text, data, (guint)size);
}

static void append_action(GByteArray *text, const struct sched_action *action)
{
	const uint32_t numbers[] = {action->kind, action->task, action->cluster, action->pstate,
				    action->nodes_count};

	append_bytes(text, numbers, sizeof(numbers));
	append_bytes(text, &action->start_s, sizeof(action->start_s));
	if (action->nodes_count > 0)
		append_bytes(text, action->nodes, action->nodes_count * sizeof(*action->nodes));
}

/*
 * The text of a plan that leaves all waiting tasks waiting (the caller frees); NULL: the plan does
 * more.
 */
static GBytes *describe_waiting(const struct sched_plan *plan)
{
	g_autoptr(GByteArray) text = g_byte_array_new();

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		if (!leaves_waiting(&plan->actions[i]))
			return NULL;
		append_action(text, &plan->actions[i]);
	}
	if (plan->note)
		append_bytes(text, plan->note, strlen(plan->note));
	return g_byte_array_free_to_bytes(g_steal_pointer(&text));
}

/* Whether the last recorded decision has the same text. */
static bool is_recorded(const struct engine *engine, const struct entry *entry)
{
	return engine->decision_record->recorded && entry->waiting &&
	       g_bytes_equal(engine->decision_record->recorded, entry->waiting);
}

static void prepare_entry(const struct engine *engine, const struct sched_plan *plan,
			  struct entry *ret_entry)
{
	const bool compares = engine->setup.record_changes && !engine->placement->records_repeats;

	*ret_entry = (struct entry){.waiting = compares ? describe_waiting(plan) : NULL};
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

	g_clear_pointer(&entry->waiting, g_bytes_unref);
	g_clear_pointer(&entry->description.snapshot, g_free);
	g_clear_pointer(&entry->description.actions, g_free);
}

void engine_record_decision(struct engine *engine, const struct policy *policy,
			    const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct engine_recorder *recorder = engine->setup.recorder;
	struct entry *entry = &engine->decision_record->entry;
	bool good = true;

	if (recorder && recorder->decided && !recorder->decided(recorder, policy, snapshot, plan))
		engine_abort(engine, "the decision could not be recorded");
	if (!recorder || !recorder->decision)
		return;
	if (!engine_decides_apart(engine))
		prepare_entry(engine, plan, entry);
	if (!entry->known && entry->description.actions)
		good = recorder->described(recorder, &entry->description);
	else if (!entry->known)
		good = recorder->decision(recorder, policy, snapshot, plan);
	g_clear_pointer(&engine->decision_record->recorded, g_bytes_unref);
	engine->decision_record->recorded = g_steal_pointer(&entry->waiting);
	engine_clear_entry(engine);
	if (!good)
		engine_abort(engine, "the decision could not be recorded");
}
