/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_environment.h"

#define TASKS_MAX 1e7
#define LEAD_S (4.0 * 3600)

static const struct config_key environment_keys[] = {
	{CONFIG_NUMBER(environment, tasks_per_day), CONFIG_ABOVE(0, 1e6),
	 .says = "# is outside (0, 1000000]",
	 .help = "mean number of arrivals in 24 h; needed without a trace; default: 1 with sharing and pruning, "
		 "where it does not count."},
	{CONFIG_TEXT(environment, trace),
	 .help = "file in the Standard Workload Format, plain or gzipped, or a workload of Batsim, whose jobs "
		 "are the tasks."},
	{CONFIG_UINT(environment, trace_day), .fallback = 1,
	 .help = "the day of the trace that trial 1 runs; the "
		 "next trials run those after it. Days on which no job is submitted are skipped and do not count."},
	{CONFIG_UINT(environment, trace_cores), .fallback = 4096,
	 .help = "jobs that ask for more cores are left out."},
	{CONFIG_UINT(environment, pstates), CONFIG_NOT_ZERO, CONFIG_MOST(1, 64),
	 .help = "default: 3, and 1 with serial, sharing and pruning."},
	{CONFIG_NUMBER(environment, lead_s), CONFIG_OR_ZERO,
	 .help = "time before the day that counts; default: 14400, and 0 with sharing and pruning."},
	{CONFIG_UINT(environment, seed), .fallback = 1, CONFIG_NOT_ZERO,
	 .help = "of all that is drawn."},
	{CONFIG_UINT(environment, classes_seed), .fallback = 1, CONFIG_NOT_ZERO,
	 .help = "of the 20 utility classes."},
	{CONFIG_LIST(environment, special, TEXT), .once = true,
	 .help = "names of clusters that only run types of their own."},
	{CONFIG_NUMBER(environment, sine_amplitude), .fallback = 0.5, CONFIG_OR_ZERO,
	 CONFIG_TO(0, 1), .help = "of the arrival rates, relative."},
	{CONFIG_SECTION(environment, serial, config_serial_section),
	 .help = "serial tasks that come in bursts instead."},
	{CONFIG_SECTION(environment, sharing, config_sharing_section),
	 .help = "jobs on shared hosts instead."},
	{CONFIG_SECTION(environment, pruning, config_pruning_section),
	 .help = "tasks with hard deadlines on machines with queues instead."},
	{NULL},
};

const struct config_section config_environment_section = {
	environment_keys, sizeof(struct config_environment),
	"Task types, estimates and arrivals of simulations, drawn for every trial; `types` and `estimates` stay "
	"empty, but with `pruning`."};

/* An environment draws its own workload; what other code reads of a workload is filled in. */
static struct config_workload *workload_of(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);
	struct config_workload *workload = config_section_new(&config_workload_section);

	/* A trace has its own, and a rule refuses no tasks; the check wants some number. */
	workload->arrival_mean_s = environment->trace && !environment->sharing ? 1
				   : environment->tasks_per_day > 0
					   ? fmin(86400 / environment->tasks_per_day, 1e18)
					   : 0;
	/* A duration outside its range is refused as the experiment's. */
	workload->duration_s = CLAMP(config->experiment->duration_s, 0, 1e9);
	workload->seed = environment->seed;
	workload->utility_max = g_new0(uint32_t, 1);
	workload->utility_max[0] =
		environment->serial
			? (uint32_t)ceil(CLAMP(environment->serial->critical_utility, 1, 1e6))
			: 8;
	workload->utility_max_count = 1;
	return workload;
}

bool config_environment_fill_in(struct config *config, const char *path, GHashTable *given,
				GError **error)
{
	struct config_environment *environment = config_environment(config);
	struct config_experiment *experiment = config->experiment;
	const bool no_day = environment->sharing || environment->pruning;
	const bool no_energy = no_day || environment->serial;

	if (environment->pruning && !config_pruning_fill_in(config, path, given, error))
		return false;
	/* Where tasks use no energy, any budget is enough. */
	if (no_energy && !(experiment->budget_j < 0 || experiment->budget_j > 0))
		experiment->budget_j = 1;
	if (environment->pstates == 0)
		environment->pstates = no_energy ? 1 : 3;
	if (no_day && !(environment->tasks_per_day < 0 || environment->tasks_per_day > 0))
		environment->tasks_per_day = 1;
	if (!g_hash_table_contains(given, "environment.lead_s"))
		environment->lead_s = no_day ? 0 : LEAD_S;
	if (!config->workload)
		config->workload = workload_of(config);
	return true;
}

static char *check_special(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);

	for (uint32_t i = 0; i < environment->special_count; i++)
		if (!config_cluster_find(config, environment->special[i]))
			return g_strdup_printf(
				"environment.special[%u]: no cluster '%s' in clusters", i,
				environment->special[i]);
	if (environment->special_count >= config->clusters_count)
		return g_strdup("environment.special: leave at least one general cluster");
	return NULL;
}

/* Times, and tasks in all: what takes memory and time. */
static char *check_times(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);
	const struct config_experiment *experiment = config->experiment;
	const double events = environment->lead_s / experiment->mapping_interval_s;
	const bool drawn = !environment->trace && !environment->sharing && !environment->pruning;
	const double tasks =
		drawn ? environment->tasks_per_day * experiment->duration_s / 86400 : 0;

	if (!environment->trace && environment->tasks_per_day == 0)
		return g_strdup("environment.tasks_per_day: 0 is outside (0, 1000000]");
	if (!(environment->lead_s >= 0 && environment->lead_s < experiment->duration_s) ||
	    events != floor(events))
		return g_strdup_printf(
			"environment.lead_s: %g s must be shorter than experiment.duration_s and a "
			"multiple of mapping_interval_s",
			environment->lead_s);
	if (!(experiment->budget_j > 0))
		return g_strdup_printf(
			"experiment.budget_j: %g is not a positive number; an environment needs one",
			experiment->budget_j);
	if (tasks <= TASKS_MAX || !isfinite(tasks))
		return NULL;
	return g_strdup_printf(
		"environment.tasks_per_day: %g tasks in all are more than %.0f; lower it, or "
		"experiment.duration_s",
		tasks, TASKS_MAX);
}

char *config_environment_check(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);
	char *wrong;

	if (!environment->pruning && (config->types_count > 0 || config->estimates_count > 0))
		return g_strdup(
			"types: an environment draws its own; leave types and estimates empty");
	wrong = check_special(config);
	if (!wrong && environment->pruning)
		wrong = config_pruning_check(config);
	else if (!wrong && environment->sharing)
		wrong = config_sharing_check(config);
	else if (!wrong && environment->serial)
		wrong = config_serial_check(config);
	return wrong ?: check_times(config);
}
