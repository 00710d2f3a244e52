/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/testbed_task.h"

#include "controller/workload/workload.h"

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

struct sched_task testbed_task(const struct config *config, const struct sched_system *system,
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

struct sched_task testbed_given_task(const struct config *config, const struct sched_system *system,
				     GHashTable *types, const struct config_workload_task *given)
{
	const struct config_type *type = g_hash_table_lookup(types, given->type);

	return testbed_task(config, system, (uint32_t)(type - config->types), given->arrival_s,
			    given->utility ? given->utility : type->utility_max);
}

struct sched_task testbed_draw_task(const struct config *config, const struct sched_system *system,
				    struct random_stream *types, struct random_stream *utilities,
				    double arrival_s)
{
	const struct config_workload *spec = config->workload;
	const uint32_t row = draw_type(types, config);
	const uint32_t max =
		spec->utility_max[random_stream_below(utilities, spec->utility_max_count)];
	/* Drawn in any case, so that a type's own maximum does not shuffle the others. */
	const uint32_t own = config->types[row].utility_max;

	return testbed_task(config, system, row, arrival_s, own ? own : max);
}
