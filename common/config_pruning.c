/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a configuration that has tasks with hard deadlines on machines with queues (Gentry 2019). */
#include <math.h>

#include "common/config_parts.h"
#include "common/read_number.h"

#define TASKS_MAX 1000000
#define TIME_MAX_S 1e9
#define LEVEL_MAX 1e9
#define QUEUE_LENGTH_MAX 1000
#define BINS_MAX 100000
#define ENTRIES_MAX 10000
#define SAMPLES_MAX 1000000
#define TOGGLE_MAX 1e6
#define PRICE_MAX 1e9
#define SLACK_MAX 1e6
#define DEMAND_MAX 1e6
#define SEED_MACHINES 8 /* of the matrix that is drawn */
#define SEED_TYPES 12
/* What printed masses may sum to more or less than 1. */
#define MASS_SLACK 1e-6

static bool is_cluster(const struct config *config, const char *name)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (g_str_equal(config->clusters[c].name, name))
			return true;
	return false;
}

static bool is_configured_type(const struct config *config, const char *name)
{
	for (uint32_t t = 0; t < config->types_count; t++)
		if (g_str_equal(config->types[t].name, name))
			return true;
	return false;
}

static char *check_samples(const char *key, uint32_t i, const struct config_pet_entry *entry)
{
	if (entry->samples_count > SAMPLES_MAX)
		return g_strdup_printf("%s[%u].samples: %u are more than %d", key, i,
				       entry->samples_count, SAMPLES_MAX);
	for (uint32_t k = 0; k < entry->samples_count; k++)
		if (!(entry->samples[k] > 0 && entry->samples[k] <= TIME_MAX_S))
			return g_strdup_printf("%s[%u].samples[%u]: %g is not an execution time; "
					       "give seconds in (0, %g]",
					       key, i, k, entry->samples[k], TIME_MAX_S);
	return NULL;
}

static char *check_masses(const char *key, uint32_t i, const struct config_pet_entry *entry)
{
	double sum = 0;

	if (entry->first < 1 || entry->first > BINS_MAX || entry->masses_count > BINS_MAX)
		return g_strdup_printf("%s[%u]: bins are counted from 1 to %d", key, i, BINS_MAX);
	for (uint32_t k = 0; k < entry->masses_count; k++) {
		if (!(entry->masses[k] >= 0))
			return g_strdup_printf("%s[%u].masses[%u]: %g is a negative mass", key, i, k,
					       entry->masses[k]);
		sum += entry->masses[k];
	}
	if (fabs(sum - 1) <= MASS_SLACK)
		return NULL;
	return g_strdup_printf("%s[%u].masses: they sum to %.9g, not to 1", key, i, sum);
}

/* The entry of a type on a machine (NULL: on any), of the first `count`; `count`: there is none. */
static uint32_t find_entry(const struct config_pet_entry *entries, uint32_t count, const char *type,
			   const char *machine)
{
	uint32_t i = 0;

	while (i < count && !(g_str_equal(entries[i].type, type) &&
			      (!machine || g_str_equal(entries[i].machine, machine))))
		i++;
	return i;
}

static char *check_entry(const struct config *config, const char *key,
			 const struct config_pet_entry *entries, uint32_t i)
{
	const struct config_pet_entry *entry = &entries[i];

	if (config->types_count > 0 && !is_configured_type(config, entry->type))
		return g_strdup_printf("%s[%u].type: no type '%s' in types", key, i, entry->type);
	if (!is_cluster(config, entry->machine))
		return g_strdup_printf("%s[%u].machine: no cluster '%s' in clusters", key, i,
				       entry->machine);
	if (find_entry(entries, i, entry->type, entry->machine) < i)
		return g_strdup_printf("%s[%u]: type '%s' on machine '%s' appears twice", key, i,
				       entry->type, entry->machine);
	if (entry->samples_count == 0 && entry->masses_count == 0)
		return g_strdup_printf("%s[%u]: type '%s' on machine '%s' has no samples; give samples "
				       "or masses",
				       key, i, entry->type, entry->machine);
	if (entry->samples_count > 0 && entry->masses_count > 0)
		return g_strdup_printf("%s[%u]: give samples or masses, not both", key, i);
	return entry->samples_count > 0 ? check_samples(key, i, entry)
					: check_masses(key, i, entry);
}

/* Every type, those of the entries and the configured ones, runs on every machine. */
static char *check_complete(const struct config *config, const char *key,
			    const struct config_pet_entry *entries, uint32_t count)
{
	for (uint32_t i = 0; i < count + config->types_count; i++) {
		const char *type = i < count ? entries[i].type : config->types[i - count].name;

		if (i < count && find_entry(entries, i, type, NULL) < i)
			continue;
		for (uint32_t c = 0; c < config->clusters_count; c++)
			if (find_entry(entries, count, type, config->clusters[c].name) == count)
				return g_strdup_printf("%s: type '%s' has no execution times on "
						       "machine '%s'",
						       key, type, config->clusters[c].name);
	}
	return NULL;
}

char *config_pet_check(const struct config *config, const char *key,
		       const struct config_pet_entry *entries, uint32_t count)
{
	char *wrong = NULL;

	if (count > ENTRIES_MAX)
		return g_strdup_printf("%s: %u are more than %d", key, count, ENTRIES_MAX);
	for (uint32_t i = 0; !wrong && i < count; i++)
		wrong = check_entry(config, key, entries, i);
	return wrong ? wrong : check_complete(config, key, entries, count);
}

bool config_wants_pet(const struct config *config)
{
	return config->environment && config->environment->pruning && config->types_count > 0 &&
	       config->environment->pruning->entries_count == 0;
}

/*
 * Whether a task can be of that type: a configured one, one of a list of entries, or t1 to t12 of the
 * matrix of ours.
 */
static bool is_type(const struct config *config, const char *name)
{
	const struct config_pruning *pruning = config->environment->pruning;
	uint64_t number;

	if (config->types_count > 0)
		return is_configured_type(config, name);

	for (uint32_t i = 0; i < pruning->entries_count; i++)
		if (g_str_equal(pruning->entries[i].type, name))
			return true;
	return pruning->entries_count == 0 && name[0] == 't' && name[1] != '0' &&
	       read_number_unsigned(name + 1, 1, SEED_TYPES, &number);
}

static char *check_task(const struct config *config, uint32_t i)
{
	const struct config_pruning *pruning = config->environment->pruning;
	const struct config_pruning_task *task = &pruning->list[i];
	const double before_s = i > 0 ? pruning->list[i - 1].arrival_s : 0;

	if (!is_type(config, task->type))
		return g_strdup_printf("environment.pruning.list[%u].type: no type '%s' in the "
				       "execution times",
				       i, task->type);
	if (!(task->arrival_s >= before_s && task->arrival_s <= TIME_MAX_S))
		return g_strdup_printf("environment.pruning.list[%u].arrival_s: %g is below 0 or before "
				       "the task above it; sort by arrival",
				       i, task->arrival_s);
	if (!(task->deadline_s > task->arrival_s && task->deadline_s <= TIME_MAX_S))
		return g_strdup_printf("environment.pruning.list[%u].deadline_s: %g is not after the "
				       "arrival at %g, or later than %g",
				       i, task->deadline_s, task->arrival_s, TIME_MAX_S);
	return NULL;
}

/* A key with its bounds. */
struct range {
	const char *key;
	double value;
	double min, max;
	bool open; /* min itself is outside */
};

static char *check_range(const struct range *range)
{
	if (range->value <= range->max &&
	    (range->open ? range->value > range->min : range->value >= range->min))
		return NULL;
	return g_strdup_printf("environment.pruning.%s: %g is outside %c%g, %g]", range->key,
			       range->value, range->open ? '(' : '[', range->min, range->max);
}

static char *check_ranges(const struct config_pruning *pruning)
{
	const struct range ranges[] = {
		{ "level", pruning->level, 0, LEVEL_MAX, true },
		{ "span_s", pruning->span_s, 0, TIME_MAX_S, true },
		{ "tasks", pruning->tasks, 1, TASKS_MAX, false },
		{ "demand", pruning->demand, 0, DEMAND_MAX, false },
		{ "variance", pruning->variance, 0, TIME_MAX_S, true },
		{ "slack", pruning->slack, 0, SLACK_MAX, false },
		{ "bin_s", pruning->bin_s, 1e-6, TIME_MAX_S, false },
		{ "queue_length", pruning->queue_length, 1, QUEUE_LENGTH_MAX, false },
		{ "drop_threshold", pruning->drop_threshold, 0, 1, false },
		{ "defer_threshold", pruning->defer_threshold, 0, 1, false },
		{ "adjustment", pruning->adjustment, 0, 1, false },
		{ "recency", pruning->recency, 0, 1, false },
		{ "toggle", pruning->toggle, 0, TOGGLE_MAX, true },
		{ "separation", pruning->separation, 0, 1, false },
		{ "fairness", pruning->fairness, 0, 1, false },
		{ "cull_threshold", pruning->cull_threshold, 0, 1, false },
	};
	char *wrong = NULL;

	for (gsize i = 0; !wrong && i < G_N_ELEMENTS(ranges); i++)
		wrong = check_range(&ranges[i]);
	return wrong;
}

static char *check_prices(const struct config *config)
{
	const struct config_pruning *pruning = config->environment->pruning;

	if (pruning->prices_count > 0 && pruning->prices_count != config->clusters_count)
		return g_strdup_printf("environment.pruning.prices: %u for %u clusters; give one for "
				       "each, or none",
				       pruning->prices_count, config->clusters_count);
	for (uint32_t i = 0; i < pruning->prices_count; i++)
		if (!(pruning->prices[i] >= 0 && pruning->prices[i] <= PRICE_MAX))
			return g_strdup_printf("environment.pruning.prices[%u]: %g is outside [0, %g]",
					       i, pruning->prices[i], PRICE_MAX);
	return NULL;
}

static bool can_be_measured(const struct config *config)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config->clusters[c].hosts_count == 0 && !config->clusters[c].local_scheduler)
			return false;
	return true;
}

/* Machines: one task at a time on each. */
static char *check_machines(const struct config *config)
{
	const struct config_pruning *pruning = config->environment->pruning;

	if (config_wants_pet(config) && !can_be_measured(config))
		return g_strdup("environment.pruning.pet: none, but types are given; give their "
				"execution times on the clusters, or all clusters hosts to measure "
				"them on");
	if (pruning->entries_count == 0 && config->types_count == 0 &&
	    config->clusters_count != SEED_MACHINES)
		return g_strdup_printf("clusters: %u, but the drawn execution times are those of %d "
				       "machines; give as many, or environment.pruning.pet",
				       config->clusters_count, SEED_MACHINES);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		for (uint32_t t = 0; t < config->types_count; t++)
			if (!config_type_fits(&config->types[t], &config->clusters[c]))
				return g_strdup_printf("types[%u]: does not fit cluster '%s', and every "
						       "type of environment.pruning has to run on "
						       "every machine",
						       t, config->clusters[c].name);
	return NULL;
}

/* What tasks with deadlines do not go together with. */
static char *check_others(const struct config *config)
{
	const struct config_environment *environment = config->environment;

	if (environment->serial || environment->sharing || environment->trace)
		return g_strdup("environment.pruning: tasks have deadlines and queues, or are serial, "
				"share hosts or come from a trace; leave out the others");
	if (environment->special_count > 0 || environment->pstates != 1 || environment->lead_s != 0)
		return g_strdup("environment: special, pstates and lead_s are of no use with "
				"environment.pruning; leave them out");
	if (config->study->sizes_count != 1 || config->study->sizes[0] != 1)
		return g_strdup("study.sizes: a machine of environment.pruning executes one task, "
				"however many nodes it has; leave them out");
	if (environment->pruning->demand > 0 && g_str_equal(config->study->x, "level"))
		return g_strdup("study.x: 'level' does not count with environment.pruning.demand; leave "
				"out one of them");
	if (config->experiment->limits_count != 1)
		return g_strdup("experiment.limits: tasks of environment.pruning have no energy "
				"budget; give [1]");
	return NULL;
}

char *config_pruning_check(const struct config *config)
{
	const struct config_pruning *pruning = config->environment->pruning;
	const uint32_t tasks = pruning->list_count > 0 ? pruning->list_count : pruning->tasks;
	char *wrong = check_others(config);

	if (!wrong)
		wrong = check_ranges(pruning);
	if (!wrong)
		wrong = check_machines(config);
	if (!wrong && pruning->entries_count > 0)
		wrong = config_pet_check(config, "environment.pruning.entries", pruning->entries,
					 pruning->entries_count);
	for (uint32_t i = 0; !wrong && i < pruning->list_count; i++)
		wrong = check_task(config, i);
	if (!wrong)
		wrong = check_prices(config);
	if (!wrong && pruning->left_out >= (tasks + 1) / 2)
		wrong = g_strdup_printf("environment.pruning.left_out: %u of %u tasks at either end "
					"leave none",
					pruning->left_out, tasks);
	return wrong;
}
