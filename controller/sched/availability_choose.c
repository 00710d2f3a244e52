/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chooses nodes. Nodes are sorted into sets of equal merit, each a mask, by when they became free
 * and when they are needed again, so that no node is considered alone.
 */
#include <errno.h>
#include <string.h>

#include "controller/sched/availability_private.h"

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
		.count = availability_mask_count(mask, words),
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
		if (part(mask, availability_mask(availability, b - 1), moved, words))
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
		    part(common, availability_mask(availability, a), moved, words))
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

int availability_choose(const struct availability *availability, uint32_t step, uint32_t width,
			double duration_s, uint32_t *ret_nodes)
{
	const uint32_t words = availability->words;
	uint64_t *common = availability->common;
	uint64_t *chosen = availability->common + words;
	struct selection selection = {
		.availability = availability,
		.step = step,
		.end_s = availability->time_s[step] + duration_s,
	};
	uint32_t missing = width;
	int result;

	if (!availability_fits(availability, step, width, duration_s, common))
		return -EINVAL;
	if (availability_mask_count(common, words) == width) {
		list_nodes(common, width, ret_nodes);
		return 0;
	}
	result = sort_candidates(&selection, common);
	if (result < 0)
		return result;
	memset(chosen, 0, words * sizeof(*chosen));
	for (uint32_t i = 0; missing > 0; i++) {
		const struct candidates *set = &selection.sets[i];
		const uint32_t count = set->count < missing ? set->count : missing;

		add_lowest(chosen, set->mask, count);
		missing -= count;
	}
	list_nodes(chosen, width, ret_nodes);
	return 0;
}
