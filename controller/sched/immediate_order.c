/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/immediate_order.h"

#include "common/random.h"
#include "controller/sched/immediate_private.h"

/* A mappable task. */
struct candidate {
	const struct sched_task *task;
	uint32_t class;
};

/* The candidates of an event. */
struct queue {
	struct immediate *immediate;
	uint32_t count;
	struct candidate *candidates;
};

/* Lists all mappable tasks in the order of the waiting ones. */
static int make_queue(struct immediate *immediate, struct queue *ret_queue)
{
	const struct sched_snapshot *snapshot = immediate->snapshot;
	const size_t most = (size_t)snapshot->waiting_count + snapshot->suspended_count;
	struct queue queue = {
		.immediate = immediate,
		.candidates = arena_array(immediate->arena, most, sizeof(struct candidate)),
	};
	uint32_t w = 0;
	uint32_t s = 0;

	if (!queue.candidates)
		return -ENOMEM;
	while (w < snapshot->waiting_count || s < snapshot->suspended_count) {
		const bool waiting =
			s == snapshot->suspended_count ||
			(w < snapshot->waiting_count &&
			 sched_task_before(snapshot->waiting[w], snapshot->suspended[s].task));
		const struct candidate candidate = {
			waiting ? snapshot->waiting[w] : snapshot->suspended[s].task,
			waiting ? immediate->waiting_class[w] : immediate->suspended_class[s],
		};

		if (waiting)
			w++;
		else
			s++;
		if (candidate.class != IMMEDIATE_NONE)
			queue.candidates[queue.count++] = candidate;
	}
	*ret_queue = queue;
	return immediate_value(immediate, OBJECTIVE_UTIL, false);
}

/* SCHED_REFUSAL_TAKEN if a task of the class can start in this way, else why not. */
static enum sched_refusal way_refusal(const struct immediate *immediate, uint32_t class,
				      const struct immediate_way *way)
{
	if (immediate->classes[class].origin == IMMEDIATE_WAITING && way->rest.pstate != 0)
		return SCHED_REFUSAL_LATER;
	if (way->value <= 0)
		return SCHED_REFUSAL_NO_UTILITY;
	if (immediate->clusters[way->rest.cluster].idle < way->rest.nodes)
		return SCHED_REFUSAL_BUSY;
	return energy_judge(&immediate->energy, &way->rest);
}

/* Notes the ways of a task; the possible ones that were not taken get the refusal `other`. */
static int explain(struct immediate *immediate, const struct candidate *candidate,
		   const struct immediate_way *taken, enum sched_refusal other)
{
	const struct immediate_way *ways = immediate_ways(immediate, candidate->class);
	int result = ways ? 0 : -ENOMEM;

	for (uint32_t i = 0; immediate_explains(immediate) && result == 0 &&
			     i < immediate->classes[candidate->class].ways_count;
	     i++) {
		enum sched_refusal refusal = way_refusal(immediate, candidate->class, &ways[i]);

		if (&ways[i] != taken && refusal == SCHED_REFUSAL_TAKEN)
			refusal = other;
		result = immediate_consider(immediate, candidate->task, &ways[i], 0, refusal);
	}
	return result;
}

/* Makes a candidate the next task of its class, whose tasks are interchangeable. */
static void bring_forward(struct immediate *immediate, const struct candidate *candidate)
{
	struct immediate_class *class = &immediate->classes[candidate->class];
	uint32_t i = class->next;

	while (class->tasks[i] != candidate->task)
		i++;
	class->tasks[i] = class->tasks[class->next];
	class->tasks[class->next] = candidate->task;
}

int immediate_fcfs(struct immediate *immediate)
{
	struct queue queue;
	int result = make_queue(immediate, &queue);

	for (uint32_t i = 0; result == 0 && i < queue.count; i++) {
		const struct candidate *candidate = &queue.candidates[i];
		const struct immediate_way *ways;
		uint32_t way = 0;
		uint32_t count;

		if (immediate->idle == 0 && !immediate_explains(immediate))
			break;
		ways = immediate_ways(immediate, candidate->class);
		count = immediate->classes[candidate->class].ways_count;
		if (!ways)
			return -ENOMEM;
		while (way < count &&
		       way_refusal(immediate, candidate->class, &ways[way]) != SCHED_REFUSAL_TAKEN)
			way++;
		result = explain(immediate, candidate, way < count ? &ways[way] : NULL,
				 SCHED_REFUSAL_LATER);
		if (result < 0 || way == count)
			continue;

		const struct immediate_choice choice = {
			.class = candidate->class,
			.way = way,
			.anchor = IMMEDIATE_NONE,
			.reason = SCHED_REASON_FIRST,
		};

		bring_forward(immediate, candidate);
		result = immediate_place(immediate, &choice);
	}
	return result;
}

/* Draws an idle node among those where a task can start. Returns the way; UINT32_MAX: no node. */
static uint32_t draw_node(struct immediate *immediate, const struct candidate *candidate,
			  struct random_stream *random, uint32_t *ret_node)
{
	const struct immediate_class *class = &immediate->classes[candidate->class];
	uint32_t total = 0;
	uint32_t drawn;

	for (uint32_t w = 0; w < class->ways_count; w++)
		if (way_refusal(immediate, candidate->class, &class->ways[w]) ==
		    SCHED_REFUSAL_TAKEN)
			total += immediate->clusters[class->ways[w].rest.cluster].idle;
	if (total == 0)
		return UINT32_MAX;
	drawn = (uint32_t)random_stream_below(random, total);
	for (uint32_t w = 0; w < class->ways_count; w++) {
		const uint32_t idle = immediate->clusters[class->ways[w].rest.cluster].idle;

		if (way_refusal(immediate, candidate->class, &class->ways[w]) !=
		    SCHED_REFUSAL_TAKEN)
			continue;
		if (drawn < idle) {
			*ret_node = drawn;
			return w;
		}
		drawn -= idle;
	}
	return UINT32_MAX;
}

/* Lists idle nodes of a cluster from node `first` on, or from 0 if there are too few from there. */
static void take_idle(const struct immediate_cluster *cluster, uint32_t first, uint32_t count,
		      uint32_t *nodes)
{
	uint32_t at = 0;

	if (first + count > cluster->idle)
		first = 0;
	for (uint32_t w = 0; w < cluster->words && at < first + count; w++)
		for (uint64_t bits = cluster->idle_mask[w]; bits && at < first + count;
		     bits &= bits - 1, at++)
			if (at >= first)
				nodes[at - first] = w * 64 + (uint32_t)__builtin_ctzll(bits);
}

static int place_drawn(struct immediate *immediate, const struct candidate *candidate, uint32_t way,
		       uint32_t first)
{
	const struct immediate_choice choice = {
		.class = candidate->class,
		.way = way,
		.anchor = IMMEDIATE_NONE,
		.reason = SCHED_REASON_CHANCE,
	};
	const struct sched_option *rest = &immediate->classes[candidate->class].ways[way].rest;
	uint32_t *nodes = arena_array(immediate->arena, rest->nodes, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	take_idle(&immediate->clusters[rest->cluster], first, rest->nodes, nodes);
	bring_forward(immediate, candidate);
	return immediate_place_at(immediate, &choice, nodes);
}

int immediate_random(struct immediate *immediate)
{
	struct random_stream random;
	struct queue queue;
	int result = make_queue(immediate, &queue);

	random_stream_init(&random, immediate->snapshot->seed, immediate->snapshot->event);
	for (uint32_t i = 0; result == 0 && i < queue.count; i++) {
		const uint32_t j = i + (uint32_t)random_stream_below(&random, queue.count - i);
		const struct candidate candidate = queue.candidates[j];
		uint32_t node = 0;
		uint32_t way;

		if (immediate->idle == 0 && !immediate_explains(immediate))
			break;
		queue.candidates[j] = queue.candidates[i];
		if (!immediate_ways(immediate, candidate.class))
			return -ENOMEM;
		way = draw_node(immediate, &candidate, &random, &node);
		result = explain(immediate, &candidate,
				 way == UINT32_MAX ? NULL
						   : &immediate->classes[candidate.class].ways[way],
				 SCHED_REFUSAL_NOT_DRAWN);
		if (result == 0 && way != UINT32_MAX)
			result = place_drawn(immediate, &candidate, way, node);
	}
	return result;
}
