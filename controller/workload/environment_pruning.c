/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/environment_pruning.h"

#include "controller/config/config_environment.h"
#include "controller/sched/queueing.h"

/* Tolerance of the sum of printed masses; the configuration was checked with the same. */
#define MASS_SLACK 1e-6

void environment_machines_free(struct environment_machines *machines)
{
	if (!machines)
		return;
	pet_free(machines->pet);
	g_free(machines);
}

static uint32_t find_name(const GPtrArray *names, const char *name)
{
	uint32_t i = 0;

	while (i < names->len && !g_str_equal(names->pdata[i], name))
		i++;
	return i;
}

/* The names of the rows, in their order. */
static GPtrArray *list_types(const struct config *config)
{
	const struct config_pruning *pruning = config_environment(config)->pruning;
	GPtrArray *types = g_ptr_array_new();

	for (uint32_t t = 0; t < config->types_count; t++)
		g_ptr_array_add(types, config->types[t].name);
	for (uint32_t i = 0; i < pruning->entries_count; i++)
		if (find_name(types, pruning->entries[i].type) == types->len)
			g_ptr_array_add(types, pruning->entries[i].type);
	for (uint32_t t = 0; types->len < PRUNING_TYPES && pruning->entries_count == 0; t++)
		g_ptr_array_add(types, (gpointer)pruning_types[t]);
	return types;
}

/* Sets the PMF of an entry. */
static enum pmf_fault set_entry(struct pet *pet, const struct config_pet_entry *entry,
				uint32_t type, uint32_t machine, double bin_s)
{
	struct pmf pmf = {0};
	enum pmf_fault fault =
		entry->samples_count > 0
			? pmf_from_samples(&pmf, entry->samples, entry->samples_count, bin_s, NULL)
			: pmf_from_masses(&pmf, entry->first, entry->masses, entry->masses_count,
					  MASS_SLACK, NULL);

	if (fault == PMF_OK)
		fault = pet_set(pet, type, machine, &pmf);
	pmf_finish(&pmf);
	return fault;
}

static struct pet *read_pet(const struct config *config, const GPtrArray *types, GError **error)
{
	const struct config_pruning *pruning = config_environment(config)->pruning;
	struct pet *pet = pet_new(types->len, config->clusters_count);

	for (uint32_t i = 0; pet && i < pruning->entries_count; i++) {
		const struct config_pet_entry *entry = &pruning->entries[i];
		const struct config_cluster *machine = config_cluster_find(config, entry->machine);
		const enum pmf_fault fault =
			set_entry(pet, entry, find_name(types, entry->type),
				  (uint32_t)(machine - config->clusters), pruning->bin_s);

		if (fault == PMF_OK)
			continue;
		g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM,
			    "environment.pruning: the execution times of type '%s' on machine "
			    "'%s': %s; is bin_s, %g, right for them?",
			    entry->type, entry->machine, pmf_fault_text(fault), pruning->bin_s);
		pet_free(pet);
		return NULL;
	}
	if (!pet)
		g_error("out of memory");
	return pet;
}

/* Draws the matrix of the configured seed. */
static struct pet *draw_pet(const struct config_pruning *pruning, GError **error)
{
	struct pet *pet = pruning_pet_new(pruning->pet_seed, pruning->bin_s);

	if (!pet)
		g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM,
			    "environment.pruning.bin_s: with bins of %g the drawn execution times "
			    "have more than %d of them; take larger bins",
			    pruning->bin_s, PRUNING_BINS_MAX);
	return pet;
}

static struct sched_queueing make_settings(const struct config_pruning *pruning,
					   const struct pet *pet)
{
	return (struct sched_queueing){
		.pet = pet,
		.bin_s = pruning->bin_s,
		.length = pruning->queue_length,
		.pruning =
			{
				.drop_threshold = pruning->drop_threshold,
				.defer_threshold = pruning->defer_threshold,
				.adjustment = pruning->adjustment,
				.recency = pruning->recency,
				.toggle = pruning->toggle,
				.separation = pruning->separation,
				.fairness = pruning->fairness,
				.cull_threshold = pruning->cull_threshold,
				.evicting_baselines = pruning->evict,
				.merge = pruning->merge,
			},
	};
}

/* Makes the matrix of a configuration whose execution times are known. */
static struct pet *make_pet(const struct config *config, const GPtrArray *types, GError **error)
{
	if (config_environment(config)->pruning->entries_count > 0)
		return read_pet(config, types, error);
	if (config->types_count == 0)
		return draw_pet(config_environment(config)->pruning, error);
	g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM,
		    "environment.pruning.pet: none; measure the execution times: virtbed run does "
		    "that first and leaves them in the config.yaml of its run directory, virtbed "
		    "profile CONFIG --pet FILE does nothing else");
	return NULL;
}

static struct sched_system *make_system(const struct config *config,
					const struct sched_queueing *settings,
					const GPtrArray *types, GStringChunk *names)
{
	struct sched_system *system = workload_clusters_system(config, 1, types->len);
	g_autofree const char **rows = g_new(const char *, types->len);

	for (uint32_t t = 0; t < types->len; t++)
		rows[t] = g_string_chunk_insert(names, types->pdata[t]);
	pruning_fill_system(system, settings, rows);
	for (uint32_t t = 0; t < config->types_count; t++)
		for (uint32_t c = 0; c < config->clusters_count; c++)
			system->nodes[t * config->clusters_count + c] =
				config_type_nodes(&config->types[t], &config->clusters[c]);
	if (sched_system_finish(system, NULL) != SCHED_SYSTEM_OK)
		g_error("out of memory");
	return system;
}

/* The tasks that the configuration lists. */
static struct workload *list_tasks(const struct config_pruning *pruning, const GPtrArray *types,
				   uint64_t seed, uint32_t number)
{
	GArray *tasks = g_array_new(FALSE, TRUE, sizeof(struct sched_task));

	for (uint32_t i = 0; i < pruning->list_count; i++) {
		const struct config_pruning_task *listed = &pruning->list[i];
		const struct sched_task task =
			pruning_task(find_name(types, listed->type), listed->arrival_s,
				     listed->deadline_s, pruning->bin_s);

		g_array_append_val(tasks, task);
	}
	return workload_of_tasks(tasks, seed, number);
}

/* The tasks per second that the machines complete if they take tasks of all types in turn. */
static double capacity(const struct pet *pet, double bin_s)
{
	double sum = 0;

	for (uint32_t m = 0; m < pet->machines_count; m++) {
		double bins = 0;

		for (uint32_t t = 0; t < pet->types_count; t++)
			bins += pet_at(pet, t, m)->mean;
		sum += pet->types_count / (bins * bin_s);
	}
	return sum;
}

/* The time in which the tasks of a trial arrive on average. */
static double find_span_s(const struct config_pruning *pruning, const struct pet *pet)
{
	if (pruning->demand > 0)
		return pruning->tasks / (pruning->demand * capacity(pet, pruning->bin_s));
	return pruning->span_s * pruning->tasks / pruning->level;
}

static struct workload *make_workload(const struct config_pruning *pruning, const struct pet *pet,
				      const GPtrArray *types, uint64_t seed, uint32_t number)
{
	const struct pruning_load load = {
		.tasks = pruning->tasks,
		.span_s = find_span_s(pruning, pet),
		.variance = pruning->variance,
		.slack = pruning->slack,
	};

	return pruning->list_count > 0
		       ? list_tasks(pruning, types, seed, number)
		       : pruning_workload_new(pet, &load, pruning->bin_s, seed, number);
}

bool environment_pruning_draw(struct environment_trial *trial, const struct config *config,
			      uint64_t seed, uint32_t number, GError **error)
{
	const struct config_pruning *pruning = config_environment(config)->pruning;
	g_autoptr(GPtrArray) types = list_types(config);
	struct pet *pet = make_pet(config, types, error);
	const char *fault;

	if (!pet)
		return false;
	trial->machines = g_new0(struct environment_machines, 1);
	trial->machines->pet = pet;
	trial->machines->settings = make_settings(pruning, pet);
	trial->system = make_system(config, &trial->machines->settings, types, trial->names);
	fault = queueing_fault(trial->system);
	if (!fault) {
		trial->workload = make_workload(pruning, pet, types, seed, number);
		return workload_check(trial->workload, trial->system, error);
	}
	g_set_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM, "environment.pruning: %s", fault);
	return false;
}
