/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/async_decider.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "common/clock.h"

struct async_decider {
	const struct platform *platform;
	void (*ready)(void *data);
	async_decided_f decided;
	void *data;
	struct arena *arena;  /* of the plan */
	struct arena *copies; /* of what `snapshot` points to */
	struct sched_snapshot snapshot;
	struct policy policy;
	struct policy_outside *outside; /* borrowed */
	const char *problem;            /* of `outside`; NULL: there is a plan */
	unsigned int flags;
	struct sched_plan plan;
	double decide_s;
	double asked_s;
	bool asked;               /* a decision is pending, or its answer was not taken yet */
	struct platform_job *job; /* the pending decision; NULL: none */
};

/* Copies. */

static void *copy_list(struct arena *arena, const void *list, uint32_t count, size_t size)
{
	void *own = arena_array(arena, count, size);

	if (!own)
		g_error("out of memory");
	if (count > 0)
		memcpy(own, list, count * size);
	return own;
}

static const struct sched_task *copy_task(struct arena *arena, const struct sched_task *task)
{
	return copy_list(arena, task, 1, sizeof(*task));
}

static const struct sched_allocation *
copy_allocations(struct arena *arena, const struct sched_allocation *from, uint32_t count)
{
	struct sched_allocation *own = copy_list(arena, from, count, sizeof(*own));

	for (uint32_t i = 0; i < count; i++) {
		own[i].task = copy_task(arena, own[i].task);
		if (own[i].nodes)
			own[i].nodes = copy_list(arena, own[i].nodes, own[i].nodes_count,
						 sizeof(uint32_t));
	}
	return own;
}

static const struct sched_queue *copy_queues(struct arena *arena,
					     const struct sched_snapshot *snapshot)
{
	const uint32_t count = snapshot->system->clusters_count;
	struct sched_queue *own = copy_list(arena, snapshot->queues, count, sizeof(*own));

	for (uint32_t c = 0; c < count; c++) {
		const struct sched_task **tasks =
			copy_list(arena, own[c].tasks, own[c].count, sizeof(tasks[0]));

		for (uint32_t i = 0; i < own[c].count; i++)
			tasks[i] = copy_task(arena, tasks[i]);
		own[c].tasks = tasks;
	}
	return own;
}

/* Copies a snapshot with everything that it points to. */
static void copy_snapshot(struct arena *arena, const struct sched_snapshot *from,
			  struct sched_snapshot *ret_copy)
{
	const struct sched_task **waiting;

	arena_reset(arena);
	waiting = copy_list(arena, from->waiting, from->waiting_count, sizeof(from->waiting[0]));
	for (uint32_t i = 0; i < from->waiting_count; i++)
		waiting[i] = copy_task(arena, waiting[i]);
	*ret_copy = *from;
	ret_copy->waiting = waiting;
	ret_copy->suspended = copy_allocations(arena, from->suspended, from->suspended_count);
	ret_copy->running = copy_allocations(arena, from->running, from->running_count);
	ret_copy->deferred = copy_allocations(arena, from->deferred, from->deferred_count);
	ret_copy->reservations =
		copy_allocations(arena, from->reservations, from->reservations_count);
	ret_copy->placeholders =
		copy_allocations(arena, from->placeholders, from->placeholders_count);
	ret_copy->down = copy_list(arena, from->down, from->down_count, sizeof(*from->down));
	if (from->queues)
		ret_copy->queues = copy_queues(arena, from);
	if (from->sufferage)
		ret_copy->sufferage = copy_list(arena, from->sufferage, from->system->rows_count,
						sizeof(*from->sufferage));
}

/* Creating and freeing. */

struct async_decider *async_decider_new(const struct platform *platform, void (*ready)(void *data),
					async_decided_f decided, void *data)
{
	struct async_decider *decider = g_new0(struct async_decider, 1);

	decider->platform = platform;
	decider->ready = ready;
	decider->decided = decided;
	decider->data = data;
	decider->arena = arena_new();
	decider->copies = arena_new();
	if (!decider->arena || !decider->copies)
		g_error("out of memory");
	return decider;
}

void async_decider_free(struct async_decider *decider)
{
	if (!decider)
		return;
	if (decider->job)
		platform_wait(decider->platform, decider->job);
	arena_free(decider->arena);
	arena_free(decider->copies);
	g_free(decider);
}

/* Deciding. */

static void decided(void *data)
{
	struct async_decider *decider = data;

	decider->job = NULL;
	decider->ready(decider->data);
}

static void run_policy(void *data)
{
	struct async_decider *decider = data;
	struct policy_context context = {.arena = decider->arena,
					 .flags = decider->flags,
					 .outside = decider->outside};
	const int64_t begun_ns = platform_thread_ns(decider->platform);
	const int result =
		policy_decide(&decider->policy, &decider->snapshot, &context, &decider->plan);

	if (result < 0 && result != -EIO)
		g_error("out of memory");
	decider->decide_s = clock_elapsed_s(begun_ns, platform_thread_ns(decider->platform));
	decider->problem = result < 0 ? decider->outside->problem : NULL;
	if (decider->problem)
		decider->plan = (struct sched_plan){0};
	decider->decided(&decider->policy, &decider->snapshot, &decider->plan, decider->data);
}

void async_decider_ask(struct async_decider *decider, const struct policy *policy,
		       struct policy_outside *outside, unsigned int flags,
		       const struct sched_snapshot *snapshot)
{
	g_assert(!decider->asked);
	decider->policy = *policy;
	decider->outside = outside;
	decider->flags = flags;
	decider->asked_s = (double)platform_now_ns(decider->platform) * 1e-9;
	copy_snapshot(decider->copies, snapshot, &decider->snapshot);
	decider->asked = true;
	decider->job = platform_run(decider->platform, "policy", run_policy, decided, decider);
}

bool async_decider_is_busy(const struct async_decider *decider)
{
	return decider->asked;
}

bool async_decider_take(struct async_decider *decider, struct async_answer *ret_answer)
{
	if (!decider->asked || decider->job)
		return false;
	decider->asked = false;
	*ret_answer = (struct async_answer){
		.policy = &decider->policy,
		.snapshot = &decider->snapshot,
		.plan = &decider->plan,
		.problem = decider->problem,
		.decide_s = decider->decide_s,
		.asked_s = decider->asked_s,
	};
	return true;
}
