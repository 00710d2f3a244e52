/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "common/random.h"
#include "controller/sched/availability.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/snapshots.h"

/* A stretch of time that is taken on one node. */
struct taken {
	uint32_t node;
	double start_s;
	double end_s;
};

/* Where a task goes; now is 0. */
struct scene {
	const char *name;
	uint32_t nodes;
	struct taken taken[8]; /* up to the first without a length */
	uint32_t width;
	double duration_s;
	double start_s; /* INFINITY: never */
	uint32_t chosen[4];
};

static const struct scene scenes[] = {
	{"an empty cluster starts now on the lowest nodes", 4, {{0}}, 2, 10, 0, {0, 1}},
	{"a cluster that is too small never starts", 2, {{0}}, 3, 10, (double)INFINITY, {0}},
	{"nodes must be free for the whole time", 1, {{0, 5, 10}}, 1, 6, 10, {0}},
	{"a gap that fits exactly is used", 1, {{0, 5, 10}}, 1, 5, 0, {0}},
	{"a node that is down is never free", 2, {{0, 0, (double)INFINITY}}, 1, 5, 0, {1}},
	{"filling a void is better than beginning one",
	 3,
	 {{0, 10, 20}, {2, 5, 20}, {1, 20, 30}},
	 1,
	 5,
	 0,
	 {2}},
	{"of equal numbers of voids the smaller void is taken",
	 2,
	 {{0, 20, 30}, {1, 15, 30}},
	 1,
	 5,
	 0,
	 {1}},
	{"an open end is no void", 2, {{0, 20, 30}}, 1, 5, 0, {1}},
	/*
	 * Figure 4 of Machovec 2018, in numbers: three of the nodes 3 to 6 at time 10. Nodes 5 and
	 * 6 get no new void, 3 and 4 one each, and the one of node 3 is the smaller.
	 */
	{"figure 4 of the paper",
	 7,
	 {{0, 0, 40}, {1, 0, 40}, {2, 0, 40}, {3, 0, 8}, {4, 0, 4}, {5, 0, 10}, {6, 0, 10}},
	 3,
	 10,
	 10,
	 {3, 5, 6}},
};

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	struct arena *arena = arena_new();
	struct availability availability;
	uint32_t nodes[4];

	g_assert_cmpint(availability_init(&availability, arena, scene->nodes, 0), ==, 0);
	for (size_t i = 0; scene->taken[i].end_s > 0; i++)
		availability_take(&availability, &scene->taken[i].node, 1, scene->taken[i].start_s,
				  scene->taken[i].end_s);

	const uint32_t step = availability_earliest(&availability, scene->width, scene->duration_s);

	if (isinf(scene->start_s)) {
		g_assert_cmpuint(step, ==, UINT32_MAX);
	} else {
		g_assert_cmpfloat(availability.time_s[step], ==, scene->start_s);
		g_assert_cmpint(availability_choose(&availability, step, scene->width,
						    scene->duration_s, nodes),
				==, 0);
		assert_same_nodes(nodes, scene->width, scene->chosen, scene->width);
	}
	arena_free(arena);
}

/* What was made since the mark is free again, also beyond the chunk that the mark is in. */
static void test_rewind(void)
{
	struct arena *arena = arena_new();
	uint8_t *kept = arena_array(arena, 100, 1);
	const struct arena_mark mark = arena_mark(arena);
	uint8_t *first;

	memset(kept, 7, 100);
	first = arena_array(arena, 1000, 1);
	for (int i = 0; i < 20; i++)
		memset(arena_array(arena, 50000, 1), 9, 50000);
	arena_rewind(arena, mark);
	g_assert_true(arena_array(arena, 1000, 1) == (void *)first);
	for (size_t i = 0; i < 1000; i++)
		g_assert_cmpuint(first[i], ==, 0);
	for (int i = 0; i < 20; i++) {
		const uint8_t *next = arena_array(arena, 50000, 1);

		g_assert_cmpuint(next[0] + next[49999], ==, 0);
	}
	for (size_t i = 0; i < 100; i++)
		g_assert_cmpuint(kept[i], ==, 7);
	arena_free(arena);
}

/* An empty snapshot of one cluster, to build an oracle from. */
static struct oracle_cluster *empty_oracle(uint32_t nodes, struct sched_system **ret_system)
{
	const struct sched_cluster cluster = {.name = "c",
					      .nodes = nodes,
					      .cores = 1,
					      .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, 0);
	const struct sched_snapshot snapshot = {.system = system};

	*ret_system = system;
	return oracle_clusters_new(&snapshot);
}

/* Fills a cluster task by task; every start and every choice is that of the oracle. */
static void fill(uint32_t nodes, uint64_t seed)
{
	struct arena *arena = arena_new();
	struct sched_system *system;
	struct oracle_cluster *oracle = empty_oracle(nodes, &system);
	g_autofree uint32_t *chosen = g_new(uint32_t, nodes);
	g_autofree uint32_t *expected = g_new(uint32_t, nodes);
	struct availability availability;
	struct random_stream random;

	random_stream_init(&random, seed, nodes);
	g_assert_cmpint(availability_init(&availability, arena, nodes, 0), ==, 0);
	for (int i = 0; i < 60; i++) {
		const uint32_t width = 1 + (uint32_t)random_stream_below(&random, nodes);
		const double duration_s = 1 + (double)random_stream_below(&random, 12);
		const double start_s = oracle_earliest(oracle, 0, width, duration_s, expected);
		const uint32_t step = availability_earliest(&availability, width, duration_s);

		g_assert_cmpfloat(availability.time_s[step], ==, start_s);

		const struct arena_mark before = arena_mark(arena);

		g_assert_cmpint(availability_choose(&availability, step, width, duration_s, chosen),
				==, 0);

		const struct arena_mark after = arena_mark(arena);

		/* A choice leaves no memory behind. */
		g_assert_true(after.chunk == before.chunk);
		g_assert_cmpuint(after.used, ==, before.used);
		assert_same_nodes(chosen, width, expected, width);
		availability_take(&availability, chosen, width, start_s, start_s + duration_s);
		g_assert_true(oracle_take(oracle, chosen, width, start_s, start_s + duration_s));
	}
	oracle_clusters_free(oracle, system);
	sched_system_free(system);
	arena_free(arena);
}

static void test_random(void)
{
	static const uint32_t sizes[] = {1, 2, 5, 16, 63, 64, 65, 130};

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
		for (uint64_t seed = 0; seed < 12; seed++)
			fill(sizes[i], seed);
}

static void test_scratch(void)
{
	struct arena *arena = arena_new();
	unsigned char *small = arena_array(arena, 3, 1);
	unsigned char *large = arena_array(arena, 1000, 1000);

	g_assert_nonnull(small);
	g_assert_nonnull(large);
	large[999999] = 1;
	g_assert_cmpuint((uintptr_t)large % sizeof(double), ==, 0);
	g_assert_null(arena_array(arena, SIZE_MAX, 2));
	arena_reset(arena);
	g_assert_true(arena_array(arena, 3, 1) == small);
	g_assert_true(arena_array(arena, 1000, 1000) == large);
	arena_free(arena);
	arena_free(NULL);
}

static void test_words(void)
{
	static const struct {
		uint32_t nodes;
		uint32_t words;
	} cases[] = {{1, 1},
		     {63, 1},
		     {64, 1},
		     {65, 2},
		     {128, 2},
		     {4294967232, 67108863},
		     {4294967233, 67108864},
		     {UINT32_MAX, 67108864}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpuint(availability_words(cases[i].nodes), ==, cases[i].words);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf("/availability/%s", scenes[i].name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	g_test_add_func("/availability/starts and nodes are those of a plain search", test_random);
	g_test_add_func("/availability/a mask has words for all nodes", test_words);
	g_test_add_func("/arena/memory is handed out again after a reset", test_scratch);
	g_test_add_func("/arena/a mark is gone back to", test_rewind);
	return g_test_run();
}
