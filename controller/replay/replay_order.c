/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The orders of a queue that papers compare with (controller/sched/job_order.h): the waiting jobs
 * are kept sorted by their keys, equal ones by arrival. Without backfilling the first starts as
 * soon as it fits, and nothing overtakes it; with "+easy" the rest is EASY Backfilling in that
 * order. The first job of an order need not stay the first: another one may come before it in the
 * next pass.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/replay/replay_sim.h"
#include "controller/sched/rank_key.h"

static int compare(const void *left, const void *right)
{
	const struct replay_waiting *a = left;
	const struct replay_waiting *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Moves the job at `place` to where it belongs among those before it, which are sorted. */
static void insert(struct replay *replay, uint32_t place)
{
	struct replay_waiting *queue = replay_waiting(replay, 0);
	const struct replay_waiting waiting = queue[place];
	uint32_t low = 0;
	uint32_t high = place;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (compare(&queue[middle], &waiting) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(queue + low + 1, queue + low, (place - low) * sizeof(*queue));
	queue[low] = waiting;
}

/* Sorts the queue. Only new jobs are out of place if keys do not change while jobs wait. */
static void sort_queue(struct replay *replay)
{
	const bool waits = replay->setup->policy->order->waits;
	const uint32_t sorted = waits ? 0 : replay->queue_count - replay->arrived;

	for (uint32_t i = sorted; i < replay->queue_count; i++) {
		struct replay_waiting *waiting = replay_waiting(replay, i);

		/* Keys that are equal on paper go by arrival, as in the registry. */
		waiting->key = rank_key(replay_key(replay, waiting));
		if (!waits)
			insert(replay, i);
	}
	if (waits)
		qsort(replay_waiting(replay, 0), replay->queue_count, sizeof(struct replay_waiting),
		      compare);
}

static void pass_in_turn(struct replay *replay)
{
	sort_queue(replay);
	replay_start_heads(replay);
}

static void pass_backfilling(struct replay *replay)
{
	sort_queue(replay);
	replay_backfill_queue(replay);
}

#define ORDER(title)                                                                               \
	{.name = #title,                                                                           \
	 .order = &job_order_##title,                                                              \
	 .pass = pass_in_turn,                                                                     \
	 .pass_rlscheduler = replay_rlscheduler_pass},                                             \
	{                                                                                          \
		.name = #title "+easy", .order = &job_order_##title, .backfills = true,            \
		.pass = pass_backfilling, .pass_rlscheduler = replay_rlscheduler_pass              \
	}

const struct replay_policy replay_orders[REPLAY_ORDERS_COUNT] = {
	ORDER(sjf),    ORDER(spf), ORDER(sqf), ORDER(saf), ORDER(wfp3),
	ORDER(unicef), ORDER(f1),  ORDER(f2),  ORDER(f3),  ORDER(f4),
};
