/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/environment_serial.h"

#include <math.h>

#include "controller/config/config_environment.h"
#include "controller/workload/environment_types.h"

/* Section IV.C. */
#define ORDINARY_UTILITY 1.0
#define TIME_COV 0.1
#define CLUSTER_COV 0.3
#define BURST_SPREAD 0.5
#define STEP_WIDTH_ORDINARY 10.0 /* in mean execution times; critical tasks: 1 */
#define DECAY_URGENCY 0.3
#define DECAY_LENGTH_S (200 * 60.0)

/* Streams of a trial. */
enum stream {
	STREAM_CLUSTERS,
	STREAM_TYPES,
	STREAM_ARRIVALS,
	STREAM_CLASSES,
	STREAM_FLAGS,
	STREAMS
};

/* A task type. */
struct type {
	bool critical;
	double utility; /* starting */
	double urgency; /* per minute */
	double phase;   /* of the arrivals, radians */
	double mean_s;  /* execution time, over all clusters */
};

/* A trial in the making. */
struct maker {
	const struct config_environment *environment;
	const struct config_serial *serial;
	double duration_s;
	struct variates *variates[STREAMS];
	struct type types[ENVIRONMENT_TYPES];
	struct environment_class classes[ENVIRONMENT_CLASSES];
	GArray *tasks; /* of struct sched_task */
};

struct utility environment_step(double max, bool critical, double mean_s)
{
	const double width_s = critical ? mean_s : STEP_WIDTH_ORDINARY * mean_s;

	return (struct utility){
		.max = max,
		.segments_count = 1,
		.segments = {{
			.curve = UTILITY_CONSTANT,
			.duration_s = width_s,
			.start_fraction = 1,
			.end_fraction = 1,
		}},
	};
}

struct utility environment_decay(double max, double mean_s)
{
	return (struct utility){
		.max = max,
		.segments_count = 2,
		.segments =
			{
				{
					.curve = UTILITY_CONSTANT,
					.duration_s = mean_s,
					.start_fraction = 1,
					.end_fraction = 1,
				},
				{
					.curve = UTILITY_EXPONENTIAL,
					.duration_s = DECAY_LENGTH_S,
					.start_fraction = 1,
					.end_fraction = 0,
					.rate_per_s = DECAY_URGENCY / 60,
				},
			},
	};
}

/* A whole number, uniform in mean x (1 - spread) to mean x (1 + spread). */
static uint32_t draw_around(struct variates *variates, double mean, double spread)
{
	const double low = ceil(mean * (1 - spread));
	const double high = floor(mean * (1 + spread));

	return variates_integer(variates, (uint32_t)fmax(1, low), (uint32_t)fmax(1, high));
}

/* Rows are types, the critical ones first. */
static struct sched_system *draw_system(struct maker *maker, const struct config *config,
					GStringChunk *names)
{
	const uint32_t critical =
		(uint32_t)lrint(maker->serial->critical_share * ENVIRONMENT_TYPES);
	struct sched_system *system = workload_clusters_system(config, 1, ENVIRONMENT_TYPES);

	for (uint32_t c = 0; c < config->clusters_count; c++)
		system->clusters[c].nodes =
			draw_around(maker->variates[STREAM_CLUSTERS], config->clusters[c].nodes,
				    maker->serial->spread);
	system->immediate = true;
	for (uint32_t i = 0; i < ENVIRONMENT_TYPES; i++) {
		g_autofree char *name =
			g_strdup_printf("%s-%u", i < critical ? "critical" : "ordinary",
					i < critical ? i + 1 : i + 1 - critical);

		maker->types[i].critical = i < critical;
		system->row_names[i] = g_string_chunk_insert(names, name);
	}
	return system;
}

/* Execution times of a type: around their mean in the first cluster, around that in the others. */
static void draw_times(struct maker *maker, struct sched_system *system, uint32_t index)
{
	const struct config_serial *serial = maker->serial;
	struct variates *variates = maker->variates[STREAM_TYPES];
	struct type *type = &maker->types[index];
	double *etc_s = system->etc_s + (size_t)index * system->columns_count;

	etc_s[0] =
		variates_gamma(variates,
			       type->critical ? serial->critical_mean_s : serial->ordinary_mean_s,
			       TIME_COV);
	for (uint32_t c = 1; c < system->clusters_count; c++)
		etc_s[c] = variates_gamma(variates, etc_s[0], CLUSTER_COV);
	for (uint32_t c = 0; c < system->clusters_count; c++) {
		system->nodes[index * system->clusters_count + c] = 1;
		system->eec_j[(size_t)index * system->columns_count + c] = 0;
		type->mean_s += etc_s[c] / system->clusters_count;
	}
}

static void draw_type(struct maker *maker, struct sched_system *system, uint32_t index)
{
	struct type *type = &maker->types[index];

	type->utility = type->critical ? maker->serial->critical_utility : ORDINARY_UTILITY;
	type->phase = variates_uniform(maker->variates[STREAM_TYPES], 0, 2 * G_PI);
	type->urgency = environment_urgency_draw(maker->variates[STREAM_TYPES], type->utility);
	draw_times(maker, system, index);
}

static struct utility draw_utility(struct maker *maker, const struct type *type)
{
	const uint32_t class_ =
		variates_integer(maker->variates[STREAM_CLASSES], 0, ENVIRONMENT_CLASSES - 1);
	const struct environment_type scaled = {.priority = type->utility,
						.urgency = type->urgency};

	switch (maker->serial->utility) {
	case CONFIG_UTILITY_STEP:
		return environment_step(type->utility, type->critical, type->mean_s);
	case CONFIG_UTILITY_DECAY:
		return environment_decay(type->utility, type->mean_s);
	case CONFIG_UTILITY_CLASSES:
		break;
	}
	return environment_utility(&scaled, type->mean_s, &maker->classes[class_]);
}

/*
 * Draws a burst: tasks of one type with one utility function and the same flags. With flags drawn
 * for each task the gain of preemption would not be linear in their share, as it is in the paper
 * (V, Fig. 5; docs/explanation/reproduction.md, 12).
 */
static void draw_burst(struct maker *maker, uint32_t index, double time_s)
{
	struct variates *flags = maker->variates[STREAM_FLAGS];
	const uint32_t count =
		draw_around(maker->variates[STREAM_ARRIVALS], maker->serial->burst, BURST_SPREAD);
	struct sched_task task = {
		.row = index,
		.arrival_s = time_s,
		.utility = draw_utility(maker, &maker->types[index]),
	};

	task.may_preempt = variates_uniform(flags, 0, 1) < maker->serial->may_preempt_share;
	task.preemptible = variates_uniform(flags, 0, 1) < maker->serial->preemptible_share;
	for (uint32_t i = 0; i < count; i++)
		g_array_append_val(maker->tasks, task);
}

/*
 * Draws the bursts of a type: a Poisson process at the highest rate, thinned to the present rate.
 */
static void draw_bursts(struct maker *maker, uint32_t index)
{
	const struct config_environment *environment = maker->environment;
	struct variates *arrivals = maker->variates[STREAM_ARRIVALS];
	const double most = 2;
	const double gap_s = ENVIRONMENT_DAY_S * ENVIRONMENT_TYPES * maker->serial->burst /
			     environment->tasks_per_day / most;
	double time_s = variates_exponential(arrivals, gap_s);

	for (; time_s < maker->duration_s; time_s += variates_exponential(arrivals, gap_s))
		if (variates_uniform(arrivals, 0, most) <
		    environment_sine(environment, maker->types[index].phase,
				     time_s - environment->lead_s))
			draw_burst(maker, index, time_s);
}

/*
 * The utility that the tasks would earn in the day if each started at its arrival where it is
 * fastest, and earned its starting utility (section V); tasks that span an end of the day count by
 * their part in it.
 */
static double find_utility_max(const struct maker *maker, const struct environment_trial *trial)
{
	double sum = 0;

	for (uint32_t i = 0; i < trial->workload->tasks_count; i++) {
		const struct sched_task *task = &trial->workload->tasks[i];
		const double *etc_s =
			trial->system->etc_s + (size_t)task->row * trial->system->columns_count;
		double fastest_s = etc_s[0];
		double inside_s;

		for (uint32_t c = 1; c < trial->system->clusters_count; c++)
			fastest_s = fmin(fastest_s, etc_s[c]);
		inside_s = fmin(task->arrival_s + fastest_s, maker->duration_s) -
			   fmax(task->arrival_s, maker->environment->lead_s);
		sum += task->utility.max * fmax(0, inside_s) / fastest_s;
	}
	return sum;
}

void environment_serial_draw(struct environment_trial *trial, const struct config *config,
			     uint64_t seed, uint32_t number)
{
	struct maker maker = {
		.environment = config_environment(config),
		.serial = config_environment(config)->serial,
		.duration_s = config->experiment->duration_s,
		.tasks = g_array_new(FALSE, TRUE, sizeof(struct sched_task)),
	};

	for (uint32_t i = 0; i < STREAMS; i++)
		maker.variates[i] = variates_new(seed, (uint64_t)number * STREAMS + i);
	environment_classes_draw(config_environment(config)->classes_seed, maker.classes);
	trial->system = draw_system(&maker, config, trial->names);
	for (uint32_t i = 0; i < ENVIRONMENT_TYPES; i++)
		draw_type(&maker, trial->system, i);
	for (uint32_t i = 0; i < ENVIRONMENT_TYPES; i++)
		draw_bursts(&maker, i);
	for (uint32_t i = 0; i < STREAMS; i++)
		variates_free(maker.variates[i]);
	trial->workload = workload_of_tasks(maker.tasks, seed, number);
	trial->utility_max = find_utility_max(&maker, trial);
}
