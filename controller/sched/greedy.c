/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/greedy.h"

#include <errno.h>

#include "controller/sched/greedy_heap.h"
#include "controller/sched/rank_key.h"

/* The option of an entry for all options of its task. */
#define WHOLE_TASK UINT32_MAX
/* The version of an entry whose value is only a bound. */
#define NO_VERSION UINT32_MAX
/* Keeps the bound of a whole task above its options whatever the rounding. */
#define MARGIN (1 + 1e-12)

/*
 * Position of the search for an option that can start before the next event, within a group of
 * clusters. An option that cannot start before it stays so, and the search only goes forward.
 */
struct cursor {
	uint32_t task;
	uint32_t option;
};

/* The state of the framework in an event. */
struct greedy {
	struct mapping *mapping;
	enum greedy_objective objective;
	struct greedy_heap open;     /* options that the filter lets through, and whole tasks */
	struct greedy_heap filtered; /* options that the filter refuses */
	bool *placed;                /* per task */
	bool trim;
	bool joint;             /* groups of clusters depend on each other by energy */
	struct cursor *cursors; /* per group */
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

/* An upper bound of the values of a task's options. */
static double task_bound(const struct greedy *greedy, uint32_t task)
{
	const struct sched_system *system = greedy->mapping->system;
	const uint32_t row = greedy->mapping->tasks[task]->row;
	const struct sched_option least = {
		.etc_s = system->etc_min_s[row],
		.resources = system->rows[row].resources_min,
		.eec_j = system->rows[row].eec_min_j,
	};

	return greedy_value(greedy->objective, greedy->mapping->bounds[task], &least) * MARGIN;
}

static const struct sched_option *entry_option(const struct greedy *greedy,
					       const struct greedy_entry *entry)
{
	const struct sched_system *system = greedy->mapping->system;

	return &system->options[system->options_first[greedy->mapping->tasks[entry->task]->row] +
				entry->option];
}

static double option_utility(const struct sched_task *task, const struct sched_option *option,
			     double start_s)
{
	return sched_task_utility(task, start_s + option->etc_s);
}

/* The group of clusters in which a task can run. */
static uint32_t task_group(const struct greedy *greedy, uint32_t task)
{
	const struct mapping *mapping = greedy->mapping;

	return greedy->joint ? 0 : mapping->system->rows[mapping->tasks[task]->row].group;
}

/* Whether an option of an unplaced task can start before the next event. */
static bool is_soon(const struct greedy *greedy, uint32_t task, const struct sched_option *option)
{
	struct mapping *mapping = greedy->mapping;
	const struct sched_snapshot *snapshot = mapping->snapshot;

	if (option->nodes > mapping_widest_soon(mapping, option->cluster) ||
	    energy_too_much(&mapping->energy, option))
		return false;

	const double start_s = mapping_start_s(mapping, mapping->tasks[task]->row, option);

	return start_s < snapshot->next_event_s && start_s < snapshot->end_s;
}

/* Whether any task of a group of clusters can start before the next mapping event. */
static bool any_soon(const struct greedy *greedy, uint32_t group)
{
	const struct mapping *mapping = greedy->mapping;
	struct cursor *cursor = &greedy->cursors[group];

	for (; cursor->task < mapping->tasks_count; cursor->task++, cursor->option = 0) {
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(mapping->system, mapping->tasks[cursor->task]->row,
					     &count);

		if (greedy->placed[cursor->task] || mapping->bounds[cursor->task] <= 0 ||
		    task_group(greedy, cursor->task) != group)
			continue;
		for (; cursor->option < count; cursor->option++)
			if (is_soon(greedy, cursor->task, &options[cursor->option]))
				return true;
	}
	return false;
}

/*
 * Whether the energy that one group of clusters takes can matter to another: with a filter always,
 * with the gate unless there is enough for all.
 */
static bool is_joint(const struct mapping *mapping)
{
	const struct energy *energy = &mapping->energy;
	double most_j = 0;

	if (energy->filter != POLICY_FILTER_NONE)
		return true;
	for (uint32_t i = 0; energy->gate && i < mapping->tasks_count; i++)
		most_j += mapping->system->rows[mapping->tasks[i]->row].eec_max_j;
	return energy->gate && most_j * MARGIN > energy->remaining_j;
}

/* Fills the heap with whole tasks. */
static void fill_heap(struct greedy *greedy)
{
	struct greedy_heap *open = &greedy->open;

	open->count = greedy->filtered.count = 0;
	for (uint32_t i = 0; i < greedy->mapping->tasks_count; i++)
		if (!greedy->placed[i] && greedy->mapping->bounds[i] > 0)
			open->entries[open->count++] = (struct greedy_entry){
				.key = rank_key(task_bound(greedy, i)),
				.task = i,
				.option = WHOLE_TASK,
				.version = NO_VERSION,
			};
	greedy_heap_order(open, greedy_better);
}

static int begin_heaps(struct greedy *greedy)
{
	struct mapping *mapping = greedy->mapping;
	const struct sched_system *system = mapping->system;
	struct arena *arena = mapping->arena;
	size_t capacity = 0;

	for (uint32_t i = 0; i < mapping->tasks_count; i++) {
		const uint32_t row = mapping->tasks[i]->row;

		capacity += 1 + system->options_first[row + 1] - system->options_first[row];
	}
	greedy->open.entries = arena_array(arena, capacity, sizeof(struct greedy_entry));
	greedy->filtered.entries = arena_array(arena, capacity, sizeof(struct greedy_entry));
	greedy->placed = arena_array(arena, mapping->tasks_count, sizeof(bool));
	greedy->cursors = arena_array(arena, system->groups_count, sizeof(*greedy->cursors));
	if (!greedy->open.entries || !greedy->filtered.entries || !greedy->placed ||
	    !greedy->cursors)
		return -ENOMEM;
	for (uint32_t i = 0; i < mapping->tasks_count; i++)
		greedy->placed[i] = false;
	for (uint32_t i = 0; i < system->groups_count; i++)
		greedy->cursors[i] = (struct cursor){0};
	greedy->joint = is_joint(mapping);
	return 0;
}

/* Why an option was not taken. */
static enum sched_refusal refusal_of(struct mapping *mapping, const struct sched_task *task,
				     const struct sched_option *option)
{
	const double start_s = mapping_start_s(mapping, task->row, option);
	const enum sched_refusal energy = energy_judge(&mapping->energy, option);

	if (!isfinite(start_s))
		return SCHED_REFUSAL_NO_NODES;
	if (start_s >= mapping->snapshot->end_s)
		return SCHED_REFUSAL_AFTER_END;
	if (option_utility(task, option, start_s) <= 0)
		return SCHED_REFUSAL_NO_UTILITY;
	return energy == SCHED_REFUSAL_TAKEN ? SCHED_REFUSAL_LOWER : energy;
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
			isfinite(start_s) ? option_utility(task, option, start_s) : 0;

		result = mapping_consider(mapping, task, option,
					  greedy_value(greedy->objective, utility, option),
					  option == taken ? SCHED_REFUSAL_TAKEN
							  : refusal_of(mapping, task, option));
	}
	return result;
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

/* Replaces the whole task on top by its options, each with its value if it started now. */
static void split_task(struct greedy *greedy)
{
	const struct mapping *mapping = greedy->mapping;
	const uint32_t index = greedy->open.entries[0].task;
	const struct sched_task *task = mapping->tasks[index];
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);

	greedy_heap_remove(&greedy->open, greedy_better);
	for (uint32_t i = 0; i < count; i++) {
		const double utility = option_utility(task, &options[i], mapping->snapshot->now_s);
		const struct greedy_entry entry = {
			.key = rank_key(greedy_value(greedy->objective, utility, &options[i])),
			.task = index,
			.option = i,
			.version = NO_VERSION,
		};

		if (utility > 0 && !energy_too_much(&mapping->energy, &options[i]))
			greedy_heap_push(&greedy->open, &entry, greedy_better);
	}
}

/*
 * Recomputes the option on top. An option that cannot be placed now cannot be placed later in the
 * event.
 */
static void refresh_top(struct greedy *greedy, const struct sched_option *option)
{
	struct mapping *mapping = greedy->mapping;
	struct greedy_entry *top = &greedy->open.entries[0];
	const struct sched_task *task = mapping->tasks[top->task];
	const double start_s = mapping_start_s(mapping, task->row, option);
	const double utility =
		start_s < mapping->snapshot->end_s ? option_utility(task, option, start_s) : 0;

	if (utility <= 0) {
		greedy_heap_remove(&greedy->open, greedy_better);
		return;
	}
	top->version = mapping->clusters[option->cluster].version;
	top->key = rank_key(greedy_value(greedy->objective, utility, option));
	greedy_heap_sift(&greedy->open, 0, greedy_better);
}

/* Puts the option on top aside until the filter lets it through. */
static void set_aside_filtered(struct greedy *greedy, const struct sched_option *option)
{
	struct greedy_entry entry = greedy->open.entries[0];

	greedy_heap_remove(&greedy->open, greedy_better);
	entry.key = rank_key(energy_key(&greedy->mapping->energy, option));
	greedy_heap_push(&greedy->filtered, &entry, greedy_cheaper);
}

/*
 * Puts the options that the filter lets through by now back into the heap, with bounds for their
 * values.
 */
static void readmit_filtered(struct greedy *greedy)
{
	const struct mapping *mapping = greedy->mapping;
	struct greedy_heap *filtered = &greedy->filtered;
	const double budget = rank_key(mapping->energy.budget);

	while (filtered->count > 0 && filtered->entries[0].key <= budget) {
		struct greedy_entry entry = filtered->entries[0];
		const struct sched_option *option = entry_option(greedy, &entry);
		const struct sched_task *task = mapping->tasks[entry.task];

		greedy_heap_remove(filtered, greedy_cheaper);
		if (greedy->placed[entry.task])
			continue;
		entry.version = NO_VERSION;
		entry.key = rank_key(
			greedy_value(greedy->objective,
				     option_utility(task, option, mapping->snapshot->now_s),
				     option));
		greedy_heap_push(&greedy->open, &entry, greedy_better);
	}
}

/* Removes all tasks of a group of clusters from the heap. */
static void drop_group(struct greedy *greedy, uint32_t group)
{
	struct greedy_heap *open = &greedy->open;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < open->count; i++)
		if (task_group(greedy, open->entries[i].task) != group)
			open->entries[kept++] = open->entries[i];
	open->count = kept;
	greedy_heap_order(open, greedy_better);
}

/* Places the option on top, which is up to date. */
static int place_top(struct greedy *greedy, const struct sched_option *option)
{
	struct mapping *mapping = greedy->mapping;
	const struct greedy_entry entry = greedy->open.entries[0];
	const struct sched_task *task = mapping->tasks[entry.task];
	const double start_s = mapping_start_s(mapping, task->row, option);
	const double utility = option_utility(task, option, start_s);

	if (mapping_explains(mapping)) {
		const int result = explain(greedy, task, option);

		if (result < 0)
			return result;
	}
	greedy->placed[entry.task] = true;
	greedy_heap_remove(&greedy->open, greedy_better);
	return mapping_place(mapping, task, option,
			     greedy_value(greedy->objective, utility, option),
			     reasons[greedy->objective]);
}

/*
 * Processes the entry on top. Sets *ret_placed to the option that was placed, or NULL. Returns 0,
 * or -ENOMEM.
 */
static int handle_top(struct greedy *greedy, const struct sched_option **ret_placed)
{
	const struct mapping *mapping = greedy->mapping;
	const struct greedy_entry *top = &greedy->open.entries[0];

	*ret_placed = NULL;
	if (greedy->placed[top->task]) {
		greedy_heap_remove(&greedy->open, greedy_better);
		return 0;
	}
	if (greedy->trim && !any_soon(greedy, task_group(greedy, top->task))) {
		drop_group(greedy, task_group(greedy, top->task));
		return 0;
	}
	if (top->option == WHOLE_TASK) {
		split_task(greedy);
		return 0;
	}
	const struct sched_option *option = entry_option(greedy, top);

	if (energy_too_much(&mapping->energy, option)) {
		greedy_heap_remove(&greedy->open, greedy_better);
	} else if (energy_filtered(&mapping->energy, option)) {
		set_aside_filtered(greedy, option);
	} else if (top->version != mapping->clusters[option->cluster].version) {
		refresh_top(greedy, option);
	} else {
		*ret_placed = option;
		return place_top(greedy, option);
	}
	return 0;
}

/* Places options until none is left; with `switching`, by UPE once the goal is reached. */
static int place_options(struct greedy *greedy, bool switching, double committed_j,
			 double energy_target_j)
{
	const struct sched_option *placed;
	int result = begin_heaps(greedy);

	if (result < 0)
		return result;
	greedy->joint |= switching; /* they depend on each other by the sum that the switch reads */
	fill_heap(greedy);
	while (result == 0 && greedy->open.count > 0) {
		result = handle_top(greedy, &placed);
		if (result < 0 || !placed)
			continue;
		committed_j += placed->eec_j;
		if (switching && greedy->objective != GREEDY_UPE &&
		    rank_key_compare(committed_j, energy_target_j) >= 0) {
			greedy->objective = GREEDY_UPE;
			fill_heap(greedy);
		}
		readmit_filtered(greedy);
	}
	if (result == 0 && mapping_explains(greedy->mapping))
		result = explain_rest(greedy);
	return result;
}

int greedy_map(struct mapping *mapping, enum greedy_objective objective, bool trim)
{
	struct greedy greedy = {
		.mapping = mapping,
		.objective = objective,
		.trim = trim && mapping->policy->future == POLICY_FUTURE_PLACEHOLDERS,
	};

	return place_options(&greedy, false, 0, INFINITY);
}

int greedy_map_switching(struct mapping *mapping, double committed_j, double energy_target_j,
			 bool trim, bool *ret_switched)
{
	struct greedy greedy = {
		.mapping = mapping,
		.objective = GREEDY_UPR,
		.trim = trim && mapping->policy->future == POLICY_FUTURE_PLACEHOLDERS,
	};
	const int result = place_options(&greedy, true, committed_j, energy_target_j);

	*ret_switched = greedy.objective == GREEDY_UPE;
	return result;
}
