/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/check/preempt_snapshots.h"

#include <glib.h>

#include "common/random.h"

#define TASKS_MAX 256
#define NODES_MAX 4096
#define NODES_OF_CLUSTER 10

static const char *const names[] = {"a", "b", "c", "d", "e"};

/* A snapshot in the making. */
struct maker {
	struct random_stream random;
	struct preempt_snapshot *made;
	bool serial;
	bool ties; /* numbers from small sets */
	uint32_t flags;
	uint32_t full;   /* in percent: how much of the nodes is in use */
	uint32_t curves; /* which functions tasks have */
	uint32_t tasks_count;
	uint32_t nodes_count;
	bool busy[4][NODES_OF_CLUSTER];
};

static uint32_t below(struct maker *maker, uint32_t n)
{
	return (uint32_t)random_stream_below(&maker->random, n);
}

static bool chance(struct maker *maker, uint32_t percent)
{
	return below(maker, 100) < percent;
}

/* A number of seconds from a small set, or any. */
static double seconds(struct maker *maker, double most_s)
{
	return maker->ties ? most_s * (1 + below(maker, 4)) / 4
			   : most_s * (0.05 + random_stream_uniform(&maker->random));
}

static void make_system(struct maker *maker)
{
	struct sched_cluster clusters[4];
	const uint32_t count = 1 + below(maker, 4);
	struct sched_system *system;

	for (uint32_t c = 0; c < count; c++)
		clusters[c] = (struct sched_cluster){
			.name = names[c],
			.nodes = 1 + below(maker, NODES_OF_CLUSTER),
			.cores = 1,
			.pstates = chance(maker, 15) ? 2 : 1,
		};
	system = maker->made->system = sched_system_new(clusters, count, 1 + below(maker, 5));
	system->immediate = true;
	for (uint32_t row = 0; row < system->rows_count; row++) {
		const uint32_t sure = below(maker, count);

		system->row_names[row] = names[row];
		for (uint32_t c = 0; c < count; c++) {
			const uint32_t width = 1 + below(maker, clusters[c].nodes);

			if (c != sure && chance(maker, 15))
				continue;
			system->nodes[row * count + c] = maker->serial       ? 1
							 : chance(maker, 50) ? 1
									     : width;
			for (uint32_t p = 0; p < clusters[c].pstates; p++) {
				const uint32_t cell = row * system->columns_count +
						      system->clusters[c].column + p;

				system->etc_s[cell] = seconds(maker, 40) + p;
				system->eec_j[cell] = 10 * (1 + below(maker, 5));
			}
		}
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
}

static struct utility make_utility(struct maker *maker)
{
	static const double maxima[] = {1, 1, 1, 2, 8};
	const double max = maxima[below(maker, 5)];
	const uint32_t kind = maker->curves == 3 ? below(maker, 3) : maker->curves;
	const double width_s = 10 + seconds(maker, 60);

	if (kind == 0)
		return utility_testbed(max, width_s, width_s);
	if (kind == 1)
		return utility_testbed(max, width_s, width_s + seconds(maker, 80));
	return (struct utility){
		.max = max,
		.segments_count = 2,
		.segments =
			{
				{UTILITY_CONSTANT, width_s / 2, 1, 1, 0},
				{UTILITY_EXPONENTIAL, 20 + seconds(maker, 90), 0.9, 0.05, 0.02},
			},
	};
}

/* A new task, or one more of the burst that the last one belongs to. */
static struct sched_task *make_task(struct maker *maker, bool burst)
{
	struct sched_task *task = &maker->made->tasks[maker->tasks_count];

	g_assert_cmpuint(maker->tasks_count, <, TASKS_MAX);
	if (burst && maker->tasks_count > 0) {
		*task = task[-1];
	} else {
		task->row = below(maker, maker->made->system->rows_count);
		task->utility = make_utility(maker);
		task->arrival_s = maker->made->snapshot.now_s - seconds(maker, 60);
	}
	task->id = maker->tasks_count++;
	task->may_preempt = chance(maker, maker->flags);
	task->preemptible = chance(maker, maker->flags);
	return task;
}

/* Takes nodes for an option; NULL when there are too few. */
static const uint32_t *take(struct maker *maker, const struct sched_option *option)
{
	uint32_t *nodes = maker->made->nodes + maker->nodes_count;
	const uint32_t total = maker->made->system->clusters[option->cluster].nodes;
	uint32_t count = 0;

	g_assert_cmpuint(maker->nodes_count + option->nodes, <=, NODES_MAX);
	for (uint32_t node = below(maker, total), tried = 0; tried < total && count < option->nodes;
	     node = (node + 1) % total, tried++)
		if (!maker->busy[option->cluster][node])
			nodes[count++] = node;
	if (count < option->nodes)
		return NULL;
	for (uint32_t i = 1; i < count; i++) /* ascending */
		for (uint32_t j = i; j > 0 && nodes[j] < nodes[j - 1]; j--) {
			const uint32_t node = nodes[j];

			nodes[j] = nodes[j - 1];
			nodes[j - 1] = node;
		}
	for (uint32_t i = 0; i < count; i++)
		maker->busy[option->cluster][nodes[i]] = true;
	maker->nodes_count += count;
	return nodes;
}

static const struct sched_option *draw_option(struct maker *maker, const struct sched_task *task)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(maker->made->system, task->row, &count);

	return &options[below(maker, count)];
}

static void make_running(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;
	uint32_t tries = 0;

	for (uint32_t c = 0; c < maker->made->system->clusters_count; c++)
		tries += maker->made->system->clusters[c].nodes;
	tries = (tries * maker->full + 99) / 100;
	for (uint32_t i = maker->full == 100 ? 3 * tries : tries; i > 0; i--) {
		const struct sched_task *task = make_task(maker, chance(maker, 60));
		const struct sched_option *option = draw_option(maker, task);
		const uint32_t *nodes = take(maker, option);
		const double stretch_s = chance(maker, 20) ? 0 : seconds(maker, 20);
		const double before_s = chance(maker, 70) ? 0 : seconds(maker, 15);

		if (!nodes)
			continue;
		maker->made->running[snapshot->running_count++] = (struct sched_allocation){
			.task = task,
			.cluster = option->cluster,
			.pstate = option->pstate,
			.nodes_count = option->nodes,
			.nodes = nodes,
			.start_s = snapshot->now_s - stretch_s,
			.executed_s = before_s,
			.end_s = MAX(snapshot->next_event_s,
				     snapshot->now_s - stretch_s + option->etc_s - before_s),
		};
	}
}

static bool arrives_before(const struct sched_task *a, const struct sched_task *b)
{
	return a->arrival_s != b->arrival_s ? a->arrival_s < b->arrival_s : a->id < b->id;
}

static void make_waiting(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;
	const struct sched_task **waiting = maker->made->waiting;

	for (uint32_t i = below(maker, 30); i > 0; i--) {
		const struct sched_task *task = make_task(maker, chance(maker, 75));
		uint32_t at = snapshot->waiting_count++;

		for (; at > 0 && arrives_before(task, waiting[at - 1]); at--)
			waiting[at] = waiting[at - 1];
		waiting[at] = task;
	}
}

static void make_suspended(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;
	struct sched_allocation *suspended = maker->made->suspended;

	for (uint32_t i = chance(maker, 60) ? below(maker, 12) : 0; i > 0; i--) {
		const bool burst = snapshot->suspended_count > 0 && chance(maker, 60);
		const struct sched_task *task = make_task(maker, burst);
		const struct sched_option *option = draw_option(maker, task);
		struct sched_allocation one = {
			.task = task,
			.cluster = option->cluster,
			.pstate = option->pstate,
			.nodes_count = option->nodes,
			/* Now and then all of it, which is not to be divided by. */
			.executed_s = chance(maker, 5) ? option->etc_s : seconds(maker, 20),
		};
		uint32_t at = snapshot->suspended_count++;

		for (; at > 0 && arrives_before(task, suspended[at - 1].task); at--)
			suspended[at] = suspended[at - 1];
		suspended[at] = one;
	}
}

/* What serial snapshots do not have: nodes that are down, under a task or not, and promises. */
static void make_blocked(struct maker *maker)
{
	struct sched_snapshot *snapshot = &maker->made->snapshot;

	for (uint32_t i = below(maker, 4); i > 0; i--) {
		const uint32_t cluster = below(maker, maker->made->system->clusters_count);
		const uint32_t node = below(maker, maker->made->system->clusters[cluster].nodes);

		maker->made->down[snapshot->down_count++] = (struct sched_node){cluster, node};
		maker->busy[cluster][node] = true;
	}
	if (chance(maker, 20)) {
		const struct sched_task *task = make_task(maker, false);
		const struct sched_option *option = draw_option(maker, task);
		const uint32_t *nodes = take(maker, option);

		if (nodes)
			maker->made->reservations[snapshot->reservations_count++] =
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

struct preempt_snapshot *preempt_snapshot_new(uint64_t seed, bool serial, uint32_t flags)
{
	struct preempt_snapshot *made = g_new0(struct preempt_snapshot, 1);
	struct sched_snapshot *snapshot = &made->snapshot;
	struct maker maker = {.made = made, .serial = serial, .flags = flags};

	random_stream_init(&maker.random, seed, flags);
	maker.ties = chance(&maker, 50);
	maker.full = (uint32_t[]){0, 40, 100, 100}[below(&maker, 4)];
	maker.curves = below(&maker, 4);
	made->tasks = g_new0(struct sched_task, TASKS_MAX);
	made->waiting = g_new0(const struct sched_task *, TASKS_MAX);
	made->running = g_new0(struct sched_allocation, TASKS_MAX);
	made->suspended = g_new0(struct sched_allocation, TASKS_MAX);
	made->reservations = g_new0(struct sched_allocation, TASKS_MAX);
	made->down = g_new0(struct sched_node, TASKS_MAX);
	made->nodes = g_new0(uint32_t, NODES_MAX);
	*snapshot = (struct sched_snapshot){
		.seed = seed,
		.event = seed % 7,
		.now_s = 100,
		.next_event_s = 160,
		.end_s = 1000,
		.budget_j = chance(&maker, 10) ? 50 + below(&maker, 500) : (double)INFINITY,
		.gate = chance(&maker, 50),
		.waiting = made->waiting,
		.suspended = made->suspended,
		.running = made->running,
		.reservations = made->reservations,
		.down = made->down,
	};
	make_system(&maker);
	snapshot->system = made->system;
	make_running(&maker);
	if (!serial && chance(&maker, 40))
		make_blocked(&maker);
	make_waiting(&maker);
	make_suspended(&maker);
	return made;
}

void preempt_snapshot_free(struct preempt_snapshot *made)
{
	sched_system_free(made->system);
	g_free(made->tasks);
	g_free(made->waiting);
	g_free(made->running);
	g_free(made->suspended);
	g_free(made->reservations);
	g_free(made->down);
	g_free(made->nodes);
	g_free(made);
}
