/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/completion_queue.h"

#include <math.h>
#include <stdlib.h>

/* Makes room for one more place. */
static enum pmf_fault reserve(struct completion_queue *queue)
{
	const uint32_t capacity = queue->capacity ? 2 * queue->capacity : 8;
	struct completion_time_place *places;

	if (queue->count < queue->capacity)
		return PMF_OK;
	places = realloc(queue->places, capacity * sizeof(*places));
	if (!places)
		return PMF_MEMORY;
	for (uint32_t i = queue->capacity; i < capacity; i++)
		places[i] = (struct completion_time_place){.skewness = NAN};
	queue->places = places;
	queue->capacity = capacity;
	return PMF_OK;
}

/* Sets the mode of this walk; results of a different mode are forgotten. */
static void set_mode(struct completion_queue *queue, enum completion_time_scenario scenario,
		     uint32_t merge, bool executes)
{
	if (queue->scenario != scenario || queue->merge != merge || queue->executes != executes)
		queue->known = 0;
	queue->scenario = scenario;
	queue->merge = merge;
	queue->executes = executes;
	queue->count = 0;
}

enum pmf_fault completion_queue_begin(struct completion_queue *queue, int64_t now,
				      enum completion_time_scenario scenario, uint32_t merge)
{
	enum pmf_fault fault;

	set_mode(queue, scenario, merge, false);
	if (queue->free.count == 1 && queue->free.first == now)
		return PMF_OK;
	queue->known = 0;
	fault = pmf_point(&queue->free, now);
	return fault;
}

/* Completes a place from its completion time, which is exact so far. */
static enum pmf_fault complete(struct completion_queue *queue, struct completion_time_place *place,
			       double error)
{
	uint32_t late;
	double moved = 0;
	enum pmf_fault fault = PMF_OK;

	if (queue->merge > 0)
		fault = pmf_merge(&place->pct, &place->pct, queue->merge, &late, &moved);
	if (fault != PMF_OK)
		return fault;
	place->mean = pmf_mean(&place->pct);
	place->skewness = NAN;
	place->error = completion_time_merge_error(queue->scenario, error, moved);
	queue->computed++;
	queue->known = ++queue->count;
	return PMF_OK;
}

/* Whether a task that executed at bin `then` could not have finished until bin `now`. */
static bool stands_still(const struct pet_entry *exec, int64_t start, int64_t then, int64_t now)
{
	const struct pmf *pmf = &exec->pmf;

	if (now < then || now - start >= pmf->first + pmf->count - 1)
		return now == then;
	for (int64_t bin = then + 1 - start; bin <= now - start; bin++)
		if (bin >= pmf->first && pmf->mass[bin - pmf->first] > 0)
			return false;
	return true;
}

enum pmf_fault completion_queue_begin_executing(struct completion_queue *queue,
						const struct pet_entry *exec, int64_t start,
						int64_t now, int64_t deadline,
						enum completion_time_scenario scenario,
						uint32_t merge)
{
	const int64_t then = queue->now;
	struct completion_time_place *place;
	enum pmf_fault fault;

	set_mode(queue, scenario, merge, true);
	fault = reserve(queue);
	if (fault != PMF_OK)
		return fault;
	place = queue->places;
	queue->now = now;
	/* In scenario C the result depends on whether the deadline is past. */
	if (queue->known > 0 && place->exec == exec && place->deadline == deadline &&
	    queue->start == start && (then < deadline) == (now < deadline) &&
	    stands_still(exec, start, then, now)) {
		queue->count = 1;
		return PMF_OK;
	}
	queue->known = 0;
	fault = completion_time_executing(&place->pct, exec, start, now, deadline, scenario,
					  &place->chance);
	if (fault != PMF_OK)
		return fault;
	place->exec = exec;
	place->deadline = deadline;
	queue->start = start;
	return complete(queue, place, 0);
}

enum pmf_fault completion_queue_push(struct completion_queue *queue, const struct pet_entry *exec,
				     int64_t deadline)
{
	struct completion_time_place *place;
	enum pmf_fault fault = reserve(queue);
	double error;

	if (fault != PMF_OK)
		return fault;
	place = queue->places + queue->count;
	if (queue->count < queue->known && place->exec == exec && place->deadline == deadline) {
		queue->count++;
		return PMF_OK;
	}
	queue->known = queue->count;
	error = queue->count > 0 ? place[-1].error : 0;
	place->chance = completion_time_chance(completion_queue_free(queue), exec, deadline);
	fault = completion_time_next(&place->pct, completion_queue_free(queue), exec, deadline,
				     queue->scenario);
	if (fault != PMF_OK)
		return fault;
	place->exec = exec;
	place->deadline = deadline;
	return complete(queue, place, error);
}

void completion_queue_pop(struct completion_queue *queue)
{
	queue->count--;
}

const struct pmf *completion_queue_free(const struct completion_queue *queue)
{
	return queue->count > 0 ? &queue->places[queue->count - 1].pct : &queue->free;
}

double completion_queue_skewness(struct completion_queue *queue, uint32_t place)
{
	struct completion_time_place *at = queue->places + place;

	if (isnan(at->skewness))
		at->skewness = pmf_skewness(&at->pct);
	return at->skewness;
}

void completion_queue_finish(struct completion_queue *queue)
{
	for (uint32_t i = 0; i < queue->capacity; i++)
		pmf_finish(&queue->places[i].pct);
	free(queue->places);
	pmf_finish(&queue->free);
	*queue = (struct completion_queue){0};
}
