/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/check/sharing_snapshots.h"

#include <glib.h>
#include <math.h>

#include "common/random.h"

/* A snapshot in the making. */
struct maker {
	struct sharing_snapshot *random;
	struct random_stream stream;
	double *memory; /* promised, per host; 2 where it is down */
	double *load;
	uint32_t *next; /* room for hosts */
};

static uint32_t below(struct maker *maker, uint32_t n)
{
	return (uint32_t)random_stream_below(&maker->stream, n);
}

static double draw(struct maker *maker, const double *values, uint32_t count)
{
	return values[below(maker, count)];
}

static struct sched_demand draw_demand(struct maker *maker, const struct sharing_size *most,
				       uint32_t hosts)
{
	static const double needs[] = {0.25, 0.5, 1};
	static const double memories[] = {0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1};
	const bool plain = below(maker, 2);
	struct sched_demand demand = {
		.cpu = plain ? draw(maker, needs, G_N_ELEMENTS(needs))
			     : 0.01 + 0.99 * random_stream_uniform(&maker->stream),
		.memory = plain ? draw(maker, memories, G_N_ELEMENTS(memories))
				: 0.05 + 0.9 * random_stream_uniform(&maker->stream),
	};
	const uint32_t room = hosts * (uint32_t)((1 + SCHED_SHARE_SLACK) / demand.memory);

	demand.vms = 1 + below(maker, MIN(most->vms, room));
	return demand;
}

/* Puts a task on random hosts with the memory. Returns whether there were any. */
static bool place(struct maker *maker, const struct sched_task *task, uint32_t hosts)
{
	const struct sched_demand *demand = &task->demand;

	for (uint32_t v = 0; v < demand->vms; v++) {
		uint32_t host = below(maker, hosts);

		for (uint32_t tries = 0; maker->memory[host] + demand->memory > 1 + 1e-9; tries++) {
			if (tries == hosts) {
				while (v-- > 0)
					maker->memory[maker->next[v]] -= demand->memory;
				return false;
			}
			host = (host + 1) % hosts;
		}
		maker->next[v] = host;
		maker->memory[host] += demand->memory;
	}
	for (uint32_t v = 0; v < demand->vms; v++)
		maker->load[maker->next[v]] += demand->cpu;
	return true;
}

static double draw_virtual(struct maker *maker, double flow_s)
{
	return below(maker, 4) == 0 ? 0 : flow_s * below(maker, 5) / 4;
}

static void add_waiting(struct maker *maker, const struct sched_task *task)
{
	struct sharing_snapshot *random = maker->random;
	struct sched_snapshot *snapshot = &random->snapshot;

	random->waiting[snapshot->waiting_count++] = task;
	if (below(maker, 3) == 0)
		random->deferred[snapshot->deferred_count++] = (struct sched_allocation){
			.task = task,
			.deferrals = 1 + below(maker, 15),
			.start_s = snapshot->now_s + below(maker, 5) - 2.0,
		};
}

static void add_task(struct maker *maker, const struct sched_task *task)
{
	struct sharing_snapshot *random = maker->random;
	struct sched_snapshot *snapshot = &random->snapshot;
	const uint32_t where = below(maker, 4);
	const double virtual_s = draw_virtual(maker, snapshot->now_s - task->arrival_s);

	if (where == 0) {
		add_waiting(maker, task);
	} else if (where > 1 && place(maker, task, random->system->clusters[0].nodes)) {
		random->running[snapshot->running_count++] = (struct sched_allocation){
			.task = task,
			.nodes_count = task->demand.vms,
			.nodes = maker->next,
			.virtual_s = virtual_s,
		};
		maker->next += task->demand.vms;
	} else {
		random->suspended[snapshot->suspended_count++] = (struct sched_allocation){
			.task = task,
			.nodes_count = task->demand.vms,
			.virtual_s = virtual_s,
		};
	}
}

/* All that run have the same yield, or (`uneven`) some have less. */
static void set_yields(struct maker *maker, uint32_t hosts, bool uneven)
{
	const struct sched_snapshot *snapshot = &maker->random->snapshot;
	double most = 1;

	for (uint32_t h = 0; h < hosts; h++)
		most = fmax(most, maker->load[h]);
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		maker->random->running[i].yield = 1 / most / (uneven ? 1 + below(maker, 3) : 1);
}

struct sharing_snapshot *sharing_snapshot_new(uint64_t seed, const struct sharing_size *most)
{
	struct sharing_snapshot *random = g_new0(struct sharing_snapshot, 1);
	struct sched_snapshot *snapshot = &random->snapshot;
	struct maker maker = {.random = random};
	struct sched_cluster cluster = {.name = "c", .cores = 4, .pstates = 1};
	uint32_t jobs;

	random_stream_init(&maker.stream, seed, 3);
	cluster.nodes = 1 + below(&maker, most->hosts);
	jobs = below(&maker, most->jobs + 1);
	random->system = sched_system_new(&cluster, 1, 0);
	random->system->shared = true;
	g_assert_cmpint(sched_system_finish(random->system, NULL), ==, SCHED_SYSTEM_OK);
	random->tasks = g_new0(struct sched_task, jobs);
	random->waiting = g_new0(const struct sched_task *, jobs);
	random->suspended = g_new0(struct sched_allocation, jobs);
	random->running = g_new0(struct sched_allocation, jobs);
	random->deferred = g_new0(struct sched_allocation, jobs);
	random->down = g_new0(struct sched_node, cluster.nodes);
	random->hosts = maker.next = g_new0(uint32_t, (size_t)jobs * most->vms + most->vms);
	maker.memory = g_new0(double, cluster.nodes);
	maker.load = g_new0(double, cluster.nodes);
	*snapshot = (struct sched_snapshot){
		.system = random->system,
		.now_s = 6000,
		.next_event_s = 6600 - below(&maker, 2) * 100.0,
		.between = below(&maker, 2),
		.end_s = 100000,
		.budget_j = INFINITY,
		.waiting = random->waiting,
		.suspended = random->suspended,
		.running = random->running,
		.deferred = random->deferred,
		.down = random->down,
	};
	for (uint32_t h = 0; below(&maker, 2) && h < cluster.nodes; h++) {
		if (below(&maker, 8) > 0)
			continue;
		random->down[snapshot->down_count++] = (struct sched_node){0, h};
		maker.memory[h] = 2;
	}
	for (uint32_t i = 0; i < jobs; i++) {
		random->tasks[i] = (struct sched_task){
			.id = 2 * i,
			.arrival_s = floor(6000.0 * i / jobs / 500) * 500,
			.demand = draw_demand(&maker, most, cluster.nodes),
		};
		add_task(&maker, &random->tasks[i]);
	}
	set_yields(&maker, cluster.nodes, below(&maker, 2));
	g_free(maker.memory);
	g_free(maker.load);
	return random;
}

void sharing_snapshot_free(struct sharing_snapshot *random)
{
	sched_system_free(random->system);
	g_free(random->tasks);
	g_free(random->waiting);
	g_free(random->suspended);
	g_free(random->running);
	g_free(random->deferred);
	g_free(random->down);
	g_free(random->hosts);
	g_free(random);
}
