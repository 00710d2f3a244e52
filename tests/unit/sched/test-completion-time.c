/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Completion times of queues against the enumeration of all outcomes: every execution time that
 * every task may have, played out task by task as a machine would, with probabilities in integers.
 */
#include <glib.h>
#include <math.h>

#include "common/random.h"
#include "controller/sched/completion_queue.h"

#define TASKS_MAX 6
#define IMPULSES_MAX 4
#define DENOMINATOR 24
#define HORIZON 128

/* Execution times with their probabilities in 24ths, and a deadline. */
struct chain_task {
	uint32_t impulses;
	int64_t time[IMPULSES_MAX];
	uint64_t weight[IMPULSES_MAX];
	int64_t deadline;
};

struct chain {
	enum completion_time_scenario scenario;
	bool executes; /* the first task has executed since `start` */
	int64_t start;
	int64_t now;
	uint32_t count;
	struct chain_task tasks[TASKS_MAX];
};

/* What comes of all outcomes: integers in proportion to probabilities, per task. */
struct outcomes {
	uint64_t success[TASKS_MAX];
	uint64_t free[TASKS_MAX][HORIZON]; /* when the machine is done with a task */
};

static void chain_draw(struct random_stream *random, struct chain *ret_chain)
{
	static const enum completion_time_scenario scenarios[] = {COMPLETION_NO_DROP,
								  COMPLETION_DROP_PENDING,
								  COMPLETION_DROP_ANY};

	*ret_chain = (struct chain){
		.scenario = scenarios[random_stream_below(random, 3)],
		.executes = random_stream_below(random, 2) > 0,
		.start = (int64_t)random_stream_below(random, 5),
		.count = 1 + (uint32_t)random_stream_below(random, TASKS_MAX),
	};
	ret_chain->now = ret_chain->start + (int64_t)random_stream_below(random, 6);
	for (uint32_t i = 0; i < ret_chain->count; i++) {
		struct chain_task *task = ret_chain->tasks + i;
		uint64_t left = DENOMINATOR;
		int64_t time = 0;

		task->impulses = 1 + (uint32_t)random_stream_below(random, IMPULSES_MAX);
		task->deadline = (int64_t)random_stream_below(random, 40);
		for (uint32_t k = 0; k < task->impulses; k++) {
			time += 1 + (int64_t)random_stream_below(random, 4);
			task->time[k] = time;
			task->weight[k] =
				k + 1 == task->impulses
					? left
					: 1 + random_stream_below(random,
								  left - (task->impulses - k - 1));
			left -= task->weight[k];
		}
	}
}

/* Plays the outcomes from task `i` on, with the machine free at `free`. */
static void play(const struct chain *chain, uint32_t i, int64_t free, uint64_t weight,
		 struct outcomes *outcomes)
{
	const struct chain_task *task = chain->tasks + i;
	const bool runs_already = i == 0 && chain->executes;
	const bool evicts = chain->scenario == COMPLETION_DROP_ANY &&
			    (!runs_already || task->deadline > chain->now);

	if (i == chain->count)
		return;
	if (!runs_already && chain->scenario != COMPLETION_NO_DROP && free >= task->deadline) {
		outcomes->free[i][free] += weight * DENOMINATOR;
		play(chain, i + 1, free, weight * DENOMINATOR, outcomes);
		return;
	}
	for (uint32_t k = 0; k < task->impulses; k++) {
		int64_t end = free + task->time[k];

		if (runs_already && end <= chain->now)
			continue;
		if (end <= task->deadline && (runs_already || free < task->deadline))
			outcomes->success[i] += weight * task->weight[k];
		if (evicts && end > task->deadline)
			end = task->deadline;
		outcomes->free[i][end] += weight * task->weight[k];
		play(chain, i + 1, end, weight * task->weight[k], outcomes);
	}
}

/* All outcomes of a task. */
static uint64_t sum_of(const uint64_t *values)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < HORIZON; i++)
		sum += values[i];
	return sum;
}

static struct pet *chain_pet(const struct chain *chain)
{
	struct pet *pet = pet_new(chain->count, 1);
	struct pmf pmf = {0};

	for (uint32_t i = 0; i < chain->count; i++) {
		double masses[32] = {0};

		for (uint32_t k = 0; k < chain->tasks[i].impulses; k++)
			masses[chain->tasks[i].time[k]] =
				(double)chain->tasks[i].weight[k] / DENOMINATOR;
		g_assert_cmpint(pmf_from_masses(&pmf, 0, masses, 32, 1e-12, NULL), ==, PMF_OK);
		g_assert_cmpint(pet_set(pet, i, 0, &pmf), ==, PMF_OK);
	}
	pmf_finish(&pmf);
	return pet;
}

/* Walks down the queue. */
static void walk(struct completion_queue *queue, const struct chain *chain, const struct pet *pet,
		 uint32_t merge)
{
	const struct chain_task *first = chain->tasks;

	if (chain->executes)
		g_assert_cmpint(completion_queue_begin_executing(queue, pet_at(pet, 0, 0),
								 chain->start, chain->now,
								 first->deadline, chain->scenario,
								 merge),
				==, PMF_OK);
	else
		g_assert_cmpint(completion_queue_begin(queue, chain->now, chain->scenario, merge),
				==, PMF_OK);
	for (uint32_t i = chain->executes; i < chain->count; i++)
		g_assert_cmpint(completion_queue_push(queue, pet_at(pet, i, 0),
						      chain->tasks[i].deadline),
				==, PMF_OK);
	g_assert_cmpuint(queue->count, ==, chain->count);
}

/* Whether the first task can execute at all: it could have finished after now. */
static bool possible(const struct chain *chain)
{
	const struct chain_task *first = chain->tasks;

	return !chain->executes || chain->start + first->time[first->impulses - 1] > chain->now;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return (double)((long double)part / (long double)whole);
}

static void compare(const struct chain *chain, const struct completion_queue *queue,
		    const struct outcomes *outcomes)
{
	for (uint32_t i = 0; i < chain->count; i++) {
		const struct completion_time_place *place = queue->places + i;
		const uint64_t whole = sum_of(outcomes->free[i]);

		g_assert_cmpint(pmf_check(&place->pct), ==, PMF_OK);
		g_assert_cmpfloat(place->error, ==, 0);
		g_assert_cmpfloat_with_epsilon(place->chance, ratio(outcomes->success[i], whole),
					       1e-13);
		for (int64_t bin = 0; bin < HORIZON; bin++) {
			const int64_t at = bin - place->pct.first;
			const double mass =
				at >= 0 && at < place->pct.count ? place->pct.mass[at] : 0;

			g_assert_cmpfloat_with_epsilon(mass, ratio(outcomes->free[i][bin], whole),
						       1e-13);
		}
	}
}

static void test_enumeration(void)
{
	struct random_stream random;
	unsigned int compared[3] = {0};

	random_stream_init(&random, 4, 7);
	for (unsigned int trial = 0; trial < 3000; trial++) {
		g_autofree struct outcomes *outcomes = g_new0(struct outcomes, 1);
		struct completion_queue queue = {0};
		struct chain chain;
		struct pet *pet;

		chain_draw(&random, &chain);
		if (!possible(&chain))
			continue;
		play(&chain, 0, chain.executes ? chain.start : chain.now, 1, outcomes);
		pet = chain_pet(&chain);
		walk(&queue, &chain, pet, 0);
		compare(&chain, &queue, outcomes);
		compared[chain.scenario]++;
		completion_queue_finish(&queue);
		pet_free(pet);
	}
	for (uint32_t i = 0; i < 3; i++)
		g_assert_cmpuint(compared[i], >, 500);
}

/* A machine that is free at 0 takes tasks of 2 or 6 bins, half and half. */
static struct pet *coin(void)
{
	const double masses[] = {0.5, 0, 0, 0, 0.5};
	struct pet *pet = pet_new(1, 1);
	struct pmf pmf = {0};

	g_assert_cmpint(pmf_from_masses(&pmf, 2, masses, 5, 0, NULL), ==, PMF_OK);
	g_assert_cmpint(pet_set(pet, 0, 0, &pmf), ==, PMF_OK);
	pmf_finish(&pmf);
	return pet;
}

/*
 * Where the paper's formulas differ from what is right: with the printed eq. (1) a task that is
 * dropped counts as being on time, with the printed eq. (5) mass is gained.
 */
static void test_printed(void)
{
	struct pet *pet = coin();
	const struct pet_entry *exec = pet_at(pet, 0, 0);
	struct pmf free = {0}, first = {0}, second = {0};

	g_assert_cmpint(pmf_point(&free, 0), ==, PMF_OK);
	g_assert_cmpint(completion_time_next(&first, &free, exec, 4, COMPLETION_DROP_ANY), ==,
			PMF_OK);
	g_assert_cmpfloat(completion_time_chance(&free, exec, 4), ==, 0.5);
	g_assert_cmpfloat(completion_time_chance_printed(&first, 4), ==, 1);
	g_assert_cmpfloat(pmf_mean(&first), ==, 3);

	g_assert_cmpint(completion_time_next(&first, &free, exec, 6, COMPLETION_DROP_ANY), ==,
			PMF_OK);
	g_assert_cmpint(completion_time_next(&second, &first, exec, 3, COMPLETION_DROP_ANY), ==,
			PMF_OK);
	g_assert_cmpfloat(pmf_mass(&second), ==, 1);
	g_assert_cmpint(second.first, ==, 3);
	g_assert_cmpfloat(second.mass[0], ==, 0.5);
	g_assert_cmpfloat(second.mass[3], ==, 0.5);
	g_assert_cmpint(completion_time_next(&second, &first, exec, 3, COMPLETION_DROP_ANY_PRINTED),
			==, PMF_OK);
	g_assert_cmpfloat(pmf_mass(&second), >, 1);
	g_assert_cmpint(pmf_check(&second), ==, PMF_MASS);
	g_assert_cmpstr(completion_time_scenario_name(COMPLETION_DROP_ANY), ==, "drop-any");
	g_assert_null(completion_time_scenario_name((enum completion_time_scenario)4));

	pmf_finish(&free);
	pmf_finish(&first);
	pmf_finish(&second);
	pet_free(pet);
}

/* A deadline that the machine is never free before, and a deadline that affects no task. */
static void test_ends(void)
{
	struct pet *pet = coin();
	const struct pet_entry *exec = pet_at(pet, 0, 0);
	struct pmf free = {0}, after = {0};

	g_assert_cmpint(pmf_point(&free, 10), ==, PMF_OK);
	g_assert_cmpint(completion_time_next(&after, &free, exec, 10, COMPLETION_DROP_PENDING), ==,
			PMF_OK);
	g_assert_true(pmf_equal(&after, &free));
	g_assert_cmpint(completion_time_next(&after, &free, exec, 10, COMPLETION_NO_DROP), ==,
			PMF_OK);
	g_assert_cmpfloat(pmf_mean(&after), ==, 14);
	g_assert_cmpfloat(completion_time_chance(&free, exec, 10), ==, 0);
	g_assert_cmpfloat(completion_time_chance(&free, exec, 11), ==, 0);
	g_assert_cmpfloat(completion_time_chance(&free, exec, 12), ==, 0.5);
	g_assert_cmpfloat(completion_time_chance(&free, exec, 16), ==, 1);
	g_assert_cmpfloat(completion_time_chance(&free, exec, INT64_C(1) << 50), ==, 1);
	g_assert_cmpint(completion_time_next(&after, &free, exec, INT64_C(1) << 50,
					     COMPLETION_DROP_ANY),
			==, PMF_OK);
	g_assert_cmpfloat(pmf_mean(&after), ==, 14);
	pmf_finish(&free);
	pmf_finish(&after);
	pet_free(pet);
}

static void assert_same_walk(const struct completion_queue *queue,
			     const struct completion_queue *other)
{
	g_assert_cmpuint(queue->count, ==, other->count);
	g_assert_true(pmf_equal(completion_queue_free(queue), completion_queue_free(other)));
	for (uint32_t i = 0; i < queue->count; i++) {
		g_assert_true(pmf_equal(&queue->places[i].pct, &other->places[i].pct));
		g_assert_true(queue->places[i].chance == other->places[i].chance);
		g_assert_true(queue->places[i].mean == other->places[i].mean);
		g_assert_true(queue->places[i].error == other->places[i].error);
	}
}

/* A queue that changes as queues do, walked with a memory and without. */
static void test_memory(void)
{
	struct random_stream random;
	struct completion_queue queue = {0};
	uint64_t arena = 0;
	struct chain all;
	struct pet *pet;

	random_stream_init(&random, 4, 9);
	do
		chain_draw(&random, &all);
	while (all.count < TASKS_MAX);
	pet = chain_pet(&all);
	for (unsigned int step = 0; step < 3000; step++) {
		struct completion_queue fresh = {0};

		/* Time advances, the deadline of some task is another, the queue ends elsewhere. */
		all.now += random_stream_below(&random, 4) == 0;
		if (random_stream_below(&random, 9) == 0) {
			all.start = all.now;
			all.executes = random_stream_below(&random, 3) > 0;
		}
		if (random_stream_below(&random, 3) == 0)
			all.tasks[random_stream_below(&random, TASKS_MAX)].deadline =
				all.now + (int64_t)random_stream_below(&random, 40) - 5;
		if (random_stream_below(&random, 50) == 0)
			all.scenario =
				(enum completion_time_scenario)random_stream_below(&random, 3);
		all.count = 1 + (uint32_t)random_stream_below(&random, TASKS_MAX);
		walk(&queue, &all, pet, step / 1000 * 5);
		walk(&fresh, &all, pet, step / 1000 * 5);
		assert_same_walk(&queue, &fresh);
		for (uint32_t i = 0; i < fresh.count; i++)
			g_assert_true(completion_queue_skewness(&queue, i) ==
				      completion_queue_skewness(&fresh, i));
		arena += fresh.computed;
		completion_queue_finish(&fresh);
	}
	g_assert_cmpuint(queue.computed, <, arena * 3 / 4);
	completion_queue_finish(&queue);
	pet_free(pet);
}

/* What is put on a queue for a try and taken off again leaves no trace. */
static void test_tries(void)
{
	struct pet *pet = coin();
	const struct pet_entry *exec = pet_at(pet, 0, 0);
	struct completion_queue queue = {0}, plain = {0};

	g_assert_cmpint(completion_queue_begin(&queue, 0, COMPLETION_DROP_ANY, 0), ==, PMF_OK);
	g_assert_cmpint(completion_queue_push(&queue, exec, 7), ==, PMF_OK);
	g_assert_cmpint(completion_queue_push(&queue, exec, 9), ==, PMF_OK);
	completion_queue_pop(&queue);
	g_assert_cmpint(completion_queue_push(&queue, exec, 12), ==, PMF_OK);
	g_assert_cmpint(completion_queue_push(&queue, exec, 9), ==, PMF_OK);
	g_assert_cmpint(completion_queue_begin(&plain, 0, COMPLETION_DROP_ANY, 0), ==, PMF_OK);
	g_assert_cmpint(completion_queue_push(&plain, exec, 7), ==, PMF_OK);
	g_assert_cmpint(completion_queue_push(&plain, exec, 12), ==, PMF_OK);
	g_assert_cmpint(completion_queue_push(&plain, exec, 9), ==, PMF_OK);
	assert_same_walk(&queue, &plain);
	completion_queue_finish(&queue);
	completion_queue_finish(&plain);
	pet_free(pet);
}

/* Merged queues are off by what they say at most, in all scenarios. */
static void test_merged(void)
{
	struct random_stream random;

	random_stream_init(&random, 4, 11);
	for (unsigned int trial = 0; trial < 3000; trial++) {
		struct completion_queue exact = {0}, merged = {0};
		struct chain chain;
		struct pet *pet;

		chain_draw(&random, &chain);
		pet = chain_pet(&chain);
		walk(&exact, &chain, pet, 0);
		walk(&merged, &chain, pet, 2 + (uint32_t)random_stream_below(&random, 8));
		for (uint32_t i = 0; i < chain.count; i++) {
			const double before = i > 0 ? merged.places[i - 1].error : 0;
			const double error = merged.places[i].error;

			g_assert_cmpint(pmf_check(&merged.places[i].pct), ==, PMF_OK);
			g_assert_cmpfloat(fabs(exact.places[i].chance - merged.places[i].chance),
					  <=, before + 1e-12);
			for (int64_t bin = 0; bin < HORIZON; bin++)
				g_assert_cmpfloat(fabs(pmf_until(&exact.places[i].pct, bin) -
						       pmf_until(&merged.places[i].pct, bin)),
						  <=, error + 1e-12);
		}
		completion_queue_finish(&exact);
		completion_queue_finish(&merged);
		pet_free(pet);
	}
}

/* Long PMFs, where vectors count: mass within the bound after six convolutions. */
static void test_mass(void)
{
	struct random_stream random;
	struct pet *pet = pet_new(6, 1);
	struct pmf pmf = {0};
	g_autofree double *samples = g_new(double, 500);

	random_stream_init(&random, 4, 13);
	for (uint32_t type = 0; type < 6; type++) {
		for (uint32_t i = 0; i < 500; i++)
			samples[i] = 1 + 90 * (random_stream_exponential(&random, 1) +
					       random_stream_exponential(&random, 1));
		g_assert_cmpint(pmf_from_samples(&pmf, samples, 500, 1, NULL), ==, PMF_OK);
		g_assert_cmpint(pet_set(pet, type, 0, &pmf), ==, PMF_OK);
	}
	for (unsigned int trial = 0; trial < 60; trial++) {
		struct completion_queue queue = {0};
		double sum = 0;

		g_assert_cmpint(completion_queue_begin(&queue, 1000,
						       (enum completion_time_scenario)(trial % 3),
						       0),
				==, PMF_OK);
		for (uint32_t type = 0; type < 6; type++) {
			const int64_t deadline = 1000 + (int64_t)random_stream_below(&random, 1500);

			g_assert_cmpint(completion_queue_push(&queue, pet_at(pet, type, 0),
							      deadline),
					==, PMF_OK);
			g_assert_cmpint(pmf_check(&queue.places[type].pct), ==, PMF_OK);
			sum += pet_at(pet, type, 0)->mean;
		}
		if (trial % 3 == COMPLETION_NO_DROP)
			g_assert_cmpfloat_with_epsilon(queue.places[5].mean, 1000 + sum, 1e-7);
		completion_queue_finish(&queue);
	}
	pmf_finish(&pmf);
	pet_free(pet);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pct/equals-the-enumeration-of-all-outcomes", test_enumeration);
	g_test_add_func("/pct/keeps-the-letter-of-the-paper-apart", test_printed);
	g_test_add_func("/pct/starts-before-the-deadline-and-ends-by-it", test_ends);
	g_test_add_func("/pct/keeps-its-mass", test_mass);
	g_test_add_func("/pct-queue/remembers-to-the-bit", test_memory);
	g_test_add_func("/pct-queue/forgets-tries", test_tries);
	g_test_add_func("/pct-queue/merges-within-the-error-it-states", test_merged);
	return g_test_run();
}
