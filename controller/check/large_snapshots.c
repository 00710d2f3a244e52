/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/check/large_snapshots.h"

#include <glib.h>
#include <math.h>

#include "common/random.h"

#define CLUSTERS 4
#define CLUSTER_NODES 64
#define TYPES 8
#define RUNNING (CLUSTERS * CLUSTER_NODES * 3 / 4)
#define PRESENT_S 10000

static struct sched_system *make_system(struct random_stream *random, bool immediate)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct sched_cluster clusters[CLUSTERS];
	struct sched_system *system;

	for (uint32_t c = 0; c < CLUSTERS; c++)
		clusters[c] = (struct sched_cluster){.name = names[c],
						     .nodes = CLUSTER_NODES,
						     .cores = 4,
						     .pstates = 2};
	system = sched_system_new(clusters, CLUSTERS, TYPES);
	for (uint32_t row = 0; row < TYPES; row++) {
		system->row_names[row] = names[row];
		for (uint32_t c = 0; c < CLUSTERS; c++) {
			const uint32_t cell = row * system->columns_count + 2 * c;

			/* A type on one node is there, so that what runs can be made of it. */
			system->nodes[row * CLUSTERS + c] =
				row == 0 ? 1 : 1 + (uint32_t)random_stream_below(random, 16);
			system->etc_s[cell] = 50 + 200 * random_stream_uniform(random);
			system->etc_s[cell + 1] = 1.5 * system->etc_s[cell];
			system->eec_j[cell] = 100 + 900 * random_stream_uniform(random);
			system->eec_j[cell + 1] = 0.8 * system->eec_j[cell];
		}
	}
	system->immediate = immediate;
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static void make_task(struct random_stream *random, uint32_t id, double arrival_s,
		      struct sched_task *task)
{
	*task = (struct sched_task){
		.id = id,
		.row = (uint32_t)random_stream_below(random, TYPES),
		.arrival_s = arrival_s,
		.may_preempt = random_stream_below(random, 2),
		.preemptible = random_stream_below(random, 2),
		.utility = {.max = 1 + (double)random_stream_below(random, 8),
			    .segments_count = 2,
			    .segments = {{UTILITY_CONSTANT, 1000, 1, 1, 0},
					 {UTILITY_LINEAR, 20000, 1, 0, 0}}},
	};
}

struct large_snapshot *large_snapshot_new(uint64_t seed, uint32_t waiting, bool immediate)
{
	struct large_snapshot *large = g_new0(struct large_snapshot, 1);
	struct random_stream random;

	random_stream_init(&random, seed, waiting);
	large->system = make_system(&random, immediate);
	large->tasks = g_new0(struct sched_task, waiting + RUNNING);
	large->waiting = g_new0(const struct sched_task *, waiting);
	large->running = g_new0(struct sched_allocation, RUNNING);
	large->nodes = g_new0(uint32_t, RUNNING);
	for (uint32_t i = 0; i < RUNNING; i++) {
		const uint32_t cluster = i % CLUSTERS;
		const struct sched_option *option;
		struct sched_task *task = &large->tasks[i];

		make_task(&random, i, i, task);
		task->row = 0;
		option = sched_system_option(large->system, 0, cluster, 0);
		large->nodes[i] = i / CLUSTERS;
		large->running[i] = (struct sched_allocation){
			.task = task,
			.cluster = cluster,
			.nodes_count = 1,
			.nodes = &large->nodes[i],
			.start_s = PRESENT_S - 1 - i % 40,
			.end_s = PRESENT_S - 1 - i % 40 + option->etc_s,
		};
	}
	for (uint32_t i = 0; i < waiting; i++) {
		make_task(&random, RUNNING + i, PRESENT_S / 2 + (double)i / 2,
			  &large->tasks[RUNNING + i]);
		large->waiting[i] = &large->tasks[RUNNING + i];
	}
	large->snapshot = (struct sched_snapshot){
		.system = large->system,
		.seed = seed,
		.now_s = PRESENT_S,
		.next_event_s = PRESENT_S + 60,
		.end_s = 10 * PRESENT_S,
		.budget_j = INFINITY,
		.waiting_count = waiting,
		.waiting = large->waiting,
		.running_count = RUNNING,
		.running = large->running,
	};
	return large;
}

void large_snapshot_free(struct large_snapshot *large)
{
	sched_system_free(large->system);
	g_free(large->tasks);
	g_free(large->waiting);
	g_free(large->running);
	g_free(large->nodes);
	g_free(large);
}
