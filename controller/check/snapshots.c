/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/check/snapshots.h"

#include <glib.h>

#define TASKS_MAX 64
#define NODES_MAX 4096

/* A snapshot in the making. */
struct maker {
	struct random_stream random;
	struct random_snapshot *made;
	uint32_t tasks_count;
	uint32_t nodes_count;
	double *busy_until[4]; /* per cluster and node: end of what occupies it last */
};

static uint32_t below(struct maker *maker, uint32_t n)
{
	return (uint32_t)random_stream_below(&maker->random, n);
}

static const char *const names[] = {"a", "b", "c", "d", "e"};

static void make_estimates(struct maker *maker)
{
	static const double times_s[] = {5, 10, 10, 20, 30, 45};
	static const double energies_j[] = {10, 20, 20, 50, 80};
	struct sched_system *system = maker->made->system;

	for (uint32_t row = 0; row < system->rows_count; row++) {
		const uint32_t sure = below(maker, system->clusters_count);

		system->row_names[row] = names[row];
		for (uint32_t c = 0; c < system->clusters_count; c++) {
			const struct sched_cluster *cluster = &system->clusters[c];

			if (c != sure && below(maker, 4) == 0)
				continue;
			system->nodes[row * system->clusters_count + c] =
				1 + below(maker, cluster->nodes);
			for (uint32_t p = 0; p < cluster->pstates; p++) {
				const uint32_t cell =
					row * system->columns_count + cluster->column + p;

				system->etc_s[cell] = times_s[below(maker, 6)] + p;
				system->eec_j[cell] = energies_j[below(maker, 5)];
			}
		}
	}
}

static void make_system(struct maker *maker)
{
	struct sched_cluster clusters[4];
	const uint32_t count = 1 + below(maker, 4);

	for (uint32_t c = 0; c < count; c++)
		clusters[c] = (struct sched_cluster){
			.name = names[c],
			.nodes =
				below(maker, 8) == 0 ? 60 + below(maker, 80) : 1 + below(maker, 10),
			.cores = 1u << below(maker, 4),
			.pstates = below(maker, 3) == 0 ? 1 + below(maker, 3) : 1,
		};
	maker->made->system = sched_system_new(clusters, count, 1 + below(maker, 5));
	make_estimates(maker);
	g_assert_cmpint(sched_system_finish(maker->made->system, NULL), ==, SCHED_SYSTEM_OK);
	for (uint32_t c = 0; c < count; c++)
		maker->busy_until[c] = g_new0(double, clusters[c].nodes);
}

static struct utility make_utility(struct maker *maker)
{
	const double max = 1 + below(maker, 4);

	switch (below(maker, 3)) {
	case 0:
		return (struct utility){
			.max = max,
			.segments_count = 2,
			.segments =
				{
					{UTILITY_CONSTANT, 30, 1, 1, 0},
					{UTILITY_EXPONENTIAL, 60, 0.9, 0.1, 0.05},
				},
		};
	case 1:
		return utility_testbed(max, 15, 40);
	default:
		return utility_testbed(max, 60, 120);
	}
}

static struct sched_task *make_task(struct maker *maker)
{
	struct sched_task *task = &maker->made->tasks[maker->tasks_count];

	task->id = maker->tasks_count++;
	task->row = below(maker, maker->made->system->rows_count);
	task->utility = make_utility(maker);
	return task;
}

/*
 * Finds nodes that are free from `start_s` on and takes them until `end_s`. NULL when there are too
 * few.
 */
static const uint32_t *take_nodes(struct maker *maker, uint32_t cluster, uint32_t width,
				  double start_s, double end_s)
{
	uint32_t *nodes = maker->made->nodes + maker->nodes_count;
	const uint32_t total = maker->made->system->clusters[cluster].nodes;
	uint32_t count = 0;

	for (uint32_t node = below(maker, total); node < total && count < width; node++)
		if (maker->busy_until[cluster][node] <= start_s)
			nodes[count++] = node;
	if (count < width)
		return NULL;
	for (uint32_t i = 0; i < width; i++)
		maker->busy_until[cluster][nodes[i]] = end_s;
	maker->nodes_count += width;
	return nodes;
}

/* A place for a new task from `start_s` on; false when the dice fell on a full cluster. */
static bool make_place(struct maker *maker, double start_s, struct sched_allocation *ret_planned)
{
	const struct sched_system *system = maker->made->system;
	struct sched_task *task = make_task(maker);
	uint32_t count;
	const struct sched_option *options = sched_system_options(system, task->row, &count);
	const struct sched_option *option = &options[below(maker, count)];

	*ret_planned = (struct sched_allocation){
		.task = task,
		.cluster = option->cluster,
		.pstate = option->pstate,
		.nodes_count = option->nodes,
		.start_s = start_s,
		.end_s = start_s + option->etc_s,
	};
	if (maker->nodes_count + option->nodes > NODES_MAX)
		return false;
	ret_planned->nodes =
		take_nodes(maker, option->cluster, option->nodes, start_s, ret_planned->end_s);
	return ret_planned->nodes;
}

static void make_running(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;

	for (uint32_t i = below(maker, 8); i > 0; i--) {
		struct sched_allocation place;
		/* Started a while ago, but still running. */
		const double start_s = snapshot->now_s - below(maker, 5);

		if (!make_place(maker, start_s, &place))
			continue;
		maker->made->running[snapshot->running_count++] = (struct sched_allocation){
			.task = place.task,
			.cluster = place.cluster,
			.pstate = place.pstate,
			.nodes_count = place.nodes_count,
			.nodes = place.nodes,
			.start_s = place.start_s,
			.end_s = place.end_s,
		};
	}
}

static void make_reservations(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;

	for (uint32_t i = below(maker, 4); i > 0; i--) {
		struct sched_allocation place;

		if (make_place(maker, snapshot->now_s + 1 + below(maker, 40), &place))
			maker->made->reservations[snapshot->reservations_count++] = place;
	}
}

static void make_down(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;
	const struct sched_system *system = maker->made->system;

	for (uint32_t i = below(maker, 3); i > 0; i--) {
		const uint32_t cluster = below(maker, system->clusters_count);
		const uint32_t node = below(maker, system->clusters[cluster].nodes);

		if (maker->busy_until[cluster][node] > 0)
			continue;
		maker->busy_until[cluster][node] = (double)INFINITY;
		maker->made->down[snapshot->down_count++] = (struct sched_node){cluster, node};
	}
}

static void make_waiting(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;
	const uint32_t count = below(maker, below(maker, 8) == 0 ? 40 : 14);

	for (uint32_t i = 0; i < count; i++) {
		struct sched_task *task = make_task(maker);

		/* In order, with equal arrivals now and then. */
		task->arrival_s = snapshot->now_s - 60 + 60.0 * (i / 2) / count;
		maker->made->waiting[snapshot->waiting_count++] = task;
	}
}

/* Some of the waiting held place-holders; which nodes does not matter any more. */
static void make_placeholders(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;

	for (uint32_t i = 0; i < snapshot->waiting_count; i++) {
		const struct sched_task *task = snapshot->waiting[i];
		uint32_t count;
		const struct sched_option *option =
			sched_system_options(snapshot->system, task->row, &count);
		uint32_t *nodes = maker->made->nodes + maker->nodes_count;

		if (below(maker, 2) || maker->nodes_count + option->nodes > NODES_MAX)
			continue;
		for (uint32_t n = 0; n < option->nodes; n++)
			nodes[n] = n;
		maker->nodes_count += option->nodes;
		maker->made->placeholders[snapshot->placeholders_count++] =
			(struct sched_allocation){
				.task = task,
				.cluster = option->cluster,
				.pstate = option->pstate,
				.nodes_count = option->nodes,
				.nodes = nodes,
				.start_s = snapshot->now_s + 5,
				.end_s = snapshot->now_s + 5 + option->etc_s,
			};
	}
}

static void make_numbers(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;

	snapshot->event = below(maker, 1000);
	snapshot->seed = random_stream_next(&maker->random) >> 11;
	snapshot->now_s = 100 + below(maker, 50);
	snapshot->next_event_s = snapshot->now_s + 1 + below(maker, 20);
	snapshot->end_s = snapshot->now_s + 5 + below(maker, 200);
	snapshot->consumed_j = below(maker, 500);
	snapshot->budget_j = below(maker, 5) == 0 ? (double)INFINITY : 100 + below(maker, 2000);
	snapshot->gate = below(maker, 3) == 0;
	if (below(maker, 3) == 0)
		return;
	snapshot->completed_count = 1 + below(maker, 5);
	snapshot->completed_j = snapshot->completed_count * 10.0 * (1 + below(maker, 6));
	snapshot->completed_resources = snapshot->completed_count * 20.0 * (1 + below(maker, 20));
}

struct random_snapshot *random_snapshot_new(uint64_t seed)
{
	struct random_snapshot *made = g_new0(struct random_snapshot, 1);
	struct maker maker = {.made = made};

	random_stream_init(&maker.random, seed, 0);
	made->tasks = g_new0(struct sched_task, TASKS_MAX);
	made->waiting = g_new0(const struct sched_task *, TASKS_MAX);
	made->running = g_new0(struct sched_allocation, TASKS_MAX);
	made->reservations = g_new0(struct sched_allocation, TASKS_MAX);
	made->placeholders = g_new0(struct sched_allocation, TASKS_MAX);
	made->down = g_new0(struct sched_node, TASKS_MAX);
	made->nodes = g_new0(uint32_t, NODES_MAX);
	made->snapshot.waiting = made->waiting;
	made->snapshot.running = made->running;
	made->snapshot.reservations = made->reservations;
	made->snapshot.placeholders = made->placeholders;
	made->snapshot.down = made->down;
	make_system(&maker);
	made->snapshot.system = made->system;
	make_numbers(&maker);
	make_running(&maker);
	make_reservations(&maker);
	make_down(&maker);
	make_waiting(&maker);
	make_placeholders(&maker);
	for (uint32_t c = 0; c < made->system->clusters_count; c++)
		g_free(maker.busy_until[c]);
	return made;
}

void random_snapshot_free(struct random_snapshot *random)
{
	sched_system_free(random->system);
	g_free(random->tasks);
	g_free(random->waiting);
	g_free(random->running);
	g_free(random->reservations);
	g_free(random->placeholders);
	g_free(random->down);
	g_free(random->nodes);
	g_free(random);
}
