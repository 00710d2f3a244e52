/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of a configuration that has tasks with hard deadlines on machines with queues (Gentry
 * 2019).
 */
#include "controller/config/config_pruning.h"

#include "common/config/config_read.h"
#include "common/error_fail.h"
#include "common/read_number.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"

#define TIME_MAX_S 1e9
#define BINS_MAX 100000
#define ENTRIES_MAX 10000
#define SEED_MACHINES 8 /* of the matrix that is drawn */
#define SEED_TYPES 12
#define LEFT_OUT 100 /* tasks at either end, where none are listed */
/* What printed masses may sum to more or less than 1. */
#define MASS_SLACK 1e-6

static const struct config_key pet_entry_keys[] = {
	{CONFIG_TEXT(pet_entry, type), .needed = true, .help = "name of the type."},
	{CONFIG_TEXT(pet_entry, machine), .needed = true, .help = "name of a cluster."},
	{CONFIG_LIST(pet_entry, samples, NUMBER), CONFIG_ABOVE(0, TIME_MAX_S), .most = 1000000,
	 .says = "# is not an execution time; give seconds in @",
	 .help = "measured times in seconds."},
	{CONFIG_UINT(pet_entry, first), .fallback = 1, CONFIG_NOT_ZERO, CONFIG_TO(1, BINS_MAX),
	 .says = "bins are counted from @", .help = "time bin of the first mass."},
	{CONFIG_LIST(pet_entry, masses, NUMBER), .max = INFINITY, .most = BINS_MAX,
	 .says = "# is a negative mass",
	 .help = "probabilities of that bin and the next ones; they sum to 1."},
	{NULL},
};

static const struct config_section config_pet_entry_section = {
	pet_entry_keys, sizeof(struct config_pet_entry),
	"Times of one type on one machine: samples, or masses."};

static const struct config_key pruning_task_keys[] = {
	{CONFIG_TEXT(pruning_task, type), .needed = true,
	 .help = "name of a type that has execution times."},
	{CONFIG_NUMBER(pruning_task, arrival_s), .needed = true, CONFIG_OR_ZERO,
	 .help = "in order."},
	{CONFIG_NUMBER(pruning_task, deadline_s), .needed = true, .help = "after the arrival."},
	{NULL},
};

static const struct config_section config_pruning_task_section = {
	pruning_task_keys, sizeof(struct config_pruning_task)};

static const struct config_key pruning_keys[] = {
	{CONFIG_NUMBER(pruning, level), .fallback = 34000, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e9),
	 .help = "tasks that arrive in `span_s`."},
	{CONFIG_NUMBER(pruning, span_s), .fallback = 250000, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e9),
	 .help = "see `level`."},
	{CONFIG_NUMBER(pruning, demand), .max = 1e6,
	 .help = "tasks arrive so many times as fast as the machines "
		 "could do them, instead of `level` and `span_s`. 0: it does not count."},
	{CONFIG_UINT(pruning, tasks), .fallback = 800, CONFIG_NOT_ZERO, .min = 1, .max = 1000000,
	 .help = "the first so many make a trial."},
	{CONFIG_UINT(pruning, left_out), CONFIG_OR_ZERO,
	 .help = "first and last tasks that do not count; default: 100, and 0 with a `list`."},
	{CONFIG_NUMBER(pruning, variance), .fallback = 0.1, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e9),
	 .help = "of a type's gaps, as a share of their mean."},
	{CONFIG_NUMBER(pruning, slack), .fallback = 1.7, CONFIG_OR_ZERO, .max = 1e6,
	 .help = "beta of the deadlines."},
	{CONFIG_SECTIONS(pruning, list, config_pruning_task_section),
	 .help = "tasks, the same in all trials, instead of drawn ones."},
	{CONFIG_TEXT(pruning, pet),
	 .help = "file with entries of execution times, by `virtbed profile` --pet; its "
		 "path begins at the directory of the configuration."},
	{CONFIG_SECTIONS(pruning, entries, config_pet_entry_section), .most = ENTRIES_MAX,
	 .help = "execution times here, instead of in a file. Where there are neither and no types, a matrix of 12 "
		 "types on 8 machines is drawn; those of configured types are measured."},
	{CONFIG_UINT(pruning, pet_seed), .fallback = 4, CONFIG_NOT_ZERO,
	 .help = "of the matrix that is drawn."},
	{CONFIG_NUMBER(pruning, bin_s), .fallback = 1, CONFIG_NOT_ZERO, .min = 1e-6, .max = 1e9,
	 .help = "width of a time bin."},
	{CONFIG_UINT(pruning, queue_length), .fallback = 6, CONFIG_NOT_ZERO, .min = 1, .max = 1000,
	 .help = "of each machine, the task that executes included."},
	{CONFIG_NUMBER(pruning, drop_threshold), .fallback = 0.5, CONFIG_OR_ZERO, .max = 1,
	 .help = "chance below which tasks are dropped."},
	{CONFIG_NUMBER(pruning, defer_threshold), .fallback = 0.9, CONFIG_OR_ZERO, .max = 1,
	 .help = "chance below which tasks are deferred."},
	{CONFIG_NUMBER(pruning, adjustment), CONFIG_OR_ZERO, .max = 1,
	 .help = "p of the paper's equation 7; default: `drop_threshold`."},
	{CONFIG_NUMBER(pruning, recency), .fallback = 0.9, CONFIG_OR_ZERO, .max = 1,
	 .help = "lambda of equation 8."},
	{CONFIG_NUMBER(pruning, toggle), .fallback = 1, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .help = "oversubscription level from which tasks are dropped."},
	{CONFIG_NUMBER(pruning, separation), .fallback = 0.2, CONFIG_OR_ZERO, .max = 1,
	 .help = "of the Schmitt trigger. 0: none."},
	{CONFIG_NUMBER(pruning, fairness), .fallback = 0.05, CONFIG_OR_ZERO, .max = 1,
	 .help = "fairness factor."},
	{CONFIG_NUMBER(pruning, cull_threshold), .fallback = 0.3, CONFIG_OR_ZERO, .max = 1,
	 .help = "of the policy moc."},
	{CONFIG_FLAG(pruning, evict), .fallback = true, CONFIG_OR_ZERO,
	 .help = "policies without pruning, too, take executing tasks off at their deadlines."},
	{CONFIG_UINT(pruning, merge), .help = "most impulses of a completion time. 0: exact."},
	{CONFIG_LIST(pruning, prices, NUMBER), .max = 1e9,
	 .help = "of an hour of each cluster, as many as clusters; 1 each without it."},
	{NULL},
};

const struct config_section config_pruning_section = {
	pruning_keys, sizeof(struct config_pruning),
	"Clusters are machines with queues. Chances, thresholds and factors are 0 to 1."};

static const struct config_key pet_file_keys[] = {
	{CONFIG_SECTIONS(pruning, entries, config_pet_entry_section), .least = 1,
	 .most = ENTRIES_MAX, .needed = true},
	{NULL},
};

/* A file of execution times alone, which is read into the section's own structure. */
static const struct config_section pet_file_section = {pet_file_keys,
						       sizeof(struct config_pruning)};

/* Whether one of the first `count` entries is of a type on a machine (NULL: on any). */
static bool has_entry(const struct config_pet_entry *entries, uint32_t count, const char *type,
		      const char *machine)
{
	return config_entry_find(entries, count, sizeof(*entries), type, machine);
}

static char *check_entry(const struct config *config, const char *key,
			 const struct config_pet_entry *entries, uint32_t i)
{
	const struct config_pet_entry *entry = &entries[i];
	double sum = 0;

	if (config->types_count > 0 && !config_type_find(config, entry->type))
		return g_strdup_printf("%s[%u].type: no type '%s' in types", key, i, entry->type);
	if (!config_cluster_find(config, entry->machine))
		return g_strdup_printf("%s[%u].machine: no cluster '%s' in clusters", key, i,
				       entry->machine);
	if (has_entry(entries, i, entry->type, entry->machine))
		return g_strdup_printf("%s[%u]: type '%s' on machine '%s' appears twice", key, i,
				       entry->type, entry->machine);
	if (entry->samples_count == 0 && entry->masses_count == 0)
		return g_strdup_printf(
			"%s[%u]: type '%s' on machine '%s' has no samples; give samples or masses",
			key, i, entry->type, entry->machine);
	if (entry->samples_count > 0 && entry->masses_count > 0)
		return g_strdup_printf("%s[%u]: give samples or masses, not both", key, i);
	for (uint32_t k = 0; k < entry->masses_count; k++)
		sum += entry->masses[k];
	if (entry->masses_count > 0 && !(fabs(sum - 1) <= MASS_SLACK))
		return g_strdup_printf("%s[%u].masses: they sum to %.9g, not to 1", key, i, sum);
	return NULL;
}

/*
 * Each entry, and whether every type, those of the entries and the configured ones, runs on every
 * machine.
 */
static char *check_entries(const struct config *config, const char *key,
			   const struct config_pet_entry *entries, uint32_t count)
{
	char *wrong = NULL;

	for (uint32_t i = 0; !wrong && i < count; i++)
		wrong = check_entry(config, key, entries, i);
	for (uint32_t i = 0; !wrong && i < count + config->types_count; i++) {
		const char *type = i < count ? entries[i].type : config->types[i - count].name;

		if (i < count && has_entry(entries, i, type, NULL))
			continue;
		for (uint32_t c = 0; !wrong && c < config->clusters_count; c++)
			if (!has_entry(entries, count, type, config->clusters[c].name))
				wrong = g_strdup_printf(
					"%s: type '%s' has no execution times on machine "
					"'%s'",
					key, type, config->clusters[c].name);
	}
	return wrong;
}

bool config_wants_pet(const struct config *config)
{
	return config_environment(config) && config_environment(config)->pruning &&
	       config->types_count > 0 && config_environment(config)->pruning->entries_count == 0;
}

/*
 * Whether a task can be of that type: a configured one, one of a list of entries, or t1 to t12 of
 * the matrix of ours.
 */
static bool is_type(const struct config *config, const char *name)
{
	const struct config_pruning *pruning = config_environment(config)->pruning;
	uint64_t number;

	if (config->types_count > 0)
		return config_type_find(config, name) != NULL;
	return has_entry(pruning->entries, pruning->entries_count, name, NULL) ||
	       (pruning->entries_count == 0 && name[0] == 't' && name[1] != '0' &&
		read_number_unsigned(name + 1, 1, SEED_TYPES, &number));
}

static char *check_task(const struct config *config, uint32_t i)
{
	const struct config_pruning *pruning = config_environment(config)->pruning;
	const struct config_pruning_task *task = &pruning->list[i];
	const double before_s = i > 0 ? pruning->list[i - 1].arrival_s : 0;

	if (!is_type(config, task->type))
		return g_strdup_printf(
			"environment.pruning.list[%u].type: no type '%s' in the execution times", i,
			task->type);
	if (!(task->arrival_s >= before_s && task->arrival_s <= TIME_MAX_S))
		return g_strdup_printf(
			"environment.pruning.list[%u].arrival_s: %g is below 0 or before the task above "
			"it; sort by arrival",
			i, task->arrival_s);
	if (!(task->deadline_s > task->arrival_s && task->deadline_s <= TIME_MAX_S))
		return g_strdup_printf(
			"environment.pruning.list[%u].deadline_s: %g is not after the arrival at %g, or "
			"later than %g",
			i, task->deadline_s, task->arrival_s, TIME_MAX_S);
	return NULL;
}

/* Machines: one task at a time on each. */
static char *check_machines(const struct config *config)
{
	const struct config_pruning *pruning = config_environment(config)->pruning;
	bool measurable = true;

	for (uint32_t c = 0; c < config->clusters_count; c++)
		measurable &=
			config->clusters[c].hosts_count > 0 || config->clusters[c].local_scheduler;
	if (config_wants_pet(config) && !measurable)
		return g_strdup(
			"environment.pruning.pet: none, but types are given; give their execution times on the "
			"clusters, or all clusters hosts to measure them on");
	if (pruning->entries_count == 0 && config->types_count == 0 &&
	    config->clusters_count != SEED_MACHINES)
		return g_strdup_printf(
			"clusters: %u, but the drawn execution times are those of %d machines; give as "
			"many, or environment.pruning.pet",
			config->clusters_count, SEED_MACHINES);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		for (uint32_t t = 0; t < config->types_count; t++)
			if (!config_type_fits(&config->types[t], &config->clusters[c]))
				return g_strdup_printf(
					"types[%u]: does not fit cluster '%s', and every type of "
					"environment.pruning has to run on every machine",
					t, config->clusters[c].name);
	return NULL;
}

/* Whether no task of a trial is left that counts. */
static bool leaves_none(const struct config_pruning *pruning)
{
	return pruning->left_out >= ((pruning->list_count ?: pruning->tasks) + 1) / 2;
}

char *config_pruning_check(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);
	const struct config_pruning *pruning = environment->pruning;
	char *wrong;

	if (environment->serial || environment->sharing || environment->trace)
		return g_strdup(
			"environment.pruning: tasks have deadlines and queues, or are serial, share hosts or "
			"come from a trace; leave out the others");
	if (environment->special_count > 0 || environment->pstates != 1 || environment->lead_s != 0)
		return g_strdup(
			"environment: special, pstates and lead_s are of no use with environment.pruning; "
			"leave them out");
	if (pruning->demand > 0 && g_str_equal(config_study(config)->x, "level"))
		return g_strdup(
			"study.x: 'level' does not count with environment.pruning.demand; leave out one of "
			"them");
	if (config->experiment->limits_count != 1)
		return g_strdup(
			"experiment.limits: tasks of environment.pruning have no energy budget; give [1]");
	wrong = check_machines(config);
	if (!wrong && pruning->entries_count > 0)
		wrong = check_entries(config, "environment.pruning.entries", pruning->entries,
				      pruning->entries_count);
	for (uint32_t i = 0; !wrong && i < pruning->list_count; i++)
		wrong = check_task(config, i);
	if (!wrong && pruning->prices_count > 0 && pruning->prices_count != config->clusters_count)
		wrong = g_strdup_printf(
			"environment.pruning.prices: %u for %u clusters; give one for each, or none",
			pruning->prices_count, config->clusters_count);
	if (!wrong && leaves_none(pruning))
		wrong = g_strdup_printf(
			"environment.pruning.left_out: %u of %u tasks at either end leave none",
			pruning->left_out, pruning->list_count ?: pruning->tasks);
	return wrong;
}

bool config_load_pet(struct config *config, const char *path, GError **error)
{
	struct config_pruning *pruning = config_environment(config)->pruning;
	struct config_pruning *file = config_read(path, &pet_file_section, NULL, error);
	g_autofree char *wrong = NULL;

	if (!file)
		return false;
	wrong = config_section_check(&pet_file_section, "", file)
			?: check_entries(config, "entries", file->entries, file->entries_count);
	if (wrong) {
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "%s: %s", path, wrong);
	} else {
		CONFIG_EXCHANGE(pruning->entries, file->entries);
		CONFIG_EXCHANGE(pruning->entries_count, file->entries_count);
		g_clear_pointer(&pruning->pet, g_free);
	}
	config_section_free(&pet_file_section, file);
	return !wrong;
}

bool config_pruning_fill_in(struct config *config, const char *path, GHashTable *given,
			    GError **error)
{
	struct config_pruning *pruning = config_environment(config)->pruning;
	g_autofree char *folder = g_path_get_dirname(path);
	g_autofree char *pet = NULL;

	if (pruning->pet && pruning->entries_count > 0)
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
				  "%s: environment.pruning.pet: '%s', but there are entries as "
				  "well; leave out one of them",
				  path, pruning->pet);
	/*
	 * Its path begins where the configuration is. Execution times that are read are part of the
	 * configuration, which is then all that a run depends on.
	 */
	if (pruning->pet)
		pet = g_path_is_absolute(pruning->pet)
			      ? g_strdup(pruning->pet)
			      : g_build_filename(folder, pruning->pet, NULL);
	if (pet && !config_load_pet(config, pet, error))
		return false;
	if (!g_hash_table_contains(given, "environment.pruning.left_out")) {
		pruning->left_out = pruning->list_count > 0 ? 0 : LEFT_OUT;
		/* A key that the file does not have is not to blame. */
		if (leaves_none(pruning))
			return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
					  "%s: environment.pruning.tasks: of %u tasks the first "
					  "and last %d do not count, which leaves none; give more "
					  "than %d, or left_out",
					  path, pruning->tasks, LEFT_OUT, 2 * LEFT_OUT);
	}
	if (!g_hash_table_contains(given, "environment.pruning.adjustment"))
		pruning->adjustment = pruning->drop_threshold;
	return true;
}
