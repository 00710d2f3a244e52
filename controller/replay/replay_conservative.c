/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative Backfilling. The processors free over time, promises included, are a step function.
 * It is built anew, which compresses the schedule, when a job ended before it was expected to (or
 * runs longer); otherwise nothing promised can move, and only new jobs are fitted in. A pass costs
 * the steps per job fitted in.
 */
#include <math.h>
#include <string.h>

#include "controller/replay/replay_sim.h"

static void insert_step(struct replay *replay, uint32_t at, double time_s, int64_t free)
{
	if (replay->steps_count == replay->steps_capacity) {
		replay->steps_capacity = 2 * replay->steps_capacity + 64;
		replay->steps =
			g_renew(struct replay_step, replay->steps, replay->steps_capacity);
	}
	memmove(replay->steps + at + 1, replay->steps + at,
		(replay->steps_count - at) * sizeof(*replay->steps));
	replay->steps[at] = (struct replay_step){ time_s, free };
	replay->steps_count++;
}

/* What is free from now on by the expected ends alone. */
static void build_steps(struct replay *replay)
{
	replay->steps_count = 0;
	insert_step(replay, 0, replay->now_s, replay->free);
	for (uint32_t i = 0; i < replay->expected_count; i++) {
		struct replay_step *last = &replay->steps[replay->steps_count - 1];
		const double time_s = replay_expected_s(replay, i);

		if (time_s == last->time_s)
			last->free += replay->expected[i].procs;
		else
			insert_step(replay, replay->steps_count, time_s,
				    last->free + replay->expected[i].procs);
	}
}

/* Forgets what is past. */
static void trim_steps(struct replay *replay)
{
	uint32_t past = 0;

	while (past + 1 < replay->steps_count && replay->steps[past + 1].time_s <= replay->now_s)
		past++;
	replay->steps_count -= past;
	memmove(replay->steps, replay->steps + past, replay->steps_count * sizeof(*replay->steps));
	replay->steps[0].time_s = replay->now_s;
}

/* The first step at which a job fits for the whole of its estimate. All is free in the end. */
static uint32_t find_start(const struct replay *replay, const struct replay_waiting *waiting)
{
	const struct replay_step *steps = replay->steps;
	uint32_t start = 0;

	for (uint32_t i = 0; i < replay->steps_count &&
			     steps[i].time_s < steps[start].time_s + waiting->estimate_s;
	     i++)
		if (steps[i].free < waiting->procs)
			start = i + 1;
	return start;
}

/* The step that begins at `time_s`, split off if need be. */
static uint32_t split(struct replay *replay, double time_s)
{
	uint32_t i = replay->steps_count;

	while (replay->steps[i - 1].time_s > time_s)
		i--;
	if (replay->steps[i - 1].time_s == time_s)
		return i - 1;
	insert_step(replay, i, time_s, replay->steps[i - 1].free);
	return i;
}

/* Takes the processors of a job that is promised them. */
static void take(struct replay *replay, const struct replay_waiting *waiting)
{
	const uint32_t first = split(replay, waiting->start_s);
	const uint32_t last = split(replay, waiting->start_s + waiting->estimate_s);

	for (uint32_t i = first; i < last; i++)
		replay->steps[i].free -= waiting->procs;
}

/* What was promised once stays, unless its time has passed because others run too long. */
static void take_kept(struct replay *replay)
{
	for (uint32_t place = 0; place < replay->queue_count - replay->arrived; place++) {
		struct replay_waiting *waiting = replay_waiting(replay, place);

		waiting->start_s = fmax(waiting->start_s, replay->now_s);
		take(replay, waiting);
	}
}

static void start_due(struct replay *replay)
{
	for (uint32_t place = 0; replay->free > 0 && place < replay->queue_count;) {
		const struct replay_waiting *waiting = replay_waiting(replay, place);

		/* It may have to wait for others that run longer than they said. */
		if (waiting->start_s > replay->now_s || waiting->procs > replay->free) {
			place++;
			continue;
		}
		replay_start(replay, waiting);
		replay_unqueue(replay, place);
	}
}

/* Whether something promised could not be kept, because others ran too long. */
static bool has_late(const struct replay *replay)
{
	for (uint32_t place = 0; place < replay->queue_count - replay->arrived; place++)
		if (replay_waiting(replay, place)->start_s < replay->now_s)
			return true;
	return false;
}

static void pass(struct replay *replay)
{
	const bool empty = replay->arrived == replay->queue_count;
	const bool changed = empty || replay->surprised || replay_has_overrun(replay) ||
			     (replay->setup->keep && has_late(replay));
	uint32_t place = replay->queue_count - replay->arrived;

	if (changed)
		build_steps(replay);
	else
		trim_steps(replay);
	if (changed && replay->setup->keep)
		take_kept(replay);
	else if (changed)
		place = 0;
	for (; place < replay->queue_count; place++) {
		struct replay_waiting *waiting = replay_waiting(replay, place);

		waiting->start_s = replay->steps[find_start(replay, waiting)].time_s;
		take(replay, waiting);
	}
	start_due(replay);
}

static double next_s(const struct replay *replay)
{
	double next = INFINITY;

	for (uint32_t i = 0; replay->setup->keep && i < replay->queue_count; i++) {
		const double start_s = replay_waiting(replay, i)->start_s;

		if (start_s > replay->now_s)
			next = fmin(next, start_s);
	}
	return next;
}

const struct replay_policy replay_conservative = {
	.name = "conservative",
	.pass = pass,
	.next_s = next_s,
};
