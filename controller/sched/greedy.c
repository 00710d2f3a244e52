/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/greedy.h"

#include <errno.h>

/* An option of a task with what it was worth when last looked at. */
struct entry {
	double value;
	uint32_t task;    /* index in mapping->tasks: the order of arrival, then of ids */
	uint32_t option;  /* index in the row's options: cluster order, then P-state */
	uint32_t version; /* of the cluster's schedule */
	bool soon;        /* would start before the next mapping event */
};

/* The heap and what goes with it. */
struct greedy {
	struct mapping *mapping;
	enum greedy_objective objective;
	struct entry *heap;
	uint32_t count;
	uint32_t soon;    /* entries that would start before the next mapping event */
	bool *placed;     /* per task */
};

static const enum sched_reason reasons[] = {
	[GREEDY_UTIL] = SCHED_REASON_BEST_UTIL,
	[GREEDY_UPT] = SCHED_REASON_BEST_UPT,
	[GREEDY_UPR] = SCHED_REASON_BEST_UPR,
	[GREEDY_UPE] = SCHED_REASON_BEST_UPE,
};

double greedy_value(enum greedy_objective objective, double utility,
		    const struct sched_option *option)
{
	switch (objective) {
	case GREEDY_UTIL:
		return utility;
	case GREEDY_UPT:
		return utility / option->etc_s;
	case GREEDY_UPR:
		return utility / option->resources;
	case GREEDY_UPE:
		return utility / option->eec_j;
	}
	return 0;
}

/* The tie-breaking rule of policy.h: whether `a` comes before `b`. */
static bool before(const struct entry *a, const struct entry *b)
{
	if (a->value != b->value)
		return a->value > b->value;
	if (a->task != b->task)
		return a->task < b->task;
	return a->option < b->option;
}

static void sift_down(struct entry *heap, uint32_t count, uint32_t i)
{
	const struct entry entry = heap[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &entry))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = entry;
}

static void remove_top(struct greedy *greedy)
{
	greedy->soon -= greedy->heap[0].soon;
	greedy->heap[0] = greedy->heap[--greedy->count];
	if (greedy->count > 0)
		sift_down(greedy->heap, greedy->count, 0);
}

static const struct sched_option *entry_option(const struct greedy *greedy,
					       const struct entry *entry)
{
	const struct sched_system *system = greedy->mapping->system;

	return &system->options[system->options_first[greedy->mapping->tasks[entry->task]->row] +
				entry->option];
}

/*
 * Brings an entry up to date. Returns whether it can be placed: neither can one that cannot now
 * ever be again within the event.
 */
static bool evaluate(struct greedy *greedy, struct entry *entry)
{
	struct mapping *mapping = greedy->mapping;
	const struct sched_task *task = mapping->tasks[entry->task];
	const struct sched_option *option = entry_option(greedy, entry);
	const double start_s = mapping_start_s(mapping, task->row, option);

	entry->version = mapping->clusters[option->cluster].version;
	entry->soon = start_s < mapping->snapshot->next_event_s;
	if (!(start_s < mapping->snapshot->end_s))
		return false;

	const double utility =
		utility_value(&task->utility, start_s + option->etc_s - task->arrival_s);

	entry->value = greedy_value(greedy->objective, utility, option);
	return utility > 0;
}

/* Whether any option of any task can start before the next mapping event. */
static bool any_soon(struct mapping *mapping)
{
	for (uint32_t i = 0; i < mapping->tasks_count; i++) {
		const uint32_t row = mapping->tasks[i]->row;
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(mapping->system, row, &count);

		for (uint32_t j = 0; j < count; j++)
			if (mapping_start_s(mapping, row, &options[j]) <
			    mapping->snapshot->next_event_s)
				return true;
	}
	return false;
}

static int fill(struct greedy *greedy)
{
	struct mapping *mapping = greedy->mapping;
	const struct sched_system *system = mapping->system;
	size_t capacity = 0;

	for (uint32_t i = 0; i < mapping->tasks_count; i++) {
		const uint32_t row = mapping->tasks[i]->row;

		capacity += system->options_first[row + 1] - system->options_first[row];
	}
	greedy->heap = scratch_array(mapping->scratch, capacity, sizeof(*greedy->heap));
	greedy->placed = scratch_array(mapping->scratch, mapping->tasks_count, sizeof(bool));
	if (!greedy->heap || !greedy->placed)
		return -ENOMEM;
	for (uint32_t i = 0; i < mapping->tasks_count; i++) {
		const uint32_t row = mapping->tasks[i]->row;
		const uint32_t count = system->options_first[row + 1] - system->options_first[row];

		greedy->placed[i] = false;
		for (uint32_t j = 0; j < count; j++) {
			struct entry *entry = &greedy->heap[greedy->count];

			*entry = (struct entry){ .task = i, .option = j };
			if (!evaluate(greedy, entry))
				continue;
			greedy->count++;
			greedy->soon += entry->soon;
		}
	}
	for (uint32_t i = greedy->count / 2; i-- > 0;)
		sift_down(greedy->heap, greedy->count, i);
	return 0;
}

/* Why an option that is not the one taken stayed behind. */
static enum sched_refusal refusal_of(struct mapping *mapping, const struct sched_task *task,
				     const struct sched_option *option)
{
	const double start_s = mapping_start_s(mapping, task->row, option);

	if (!isfinite(start_s))
		return SCHED_REFUSAL_NO_NODES;
	if (start_s >= mapping->snapshot->end_s)
		return SCHED_REFUSAL_AFTER_END;
	if (utility_value(&task->utility, start_s + option->etc_s - task->arrival_s) <= 0)
		return SCHED_REFUSAL_NO_UTILITY;
	return SCHED_REFUSAL_LOWER;
}

/* Notes all options of a task; `taken` is the one about to be placed, or NULL. */
static int explain(const struct greedy *greedy, const struct sched_task *task,
		   const struct sched_option *taken)
{
	struct mapping *mapping = greedy->mapping;
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < count; i++) {
		const struct sched_option *option = &options[i];
		const double start_s = mapping_start_s(mapping, task->row, option);
		const double utility =
			isfinite(start_s) ? utility_value(&task->utility, start_s + option->etc_s -
									  task->arrival_s)
					  : 0;

		result = mapping_consider(mapping, task, option,
					  greedy_value(greedy->objective, utility, option),
					  option == taken ? SCHED_REFUSAL_TAKEN
							  : refusal_of(mapping, task, option));
	}
	return result;
}

/* Places the entry at the top, which is up to date. */
static int place_top(struct greedy *greedy)
{
	struct mapping *mapping = greedy->mapping;
	const struct entry entry = greedy->heap[0];
	const struct sched_task *task = mapping->tasks[entry.task];
	const struct sched_option *option = entry_option(greedy, &entry);

	if (mapping_explains(mapping)) {
		const int result = explain(greedy, task, option);

		if (result < 0)
			return result;
	}
	greedy->placed[entry.task] = true;
	remove_top(greedy);
	return mapping_place(mapping, task, option, entry.value, reasons[greedy->objective]);
}

static int explain_rest(const struct greedy *greedy)
{
	const struct mapping *mapping = greedy->mapping;
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++)
		if (!greedy->placed[i])
			result = explain(greedy, mapping->tasks[i], NULL);
	return result;
}

int greedy_map(struct mapping *mapping, enum greedy_objective objective, bool trim)
{
	struct greedy greedy = { .mapping = mapping, .objective = objective };
	int result;

	trim = trim && mapping->policy->future == POLICY_FUTURE_PLACEHOLDERS;
	if (trim && !any_soon(mapping))
		return 0;
	result = fill(&greedy);
	while (result == 0 && greedy.count > 0 && (!trim || greedy.soon > 0)) {
		struct entry *top = &greedy.heap[0];

		if (greedy.placed[top->task]) {
			remove_top(&greedy);
			continue;
		}
		const uint32_t cluster = entry_option(&greedy, top)->cluster;

		if (top->version == mapping->clusters[cluster].version) {
			result = place_top(&greedy);
			continue;
		}
		const bool soon = top->soon;

		if (evaluate(&greedy, top)) {
			greedy.soon -= soon && !top->soon;
			sift_down(greedy.heap, greedy.count, 0);
		} else {
			top->soon = soon;
			remove_top(&greedy);
		}
	}
	if (result == 0 && mapping_explains(mapping))
		result = explain_rest(&greedy);
	return result;
}
