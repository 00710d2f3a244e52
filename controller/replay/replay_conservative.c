/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative Backfilling. The free processors over time, with reservations, are a step function
 * that is corrected when jobs end early and reservations move. Between two events no reservation
 * can move, and only new jobs are fitted in: a pass costs the steps per new job.
 *
 * To compress, no job has to be taken out: before its own reservation the function does not change
 * by that, and a start that is free until the reservation extends into the room that the job
 * leaves. So a job that stays costs a look at the steps before its reservation, and a job that
 * moves two corrections.
 *
 * With setup->rebuild the function is rebuilt when a job ended early or runs too long, which costs
 * the steps per waiting job. With setup->keep it is only corrected: queues get long, since no job
 * moves up into the room that a job which ended early leaves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/replay/replay_sim.h"

static void insert_step(struct replay *replay, uint32_t at, double time_s, int64_t free)
{
	if (replay->steps_count == replay->steps_capacity) {
		replay->steps_capacity = 2 * replay->steps_capacity + 64;
		replay->steps = g_renew(struct replay_step, replay->steps, replay->steps_capacity);
	}
	memmove(replay->steps + at + 1, replay->steps + at,
		(replay->steps_count - at) * sizeof(*replay->steps));
	replay->steps[at] = (struct replay_step){time_s, free};
	replay->steps_count++;
}

/* Builds the function from now on by the expected ends alone. */
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

/* Removes steps that are past. */
static void trim_steps(struct replay *replay)
{
	uint32_t past = 0;

	while (past + 1 < replay->steps_count && replay->steps[past + 1].time_s <= replay->now_s)
		past++;
	replay->steps_count -= past;
	memmove(replay->steps, replay->steps + past, replay->steps_count * sizeof(*replay->steps));
	replay->steps[0].time_s = replay->now_s;
}

/*
 * The first step from `start` on at which a job fits for the whole of its estimate. The last step
 * has all processors free.
 */
static uint32_t find_start(const struct replay *replay, const struct replay_waiting *waiting,
			   uint32_t start)
{
	const struct replay_step *steps = replay->steps;

	for (uint32_t i = start;
	     i < replay->steps_count && steps[i].time_s < steps[start].time_s + waiting->estimate_s;
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

/* Removes a step that equals the step before it. */
static void merge(struct replay *replay, uint32_t i)
{
	if (i == 0 || replay->steps[i].free != replay->steps[i - 1].free)
		return;
	replay->steps_count--;
	memmove(replay->steps + i, replay->steps + i + 1,
		(replay->steps_count - i) * sizeof(*replay->steps));
}

/* Adds `procs` to the free processors in [from_s, to_s). */
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

static void set_promise(struct replay *replay, struct replay_waiting *waiting, double start_s)
{
	double *promised_s = &replay->result->promised_s[waiting->job];

	waiting->start_s = start_s;
	waiting->least_s = fmin(waiting->least_s, start_s);
	if (isinf(*promised_s))
		*promised_s = start_s;
}

/* Reserves the first time at which a job fits, from step `from` on. */
static void reserve_from(struct replay *replay, struct replay_waiting *waiting, uint32_t from)
{
	set_promise(replay, waiting, replay->steps[find_start(replay, waiting, from)].time_s);
	add_free(replay, waiting->start_s, waiting->start_s + waiting->estimate_s,
		 -(int64_t)waiting->procs);
}

/* Orders indices of the queue by reservation, then arrival. */
static int compare_reservations(const void *a, const void *b, void *data)
{
	const uint32_t place = *(const uint32_t *)a;
	const uint32_t other = *(const uint32_t *)b;
	const double start_s = replay_waiting(data, place)->start_s;
	const double other_s = replay_waiting(data, other)->start_s;

	if (start_s != other_s)
		return start_s < other_s ? -1 : 1;
	return place < other ? -1 : place > other;
}

static void sort_promises(struct replay *replay, uint32_t count)
{
	if (count > replay->order_capacity) {
		replay->order_capacity = 2 * count;
		replay->order = g_renew(uint32_t, replay->order, replay->order_capacity);
	}
	for (uint32_t i = 0; i < count; i++)
		replay->order[i] = i;
	qsort_r(replay->order, count, sizeof(*replay->order), compare_reservations, replay);
}

/*
 * Moves reservations back that do not fit any more because other jobs run too long. Returns whether
 * there are such.
 */
static bool repair(struct replay *replay, uint32_t count)
{
	bool late = false;

	for (uint32_t place = 0; place < count && !late; place++)
		late = replay_waiting(replay, place)->start_s < replay->now_s;
	if (!late)
		return false;
	sort_promises(replay, count);
	build_steps(replay);
	for (uint32_t i = 0; i < count; i++) {
		struct replay_waiting *waiting = replay_waiting(replay, replay->order[i]);

		reserve_from(replay, waiting, split(replay, fmax(waiting->start_s, replay->now_s)));
	}
	return true;
}

/*
 * The first step at which a job fits beside all other jobs; a step that does not begin before its
 * reservation stands for the reservation.
 */
static uint32_t find_sooner(const struct replay *replay, const struct replay_waiting *waiting)
{
	const struct replay_step *steps = replay->steps;
	uint32_t start = 0;

	for (uint32_t i = 0; i < replay->steps_count && steps[i].time_s < waiting->start_s &&
			     steps[i].time_s < steps[start].time_s + waiting->estimate_s;
	     i++)
		if (steps[i].free < waiting->procs)
			start = i + 1;
	return start;
}

/* Moves reservations up, in order of arrival, each as far as the others allow. */
static void compress(struct replay *replay, uint32_t count)
{
	for (uint32_t place = 0; place < count; place++) {
		struct replay_waiting *waiting = replay_waiting(replay, place);
		const uint32_t start = find_sooner(replay, waiting);
		const double old_s = waiting->start_s;
		double new_s;

		if (start == replay->steps_count || replay->steps[start].time_s >= old_s)
			continue;
		new_s = replay->steps[start].time_s;
		add_free(replay, old_s, old_s + waiting->estimate_s, waiting->procs);
		add_free(replay, new_s, new_s + waiting->estimate_s, -(int64_t)waiting->procs);
		set_promise(replay, waiting, new_s);
	}
}

/* Moves reservations whose time has passed, because other jobs run too long, to now. */
static void postpone(struct replay *replay)
{
	for (uint32_t place = 0; place < replay->queue_count - replay->arrived; place++) {
		struct replay_waiting *waiting = replay_waiting(replay, place);

		if (waiting->start_s >= replay->now_s)
			continue;
		add_free(replay, fmax(waiting->start_s + waiting->estimate_s, replay->now_s),
			 replay->now_s + waiting->estimate_s, -(int64_t)waiting->procs);
		set_promise(replay, waiting, replay->now_s);
	}
}

static void start_due(struct replay *replay)
{
	for (uint32_t place = 0; replay->free > 0 && place < replay->queue_count;) {
		const struct replay_waiting *waiting = replay_waiting(replay, place);

		/* It may have to wait for jobs that outlive their estimates. */
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
	const struct replay_setup *setup = replay->setup;
	const uint32_t promised = replay->queue_count - replay->arrived;
	uint32_t place = promised;

	if (promised == 0) {
		build_steps(replay);
	} else if (setup->rebuild && (replay->surprised || replay_has_overrun(replay))) {
		build_steps(replay);
		place = 0;
	} else {
		trim_steps(replay);
	}
	if (setup->keep)
		postpone(replay);
	else if (!setup->rebuild && (repair(replay, promised) || replay->early))
		compress(replay, promised);
	for (; place < replay->queue_count; place++)
		reserve_from(replay, replay_waiting(replay, place), 0);
	start_due(replay);
}

/* Frees the processors that a job which ended early would still have used. */
static void handle_early_end(struct replay *replay, const struct replay_running *expected)
{
	if (replay->setup->rebuild || replay->queue_count == 0)
		return;
	trim_steps(replay);
	add_free(replay, replay->now_s, expected->time_s, expected->procs);
}

static double next_s(const struct replay *replay)
{
	double next = INFINITY;

	for (uint32_t i = 0; !replay->setup->rebuild && i < replay->queue_count; i++) {
		const double start_s = replay_waiting(replay, i)->start_s;

		if (start_s > replay->now_s)
			next = fmin(next, start_s);
	}
	return next;
}

const struct replay_policy replay_conservative = {
	.name = "conservative",
	.reserves = true,
	.compresses = true,
	.pass = pass,
	.ended = handle_early_end,
	.next_s = next_s,
};
