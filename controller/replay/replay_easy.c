/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * EASY Backfilling. If only new jobs have joined the queue since the last pass, the other jobs need
 * not be considered again: shadow time and processors are the same, and with time fewer jobs end
 * before the shadow time. So a pass costs the new jobs, or after a completion one walk over the
 * expected ends and one over the queue.
 */
#include <math.h>

#include "controller/replay/replay_sim.h"

/* Finds when the head can start by estimates, and the processors left over then. */
static void find_shadow(struct replay *replay)
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

/* Finds the processors left over at the shadow time that the head has reserved. */
static void find_extra(struct replay *replay)
{
	const uint32_t needed = replay_waiting(replay, 0)->procs;
	uint32_t available = replay->free;

	for (uint32_t i = 0;
	     i < replay->expected_count && replay_expected_s(replay, i) <= replay->shadow_s; i++)
		available += replay->expected[i].procs;
	replay->extra = available > needed ? available - needed : 0;
}

/* Starts jobs that may overtake the head, from index `place` of the queue on. */
static void backfill(struct replay *replay, uint32_t place)
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

/* A pass with setup->keep: the head keeps its reservation of the last pass, if it has one. */
static void pass_keeping(struct replay *replay)
{
	for (;;) {
		if (!replay->reserved) {
			replay_start_heads(replay);
			if (replay->queue_count == 0)
				return;
			find_shadow(replay);
			replay->reserved = true;
		}
		if (replay->now_s < replay->shadow_s)
			break;
		/* Its time has come, but other jobs may outlive their estimates. */
		replay->shadow_s = replay->now_s;
		if (replay_waiting(replay, 0)->procs > replay->free)
			break;
		replay_start(replay, replay_waiting(replay, 0));
		replay_unqueue(replay, 0);
		replay->reserved = false;
	}
	find_extra(replay);
	backfill(replay, 1);
}

static void pass(struct replay *replay)
{
	const bool only_arrivals = !replay->completed && replay->arrived < replay->queue_count;

	if (replay->setup->keep) {
		pass_keeping(replay);
		return;
	}
	if (only_arrivals && !replay_has_overrun(replay)) {
		backfill(replay, replay->queue_count - replay->arrived);
		return;
	}
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
	find_shadow(replay);
	backfill(replay, 1);
}

static double next_s(const struct replay *replay)
{
	return replay->reserved && replay->shadow_s > replay->now_s ? replay->shadow_s : INFINITY;
}

const struct replay_policy replay_easy = {
	.name = "easy",
	.reserves = true,
	.pass = pass,
	.next_s = next_s,
};
