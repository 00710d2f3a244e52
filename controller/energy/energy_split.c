/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/energy/energy_split.h"

#include <glib.h>

typedef unsigned __int128 wide;

/* mW x ns = 1e-6 uJ */
#define MW_NS_PER_UJ 1000000

/*
 * The remainder of a fraction that was rounded down; `place`: index of the part, or their number
 * for management.
 */
struct remainder {
	wide rest;
	size_t place;
};

static uint64_t idle_uj(const struct energy_interval *interval)
{
	const wide uj = (wide)interval->idle_mw * interval->duration_ns / MW_NS_PER_UJ;

	return uj < interval->meter_uj ? (uint64_t)uj : interval->meter_uj;
}

/* The largest first; among equals the earlier. */
static int compare(const void *a, const void *b)
{
	const struct remainder *one = a;
	const struct remainder *other = b;

	if (one->rest != other->rest)
		return one->rest < other->rest ? 1 : -1;
	return (one->place > other->place) - (one->place < other->place);
}

/* The fraction cpu_ns / total_ns of dynamic_uj, rounded down; sets the remainder. */
static uint64_t share(uint64_t dynamic_uj, uint64_t cpu_ns, wide total_ns, size_t place,
		      struct remainder *ret_remainder)
{
	const wide product = (wide)dynamic_uj * cpu_ns;

	*ret_remainder = (struct remainder){product % total_ns, place};
	return (uint64_t)(product / total_ns);
}

static void split_dynamic(uint64_t dynamic_uj, uint64_t management_ns, wide total_ns,
			  struct energy_part *parts, size_t count, struct energy_split *split)
{
	g_autofree struct remainder *remainders = g_new(struct remainder, count + 1);
	uint64_t left_uj = dynamic_uj;

	for (size_t i = 0; i < count; i++) {
		parts[i].uj = share(dynamic_uj, parts[i].cpu_ns, total_ns, i, &remainders[i]);
		left_uj -= parts[i].uj;
	}
	split->management_uj =
		share(dynamic_uj, management_ns, total_ns, count, &remainders[count]);
	left_uj -= split->management_uj;
	qsort(remainders, count + 1, sizeof(*remainders), compare);
	/* The remainders add up to left_uj, so it is less than their number. */
	for (size_t i = 0; left_uj > 0; i++, left_uj--) {
		if (remainders[i].place < count)
			parts[remainders[i].place].uj++;
		else
			split->management_uj++;
	}
	for (size_t i = 0; i < count; i++)
		split->tasks_uj += parts[i].uj;
}

struct energy_split energy_split(const struct energy_interval *interval, struct energy_part *parts,
				 size_t count)
{
	struct energy_split split = {.idle_uj = idle_uj(interval)};
	const uint64_t dynamic_uj = interval->meter_uj - split.idle_uj;
	wide total_ns = interval->management_ns;

	for (size_t i = 0; i < count; i++) {
		parts[i].uj = 0;
		total_ns += parts[i].cpu_ns;
	}
	if (interval->known && total_ns > 0)
		split_dynamic(dynamic_uj, interval->management_ns, total_ns, parts, count, &split);
	else
		split.unattributed_uj = dynamic_uj;
	return split;
}
