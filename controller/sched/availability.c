/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/availability.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Initial capacity of a schedule, in steps. */
#define FIRST_CAPACITY 16

/* The nodes that are free in a step. */
static uint64_t *mask_of(const struct availability *availability, uint32_t step)
{
	return availability->free + (size_t)step * availability->words;
}

/* The number of nodes in a mask of `words` words. */
static uint32_t mask_count(const uint64_t *mask, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < words; w++)
		count += (uint32_t)__builtin_popcountll(mask[w]);
	return count;
}

/* Allocates room for `capacity` steps and copies the present ones. */
static int grow(struct availability *availability, uint32_t capacity)
{
	struct arena *arena = availability->arena;
	const size_t words = availability->words;
	double *time_s = arena_array(arena, capacity, sizeof(*time_s));
	uint64_t *free = arena_array(arena, capacity * words, sizeof(*free));
	uint32_t *count = arena_array(arena, capacity, sizeof(*count));

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

int availability_init(struct availability *availability, struct arena *arena, uint32_t nodes,
		      double now_s)
{
	*availability = (struct availability){
		.arena = arena,
		.now_s = now_s,
		.nodes = nodes,
		.words = availability_words(nodes),
	};
	availability->common =
		arena_array(arena, 4 * (size_t)availability->words, sizeof(uint64_t));
	if (!availability->common || grow(availability, FIRST_CAPACITY) < 0)
		return -ENOMEM;

	uint64_t *mask = mask_of(availability, 0);

	memset(mask, 0xff, availability->words * sizeof(*mask));
	if (nodes % 64)
		mask[availability->words - 1] = (UINT64_C(1) << (nodes % 64)) - 1;
	availability->time_s[0] = now_s;
	availability->count[0] = nodes;
	availability->steps = 1;
	return 0;
}

/* The step that `time_s` (>= now_s) lies in. */
static uint32_t find_step(const struct availability *availability, double time_s)
{
	uint32_t low = 0;
	uint32_t high = availability->steps;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (availability->time_s[middle] > time_s)
			high = middle;
		else
			low = middle;
	}
	return low;
}

/* The step that begins at `time_s` (>= now_s), split off from the one it lies in if need be. */
static int split(struct availability *availability, double time_s, uint32_t *ret_step)
{
	const uint32_t step = find_step(availability, time_s) + 1;

	if (availability->time_s[step - 1] == time_s) {
		*ret_step = step - 1;
		return 0;
	}
	if (availability->steps == availability->capacity &&
	    grow(availability, 2 * availability->capacity) < 0)
		return -ENOMEM;

	const size_t words = availability->words;
	const size_t after = availability->steps - step;
	uint64_t *mask = mask_of(availability, step);

	memmove(availability->time_s + step + 1, availability->time_s + step,
		after * sizeof(*availability->time_s));
	memmove(availability->count + step + 1, availability->count + step,
		after * sizeof(*availability->count));
	memmove(mask + words, mask, after * words * sizeof(*mask));
	memcpy(mask, mask - words, words * sizeof(*mask));
	availability->time_s[step] = time_s;
	availability->count[step] = availability->count[step - 1];
	availability->steps++;
	availability->rising += availability->rising >= step;
	*ret_step = step;
	return 0;
}

static void clear_nodes(uint64_t *mask, const uint32_t *nodes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		mask[nodes[i] / 64] &= ~(UINT64_C(1) << (nodes[i] % 64));
}

int availability_take(struct availability *availability, const uint32_t *nodes, uint32_t count,
		      double start_s, double end_s)
{
	const uint32_t words = availability->words;
	uint64_t *kept = availability->common;
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
	memset(kept, 0xff, words * sizeof(*kept));
	clear_nodes(kept, nodes, count);
	for (uint32_t step = first; step < last; step++) {
		uint64_t *mask = mask_of(availability, step);

		for (uint32_t w = 0; w < words; w++)
			mask[w] &= kept[w];
		availability->count[step] = mask_count(mask, words);
	}
	/* Nodes taken from a later step on may have been free before it. */
	if (first > availability->rising)
		availability->rising = first;
	availability->version++;
	return 0;
}

int availability_hold(struct availability *availability, const struct availability_hold *holds,
		      uint32_t count)
{
	const uint32_t words = availability->words;
	uint32_t steps = 1;

	for (uint32_t i = 0; i < count; i++)
		steps += i == 0 || holds[i].end_s != holds[i - 1].end_s;
	if (steps > availability->capacity && grow(availability, 2 * steps) < 0)
		return -ENOMEM;

	uint32_t step = steps - 1;

	memmove(mask_of(availability, step), mask_of(availability, 0), words * sizeof(uint64_t));
	availability->count[step] = availability->count[0];
	for (uint32_t i = 0; i < count; i++) {
		uint64_t *mask = mask_of(availability, step);

		if (i == 0 || holds[i].end_s != holds[i - 1].end_s) {
			availability->time_s[step] = holds[i].end_s;
			step--;
			memcpy(mask - words, mask, words * sizeof(*mask));
			availability->count[step] = availability->count[step + 1];
			mask -= words;
		}
		clear_nodes(mask, holds[i].nodes, holds[i].count);
		availability->count[step] -= holds[i].count;
	}
	availability->time_s[0] = availability->now_s;
	availability->steps = steps;
	availability->version++;
	return 0;
}

/*
 * A mapping event spends most of its time in the queries below, and most of that counting bits:
 * they are compiled twice, once for processors that count bits in one instruction.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Intersects the free nodes over [start of `step`, that + duration_s) into `common`, giving up as
 * soon as fewer than `width` are left. From the rising step on nothing is lost. Returns whether
 * enough are left.
 */
static ALWAYS_INLINE bool fits(const struct availability *availability, uint32_t step,
			       uint32_t width, double duration_s, uint64_t *common)
{
	const uint32_t words = availability->words;
	const double end_s = availability->time_s[step] + duration_s;

	if (availability->count[step] < width)
		return false;
	memcpy(common, mask_of(availability, step), words * sizeof(*common));
	for (uint32_t i = step + 1; i <= availability->rising && availability->time_s[i] < end_s;
	     i++) {
		const uint64_t *mask = mask_of(availability, i);
		uint32_t count = 0;

		if (availability->count[i] < width)
			return false;
		for (uint32_t w = 0; w < words; w++) {
			common[w] &= mask[w];
			count += (uint32_t)__builtin_popcountll(common[w]);
		}
		if (count < width)
			return false;
	}
	return true;
}

/* As fits(), for clusters of up to 64 nodes: the mask stays in a register. */
static ALWAYS_INLINE bool fits_word(const struct availability *availability, uint32_t step,
				    uint32_t width, double duration_s)
{
	const double end_s = availability->time_s[step] + duration_s;
	uint64_t common = availability->free[step];

	for (uint32_t i = step + 1; i <= availability->rising && availability->time_s[i] < end_s;
	     i++) {
		common &= availability->free[i];
		if ((uint32_t)__builtin_popcountll(common) < width)
			return false;
	}
	return true;
}

static ALWAYS_INLINE uint32_t earliest(const struct availability *availability, uint32_t width,
				       double duration_s)
{
	for (uint32_t step = 0; step < availability->steps; step++) {
		if (availability->count[step] < width)
			continue;
		if (step >= availability->rising)
			return step;
		if (availability->words == 1
			    ? fits_word(availability, step, width, duration_s)
			    : fits(availability, step, width, duration_s, availability->common))
			return step;
	}
	return UINT32_MAX;
}

#ifdef __x86_64__
__attribute__((target("popcnt"))) static uint32_t
earliest_popcnt(const struct availability *availability, uint32_t width, double duration_s)
{
	return earliest(availability, width, duration_s);
}
#endif

uint32_t availability_earliest(const struct availability *availability, uint32_t width,
			       double duration_s)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("popcnt"))
		return earliest_popcnt(availability, width, duration_s);
#endif
	return earliest(availability, width, duration_s);
}

uint32_t availability_widest(const struct availability *availability, double until_s)
{
	uint32_t widest = 0;

	for (uint32_t step = 0; step < availability->steps && availability->time_s[step] < until_s;
	     step++)
		if (availability->count[step] > widest)
			widest = availability->count[step];
	return widest;
}

static int hold_compare(const void *left, const void *right)
{
	const struct availability_hold *a = left;
	const struct availability_hold *b = right;

	return (a->end_s < b->end_s) - (a->end_s > b->end_s);
}

/* Whether some node is held twice, which a snapshot from a file may contain. */
static bool overlap(const struct availability *availability, const struct availability_hold *holds,
		    uint32_t count)
{
	uint64_t *seen = availability->common;

	memset(seen, 0, availability->words * sizeof(*seen));
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < holds[i].count; n++) {
			const uint32_t node = holds[i].nodes[n];

			if (seen[node / 64] >> (node % 64) & 1)
				return true;
			seen[node / 64] |= UINT64_C(1) << (node % 64);
		}
	return false;
}

/* Takes the nodes of all running tasks in cluster `c`. `holds` has room for them. */
static int hold_running(struct availability *availability, const struct sched_snapshot *snapshot,
			uint32_t c, struct availability_hold *holds)
{
	uint32_t count = 0;
	int result = 0;

	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *r = &snapshot->running[i];

		if (r->cluster == c && r->end_s > snapshot->now_s)
			holds[count++] =
				(struct availability_hold){r->end_s, r->nodes, r->nodes_count};
	}
	qsort(holds, count, sizeof(*holds), hold_compare);
	if (!overlap(availability, holds, count))
		return availability_hold(availability, holds, count);
	for (uint32_t i = 0; result == 0 && i < count; i++)
		result = availability_take(availability, holds[i].nodes, holds[i].count,
					   snapshot->now_s, holds[i].end_s);
	return result;
}

struct availability *availability_of_snapshot(const struct sched_snapshot *snapshot,
					      struct arena *arena)
{
	const struct sched_system *system = snapshot->system;
	struct availability *clusters =
		arena_array(arena, system->clusters_count, sizeof(*clusters));
	struct availability_hold *holds =
		arena_array(arena, snapshot->running_count, sizeof(*holds));
	int result = clusters && holds ? 0 : -ENOMEM;

	for (uint32_t c = 0; result == 0 && c < system->clusters_count; c++) {
		result = availability_init(&clusters[c], arena, system->clusters[c].nodes,
					   snapshot->now_s);
		if (result == 0)
			result = hold_running(&clusters[c], snapshot, c, holds);
	}
	for (uint32_t i = 0; result == 0 && i < snapshot->reservations_count; i++) {
		const struct sched_allocation *p = &snapshot->reservations[i];

		result = availability_take(&clusters[p->cluster], p->nodes, p->nodes_count,
					   p->start_s, p->end_s);
	}
	for (uint32_t i = 0; result == 0 && i < snapshot->down_count; i++)
		result = availability_take(&clusters[snapshot->down[i].cluster],
					   &snapshot->down[i].node, 1, snapshot->now_s, INFINITY);
	return result == 0 ? clusters : NULL;
}

/*
 * Chooses nodes. Nodes are sorted into sets of equal merit, each a mask, by when they became free
 * and when they are needed again, so that no node is considered alone.
 */

/* Nodes whose idle time would change in the same way if they were taken. */
struct candidates {
	uint32_t voids;
	double size_s;
	uint32_t count;
	uint64_t *mask;
};

/* The candidates found so far, by voids, then size. */
struct selection {
	const struct availability *availability;
	uint32_t step;
	double end_s;
	uint32_t count;
	uint32_t capacity;
	struct candidates *sets;
};

static int candidates_compare(const struct candidates *a, const struct candidates *b)
{
	if (a->voids != b->voids)
		return a->voids < b->voids ? -1 : 1;
	return (a->size_s > b->size_s) - (a->size_s < b->size_s);
}

static int grow_selection(struct selection *selection)
{
	const uint32_t capacity = selection->capacity ? 2 * selection->capacity : 16;
	struct candidates *sets =
		arena_array(selection->availability->arena, capacity, sizeof(*sets));

	if (!sets)
		return -ENOMEM;
	if (selection->count > 0)
		memcpy(sets, selection->sets, selection->count * sizeof(*sets));
	selection->sets = sets;
	selection->capacity = capacity;
	return 0;
}

/*
 * Adds nodes that are free from step `before` on and busy again at step `after` (or never, if there
 * is no such step). Sets of equal merit are merged.
 */
static int add_candidates(struct selection *selection, const uint64_t *mask, uint32_t before,
			  uint32_t after)
{
	const struct availability *availability = selection->availability;
	const double *time_s = availability->time_s;
	const uint32_t words = availability->words;
	const double start_s = time_s[selection->step];
	const bool open = after == availability->steps;
	struct candidates set = {
		.voids = (start_s > time_s[before]) + (!open && time_s[after] > selection->end_s),
		.size_s = (open ? start_s : time_s[after]) - time_s[before],
		.count = mask_count(mask, words),
	};
	uint32_t at = selection->count;

	while (at > 0 && candidates_compare(&set, &selection->sets[at - 1]) < 0)
		at--;
	if (at > 0 && candidates_compare(&set, &selection->sets[at - 1]) == 0) {
		for (uint32_t w = 0; w < words; w++)
			selection->sets[at - 1].mask[w] |= mask[w];
		selection->sets[at - 1].count += set.count;
		return 0;
	}
	set.mask = arena_array(availability->arena, words, sizeof(*set.mask));
	if (!set.mask || (selection->count == selection->capacity && grow_selection(selection) < 0))
		return -ENOMEM;
	memcpy(set.mask, mask, words * sizeof(*mask));
	memmove(selection->sets + at + 1, selection->sets + at,
		(selection->count - at) * sizeof(*selection->sets));
	selection->sets[at] = set;
	selection->count++;
	return 0;
}

/* Moves the nodes of `mask` that are not in `kept` to `moved`. Returns whether there are any. */
static bool part(uint64_t *mask, const uint64_t *kept, uint64_t *moved, uint32_t words)
{
	uint64_t any = 0;

	for (uint32_t w = 0; w < words; w++) {
		moved[w] = mask[w] & ~kept[w];
		mask[w] &= kept[w];
		any |= moved[w];
	}
	return any != 0;
}

static bool is_empty(const uint64_t *mask, uint32_t words)
{
	uint64_t any = 0;

	for (uint32_t w = 0; w < words; w++)
		any |= mask[w];
	return any == 0;
}

/* Sorts the nodes of `mask`, all busy again at step `after`, by when they became free. */
static int sort_before(struct selection *selection, uint64_t *mask, uint32_t after)
{
	const struct availability *availability = selection->availability;
	const uint32_t words = availability->words;
	uint64_t *moved = availability->common + 3 * words;
	int result = 0;

	for (uint32_t b = selection->step; result == 0 && b > 0 && !is_empty(mask, words); b--)
		if (part(mask, mask_of(availability, b - 1), moved, words))
			result = add_candidates(selection, moved, b, after);
	if (result == 0 && !is_empty(mask, words))
		result = add_candidates(selection, mask, 0, after);
	return result;
}

/* Sorts the nodes of `common` into sets of equal merit. */
static int sort_candidates(struct selection *selection, uint64_t *common)
{
	const struct availability *availability = selection->availability;
	const uint32_t words = availability->words;
	uint64_t *moved = availability->common + 2 * words;
	int result = 0;

	for (uint32_t a = selection->step + 1; result == 0 && a <= availability->rising; a++)
		if (availability->time_s[a] >= selection->end_s &&
		    part(common, mask_of(availability, a), moved, words))
			result = sort_before(selection, moved, a);
	if (result == 0)
		result = sort_before(selection, common, availability->steps);
	return result;
}

/* Lists the `count` lowest nodes of a mask, ascending. */
static void list_nodes(const uint64_t *mask, uint32_t count, uint32_t *ret_nodes)
{
	uint32_t listed = 0;

	for (uint32_t w = 0; listed < count; w++)
		for (uint64_t bits = mask[w]; bits && listed < count; bits &= bits - 1)
			ret_nodes[listed++] = w * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* Adds the `count` lowest nodes of `mask` to `chosen`. */
static void add_lowest(uint64_t *chosen, const uint64_t *mask, uint32_t count)
{
	for (uint32_t w = 0; count > 0; w++)
		for (uint64_t bits = mask[w]; bits && count > 0; bits &= bits - 1, count--)
			chosen[w] |= bits & (~bits + 1);
}

/* Takes the nodes of the best sets, `width` in all, and lists them. */
static void list_best(const struct selection *selection, uint32_t width, uint32_t *ret_nodes)
{
	const struct availability *availability = selection->availability;
	uint64_t *chosen = availability->common + availability->words;
	uint32_t missing = width;

	memset(chosen, 0, availability->words * sizeof(*chosen));
	for (uint32_t i = 0; missing > 0; i++) {
		const struct candidates *set = &selection->sets[i];
		const uint32_t count = set->count < missing ? set->count : missing;

		add_lowest(chosen, set->mask, count);
		missing -= count;
	}
	list_nodes(chosen, width, ret_nodes);
}

int availability_choose(const struct availability *availability, uint32_t step, uint32_t width,
			double duration_s, uint32_t *ret_nodes)
{
	const uint32_t words = availability->words;
	const struct arena_mark mark = arena_mark(availability->arena);
	uint64_t *common = availability->common;
	struct selection selection = {
		.availability = availability,
		.step = step,
		.end_s = availability->time_s[step] + duration_s,
	};
	int result;

	if (!fits(availability, step, width, duration_s, common))
		return -EINVAL;
	if (mask_count(common, words) == width) {
		list_nodes(common, width, ret_nodes);
		return 0;
	}
	result = sort_candidates(&selection, common);
	if (result == 0)
		list_best(&selection, width, ret_nodes);
	/* The sets of thousands of choices of one event would fill the memory. */
	arena_rewind(availability->arena, mark);
	return result;
}
