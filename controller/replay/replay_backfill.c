/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What EASY Backfilling does with a queue in any order: the policies of other files call it. */
#include <math.h>

#include "controller/replay/replay_sim.h"

void replay_find_shadow(struct replay *replay)
{
	const uint32_t needed = replay_waiting(replay, 0)->procs;
	uint32_t available = replay->free;
	uint32_t i = 0;

	while (available < needed)
		available += replay->expected[i++].procs;
	replay->shadow_s = replay_expected_s(replay, i - 1);
	while (i < replay->expected_count && replay_expected_s(replay, i) <= replay->shadow_s)
		available += replay->expected[i++].procs;
	replay->extra = available - needed;
}

void replay_backfill(struct replay *replay, uint32_t place)
{
	while (replay->free > 0 && place < replay->queue_count) {
		const struct replay_waiting *waiting = replay_waiting(replay, place);
		const bool ends = replay->now_s + waiting->estimate_s <= replay->shadow_s;

		if (waiting->procs > replay->free || (!ends && waiting->procs > replay->extra)) {
			place++;
			continue;
		}
		if (!ends)
			replay->extra -= waiting->procs;
		replay_start(replay, waiting);
		replay_unqueue(replay, place);
	}
}

void replay_backfill_queue(struct replay *replay)
{
	replay_start_heads(replay);
	if (replay->queue_count == 0 || replay->free == 0) {
		/*
		 * No job can start before the next completion; the pass after that finds the shadow
		 * time.
		 */
		replay->shadow_s = -INFINITY;
		replay->extra = 0;
		return;
	}
	replay_find_shadow(replay);
	replay_backfill(replay, 1);
}
