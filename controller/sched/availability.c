/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/availability.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Steps that a schedule has room for at first. */
#define FIRST_CAPACITY 16

static uint64_t *step_mask(const struct availability *availability, uint32_t step)
{
	return availability->free + (size_t)step * availability->words;
}

static uint32_t mask_count(const uint64_t *mask, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < words; w++)
		count += (uint32_t)__builtin_popcountll(mask[w]);
	return count;
}

static bool mask_has(const uint64_t *mask, uint32_t node)
{
	return mask[node / 64] >> (node % 64) & 1;
}

/* Gets room for `capacity` steps and copies what there is. */
static int grow(struct availability *availability, uint32_t capacity)
{
	struct scratch *scratch = availability->scratch;
	const size_t words = availability->words;
	double *time_s = scratch_array(scratch, capacity, sizeof(*time_s));
	uint64_t *free = scratch_array(scratch, capacity * words, sizeof(*free));
	uint32_t *count = scratch_array(scratch, capacity, sizeof(*count));

	if (!time_s || !free || !count)
		return -ENOMEM;
	if (availability->steps > 0) {
		memcpy(time_s, availability->time_s, availability->steps * sizeof(*time_s));
		memcpy(free, availability->free, availability->steps * words * sizeof(*free));
		memcpy(count, availability->count, availability->steps * sizeof(*count));
	}
	availability->time_s = time_s;
	availability->free = free;
	availability->count = count;
	availability->capacity = capacity;
	return 0;
}

int availability_init(struct availability *availability, struct scratch *scratch, uint32_t nodes,
		      double now_s)
{
	*availability = (struct availability){
		.scratch = scratch,
		.now_s = now_s,
		.nodes = nodes,
		.words = (nodes + 63) / 64,
	};
	availability->common = scratch_array(scratch, availability->words, sizeof(uint64_t));
	if (!availability->common || grow(availability, FIRST_CAPACITY) < 0)
		return -ENOMEM;

	uint64_t *mask = step_mask(availability, 0);

	memset(mask, 0xff, availability->words * sizeof(*mask));
	if (nodes % 64)
		mask[availability->words - 1] = (UINT64_C(1) << (nodes % 64)) - 1;
	availability->time_s[0] = now_s;
	availability->count[0] = nodes;
	availability->steps = 1;
	return 0;
}

/* The step that begins at `time_s` (>= now_s), split off from the one it lies in if need be. */
static int split(struct availability *availability, double time_s, uint32_t *ret_step)
{
	uint32_t step = availability->steps;

	while (availability->time_s[step - 1] > time_s)
		step--;
	if (availability->time_s[step - 1] == time_s) {
		*ret_step = step - 1;
		return 0;
	}
	if (availability->steps == availability->capacity &&
	    grow(availability, 2 * availability->capacity) < 0)
		return -ENOMEM;

	const size_t words = availability->words;
	const size_t after = availability->steps - step;
	uint64_t *mask = step_mask(availability, step);

	memmove(availability->time_s + step + 1, availability->time_s + step,
		after * sizeof(*availability->time_s));
	memmove(availability->count + step + 1, availability->count + step,
		after * sizeof(*availability->count));
	memmove(mask + words, mask, after * words * sizeof(*mask));
	memcpy(mask, mask - words, words * sizeof(*mask));
	availability->time_s[step] = time_s;
	availability->count[step] = availability->count[step - 1];
	availability->steps++;
	*ret_step = step;
	return 0;
}

int availability_take(struct availability *availability, const uint32_t *nodes, uint32_t count,
		      double start_s, double end_s)
{
	uint32_t first;
	uint32_t last;

	if (start_s < availability->now_s)
		start_s = availability->now_s;
	if (!(end_s > start_s) || count == 0)
		return 0;
	if (split(availability, start_s, &first) < 0)
		return -ENOMEM;
	if (isinf(end_s))
		last = availability->steps;
	else if (split(availability, end_s, &last) < 0)
		return -ENOMEM;
	for (uint32_t step = first; step < last; step++) {
		uint64_t *mask = step_mask(availability, step);

		for (uint32_t i = 0; i < count; i++)
			mask[nodes[i] / 64] &= ~(UINT64_C(1) << (nodes[i] % 64));
		availability->count[step] = mask_count(mask, availability->words);
	}
	availability->version++;
	return 0;
}

/*
 * Intersects the free nodes over [start of `step`, that + duration_s) into `common`, giving up as
 * soon as fewer than `width` are left.
 */
static bool fits(const struct availability *availability, uint32_t step, uint32_t width,
		 double duration_s, uint64_t *common)
{
	const uint32_t words = availability->words;
	const double end_s = availability->time_s[step] + duration_s;

	if (availability->count[step] < width)
		return false;
	memcpy(common, step_mask(availability, step), words * sizeof(*common));
	for (uint32_t i = step + 1; i < availability->steps && availability->time_s[i] < end_s;
	     i++) {
		const uint64_t *mask = step_mask(availability, i);

		for (uint32_t w = 0; w < words; w++)
			common[w] &= mask[w];
		if (mask_count(common, words) < width)
			return false;
	}
	return true;
}

/* fits() for clusters of up to 64 nodes: the mask stays in a register. */
static bool fits_word(const struct availability *availability, uint32_t step, uint32_t width,
		      double duration_s)
{
	const double end_s = availability->time_s[step] + duration_s;
	uint64_t common = availability->free[step];

	for (uint32_t i = step + 1; i < availability->steps && availability->time_s[i] < end_s;
	     i++) {
		common &= availability->free[i];
		if ((uint32_t)__builtin_popcountll(common) < width)
			return false;
	}
	return true;
}

uint32_t availability_earliest(const struct availability *availability, uint32_t width,
			       double duration_s)
{
	for (uint32_t step = 0; step < availability->steps; step++) {
		if (availability->count[step] < width)
			continue;
		if (availability->words == 1
			    ? fits_word(availability, step, width, duration_s)
			    : fits(availability, step, width, duration_s, availability->common))
			return step;
	}
	return UINT32_MAX;
}

/* What placing a task on a node would do to the node's idle time. */
struct candidate {
	uint32_t node;
	uint32_t voids;
	double size_s;
};

static struct candidate judge(const struct availability *availability, uint32_t step,
			      double end_s, uint32_t node)
{
	const double *time_s = availability->time_s;
	struct candidate candidate = { .node = node };
	uint32_t before = step;
	uint32_t after = step + 1;

	while (before > 0 && mask_has(step_mask(availability, before - 1), node))
		before--;
	while (after < availability->steps && mask_has(step_mask(availability, after), node))
		after++;
	candidate.voids = time_s[step] > time_s[before];
	if (after == availability->steps) {
		candidate.size_s = time_s[step] - time_s[before];
	} else {
		candidate.voids += time_s[after] > end_s;
		candidate.size_s = time_s[after] - time_s[before];
	}
	return candidate;
}

static int candidate_compare(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;

	if (a->voids != b->voids)
		return a->voids < b->voids ? -1 : 1;
	if (a->size_s != b->size_s)
		return a->size_s < b->size_s ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static int index_compare(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Calls for every node of a mask, ascending. */
#define MASK_FOREACH(mask, words, node)                                                    \
	for (uint32_t w_ = 0; w_ < (words); w_++)                                          \
		for (uint64_t bits_ = (mask)[w_];                                          \
		     bits_ && ((node) = w_ * 64 + (uint32_t)__builtin_ctzll(bits_), true); \
		     bits_ &= bits_ - 1)

int availability_choose(const struct availability *availability, uint32_t step, uint32_t width,
			double duration_s, uint32_t *ret_nodes)
{
	const double end_s = availability->time_s[step] + duration_s;
	uint64_t *common = availability->common;
	uint32_t count = 0;
	uint32_t node;

	if (!fits(availability, step, width, duration_s, common))
		return -EINVAL;
	if (mask_count(common, availability->words) == width) {
		MASK_FOREACH(common, availability->words, node)
			ret_nodes[count++] = node;
		return 0;
	}

	struct candidate *candidates =
		scratch_array(availability->scratch, availability->nodes, sizeof(*candidates));

	if (!candidates)
		return -ENOMEM;
	MASK_FOREACH(common, availability->words, node)
		candidates[count++] = judge(availability, step, end_s, node);
	qsort(candidates, count, sizeof(*candidates), candidate_compare);
	for (uint32_t i = 0; i < width; i++)
		ret_nodes[i] = candidates[i].node;
	qsort(ret_nodes, width, sizeof(*ret_nodes), index_compare);
	return 0;
}

struct availability *availability_of_snapshot(const struct sched_snapshot *snapshot,
					      struct scratch *scratch)
{
	const struct sched_system *system = snapshot->system;
	struct availability *clusters =
		scratch_array(scratch, system->clusters_count, sizeof(*clusters));
	int result = clusters ? 0 : -ENOMEM;

	for (uint32_t c = 0; result == 0 && c < system->clusters_count; c++)
		result = availability_init(&clusters[c], scratch, system->clusters[c].nodes,
					   snapshot->now_s);
	for (uint32_t i = 0; result == 0 && i < snapshot->running_count; i++) {
		const struct sched_running *r = &snapshot->running[i];

		result = availability_take(&clusters[r->cluster], r->nodes, r->nodes_count,
					   snapshot->now_s, r->end_s);
	}
	for (uint32_t i = 0; result == 0 && i < snapshot->reservations_count; i++) {
		const struct sched_planned *p = &snapshot->reservations[i];

		result = availability_take(&clusters[p->cluster], p->nodes, p->nodes_count,
					   p->start_s, p->end_s);
	}
	for (uint32_t i = 0; result == 0 && i < snapshot->down_count; i++)
		result = availability_take(&clusters[snapshot->down[i].cluster],
					   &snapshot->down[i].node, 1, snapshot->now_s, INFINITY);
	return result == 0 ? clusters : NULL;
}
