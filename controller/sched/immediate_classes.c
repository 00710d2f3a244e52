/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/immediate_private.h"
#include "controller/sched/rank_key.h"

static bool same_segment(const struct utility_segment *a, const struct utility_segment *b)
{
	return a->curve == b->curve && a->duration_s == b->duration_s &&
	       a->start_fraction == b->start_fraction && a->end_fraction == b->end_fraction &&
	       a->rate_per_s == b->rate_per_s;
}

bool immediate_same_task(const struct sched_task *a, const struct sched_task *b)
{
	if (a->arrival_s != b->arrival_s || a->row != b->row || a->utility.max != b->utility.max ||
	    a->utility.segments_count != b->utility.segments_count)
		return false;
	for (uint32_t i = 0; i < a->utility.segments_count; i++)
		if (!same_segment(&a->utility.segments[i], &b->utility.segments[i]))
			return false;
	return true;
}

static bool same_suspended(const struct sched_allocation *a, const struct sched_allocation *b)
{
	return a->executed_s == b->executed_s && a->cluster == b->cluster &&
	       a->pstate == b->pstate && a->nodes_count == b->nodes_count &&
	       immediate_same_task(a->task, b->task);
}

static int drop_task(struct immediate *immediate, const struct sched_task *task, double utility)
{
	const struct sched_action action = {
		.kind = SCHED_ACTION_DROP,
		.task = task->id,
		.objective = utility,
		.reason = utility > 0 ? SCHED_REASON_THRESHOLD : SCHED_REASON_WORTHLESS,
	};

	return immediate_add_action(immediate, &action) == IMMEDIATE_NONE ? -ENOMEM : 0;
}

/* Whether tasks that can earn at most `utility` are kept (III.B). */
static bool is_kept(const struct immediate *immediate, double utility)
{
	const struct policy *policy = immediate->policy;

	return policy->drop_given ? rank_key_compare(utility, policy->drop_threshold) >= 0
				  : utility > 0;
}

/* A group of equal neighbours in a list; those that may preempt form a class of their own. */
struct group {
	uint32_t first;
	uint32_t end;
	double utility;
	uint32_t *classes; /* class per task of the list */
};

/* Makes a class like `model` of the tasks of a group that may preempt, or of those that may not. */
static int form_class(struct immediate *immediate, const struct group *group,
		      const struct sched_task *(*task_of)(const struct immediate *, uint32_t),
		      const struct sched_task ***tasks, const struct immediate_class *model)
{
	uint32_t index = IMMEDIATE_NONE;

	for (uint32_t i = group->first; i < group->end; i++) {
		const struct sched_task *task = task_of(immediate, i);

		if (task->may_preempt != model->may_preempt)
			continue;
		if (index == IMMEDIATE_NONE) {
			index = immediate_add_class(immediate);
			if (index == IMMEDIATE_NONE)
				return -ENOMEM;
			immediate->classes[index] = *model;
			immediate->classes[index].tasks = *tasks;
		}
		group->classes[i] = index;
		*(*tasks)++ = task;
		immediate->classes[index].count++;
	}
	return 0;
}

/* Makes the one or two classes of a group, or drops it. */
static int form_group(struct immediate *immediate, const struct group *group,
		      const struct sched_task *(*task_of)(const struct immediate *, uint32_t),
		      const struct sched_task ***tasks, struct immediate_class model)
{
	int result = 0;

	model.former = model.suspend = IMMEDIATE_NONE;
	model.utility = group->utility;
	if (is_kept(immediate, group->utility)) {
		model.may_preempt = true;
		result = form_class(immediate, group, task_of, tasks, &model);
		model.may_preempt = false;
		return result < 0 ? result : form_class(immediate, group, task_of, tasks, &model);
	}
	for (uint32_t i = group->first; result == 0 && i < group->end; i++) {
		group->classes[i] = IMMEDIATE_NONE;
		result = drop_task(immediate, task_of(immediate, i), group->utility);
	}
	return result;
}

static const struct sched_task *waiting_task(const struct immediate *immediate, uint32_t index)
{
	return immediate->snapshot->waiting[index];
}

static const struct sched_task *suspended_task(const struct immediate *immediate, uint32_t index)
{
	return immediate->snapshot->suspended[index].task;
}

static int form_waiting(struct immediate *immediate, const struct sched_task ***tasks)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;
	const struct sched_task *const *waiting = snapshot->waiting;
	struct group group = {.classes = immediate->waiting_class};
	int result = 0;

	for (; result == 0 && group.first < snapshot->waiting_count; group.first = group.end) {
		const struct sched_task *task = waiting[group.first];
		const double end_s = snapshot->now_s + immediate->system->etc_min_s[task->row];

		group.end = group.first + 1;
		while (group.end < snapshot->waiting_count &&
		       immediate_same_task(task, waiting[group.end]))
			group.end++;
		group.utility = sched_task_utility(task, end_s);
		result = form_group(immediate, &group, waiting_task, tasks,
				    (struct immediate_class){.origin = IMMEDIATE_WAITING});
	}
	return result;
}

/* Leaves out suspended tasks without an estimate for their cluster: they stay suspended. */
static void leave_out(const struct group *group)
{
	for (uint32_t i = group->first; i < group->end; i++)
		group->classes[i] = IMMEDIATE_NONE;
}

static int form_suspended(struct immediate *immediate, const struct sched_task ***tasks)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;
	const struct sched_allocation *suspended = snapshot->suspended;
	struct group group = {.classes = immediate->suspended_class};
	int result = 0;

	for (; result == 0 && group.first < snapshot->suspended_count; group.first = group.end) {
		const struct sched_allocation *s = &suspended[group.first];
		const struct sched_option *option =
			sched_system_option(immediate->system, s->task->row, s->cluster, s->pstate);

		group.end = group.first + 1;
		while (group.end < snapshot->suspended_count &&
		       same_suspended(s, &suspended[group.end]))
			group.end++;
		immediate->serial &= s->nodes_count == 1;
		if (!option) {
			leave_out(&group);
			continue;
		}
		group.utility = sched_task_utility(
			s->task, snapshot->now_s + sched_option_rest(option, s->executed_s).etc_s);
		result = form_group(immediate, &group, suspended_task, tasks,
				    (struct immediate_class){
					    .origin = IMMEDIATE_SUSPENDED,
					    .executed_s = s->executed_s,
					    .cluster = s->cluster,
					    .pstate = s->pstate,
					    .nodes = s->nodes_count,
				    });
	}
	return result;
}

int immediate_form_classes(struct immediate *immediate)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;
	struct arena *arena = immediate->arena;
	const size_t count = (size_t)snapshot->waiting_count + snapshot->suspended_count;
	const struct sched_task **tasks = arena_array(arena, count, sizeof(*tasks));

	immediate->waiting_class = arena_array(arena, snapshot->waiting_count, sizeof(uint32_t));
	immediate->suspended_class =
		arena_array(arena, snapshot->suspended_count, sizeof(uint32_t));
	if (!tasks || !immediate->waiting_class || !immediate->suspended_class)
		return -ENOMEM;
	if (form_waiting(immediate, &tasks) < 0)
		return -ENOMEM;
	return form_suspended(immediate, &tasks);
}

/* The ways of a task that was never started: all options of its row. */
static void find_all(const struct immediate *immediate, struct immediate_class *class,
		     const struct sched_option *options)
{
	const struct sched_task *task = class->tasks[0];
	const double now_s = immediate->snapshot->now_s;

	for (uint32_t i = 0; i < class->ways_count; i++)
		class->ways[i] = (struct immediate_way){
			.rest = options[i],
			.value = objective_at(immediate->objective, task, now_s + options[i].etc_s,
					      options[i].etc_s),
		};
}

/* The one way of a task that was started before: the rest of its option. */
static void find_rest(const struct immediate *immediate, struct immediate_class *class)
{
	const struct sched_task *task = class->tasks[0];
	const struct sched_option rest =
		sched_option_rest(sched_system_option(immediate->system, task->row, class->cluster,
						      class->pstate),
				  class->executed_s);

	class->ways[0] = (struct immediate_way){
		.rest = rest,
		.value = objective_at(immediate->objective, task,
				      immediate->snapshot->now_s + rest.etc_s, rest.etc_s),
	};
	class->ways[0].rest.nodes = class->nodes;
}

const struct immediate_way *immediate_ways(struct immediate *immediate, uint32_t index)
{
	struct immediate_class *class = &immediate->classes[index];
	const struct sched_option *options;
	uint32_t count;

	if (class->ways_count > 0)
		return class->ways;
	options = sched_system_options(immediate->system, class->tasks[0]->row, &count);
	if (class->origin != IMMEDIATE_WAITING)
		count = 1;
	class->ways = arena_array(immediate->arena, count, sizeof(*class->ways));
	if (!class->ways)
		return NULL;
	class->ways_count = count;
	if (class->origin == IMMEDIATE_WAITING)
		find_all(immediate, class, options);
	else
		find_rest(immediate, class);
	return class->ways;
}
