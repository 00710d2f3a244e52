/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * EASY Backfilling. If only new jobs have joined the queue since the last pass, the other jobs need
 * not be considered again: shadow time and processors are the same, and with time fewer jobs end
 * before the shadow time. So a pass costs the new jobs, or after a completion one walk over the
 * expected ends and one over the queue.
 */
#include <math.h>

#include "controller/replay/replay_sim.h"

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

/* A pass with setup->keep: the head keeps its reservation of the last pass, if it has one. */
static void pass_keeping(struct replay *replay)
{
	for (;;) {
		if (!replay->reserved) {
			replay_start_heads(replay);
			if (replay->queue_count == 0)
				return;
			replay_find_shadow(replay);
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
	replay_backfill(replay, 1);
}

static void pass(struct replay *replay)
{
	const bool only_arrivals = !replay->completed && replay->arrived < replay->queue_count;

	if (replay->setup->keep) {
		pass_keeping(replay);
		return;
	}
	if (only_arrivals && !replay_has_overrun(replay)) {
		replay_backfill(replay, replay->queue_count - replay->arrived);
		return;
	}
	replay_backfill_queue(replay);
}

static double next_s(const struct replay *replay)
{
	return replay->reserved && replay->shadow_s > replay->now_s ? replay->shadow_s : INFINITY;
}

const struct replay_policy replay_easy = {
	.name = "easy",
	.order = &replay_arrivals,
	.backfills = true,
	.reserves = true,
	.pass = pass,
	.pass_rlscheduler = replay_rlscheduler_pass,
	.next_s = next_s,
};
