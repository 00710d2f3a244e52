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
#include "controller/engine/state_json.h"
#include "controller/sched/decision_sum.h"

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
