/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/check/queueing_snapshots.h"

#include <glib.h>

#include "common/random.h"

static uint32_t below(struct random_stream *random, uint32_t n)
{
	return (uint32_t)random_stream_below(random, n);
}

static double pick(struct random_stream *random, const double *values, uint32_t count)
{
	return values[below(random, count)];
}

static struct pet *draw_pet(struct random_stream *random, uint32_t types, uint32_t machines)
{
	struct pet *pet = pet_new(types, machines);
	struct pmf pmf = {0};

	for (uint32_t type = 0; type < types; type++)
		for (uint32_t machine = 0; machine < machines; machine++) {
			double masses[12] = {0};
			uint32_t left = 8;

			while (left > 0) {
				const uint32_t weight = 1 + below(random, left);

				masses[below(random, 12)] += weight / 8.0;
				left -= weight;
			}
			g_assert_cmpint(pmf_from_masses(&pmf, 1 + below(random, 6), masses, 12, 0,
							NULL),
					==, PMF_OK);
			g_assert_cmpint(pet_set(pet, type, machine, &pmf), ==, PMF_OK);
		}
	pmf_finish(&pmf);
	return pet;
}

static void draw_settings(struct random_stream *random, struct sched_queueing *settings)
{
	static const double chances[] = {0, 0.25, 0.5, 0.75, 0.9, 1};
	static const double bins[] = {1, 0.5, 10};

	settings->bin_s = pick(random, bins, 3);
	settings->length = 1 + below(random, QUEUEING_LENGTH_MAX);
	settings->pruning = (struct sched_pruning){
		.drop_threshold = pick(random, chances, 6),
		.defer_threshold = pick(random, chances, 6),
		.adjustment = pick(random, chances, 6),
		.recency = pick(random, chances, 6),
		.toggle = 1 + below(random, 2),
		.separation = below(random, 2) * 0.2,
		.cull_threshold = pick(random, chances, 4),
		.evicting_baselines = below(random, 2) > 0,
	};
}

static void draw_task(struct random_stream *random, struct queueing_random *drawn, uint32_t id)
{
	struct sched_task *task = &drawn->tasks[id];
	const double bin_s = drawn->settings.bin_s;

	*task = (struct sched_task){
		.id = id,
		.row = below(random, drawn->system->rows_count),
		.arrival_s = (double)below(random, 50) * bin_s,
	};
	task->deadline_s = (95 + (double)below(random, 70)) * bin_s;
	drawn->pointers[id] = task;
}

/* The first tasks are queued, in any order; the rest waits in order of arrival. */
static void draw_tasks(struct random_stream *random, struct queueing_random *drawn)
{
	struct sched_snapshot *snapshot = &drawn->snapshot;
	uint32_t count = 0, waiting;

	for (uint32_t m = 0; m < drawn->system->clusters_count; m++) {
		struct sched_queue *queue = &drawn->queues[m];

		queue->count = below(random, drawn->settings.length + 1);
		queue->tasks = drawn->pointers + count;
		queue->executes = queue->count > 0 && below(random, 3) > 0;
		queue->start_s = (100 - (double)below(random, 12)) * drawn->settings.bin_s;
		for (uint32_t i = 0; i < queue->count; i++)
			draw_task(random, drawn, count++);
	}
	waiting = below(random, QUEUEING_TASKS_MAX - count + 1);
	for (uint32_t i = 0; i < waiting; i++) {
		draw_task(random, drawn, count);
		drawn->tasks[count].arrival_s = (50.0 + i / 2) * drawn->settings.bin_s;
		count++;
	}
	snapshot->waiting = drawn->pointers + (count - waiting);
	snapshot->waiting_count = waiting;
}

struct queueing_random *queueing_random_new(uint64_t seed)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct queueing_random *drawn = g_new0(struct queueing_random, 1);
	struct sched_cluster clusters[QUEUEING_MACHINES_MAX];
	struct random_stream random;
	uint32_t machines, types;

	random_stream_init(&random, seed, 404);
	machines = 1 + below(&random, QUEUEING_MACHINES_MAX);
	types = 1 + below(&random, QUEUEING_TYPES_MAX);
	for (uint32_t m = 0; m < machines; m++)
		clusters[m] = (struct sched_cluster){.name = names[m],
						     .nodes = 1,
						     .cores = 1,
						     .pstates = 1};
	drawn->system = sched_system_new(clusters, machines, types);
	drawn->pet = draw_pet(&random, types, machines);
	draw_settings(&random, &drawn->settings);
	drawn->settings.pet = drawn->pet;
	for (uint32_t type = 0; type < types; type++) {
		drawn->system->row_names[type] = names[type];
		drawn->sufferage[type] = below(&random, 5) * 0.05;
		for (uint32_t m = 0; m < machines; m++) {
			const uint32_t cell = type * machines + m;

			drawn->system->etc_s[cell] =
				pet_at(drawn->pet, type, m)->mean * drawn->settings.bin_s;
			drawn->system->nodes[cell] = 1;
		}
	}
	g_assert_cmpint(sched_system_finish(drawn->system, NULL), ==, SCHED_SYSTEM_OK);
	drawn->system->queueing = &drawn->settings;
	drawn->snapshot = (struct sched_snapshot){
		.system = drawn->system,
		.seed = seed,
		.now_s = 100 * drawn->settings.bin_s,
		.next_event_s = 1000 * drawn->settings.bin_s,
		.end_s = 1e6,
		.budget_j = INFINITY,
		.queues = drawn->queues,
		.pruner = {.level = below(&random, 5) * 0.4, .dropping = below(&random, 2) > 0},
		.missed = below(&random, 3),
		.sufferage = below(&random, 4) > 0 ? drawn->sufferage : NULL,
	};
	draw_tasks(&random, drawn);
	return drawn;
}

void queueing_random_free(struct queueing_random *random)
{
	sched_system_free(random->system);
	pet_free(random->pet);
	g_free(random);
}
