/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/config/config_environment.h"
#include "controller/engine/engine.h"
#include "controller/engine/overheads.h"

/*
 * From a configuration to runs: the system, the workload of a trial, the budget and the policies,
 * the same for `run` and `simulate`.
 */
struct experiment {
	const struct config *config;
	struct sched_system *system; /* of a simulated environment: that of its first trial */
	/*
	 * Of clusters whose hosts are shared: what policies see that share them; `system` has whole
	 * hosts. NULL: nothing is shared, or it is the environment's.
	 */
	struct sched_system *shared;
	struct policy *policies; /* policies_count of them, in configured order */
	uint32_t policies_count;
	GStringChunk *names;         /* of the system's rows; NULL: the configuration's */
	struct environment_machines *machines; /* that the system borrows; NULL: none */
	struct swf_trace *trace;     /* of the environment; NULL: none */
	struct overheads *overheads; /* of suspensions, in simulations; NULL: none */
};

#define EXPERIMENT_ERROR (experiment_error_quark())
GQuark experiment_error_quark(void);
/* Codes of EXPERIMENT_ERROR; bad input. */
enum experiment_error { EXPERIMENT_ERROR_POLICY = 1, EXPERIMENT_ERROR_BUDGET };

/*
 * Whether `policies` (NULL-terminated; NULL: the configured ones) are known, make sense with the
 * workload of `config`, and are each there once. Returns true, or false with `error` set.
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

/* Suspending takes no time in the experiment's simulations, whatever the configuration says. */
void experiment_drop_overheads(struct experiment *experiment);

/* NULL is allowed. */
void experiment_free(struct experiment *experiment);
typedef struct experiment experiment_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(experiment_t, experiment_free)

/* What the runs of a trial share. */
struct experiment_trial {
	const struct sched_system *system;
	const struct workload *workload;
	double utility_max; /* the most that could be earned; 0: not known */
	/*
	 * Of shared hosts, whose system is shared: the same as whole ones, with all execution times, for
	 * policies that do not share and for the simulation. NULL: the nodes are not shared.
	 */
	const struct sched_system *whole;
	/* Of machines with queues: what is rated, at which prices. NULL: they have none. */
	const struct config_pruning *pruning;
	/* The owners of the rest; one of them is NULL. */
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
 * The setup of a run on a trial. Otherwise as experiment_setup(). Where hosts are shared the policy
 * decides which system it sees, and when it is asked.
 */
struct engine_setup experiment_trial_setup(const struct experiment *experiment,
					   const struct experiment_trial *trial,
					   const struct policy *policy, double limit_j);

/*
 * The setup of one run: everything but recorder, marks and trim is filled in. limit_j 0: none. The
 * seed of the policy's own choices is derived from the workload's seed and trial.
 */
struct engine_setup experiment_setup(const struct experiment *experiment,
				     const struct workload *workload, const struct policy *policy,
				     double limit_j);

/*
 * 100 % of the energy in joules: experiment.budget_j of the configuration, or where that is 0 what
 * an unlimited simulated max-upr run on trial 1 of `seed` (0: the configured one) uses within the
 * duration (Machovec 2018, section 6.3). Returns it, > 0, or 0 with `error` set.
 */
double experiment_budget_j(const struct experiment *experiment, uint64_t seed, GError **error);

/*
 * The simulation that a run with `setup` of the experiment is carried out by, overheads and
 * rescheduling penalties included. `trial`: that of the setup, or NULL where it has none. To be
 * destroyed with backend_destroy() before the experiment is freed.
 */
struct backend *experiment_backend_new(const struct experiment *experiment,
				       const struct experiment_trial *trial,
				       const struct engine_setup *setup);

/*
 * Simulates one run of the experiment from beginning to end and fills *ret_result, with the trial's
 * utility_max and, where hosts are shared, the stretches, or where machines have queues the
 * robustness. `trial` as above.
 */
void experiment_simulate_run(const struct experiment *experiment,
			     const struct experiment_trial *trial,
			     const struct engine_setup *setup, struct engine_result *ret_result);

/*
 * The same, with execution times and energies that deviate (sim.h). Where machines have queues, whose execution
 * times are drawn, others are drawn than those of the trial: they depend on the spread's seed and stream.
 */
struct backend_sim_spread;
void experiment_simulate_spread(const struct experiment *experiment,
				const struct experiment_trial *trial,
				const struct engine_setup *setup,
				const struct backend_sim_spread *spread,
				struct engine_result *ret_result);

/* experiment_simulate_run() of a run that belongs to no trial, without overheads. */
void experiment_simulate(const struct engine_setup *setup, struct engine_result *ret_result);
