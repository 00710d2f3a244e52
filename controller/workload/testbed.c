/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/random.h"
#include "controller/workload/workload.h"

/*
 * Streams of the seed. Each property of a task has a stream of its own, so that a changed arrival
 * fraction or arrival rate does not shuffle the rest.
 */
enum stream { STREAM_GAP, STREAM_TYPE, STREAM_UTILITY, STREAMS };

/* The utility of a task with that maximum. */
static struct utility utility_of(const struct config_workload *spec, const struct config_type *type,
				 uint32_t max, double etc_s)
{
	const double until = type->constant_until > 0 ? type->constant_until : spec->constant_until;
	const double zero = type->zero_at > 0 ? type->zero_at : spec->zero_at;

	return utility_testbed(max, until * etc_s, zero * etc_s);
}

static uint32_t draw_type(struct random_stream *random, const struct config *config)
{
	double rest = random_stream_uniform(random);

	for (uint32_t i = 0; i + 1 < config->types_count; i++) {
		rest -= config->types[i].share;
		if (rest < 0)
			return i;
	}
	return config->types_count - 1;
}

/* A task of a row that arrives then, with its maximal utility. */
static struct sched_task task_of(const struct config *config, const struct sched_system *system,
				 uint32_t row, double arrival_s, uint32_t max)
{
	const struct config_type *type = &config->types[row];
	const bool shared = config->clusters[0].shared;

	return (struct sched_task){
		.row = row,
		.arrival_s = arrival_s,
		.utility = utility_of(config->workload, type, max, system->etc_min_s[row]),
		.may_preempt = type->may_preempt,
		.preemptible = type->preemptible || shared,
		.demand = shared ? workload_demand(type, &config->clusters[0])
				 : (struct sched_demand){0},
	};
}

/* Appends the tasks of the list. */
static void take_tasks(const struct config *config, const struct sched_system *system,
		       GArray *tasks)
{
	const struct config_workload *spec = config->workload;
	g_autoptr(GHashTable) types = config_types_by_name(config);

	for (uint32_t i = 0; i < spec->list_count; i++) {
		const struct config_workload_task *given = &spec->list[i];
		const struct config_type *type = g_hash_table_lookup(types, given->type);
		const struct sched_task task =
			task_of(config, system, (uint32_t)(type - config->types), given->arrival_s,
				given->utility ? given->utility : type->utility_max);

		g_array_append_val(tasks, task);
	}
}

/* Appends tasks that are drawn. */
static void draw_tasks(const struct config *config, const struct sched_system *system,
		       uint64_t seed, uint32_t trial, GArray *tasks)
{
	const struct config_workload *spec = config->workload;
	struct random_stream streams[STREAMS];

	for (uint32_t i = 0; i < STREAMS; i++)
		random_stream_init(&streams[i], seed, (uint64_t)trial * STREAMS + i);
	for (double time_s = 0;;) {
		time_s += random_stream_exponential(&streams[STREAM_GAP], spec->arrival_mean_s);
		if (time_s >= spec->duration_s)
			break;

		const uint32_t row = draw_type(&streams[STREAM_TYPE], config);
		const uint32_t max =
			spec->utility_max[random_stream_below(&streams[STREAM_UTILITY],
							      spec->utility_max_count)];
		/* Drawn in any case, so that a type's own maximum does not shuffle the others. */
		const uint32_t own = config->types[row].utility_max;
		const struct sched_task task =
			task_of(config, system, row, time_s, own ? own : max);

		g_array_append_val(tasks, task);
	}
}

struct workload *workload_testbed_new(const struct config *config,
				      const struct sched_system *system, uint64_t seed,
				      uint32_t trial, GError **error)
{
	g_autoptr(workload_t) workload = NULL;
	GArray *tasks = g_array_new(FALSE, FALSE, sizeof(struct sched_task));

	seed = seed ? seed : config->workload->seed;
	if (config->workload->list_count > 0)
		take_tasks(config, system, tasks);
	else
		draw_tasks(config, system, seed, trial, tasks);
	workload = workload_of_tasks(tasks, seed, trial);
	return workload_check(workload, system, error) ? g_steal_pointer(&workload) : NULL;
}
