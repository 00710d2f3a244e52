/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/backend/sim.h"
#include "controller/config/config_environment.h"
#include "controller/engine/engine.h"
#include "controller/experiment/overheads.h"
#include "controller/plugin/plugin.h"

/*
 * Builds runs from a configuration: the system, the workload of a trial, the budget and the
 * policies, for `run` and `simulate` alike.
 */
struct experiment {
	const struct config *config;
	struct sched_system *system; /* in a simulated environment: that of its first trial */
	/*
	 * If the hosts of the clusters are shared: the system as sharing policies see it; `system`
	 * then has whole hosts. NULL: nothing is shared, or the environment's system is used.
	 */
	struct sched_system *shared;
	struct policy *policies; /* policies_count of them, in configured order */
	uint32_t policies_count;
	/* Names of the system's rows; NULL: those of the configuration. */
	GStringChunk *names;
	struct environment_machines *machines; /* owns what `system` borrows; NULL: none */
	struct swf_trace *trace;               /* the environment's trace; NULL: none */
	struct overheads *overheads;           /* overheads of simulated suspensions; NULL: none */
	/*
	 * Simulations load policies that are shared objects into this process, for speed, and a
	 * crash of one ends it; else each has a process of its own. Set by the caller.
	 */
	bool loads_objects;
};

#define EXPERIMENT_ERROR (experiment_error_quark())
GQuark experiment_error_quark(void);
/* Codes of EXPERIMENT_ERROR; bad input. */
enum experiment_error { EXPERIMENT_ERROR_POLICY = 1, EXPERIMENT_ERROR_BUDGET };

/*
 * Checks `policies` (NULL-terminated; NULL: the configured ones): known, usable with the workload
 * of `config`, and each there once. Returns true, or false with `error` set.
 */
bool experiment_check_policies(const struct config *config, const char *const *policies,
			       GError **error);

/*
 * Prepares the experiment of `config` (borrowed until experiment_free()). `policies`
 * (NULL-terminated) replaces the configured names; NULL keeps them. Returns a new experiment, or
 * NULL with `error` set (a policy that is unknown or there twice, estimates with a hole).
 */
struct experiment *experiment_new(const struct config *config, const char *const *policies,
				  GError **error);

/*
 * Makes suspensions take no time in the experiment's simulations, whatever the configuration says.
 */
void experiment_drop_overheads(struct experiment *experiment);

/* NULL is allowed. */
void experiment_free(struct experiment *experiment);
typedef struct experiment experiment_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(experiment_t, experiment_free)

/*
 * How the simulations of a trial are to differ from what policies are told. `load` times as many
 * tasks arrive in a second: the same tasks, in time that is so much shorter.
 */
struct experiment_change {
	struct backend_sim_error error; /* its stream is that of the trial */
	double load;                    /* > 0; 1: as drawn */
};

/* What the runs of a trial share. */
struct experiment_trial {
	const struct sched_system *system;
	const struct workload *workload;
	double utility_max; /* the most that could be earned; 0: not known */
	/*
	 * Shared hosts: the system with whole hosts and all execution times, for policies that do
	 * not share and for the simulation; `system` is the shared one. NULL: hosts are not shared.
	 */
	const struct sched_system *whole;
	/* Clusters with queues: which tasks are rated and at which prices. NULL: no queues. */
	const struct config_pruning *pruning;
	const struct experiment_change *change; /* of its simulations; NULL: none */
	/* The owners of the other fields; one of the two is NULL. */
	struct workload *testbed;
	struct environment_trial *environment;
};

/*
 * Draws trial `trial` (from 1) of `seed` (0: the configured one) and fills *ret_trial, which the
 * caller clears with experiment_trial_clear(). Returns true, or false with `error` set.
 */
bool experiment_trial_init(const struct experiment *experiment, uint64_t seed, uint32_t trial,
			   struct experiment_trial *ret_trial, GError **error);
void experiment_trial_clear(struct experiment_trial *trial);

/*
 * Changes a trial that was just made, and with it all of its simulations. `change` is borrowed for
 * the life of the trial.
 */
void experiment_trial_change(struct experiment_trial *trial,
			     const struct experiment_change *change);

/*
 * The setup of a run on a trial, as experiment_setup(). On shared hosts the policy determines which
 * system it sees and when it is asked.
 */
struct engine_setup experiment_trial_setup(const struct experiment *experiment,
					   const struct experiment_trial *trial,
					   const struct policy *policy, double limit_j);

/*
 * The setup of one run, with everything but recorder, marks and trim filled in. limit_j 0: none.
 * The seed of the policy's own choices is derived from the workload's seed and trial.
 */
struct engine_setup experiment_setup(const struct experiment *experiment,
				     const struct workload *workload, const struct policy *policy,
				     double limit_j);

/*
 * 100 % of the energy, in joules: experiment.budget_j of the configuration or, if that is 0, the
 * energy that an unlimited simulated run of policy_reference() on trial 1 of `seed` (0: the
 * configured one) uses within the duration (Machovec 2018, section 6.3). Returns it, > 0, or 0 with
 * `error` set.
 */
double experiment_budget_j(const struct experiment *experiment, uint64_t seed, GError **error);

/*
 * Creates the simulation for a run with `setup`, with overheads and rescheduling penalties.
 * `trial`: that of the setup, or NULL if it has none. To be destroyed with backend_destroy() before
 * the experiment is freed.
 */
struct backend *experiment_backend_new(const struct experiment *experiment,
				       const struct experiment_trial *trial,
				       const struct engine_setup *setup);

/*
 * What decides in a simulation if the policy of `setup` is from outside, without a fallback;
 * setup->outside is set. The caller frees it with plugin_free() after the engine. NULL: the policy
 * is of the tree.
 */
struct plugin *experiment_plugin_new(const struct experiment *experiment,
				     struct engine_setup *setup);

/*
 * Whether a simulation was not aborted since its policy from outside did not decide. False with
 * `error`, which says why. To be called before plugin_free().
 */
bool experiment_check_outside(const struct engine_setup *setup, const struct engine_result *result,
			      GError **error);

/*
 * Whether the programs of all policies from outside start and take the system of the first trial,
 * so that a wrong command is known before anything is simulated. False with `error`.
 */
bool experiment_check_programs(const struct experiment *experiment, GError **error);

/*
 * Simulates one run of the experiment and fills *ret_result, with the trial's utility_max and, on
 * shared hosts, the stretches, or with queues the robustness. `trial` as in
 * experiment_backend_new(). Returns true, or false with `error`: a policy from outside did not
 * decide.
 */
bool experiment_simulate_run(const struct experiment *experiment,
			     const struct experiment_trial *trial, const struct engine_setup *setup,
			     struct engine_result *ret_result, GError **error);

/*
 * Fills in what the engine does not know of the result of its run on a trial: the trial's
 * utility_max and, on shared hosts, the stretches, or with queues the robustness.
 */
void experiment_complete_result(const struct experiment_trial *trial, const struct engine *engine,
				struct engine_result *result);

/*
 * As experiment_simulate_run(), with execution times and energies that deviate from the estimates
 * (sim.h). With queues, whose execution times are drawn, other times are drawn than the trial's;
 * they depend on the spread's seed and stream.
 */
bool experiment_simulate_spread(const struct experiment *experiment,
				const struct experiment_trial *trial,
				const struct engine_setup *setup,
				const struct backend_sim_spread *spread,
				struct engine_result *ret_result, GError **error);

/*
 * experiment_simulate_run() of a run that belongs to no trial, without overheads and with a policy
 * of the tree.
 */
void experiment_simulate(const struct engine_setup *setup, struct engine_result *ret_result);
