/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers of policies from outside: what is read as a plan is written and read again, and what is
 * found legal overlaps nowhere, by a plain second look. The first byte chooses the snapshot.
 */
#include <string.h>

#include "common/json.h"
#include "controller/check/model_snapshots.h"
#include "controller/plugin/plugin_protocol.h"
#include "controller/sched/plan_rules.h"
#include "controller/snapshot/snapshot_json.h"
#include "tests/fuzz/fuzz.h"

#define MODELS 4
#define NUMBERS 16
/* Comparing each action with each other one takes too long for more. */
#define ACTIONS_MAX 64

static struct model_snapshot snapshots[MODELS * NUMBERS];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz_silence();
	for (uint32_t i = 0; i < MODELS * NUMBERS; i++)
		snapshots[i] = model_snapshot_make(&snapshot_models[i % MODELS], 1, i / MODELS);
	return 0;
}

static bool has_nodes(const struct sched_action *action)
{
	return action->kind == SCHED_ACTION_START || action->kind == SCHED_ACTION_RESUME ||
	       action->kind == SCHED_ACTION_PLACEHOLDER || action->kind == SCHED_ACTION_RESERVE;
}

static bool meets(const struct sched_action *action, uint32_t cluster, const uint32_t *nodes,
		  uint32_t count)
{
	for (uint32_t i = 0; action->cluster == cluster && i < action->nodes_count; i++)
		for (uint32_t k = 0; k < count; k++)
			if (action->nodes[i] == nodes[k])
				return true;
	return false;
}

static bool suspends(const struct sched_plan *plan, uint32_t task)
{
	for (uint32_t i = 0; i < plan->actions_count; i++)
		if (plan->actions[i].kind == SCHED_ACTION_SUSPEND && plan->actions[i].task == task)
			return true;
	return false;
}

/* No node of an action is that of a task at the same time. */
static void check_starts(const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *a = &plan->actions[i];

		if (!has_nodes(a))
			continue;
		for (uint32_t k = 0; k < i; k++) {
			const struct sched_action *b = &plan->actions[k];

			fuzz_check(!has_nodes(b) || a->end_s <= b->start_s ||
				   b->end_s <= a->start_s ||
				   !meets(a, b->cluster, b->nodes, b->nodes_count));
			fuzz_check(!has_nodes(b) || a->task != b->task);
		}
		for (uint32_t k = 0; k < snapshot->running_count; k++) {
			const struct sched_allocation *running = &snapshot->running[k];

			fuzz_check(
				a->start_s >= running->end_s || suspends(plan, running->task->id) ||
				!meets(a, running->cluster, running->nodes, running->nodes_count));
		}
		for (uint32_t k = 0; k < snapshot->down_count; k++)
			fuzz_check(
				!meets(a, snapshot->down[k].cluster, &snapshot->down[k].node, 1));
	}
}

/* Which plans are equal, by their texts. */
static void check_round_trip(const struct sched_snapshot *snapshot, const struct sched_plan *plan,
			     struct arena *arena)
{
	g_autofree char *text = snapshot_text_actions(snapshot->system, plan, NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) list = json_parse(text, strlen(text), "plan", &error);
	g_autofree char *again = NULL;
	struct sched_plan read;

	g_assert_no_error(error);
	snapshot_json_read_actions(list, snapshot, arena, &read, &error);
	g_assert_no_error(error);
	again = snapshot_text_actions(snapshot->system, &read, NULL);
	g_assert_cmpstr(again, ==, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct plugin_told told = {.number = 1};
	const struct sched_snapshot *snapshot;
	struct arena *arena;
	struct sched_plan plan;
	double compute_s;
	g_autofree char *line = NULL;
	g_autofree char *why = NULL;
	enum plugin_answer answer;

	if (size == 0)
		return 0;
	snapshot = snapshots[data[0] % (MODELS * NUMBERS)].snapshot;
	line = fuzz_text(data + 1, size - 1);
	arena = arena_new();
	answer = plugin_read_plan(&told, line, size - 1, snapshot, arena, &plan, &compute_s, &why);
	fuzz_check((answer == PLUGIN_ANSWER_GOOD || answer == PLUGIN_ANSWER_NONE) == !why);
	if (answer == PLUGIN_ANSWER_GOOD) {
		check_round_trip(snapshot, &plan, arena);
		if (!plan_rules_broken(snapshot, &plan, arena) &&
		    plan.actions_count <= ACTIONS_MAX && !snapshot->system->shared)
			check_starts(snapshot, &plan);
	}
	arena_free(arena);
	return 0;
}
