/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative Backfilling. The processors free over time, promises included, are a step function.
 * It is built anew, which compresses the schedule, when a job ended before it was expected to (or
 * runs longer); otherwise nothing promised can move, and only new jobs are fitted in. A pass costs
 * the steps per job fitted in.
 *
 * Where reservations are kept, the function is only ever corrected: queues get long, since nothing
 * moves up into what a job that ended early leaves behind.
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

/* The step that begins at `time_s` (not before now), split off if need be. */
static uint32_t split(struct replay *replay, double time_s)
{
	uint32_t low = 0;
	uint32_t high = replay->steps_count;

	/* The last step that does not begin later. */
	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (replay->steps[middle].time_s <= time_s)
			low = middle;
		else
			high = middle;
	}
	if (replay->steps[low].time_s == time_s)
		return low;
	insert_step(replay, low + 1, time_s, replay->steps[low].free);
	return low + 1;
}

/* Forgets a step that is like the one before it. */
static void merge(struct replay *replay, uint32_t i)
{
	if (i == 0 || replay->steps[i].free != replay->steps[i - 1].free)
		return;
	replay->steps_count--;
	memmove(replay->steps + i, replay->steps + i + 1,
		(replay->steps_count - i) * sizeof(*replay->steps));
}

/* Adds to what is free in [from_s, to_s). */
static void add_free(struct replay *replay, double from_s, double to_s, int64_t procs)
{
	uint32_t first;
	uint32_t last;

	if (from_s >= to_s)
		return;
	first = split(replay, from_s);
	last = split(replay, to_s);
	for (uint32_t i = first; i < last; i++)
		replay->steps[i].free += procs;
	merge(replay, last);
	merge(replay, first);
}

/* Promises a job the first time at which it fits. */
static void promise(struct replay *replay, struct replay_waiting *waiting)
{
	waiting->start_s = replay->steps[find_start(replay, waiting)].time_s;
	add_free(replay, waiting->start_s, waiting->start_s + waiting->estimate_s,
		 -(int64_t)waiting->procs);
}

/* Promises whose time has passed, because others run too long, are for now. */
static void postpone(struct replay *replay)
{
	for (uint32_t place = 0; place < replay->queue_count - replay->arrived; place++) {
		struct replay_waiting *waiting = replay_waiting(replay, place);

		if (waiting->start_s >= replay->now_s)
			continue;
		add_free(replay, fmax(waiting->start_s + waiting->estimate_s, replay->now_s),
			 replay->now_s + waiting->estimate_s, -(int64_t)waiting->procs);
		waiting->start_s = replay->now_s;
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

static void pass(struct replay *replay)
{
	const bool keep = replay->setup->keep;
	const bool empty = replay->arrived == replay->queue_count;
	const bool moved = replay->surprised || replay_has_overrun(replay);
	uint32_t place = replay->queue_count - replay->arrived;

	if (empty || (moved && !keep)) {
		build_steps(replay);
		place = 0;
	} else {
		trim_steps(replay);
	}
	if (keep)
		postpone(replay);
	for (; place < replay->queue_count; place++)
		promise(replay, replay_waiting(replay, place));
	start_due(replay);
}

/* What a job leaves behind that ended early goes to those who come next. */
static void ended(struct replay *replay, const struct replay_running *expected)
{
	if (!replay->setup->keep || replay->queue_count == 0)
		return;
	trim_steps(replay);
	add_free(replay, replay->now_s, expected->time_s, expected->procs);
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
	.ended = ended,
	.next_s = next_s,
};
