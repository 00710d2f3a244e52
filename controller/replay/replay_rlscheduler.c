/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays as the program of RLScheduler does (Zhang et al., SC 2020; DIR-LAB's
 * deep-batch-scheduler, HPCSimPickJobs.py: schedule_curr_sequence_reset() and the two functions
 * that it waits in), so that the tables of that paper can be compared with:
 *
 * - Events are handled one by one, submissions before completions, with a pass after each.
 * - The first job of the order, once chosen, stays the first until it starts.
 * - With backfilling, the time at which enough processors would be free for it by estimates is
 *   found once, when it is chosen. Until it starts, any other job that fits now and would end
 *   before that time, not at it, may start, by order of submission. Processors that the first job
 *   leaves over are not used.
 */
#include <string.h>

#include "controller/replay/replay_sim.h"

/* Moves the first job of the order to the head of the queue; the others stay by arrival. */
static void choose_head(struct replay *replay)
{
	struct replay_waiting *queue = replay_waiting(replay, 0);
	uint32_t best = 0;

	for (uint32_t i = 0; i < replay->queue_count; i++) {
		queue[i].key = replay_key(replay, &queue[i]);
		if (queue[i].key < queue[best].key)
			best = i;
	}

	const struct replay_waiting head = queue[best];

	memmove(queue + 1, queue, best * sizeof(*queue));
	queue[0] = head;
	replay->reserved = true;
}

/* Starts jobs that end before the bound. */
static void backfill(struct replay *replay)
{
	uint32_t place = 1;

	while (place < replay->queue_count) {
		const struct replay_waiting *waiting = replay_waiting(replay, place);

		if (waiting->procs > replay->free ||
		    replay->now_s + waiting->estimate_s >= replay->shadow_s) {
			place++;
			continue;
		}
		replay_start(replay, waiting);
		replay_unqueue(replay, place);
	}
}

void replay_rlscheduler_pass(struct replay *replay)
{
	const bool backfills = replay->setup->policy->backfills;

	while (replay->queue_count > 0) {
		const bool chosen = replay->reserved;

		if (!chosen)
			choose_head(replay);
		if (replay_waiting(replay, 0)->procs > replay->free) {
			if (backfills && !chosen)
				replay_find_shadow(replay);
			if (backfills)
				backfill(replay);
			return;
		}
		replay_start(replay, replay_waiting(replay, 0));
		replay_unqueue(replay, 0);
		replay->reserved = false;
	}
}
