/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/random.h"
#include "controller/workload/workload.h"

/*
 * Streams of the seed. Each property of a task has a stream of its own, so that a changed arrival
 * fraction or arrival rate does not shuffle the rest.
 */
enum stream { STREAM_GAP, STREAM_TYPE, STREAM_UTILITY, STREAMS };

/*
 * The utility of a task. The drawn maximum counts if the type has no maximum of its own; it is
 * drawn in any case.
 */
static struct utility utility_of(const struct config_workload *spec, const struct config_type *type,
				 uint32_t drawn, double etc_s)
{
	const double until = type->constant_until > 0 ? type->constant_until : spec->constant_until;
	const double zero = type->zero_at > 0 ? type->zero_at : spec->zero_at;

	return utility_testbed(type->utility_max ? type->utility_max : drawn, until * etc_s,
			       zero * etc_s);
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

struct workload *workload_testbed_new(const struct config *config,
				      const struct sched_system *system, uint64_t seed,
				      uint32_t trial, GError **error)
{
	const struct config_workload *spec = config->workload;
	const bool shared = config->clusters[0].shared;
	struct random_stream streams[STREAMS];
	g_autoptr(workload_t) workload = NULL;
	GArray *tasks = g_array_new(FALSE, FALSE, sizeof(struct sched_task));

	seed = seed ? seed : spec->seed;
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
		const double etc_s = system->etc_min_s[row];
		const struct sched_task task = {
			.row = row,
			.arrival_s = time_s,
			.utility = utility_of(spec, &config->types[row], max, etc_s),
			.may_preempt = config->types[row].may_preempt,
			.preemptible = config->types[row].preemptible || shared,
			.demand =
				shared ? workload_demand(&config->types[row], &config->clusters[0])
				       : (struct sched_demand){0},
		};

		g_array_append_val(tasks, task);
	}
	workload = workload_of_tasks(tasks, seed, trial);
	return workload_check(workload, system, error) ? g_steal_pointer(&workload) : NULL;
}
