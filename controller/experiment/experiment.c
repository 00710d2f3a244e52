/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/experiment.h"

#include <math.h>

#include "common/error_fail.h"
#include "common/random.h"
#include "controller/backend/sim.h"
#include "controller/config/config_environment.h"
#include "controller/experiment/robustness.h"
#include "controller/experiment/simulation.h"
#include "controller/plugin/plugin_config.h"
#include "controller/workload/dfrs.h"
#include "controller/workload/environment.h"
#include "controller/workload/environment_pruning.h"
#include "controller/workload/users.h"

G_DEFINE_QUARK(experiment_error_quark, experiment_error)

/* Refuses a dropping threshold that no task can reach. */
static bool check_threshold(const struct experiment *experiment, const struct policy *policy,
			    GError **error)
{
	const struct config_workload *workload = experiment->config->workload;
	g_autoptr(GHashTable) types = config_types_by_name(experiment->config);
	uint32_t most = 0;

	for (uint32_t i = 0; i < workload->utility_max_count; i++)
		most = MAX(most, workload->utility_max[i]);
	for (uint32_t i = 0; i < workload->list_count; i++) {
		const struct config_workload_task *task = &workload->list[i];
		const struct config_type *type = g_hash_table_lookup(types, task->type);

		most = MAX(most, task->utility ? task->utility : type->utility_max);
	}
	if (policy->drop_threshold <= most)
		return true;
	return error_fail(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY,
			  "the policy \"%s\": no task can earn more than %u, so a dropping "
			  "threshold of %g would drop them all",
			  policy->name, most, policy->drop_threshold);
}

/* Refuses a policy that depends on energies in an environment without energies. */
static bool check_energy(const struct experiment *experiment, const struct policy *policy,
			 GError **error)
{
	const struct config_environment *environment = config_environment(experiment->config);

	if (!environment || !(environment->serial || environment->sharing) ||
	    !policy_by_energy(policy))
		return true;
	return error_fail(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY,
			  "the policy \"%s\" depends on energies, and the tasks of environment.%s "
			  "have none",
			  policy->name, environment->serial ? "serial" : "sharing");
}

/*
 * Refuses a policy that does not fit. The clusters of a configuration give a node to one task at a
 * time; the hosts of environment.sharing and of shared clusters can be shared; the clusters of
 * environment.pruning have queues.
 */
static bool check_fit(const struct experiment *experiment, const struct policy *policy,
		      GError **error)
{
	const struct config_environment *environment = config_environment(experiment->config);
	const struct sched_system system = {.shared = false};
	const char *misfit = policy_misfit(policy, &system);
	const bool shared =
		(environment && environment->sharing) || experiment->config->clusters[0].shared;

	if (environment && environment->pruning)
		misfit = policy->ops->queueing ? NULL
					       : "it gives nodes to tasks, and the clusters of "
						 "environment.pruning take them from queues";
	if (!misfit || (shared && policy->ops->sharing))
		return true;
	return error_fail(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY,
			  "the policy \"%s\" does not fit the configuration: %s", policy->name,
			  misfit);
}

/* Refuses a policy that is the same as one before it: its runs would be taken for repeats. */
static bool check_different(const struct policy *policies, const char *const *names, uint32_t last,
			    GError **error)
{
	uint32_t i = 0;

	while (i < last && strcmp(policies[i].name, policies[last].name) != 0)
		i++;
	if (i == last)
		return true;
	if (strcmp(names[i], names[last]) == 0)
		g_set_error(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY,
			    "the policy \"%s\" is given twice; name each once", names[i]);
	else
		g_set_error(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY,
			    "\"%s\" and \"%s\" are the same policy; name each once", names[i],
			    names[last]);
	return false;
}

/* Where a policy is from outside: whether its fallback is one of the tree that fits. */
static bool check_fallback(const struct experiment *experiment, GError **error)
{
	const struct config_environment *environment = config_environment(experiment->config);
	const struct sched_queueing queueing = {.length = 1};
	const struct sched_system model = {
		.shared = (environment && environment->sharing) ||
			  experiment->config->clusters[0].shared,
		.queueing = environment && environment->pruning ? &queueing : NULL,
	};

	for (uint32_t i = 0; i < experiment->policies_count; i++)
		if (policy_is_outside(&experiment->policies[i]))
			return plugin_config_check(experiment->config, &model, error);
	return true;
}

static bool parse_policies(struct experiment *experiment, const char *const *names, uint32_t count,
			   GError **error)
{
	char message[512];

	if (count == 0)
		return error_fail(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY,
				  "no policy given; `virtbed policies` lists the known ones");
	experiment->policies = g_new0(struct policy, count);
	for (uint32_t i = 0; i < count; i++) {
		if (policy_parse(names[i], &experiment->policies[i], message, sizeof(message)) < 0)
			return error_fail(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY, "%s",
					  message);
		if (!check_different(experiment->policies, names, i, error) ||
		    !check_fit(experiment, &experiment->policies[i], error) ||
		    !check_threshold(experiment, &experiment->policies[i], error) ||
		    !check_energy(experiment, &experiment->policies[i], error))
			return false;
	}
	experiment->policies_count = count;
	return check_fallback(experiment, error);
}

/* An experiment with its policies and without a system. */
static struct experiment *new_with_policies(const struct config *config,
					    const char *const *policies, GError **error)
{
	g_autoptr(experiment_t) experiment = g_new0(struct experiment, 1);
	const char *const *names =
		policies ? policies : (const char *const *)config->experiment->policies;
	const uint32_t count =
		policies ? g_strv_length((char **)policies) : config->experiment->policies_count;

	experiment->config = config;
	return parse_policies(experiment, names, count, error) ? g_steal_pointer(&experiment)
							       : NULL;
}

bool experiment_check_policies(const struct config *config, const char *const *policies,
			       GError **error)
{
	g_autoptr(experiment_t) experiment = new_with_policies(config, policies, error);

	return experiment != NULL;
}

struct experiment *experiment_new(const struct config *config, const char *const *policies,
				  GError **error)
{
	g_autoptr(experiment_t) experiment = new_with_policies(config, policies, error);

	if (!experiment)
		return NULL;
	if (config_environment(config)) {
		if (config_environment(config)->trace &&
		    !(experiment->trace = environment_trace_new(config, error)))
			return NULL;

		g_autoptr(environment_trial_t) trial =
			environment_trial_new(config, experiment->trace, 0, 1, error);

		if (!trial)
			return NULL;
		experiment->machines = g_steal_pointer(&trial->machines);
		experiment->system = g_steal_pointer(&trial->system);
		experiment->names = g_steal_pointer(&trial->names);
	} else {
		experiment->system = workload_system_new(config, error);
		if (experiment->system && config->clusters[0].shared)
			experiment->shared = workload_shared_system_new(config);
	}
	if (!experiment->system)
		return NULL;
	if (!config_times_known(config)) {
		g_set_error_literal(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM,
				    "workload.load: times follow from estimates, and there are "
				    "none; measure them by `virtbed profile`, or give "
				    "arrival_mean_s and duration_s");
		return NULL;
	}
	experiment->overheads = overheads_new(config);
	return g_steal_pointer(&experiment);
}

void experiment_drop_overheads(struct experiment *experiment)
{
	g_clear_pointer(&experiment->overheads, overheads_free);
}

void experiment_free(struct experiment *experiment)
{
	if (!experiment)
		return;
	sched_system_free(experiment->system);
	environment_machines_free(experiment->machines);
	sched_system_free(experiment->shared);
	if (experiment->names)
		g_string_chunk_free(experiment->names);
	swf_free(experiment->trace);
	overheads_free(experiment->overheads);
	g_free(experiment->policies);
	g_free(experiment);
}

/* The tasks of a trial, which the trial owns. */
static struct workload *tasks_of(struct experiment_trial *trial)
{
	return trial->testbed ? trial->testbed : trial->environment->workload;
}

void experiment_trial_change(struct experiment_trial *trial, const struct experiment_change *change)
{
	struct workload *workload = tasks_of(trial);

	trial->change = change;
	if (workload->users)
		workload_users_hurry(workload->users, change->load);
	for (uint32_t i = 0; i < workload->tasks_count; i++) {
		struct sched_task *task = &workload->tasks[i];
		const double slack_s = task->deadline_s - task->arrival_s;

		task->arrival_s /= change->load;
		task->deadline_s = task->arrival_s + slack_s;
	}
}

/* A seed for the policy's choices that shares no stream with the workload's. */
static uint64_t policy_seed(const struct workload *workload)
{
	struct random_stream stream;

	random_stream_init(&stream, workload->seed ^ UINT64_C(0x706f6c696379), workload->trial);
	/* Below 2^53: the number survives JSON readers that know only doubles. */
	return random_stream_next(&stream) >> 11;
}

struct engine_setup experiment_setup(const struct experiment *experiment,
				     const struct workload *workload, const struct policy *policy,
				     double limit_j)
{
	return (struct engine_setup){
		.system = experiment->system,
		.workload = workload,
		.policy = *policy,
		.limit_j = limit_j,
		.mapping_interval_s = experiment->config->experiment->mapping_interval_s,
		.duration_s = experiment->config->experiment->duration_s,
		.seed = policy_seed(workload),
	};
}

bool experiment_trial_init(const struct experiment *experiment, uint64_t seed, uint32_t trial,
			   struct experiment_trial *ret_trial, GError **error)
{
	struct experiment_trial made = {.system = experiment->system};

	if (config_environment(experiment->config)) {
		made.environment = environment_trial_new(experiment->config, experiment->trace,
							 seed, trial, error);
		if (!made.environment)
			return false;
		made.system = made.environment->system;
		made.workload = made.environment->workload;
		made.utility_max = made.environment->utility_max;
		made.whole = made.environment->whole;
		made.pruning = config_environment(experiment->config)->pruning;
	} else {
		made.testbed = workload_testbed_new(experiment->config, experiment->system, seed,
						    trial, error);
		if (!made.testbed)
			return false;
		made.workload = made.testbed;
		if (experiment->shared) {
			made.system = experiment->shared;
			made.whole = experiment->system;
		}
	}
	*ret_trial = made;
	return true;
}

void experiment_trial_clear(struct experiment_trial *trial)
{
	workload_free(trial->testbed);
	environment_trial_free(trial->environment);
	*trial = (struct experiment_trial){0};
}

struct engine_setup experiment_trial_setup(const struct experiment *experiment,
					   const struct experiment_trial *trial,
					   const struct policy *policy, double limit_j)
{
	const struct config_environment *environment = config_environment(experiment->config);
	struct engine_setup setup = experiment_setup(experiment, trial->workload, policy, limit_j);

	setup.system = trial->system;
	if (trial->whole) {
		const struct policy_sharing *sharing = policy->ops->sharing;

		if (!sharing)
			setup.system = trial->whole;
		setup.moments = sharing ? sharing->moments : POLICY_AT_CHANGES;
		setup.limit_j = 0;
		if (environment && !environment->sharing->virtual_time_in_penalty)
			setup.virtual_pause_s = environment->sharing->penalty_s;
	} else if (trial->pruning) {
		setup.moments = POLICY_AT_CHANGES;
		setup.limit_j = 0;
	} else if (environment) {
		setup.gate = !environment->serial;
		setup.lead_s = environment->lead_s;
		setup.lead_limit_j =
			limit_j * environment->lead_s / (setup.duration_s - environment->lead_s);
	}
	return setup;
}

struct backend *experiment_backend_new(const struct experiment *experiment,
				       const struct experiment_trial *trial,
				       const struct engine_setup *setup)
{
	const struct workload *workload = setup->workload;
	const bool shared = trial && trial->whole;
	const struct backend_sim_overheads overheads =
		overheads_view(experiment->overheads, workload->seed, workload->trial);
	struct backend *backend =
		backend_sim_new(shared ? trial->whole : setup->system, workload_room(workload));

	if (shared && config_environment(experiment->config))
		backend_sim_set_penalty(backend,
					config_environment(experiment->config)->sharing->penalty_s);
	else
		backend_sim_set_overheads(backend, &overheads);
	if (setup->system->queueing)
		backend_sim_set_exec_seed(backend, workload->seed, workload->trial);
	if (trial && trial->change) {
		struct backend_sim_courses courses = {.error = trial->change->error};

		courses.error.stream = workload->trial;
		backend_sim_set_courses(backend, &courses);
	}
	return backend;
}

/* Fills in the stretches of a run; for an environment only if all its jobs completed. */
static void find_stretches(const struct experiment_trial *trial, const struct engine *engine,
			   struct engine_result *result)
{
	const struct sched_system *whole = trial->whole;
	const uint32_t tasks = engine_tasks_count(engine);
	uint32_t count = 0;
	double end_s = 0;
	double sum = 0;

	if (tasks == 0 || (trial->environment && result->tasks_completed < tasks))
		return;
	for (uint32_t i = 0; i < tasks; i++) {
		const struct engine_task *task = engine_task_at(engine, i);
		const struct sched_task *job = task->task;
		const double run_s = whole->etc_s[(size_t)job->row * whole->columns_count];
		double stretch;

		if (job->arrival_s >= result->ended_s)
			continue;
		stretch = task->state == ENGINE_TASK_COMPLETED
				  ? dfrs_bounded_stretch(task->ended_s - job->arrival_s, run_s)
				  : dfrs_stretch_at_least(result->ended_s - job->arrival_s, run_s);
		end_s = fmax(end_s, task->ended_s);
		sum += stretch;
		count++;
		result->stretch_max = fmax(result->stretch_max, stretch);
	}
	result->stretch_mean = count ? sum / count : 0;
	result->span_s = end_s - engine_task_at(engine, 0)->task->arrival_s;
}

/* Fills in the robustness of a run. */
static void find_robustness(const struct config_pruning *pruning, const struct engine *engine,
			    uint32_t types, struct engine_result *result)
{
	const double *prices = pruning->prices_count > 0 ? pruning->prices : NULL;
	struct robustness robustness;

	robustness_of(engine, types, pruning->left_out, prices, &robustness);
	result->tasks_counted = robustness.counted;
	result->tasks_on_time = robustness.on_time;
	result->type_variance = robustness.type_variance;
	result->busy_s = robustness.busy_s;
	result->cost = robustness.cost;
}

void experiment_complete_result(const struct experiment_trial *trial, const struct engine *engine,
				struct engine_result *result)
{
	result->utility_max = trial->utility_max;
	if (trial->whole)
		find_stretches(trial, engine, result);
	if (trial->pruning)
		find_robustness(trial->pruning, engine, trial->system->rows_count, result);
}

struct plugin *experiment_plugin_new(const struct experiment *experiment,
				     struct engine_setup *setup)
{
	const struct plugin_settings settings =
		plugin_config_simulation(experiment->config, experiment->loads_objects);
	struct plugin *plugin;

	if (!policy_is_outside(&setup->policy))
		return NULL;
	plugin = plugin_new(&settings, setup->system, setup->seed);
	setup->outside = plugin_outside(plugin);
	return plugin;
}

bool experiment_check_outside(const struct engine_setup *setup, const struct engine_result *result,
			      GError **error)
{
	const char *problem = setup->outside ? setup->outside->problem : NULL;

	if (!problem || result->ended_by != ENGINE_END_ABORTED)
		return true;
	return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_DECIDE, "%s", problem);
}

bool experiment_check_programs(const struct experiment *experiment, GError **error)
{
	const struct plugin_settings settings =
		plugin_config_simulation(experiment->config, experiment->loads_objects);
	struct experiment_trial trial = {.workload = NULL};

	for (uint32_t i = 0; i < experiment->policies_count; i++) {
		const struct policy *policy = &experiment->policies[i];
		bool good;

		if (!policy_is_outside(policy))
			continue;
		if (!experiment_trial_init(experiment, 0, 1, &trial, error))
			return false;

		const struct engine_setup setup =
			experiment_trial_setup(experiment, &trial, policy, 0);

		good = plugin_check(policy, &settings, setup.system, setup.seed, error);
		experiment_trial_clear(&trial);
		if (!good)
			return false;
	}
	return true;
}

static bool simulate(const struct experiment *experiment, const struct experiment_trial *trial,
		     const struct engine_setup *setup, struct backend *backend,
		     struct engine_result *ret_result, GError **error)
{
	struct engine_setup own = *setup;
	g_autoptr(plugin_t) plugin = experiment ? experiment_plugin_new(experiment, &own) : NULL;
	struct engine *engine = engine_new(&own, backend);

	simulation_run(engine, backend, ret_result);
	if (trial)
		experiment_complete_result(trial, engine, ret_result);
	engine_free(engine);
	backend_destroy(backend);
	return experiment_check_outside(&own, ret_result, error);
}

/* So that no spread draws the execution times that the trials have. */
#define SPREAD_SEED UINT64_C(0x7370726561640000)

bool experiment_simulate_spread(const struct experiment *experiment,
				const struct experiment_trial *trial,
				const struct engine_setup *setup,
				const struct backend_sim_spread *spread,
				struct engine_result *ret_result, GError **error)
{
	struct backend *backend = experiment_backend_new(experiment, trial, setup);

	backend_sim_set_spread(backend, spread);
	if (setup->system->queueing)
		backend_sim_set_exec_seed(backend, spread->seed ^ SPREAD_SEED, spread->stream);
	return simulate(experiment, trial, setup, backend, ret_result, error);
}

bool experiment_simulate_run(const struct experiment *experiment,
			     const struct experiment_trial *trial, const struct engine_setup *setup,
			     struct engine_result *ret_result, GError **error)
{
	return simulate(experiment, trial, setup, experiment_backend_new(experiment, trial, setup),
			ret_result, error);
}

void experiment_simulate(const struct engine_setup *setup, struct engine_result *ret_result)
{
	simulate(NULL, NULL, setup, backend_sim_new(setup->system, workload_room(setup->workload)),
		 ret_result, NULL);
}

double experiment_budget_j(const struct experiment *experiment, uint64_t seed, GError **error)
{
	const double given_j = experiment->config->experiment->budget_j;
	g_autoptr(workload_t) workload = NULL;
	struct policy policy;
	struct engine_result result;
	char message[128];

	if (given_j > 0)
		return given_j;
	workload = workload_testbed_new(experiment->config, experiment->system, seed, 1, error);
	if (!workload)
		return 0;
	if (policy_parse(policy_reference()->name, &policy, message, sizeof(message)) < 0)
		g_error("%s", message);

	struct engine_setup setup = experiment_setup(experiment, workload, &policy, 0);

	setup.trim = true;
	experiment_simulate(&setup, &result);
	if (result.energy_j > 0)
		return result.energy_j;
	g_set_error(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_BUDGET,
		    "experiment.budget_j: none given, and the simulated %s run of trial 1 uses no "
		    "energy; give a budget or estimates with energy",
		    policy.name);
	return 0;
}
