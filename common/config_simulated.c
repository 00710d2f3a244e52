/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a configuration that are only simulated: an environment, and a study. */
#include <math.h>

#include "common/config_parts.h"
#include "common/config_sweep.h"
#include "common/duplicates.h"

#define PSTATES_MAX 64
#define TASKS_PER_DAY_MAX 1e6
#define TRIALS_MAX 1000000
#define JOBS_MAX 1000000
/* VMs of the largest jobs of the Lublin model. */
#define MODEL_HOSTS 128
#define RUN_MAX_S 1e9
/* The least share of a host that a VM may need: bounds how many fit on one. */
#define SHARE_MIN 1e-4
#define WEEK_MAX 10000
/* Shares of a host are sums of decimal fractions. */
#define ROUNDING 1e-9
#define SIZE_MAX_SHARE 100.0

static bool is_cluster(const struct config *config, const char *name)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (g_str_equal(config->clusters[c].name, name))
			return true;
	return false;
}

static char *check_special(const struct config *config)
{
	const struct config_environment *environment = config->environment;

	for (uint32_t i = 0; i < environment->special_count; i++) {
		if (!is_cluster(config, environment->special[i]))
			return g_strdup_printf("environment.special[%u]: no cluster '%s' in "
					       "clusters",
					       i, environment->special[i]);
		for (uint32_t j = 0; j < i; j++)
			if (g_str_equal(environment->special[i], environment->special[j]))
				return g_strdup_printf("environment.special[%u]: '%s' appears twice",
						       i, environment->special[i]);
	}
	if (environment->special_count >= config->clusters_count)
		return g_strdup("environment.special: leave at least one general cluster");
	return NULL;
}

/* A number that has a sweep: both have the same bounds. */
static char *check_number(const char *name, double value)
{
	const struct config_sweep *sweep = config_sweep_find(name);

	if (value >= sweep->min && value <= sweep->max)
		return NULL;
	return g_strdup_printf("environment.%s.%s: %g is outside %g to %g", sweep->needs, name,
			       value, sweep->min, sweep->max);
}

static char *check_share(const char *name, double value)
{
	if (value >= 0 && value <= 1)
		return NULL;
	return g_strdup_printf("environment.serial.%s: %g is outside 0 to 1", name, value);
}

static char *check_serial_numbers(const struct config_serial *serial)
{
	char *const wrong[] = {
		check_number("burst", serial->burst),
		check_number("critical_mean_s", serial->critical_mean_s),
		check_number("critical_utility", serial->critical_utility),
		serial->ordinary_mean_s >= 1 && serial->ordinary_mean_s <= 1e6
			? NULL
			: g_strdup_printf("environment.serial.ordinary_mean_s: %g is outside 1 to "
					  "1e+06",
					  serial->ordinary_mean_s),
		check_share("critical_share", serial->critical_share),
		check_share("may_preempt_share", serial->may_preempt_share),
		check_share("preemptible_share", serial->preemptible_share),
		serial->spread >= 0 && serial->spread < 1
			? NULL
			: g_strdup_printf("environment.serial.spread: %g is outside [0, 1)",
					  serial->spread),
	};
	char *first = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		if (first)
			g_free(wrong[i]);
		else
			first = wrong[i];
	}
	return first;
}

/* What serial tasks do not go together with. */
static char *check_serial(const struct config *config)
{
	const struct config_environment *environment = config->environment;

	if (environment->trace)
		return g_strdup("environment.trace: the jobs of a trace are parallel; leave out "
				"trace or environment.serial");
	if (environment->special_count > 0)
		return g_strdup("environment.special: serial tasks run on every cluster; leave it "
				"empty, or leave out environment.serial");
	if (environment->pstates != 1)
		return g_strdup_printf("environment.pstates: %u, but serial tasks know one P-state; "
				       "leave it out",
				       environment->pstates);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config->clusters[c].cores != 1)
			return g_strdup_printf("clusters[%u].cores: %u, but with environment.serial "
					       "a node is one core; give 1",
					       c, config->clusters[c].cores);
	if (config->experiment->limits_count != 1)
		return g_strdup("experiment.limits: the tasks of environment.serial use no energy; "
				"give [1]");
	return check_serial_numbers(environment->serial);
}

/* Whether a listed job could run alone: each host takes as many of its VMs as need no more than it has. */
static char *check_room(const struct config_cluster *cluster, const struct config_job *job,
			uint32_t i)
{
	const double each = floor(fmin(1 / job->cpu, 1 / job->memory) + ROUNDING);

	if (job->vms <= each * cluster->nodes)
		return NULL;
	return g_strdup_printf("environment.sharing.list[%u]: %u VMs that need %g of a host's CPU and "
			       "%g of its memory each do not fit on the %u hosts of '%s'; such a job "
			       "could never run",
			       i, job->vms, job->cpu, job->memory, cluster->nodes, cluster->name);
}

/* The needs of a listed job, and when it comes. */
static char *check_job(const struct config *config, uint32_t i)
{
	const struct config_sharing *sharing = config->environment->sharing;
	const struct config_job *job = &sharing->list[i];
	const struct {
		const char *key;
		double value;
	} shares[] = { { "cpu", job->cpu }, { "memory", job->memory } };

	for (gsize k = 0; k < G_N_ELEMENTS(shares); k++)
		if (!(shares[k].value >= SHARE_MIN && shares[k].value <= 1))
			return g_strdup_printf("environment.sharing.list[%u].%s: %g is outside [%g, 1]; "
					       "give the share of a host that each VM needs",
					       i, shares[k].key, shares[k].value, SHARE_MIN);
	if (job->vms == 0)
		return g_strdup_printf("environment.sharing.list[%u].vms: 0; give at least 1", i);
	if (!(job->run_s > 0 && job->run_s <= RUN_MAX_S))
		return g_strdup_printf("environment.sharing.list[%u].run_s: %g is outside (0, %g]",
				       i, job->run_s, RUN_MAX_S);
	if (!(job->arrival_s >= (i > 0 ? sharing->list[i - 1].arrival_s : 0) &&
	      job->arrival_s <= RUN_MAX_S))
		return g_strdup_printf("environment.sharing.list[%u].arrival_s: %g is below 0 or "
				       "before the job above it; sort by arrival",
				       i, job->arrival_s);
	return check_room(&config->clusters[0], job, i);
}

/* What jobs on shared hosts do not go together with. */
static char *check_sharing(const struct config *config)
{
	const struct config_environment *environment = config->environment;
	const struct config_sharing *sharing = environment->sharing;
	char *wrong = NULL;

	if (environment->serial)
		return g_strdup("environment.sharing: tasks are serial or share hosts; leave out "
				"serial or sharing");
	if (config->clusters_count != 1)
		return g_strdup_printf("clusters: %u, but environment.sharing is about the hosts of "
				       "one; give one cluster, whose nodes are the hosts",
				       config->clusters_count);
	if (environment->special_count > 0 || environment->pstates != 1 || environment->lead_s != 0)
		return g_strdup("environment: special, pstates and lead_s are of no use with "
				"environment.sharing; leave them out");
	if (config->experiment->limits_count != 1)
		return g_strdup("experiment.limits: the jobs of environment.sharing use no energy; "
				"give [1]");
	if (environment->trace && sharing->list_count > 0)
		return g_strdup("environment.trace: the jobs are those of the trace or those of "
				"environment.sharing.list; leave out one of them");
	if ((environment->trace || sharing->list_count > 0) && sharing->load > 0)
		return g_strdup_printf("environment.sharing.load: %g, but only jobs of the model are "
				       "scaled to a load; leave it out",
				       sharing->load);
	if (sharing->memory_tenths < 2 || sharing->memory_tenths > 10)
		return g_strdup_printf("environment.sharing.memory_tenths: %u is outside 2 to 10",
				       sharing->memory_tenths);
	if ((environment->trace || sharing->list_count > 0) && sharing->memory_tenths != 10)
		return g_strdup_printf("environment.sharing.memory_tenths: %u, but only the model draws "
				       "what jobs need; leave it out",
				       sharing->memory_tenths);
	if (sharing->week > WEEK_MAX)
		return g_strdup_printf("environment.sharing.week: %u is above %d", sharing->week,
				       WEEK_MAX);
	if (sharing->jobs < 2 || sharing->jobs > JOBS_MAX)
		return g_strdup_printf("environment.sharing.jobs: %u is outside 2 to %d",
				       sharing->jobs, JOBS_MAX);
	if (!environment->trace && sharing->list_count == 0 &&
	    config->clusters[0].nodes < MODEL_HOSTS)
		return g_strdup_printf("clusters[0].nodes: %u, but the jobs of the model have up to %d "
				       "VMs on hosts of their own",
				       config->clusters[0].nodes, MODEL_HOSTS);
	for (uint32_t i = 0; !wrong && i < sharing->list_count; i++)
		wrong = check_job(config, i);
	if (!wrong)
		wrong = check_number("load", sharing->load);
	return wrong ? wrong : check_number("penalty_s", sharing->penalty_s);
}

static char *check_times(const struct config *config)
{
	const struct config_environment *environment = config->environment;
	const struct config_experiment *experiment = config->experiment;
	const double events = environment->lead_s / experiment->mapping_interval_s;

	if (!environment->trace &&
	    !(environment->tasks_per_day > 0 && environment->tasks_per_day <= TASKS_PER_DAY_MAX))
		return g_strdup_printf("environment.tasks_per_day: %g is outside (0, %.0f]",
				       environment->tasks_per_day, TASKS_PER_DAY_MAX);
	if (!(environment->lead_s >= 0 && environment->lead_s < experiment->duration_s) ||
	    events != floor(events))
		return g_strdup_printf("environment.lead_s: %g s must be shorter than "
				       "experiment.duration_s and a multiple of mapping_interval_s",
				       environment->lead_s);
	if (!(experiment->budget_j > 0))
		return g_strdup_printf("experiment.budget_j: %g is not a positive number; an "
				       "environment needs one",
				       experiment->budget_j);
	return NULL;
}

char *config_environment_check(const struct config *config)
{
	const struct config_environment *environment = config->environment;
	char *wrong;

	if (!environment->pruning && (config->types_count > 0 || config->estimates_count > 0))
		return g_strdup("types: an environment draws its own; leave types and estimates "
				"empty");
	if (environment->pstates > PSTATES_MAX)
		return g_strdup_printf("environment.pstates: %u is more than %d",
				       environment->pstates, PSTATES_MAX);
	if (!(environment->sine_amplitude >= 0 && environment->sine_amplitude <= 1))
		return g_strdup_printf("environment.sine_amplitude: %g is outside 0 to 1",
				       environment->sine_amplitude);
	wrong = check_special(config);
	if (!wrong && environment->pruning)
		wrong = config_pruning_check(config);
	else if (!wrong && environment->sharing)
		wrong = check_sharing(config);
	else if (!wrong && environment->serial)
		wrong = check_serial(config);
	return wrong ? wrong : check_times(config);
}

static char *check_sizes(const struct config_study *study)
{
	uint32_t repeated;

	for (uint32_t i = 0; i < study->sizes_count; i++)
		if (!(study->sizes[i] > 0 && study->sizes[i] <= SIZE_MAX_SHARE))
			return g_strdup_printf("study.sizes[%u]: %g is outside (0, %g]", i,
					       study->sizes[i], SIZE_MAX_SHARE);
	repeated = duplicate_fraction(study->sizes, study->sizes_count);
	if (repeated == study->sizes_count)
		return NULL;
	return g_strdup_printf("study.sizes[%u]: %g appears twice", repeated,
			       study->sizes[repeated]);
}

/* Whether the values of a sweep can be read, and are different. */
static char *check_values(const struct config_study *study, const struct config_sweep *sweep)
{
	g_autofree double *values = g_new(double, study->values_count);

	for (uint32_t i = 0; i < study->values_count; i++) {
		g_autofree char *wrong = NULL;

		if (!config_sweep_read(sweep, study->values[i], &values[i], &wrong))
			return g_strdup_printf("study.values[%u]: %s", i, wrong);
		for (uint32_t j = 0; j < i; j++)
			if (fabs(values[i] - values[j]) < CONFIG_LIMITS_DIFFER)
				return g_strdup_printf("study.values[%u]: %s appears twice", i,
						       study->values[i]);
	}
	return NULL;
}

/* Sweeps have values and an environment that takes them; all else has none. */
static char *check_sweep(const struct config *config, const struct config_sweep *sweep)
{
	const struct config_study *study = config->study;
	g_autofree char *names = config_sweep_names();

	if (!sweep && study->values_count == 0)
		return NULL;
	if (!sweep)
		return g_strdup_printf("study.values: nothing to sweep; give study.x as one of %s, "
				       "or no values",
				       names);
	if (study->values_count == 0)
		return g_strdup_printf("study.x: '%s' without study.values; give the values to "
				       "sweep",
				       study->x);
	if (!config_sweep_fits(sweep, config))
		return g_strdup_printf("study.x: '%s' needs environment.%s", study->x,
				       sweep->needs);
	if (g_str_equal(study->x, "load") &&
	    (config->environment->trace || config->environment->sharing->list_count > 0))
		return g_strdup("study.x: 'load', but only jobs of the model are scaled to a load; "
				"leave out environment.trace and environment.sharing.list");
	return check_values(study, sweep);
}

char *config_study_check(const struct config *config)
{
	static const char *const known[] = { "policy", "limit", "leniency", "drop", "size", NULL };
	const struct config_study *study = config->study;
	const struct config_sweep *sweep = config_sweep_find(study->x);
	char *wrong;

	if (!sweep && !g_strv_contains(known, study->x)) {
		g_autofree char *names = config_sweep_names();

		return g_strdup_printf("study.x: '%s' is none of policy, limit, leniency, drop, "
				       "size, %s",
				       study->x, names);
	}
	wrong = check_sweep(config, sweep);
	if (wrong)
		return wrong;
	if (config->experiment->limits_count > 1 && !g_str_equal(study->x, "limit"))
		return g_strdup_printf("study.x: '%s' with several experiment.limits; give one of "
				       "them, or x: limit",
				       study->x);
	if (study->sizes_count > 1 && !g_str_equal(study->x, "size"))
		return g_strdup_printf("study.x: '%s' with several study.sizes; give one of them, "
				       "or x: size",
				       study->x);
	if (study->trials > TRIALS_MAX)
		return g_strdup_printf("study.trials: %u is more than %d", study->trials,
				       TRIALS_MAX);
	return check_sizes(study);
}
