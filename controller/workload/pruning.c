/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/pruning.h"

#include <math.h>

#include "controller/sched/queueing.h"
#include "controller/workload/variates.h"

#define TYPE_MEAN_LOW 50.0
#define TYPE_MEAN_HIGH 200.0
#define SHAPE_LOW 1
#define SHAPE_HIGH 20

/* Streams of a seed; those of trials follow STREAM_TRIALS. */
enum stream { STREAM_PET, STREAM_TRIALS };

/* The histogram of samples with that mean and a shape of their own. False: too many bins. */
static bool draw_entry(struct variates *variates, struct pet *pet, uint32_t type, uint32_t machine,
		       double mean, double bin_s)
{
	const uint32_t shape = variates_integer(variates, SHAPE_LOW, SHAPE_HIGH);
	double samples[PRUNING_SAMPLES];
	struct pmf pmf = {0};
	enum pmf_fault fault;

	for (uint32_t i = 0; i < PRUNING_SAMPLES; i++)
		samples[i] = variates_gamma(variates, mean, 1 / sqrt(shape));
	fault = pmf_from_samples(&pmf, samples, PRUNING_SAMPLES, bin_s, NULL);
	if (fault == PMF_OK)
		fault = pmf.count > PRUNING_BINS_MAX ? PMF_LENGTH
						     : pet_set(pet, type, machine, &pmf);
	pmf_finish(&pmf);
	if (fault == PMF_MEMORY)
		g_error("out of memory");
	return fault == PMF_OK;
}

struct pet *pruning_pet_new(uint64_t seed, double bin_s)
{
	struct variates *variates = variates_new(seed, STREAM_PET);
	struct pet *pet = pet_new(PRUNING_TYPES, PRUNING_MACHINES);
	bool good = true;

	if (!pet)
		g_error("out of memory");
	for (uint32_t type = 0; good && type < PRUNING_TYPES; type++) {
		const double mean = variates_uniform(variates, TYPE_MEAN_LOW, TYPE_MEAN_HIGH);
		double means[PRUNING_MACHINES];
		double sum = 0;

		for (uint32_t m = 0; m < PRUNING_MACHINES; m++)
			sum += means[m] = variates_gamma(variates, mean, PRUNING_MACHINE_COV);
		for (uint32_t m = 0; good && m < PRUNING_MACHINES; m++)
			good = draw_entry(variates, pet, type, m,
					  means[m] * mean * PRUNING_MACHINES / sum, bin_s);
	}
	variates_free(variates);
	if (good)
		return pet;
	pet_free(pet);
	return NULL;
}

void pruning_fill_system(struct sched_system *system, const struct sched_queueing *settings,
			 const char *const *types)
{
	const struct pet *pet = settings->pet;

	for (uint32_t type = 0; type < pet->types_count; type++) {
		system->row_names[type] = types[type];
		for (uint32_t m = 0; m < pet->machines_count; m++) {
			const uint32_t cell = type * pet->machines_count + m;

			system->etc_s[cell] = pet_at(pet, type, m)->mean * settings->bin_s;
			system->nodes[cell] = 1;
		}
	}
	system->queueing = settings;
}

const char *const pruning_types[PRUNING_TYPES] = {"t1", "t2", "t3", "t4",  "t5",  "t6",
						  "t7", "t8", "t9", "t10", "t11", "t12"};

struct sched_task pruning_task(uint32_t type, double arrival_s, double deadline_s, double bin_s)
{
	return (struct sched_task){
		.row = type,
		.arrival_s = arrival_s,
		.deadline_s = deadline_s,
		.utility =
			{
				.max = 1,
				.segments_count = 1,
				.segments = {{
					.curve = UTILITY_CONSTANT,
					.duration_s =
						deadline_s - arrival_s + QUEUEING_TOLERANCE * bin_s,
					.start_fraction = 1,
					.end_fraction = 1,
				}},
			},
	};
}

/* Draws the tasks of a type: as many as can be among the first tasks of all types. */
static void draw_type(GArray *tasks, struct variates *variates, const struct pet *pet,
		      const struct pruning_load *load, double bin_s, uint32_t type, double mean_all)
{
	const double gap_s = load->span_s * pet->types_count / load->tasks;
	const double slack = pet_type_mean(pet, type) + load->slack * mean_all;
	double time_s = variates_uniform(variates, 0, gap_s);

	for (uint32_t i = 0; i < load->tasks; i++) {
		const double arrival = floor(time_s / bin_s);
		const double deadline = fmax(arrival + 1, floor(arrival + slack));
		const struct sched_task task =
			pruning_task(type, arrival * bin_s, deadline * bin_s, bin_s);

		g_array_append_val(tasks, task);
		time_s += variates_gamma(variates, gap_s, sqrt(load->variance / gap_s));
	}
}

struct workload *pruning_workload_new(const struct pet *pet, const struct pruning_load *load,
				      double bin_s, uint64_t seed, uint32_t trial)
{
	GArray *tasks = g_array_new(FALSE, TRUE, sizeof(struct sched_task));
	struct variates *variates = variates_new(seed, STREAM_TRIALS + (uint64_t)trial);
	struct workload *workload;
	double mean_all = 0;

	for (uint32_t type = 0; type < pet->types_count; type++)
		mean_all += pet_type_mean(pet, type) / pet->types_count;
	for (uint32_t type = 0; type < pet->types_count; type++)
		draw_type(tasks, variates, pet, load, bin_s, type, mean_all);
	variates_free(variates);
	workload = workload_of_tasks(tasks, seed, trial);
	workload->tasks_count = load->tasks;
	return workload;
}
