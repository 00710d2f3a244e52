/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/mg_source.h"

#include "benchmarks/npb/npb_random.h"

#define SMOOTHER_A                                                                                 \
	{                                                                                          \
		-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0                                                \
	}
#define SMOOTHER_B                                                                                 \
	{                                                                                          \
		-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0                                               \
	}

static const struct mg_class classes[] = {
	{'S', 32, 4, SMOOTHER_A, 0.5307707005734e-04},
	{'W', 128, 4, SMOOTHER_A, 0.6467329375339e-05},
	{'A', 256, 4, SMOOTHER_A, 0.2433365309069e-05},
	{'B', 256, 20, SMOOTHER_B, 0.1800564401355e-05},
	{'C', 512, 20, SMOOTHER_B, 0.5706732285740e-06},
};

const struct mg_class *mg_class_find(char name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].name == name)
			return &classes[i];
	return NULL;
}

/* Put @charge in its place among the largest, if it has one there. */
static void keep_large(struct mg_charge *largest, struct mg_charge charge)
{
	int place = MG_CHARGES;

	while (place > 0 && largest[place - 1].x < charge.x)
		place--;
	for (int i = MG_CHARGES - 1; i > place; i--)
		largest[i] = largest[i - 1];
	if (place < MG_CHARGES)
		largest[place] = charge;
}

static void keep_small(struct mg_charge *smallest, struct mg_charge charge)
{
	int place = MG_CHARGES;

	while (place > 0 && smallest[place - 1].x > charge.x)
		place--;
	for (int i = MG_CHARGES - 1; i > place; i--)
		smallest[i] = smallest[i - 1];
	if (place < MG_CHARGES)
		smallest[place] = charge;
}

void mg_charges_find(int n, int first, int planes, struct mg_charges *ret_charges)
{
	int64_t start = (int64_t)first * n * n;
	int64_t end = start + (int64_t)planes * n * n;
	struct npb_random random;

	for (int i = 0; i < MG_CHARGES; i++) {
		ret_charges->largest[i] = (struct mg_charge){.x = 0, .point = -1};
		ret_charges->smallest[i] = (struct mg_charge){.x = UINT64_MAX, .point = -1};
	}
	npb_random_init(&random, NPB_RANDOM_SEED);
	npb_random_skip(&random, (uint64_t)start);
	for (int64_t point = start; point < end; point++) {
		struct mg_charge charge = {.x = npb_random_next(&random), .point = point};

		if (charge.x > ret_charges->largest[MG_CHARGES - 1].x)
			keep_large(ret_charges->largest, charge);
		if (charge.x < ret_charges->smallest[MG_CHARGES - 1].x)
			keep_small(ret_charges->smallest, charge);
	}
}

void mg_charges_merge(struct mg_charges *charges, const struct mg_charges *other)
{
	for (int i = 0; i < MG_CHARGES; i++) {
		keep_large(charges->largest, other->largest[i]);
		keep_small(charges->smallest, other->smallest[i]);
	}
}

static void place(struct mg_grid *v, int64_t point, double value)
{
	int64_t n = v->n;
	int k = (int)(point / (n * n));

	if (k >= v->first && k < v->first + v->planes)
		mg_grid_plane(v, k)[(size_t)(point / n % n) * v->row + (size_t)(point % n)] = value;
}

void mg_charges_place(const struct mg_charges *charges, struct mg_grid *v)
{
	for (int i = 0; i < MG_CHARGES; i++) {
		place(v, charges->largest[i].point, 1.0);
		place(v, charges->smallest[i].point, -1.0);
	}
}
