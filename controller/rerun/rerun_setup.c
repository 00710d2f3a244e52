/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/rerun/rerun_setup.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

#include "common/config/config_service.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/engine/full_state.h"
#include "controller/engine/state_json.h"
#include "controller/journal/state_pack.h"
#include "controller/rerun/rerun.h"
#include "controller/store/store_service.h"

/* What a configuration may have, a rerun takes. */
G_STATIC_ASSERT(CONFIG_MAPPING_INTERVAL_MIN_S == STATE_PERIOD_MIN_S);

/* Reads a configuration from a text. */
static struct config *read_config(const char *text, GError **error)
{
	g_autofree char *path = NULL;
	struct config *config = NULL;
	const int fd = g_file_open_tmp("virtbed-rerun-XXXXXX.yaml", &path, error);

	if (fd < 0)
		return NULL;
	g_close(fd, NULL);
	if (g_file_set_contents(path, text, -1, error))
		config = config_controller_load(path, error);
	g_unlink(path);
	return config;
}

/* Whether the runs were simulated without the overheads of the configuration. */
static bool had_no_overheads(struct store *store)
{
	g_autofree char *count = store_get_meta(store, "overheads");

	return g_strcmp0(count, "0") == 0;
}

/* The setup of a run of an experiment, measured or simulated. */
static bool make_trial(const struct store_run *run, struct rerun_setup *made, GError **error)
{
	const uint32_t trial = run->measured ? 1 : run->repeat;

	if (!experiment_trial_init(made->experiment, run->seed, trial, &made->trial, error))
		return false;
	made->setup = experiment_trial_setup(made->experiment, &made->trial,
					     &made->experiment->policies[0], run->limit_j);
	made->setup.record_steps = run->measured;
	/* run_measured.c */
	made->setup.apart = run->measured && policy_is_outside(&made->setup.policy);
	return true;
}

/* Whether it is the run of a service. */
static bool is_open(struct store *store, const struct store_run *run)
{
	g_autofree char *text = store_next_begin(store, run->run, 1);
	g_autofree char *policies = store_get_meta(store, STORE_SERVICE_POLICIES);
	g_autoptr(json_t) stored =
		text ? json_parse(text, strlen(text), "the beginning", NULL) : NULL;

	return policies || json_is_true(json_object_get(stored, "open"));
}

static bool make_experiment(const char *config, const char *policy, struct rerun_setup *made,
			    GError **error)
{
	const char *const policies[] = {policy, NULL};

	made->config = read_config(config, error);
	if (made->config)
		made->experiment = experiment_new(made->config, policies, error);
	if (made->experiment)
		return true;
	rerun_setup_clear(made);
	return false;
}

/* Full states. */

bool rerun_state_read(const struct store_state *stored, struct rerun_state *ret_state,
		      GError **error)
{
	json_t *whole = state_unpack(stored->state);

	*ret_state = (struct rerun_state){
		.whole = whole,
		.engine = json_object_get(whole, "engine"),
		.setup = json_object_get(whole, "setup"),
		.config = json_string_value(json_object_get(whole, "config")),
		.decision = json_integer_value(json_object_get(whole, "decision")),
	};
	if (stored->n > 0 && json_is_object(ret_state->engine) &&
	    json_is_object(ret_state->setup) && ret_state->config)
		return true;
	rerun_state_clear(ret_state);
	return error_fail(error, RERUN_ERROR, RERUN_ERROR_DAMAGED,
			  "the full state before input %u is not what this virtbed writes",
			  stored->n);
}

void rerun_state_clear(struct rerun_state *state)
{
	json_decref(state->whole);
	*state = (struct rerun_state){0};
}

static double real_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static bool flag_of(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Takes over the settings of a service. False: no service has them. */
static bool read_settings(const json_t *settings, struct engine_setup *setup)
{
	const json_int_t moments = json_integer_value(json_object_get(settings, "moments"));

	setup->mapping_interval_s = real_of(settings, "mapping_interval_s");
	setup->moments = (enum policy_moments)moments;
	setup->changes_apart_s = real_of(settings, "changes_apart_s");
	setup->apart = flag_of(settings, "apart");
	setup->at_once = (uint32_t)json_integer_value(json_object_get(settings, "at_once"));
	setup->duration_s = real_of(settings, "duration_s");
	setup->record_changes = flag_of(settings, "record_changes");
	setup->seed = (uint64_t)json_integer_value(json_object_get(settings, "seed"));
	return state_is_period(setup->mapping_interval_s) && setup->duration_s > 0 &&
	       setup->changes_apart_s >= 0 && moments >= 0 && moments <= POLICY_AT_BOTH;
}

bool rerun_state_setup(const struct rerun_state *state, struct rerun_setup *ret_made,
		       GError **error)
{
	const char *policy = json_string_value(json_object_get(state->engine, "policy"));
	struct rerun_setup made = {0};

	if (!make_experiment(state->config, policy ?: "", &made, error))
		return false;
	made.open = workload_open_new(CONFIG_SERVICE_TASKS_MAX);
	made.setup = experiment_setup(made.experiment, made.open, &made.experiment->policies[0], 0);
	made.setup.open = made.open;
	if (engine_load_workload(state->engine, made.setup.system, made.open) &&
	    read_settings(state->setup, &made.setup)) {
		*ret_made = made;
		return true;
	}
	rerun_setup_clear(&made);
	return error_fail(error, RERUN_ERROR, RERUN_ERROR_DAMAGED,
			  "a full state is not what this virtbed writes of its configuration");
}

/* The setup of a service. */
static bool make_open(struct store *store, const struct store_run *run,
		      struct rerun_setup *ret_made, GError **error)
{
	struct store_state *first = store_next_state(store, run->run, 0, error);
	struct rerun_state state;
	bool good;

	if (!first)
		return (error && *error) ||
		       error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
				  "run %" PRId64
				  ": the store has no full state of its service to begin with: "
				  "one is stored from version 12 on, as a service starts and once "
				  "an hour",
				  run->run);
	good = rerun_state_read(first, &state, error);
	store_state_free(first);
	if (!good)
		return false;
	good = rerun_state_setup(&state, ret_made, error);
	rerun_state_clear(&state);
	return good;
}

bool rerun_setup_init(struct store *store, const struct store_run *run,
		      struct rerun_setup *ret_made, GError **error)
{
	g_autofree char *text = store_get_meta(store, "config_yaml");
	struct rerun_setup made = {0};

	if (is_open(store, run))
		return make_open(store, run, ret_made, error);
	if (!text)
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
				  "the store has no configuration (meta, config_yaml)");
	if (!make_experiment(text, run->policy, &made, error))
		return false;
	if (had_no_overheads(store))
		experiment_drop_overheads(made.experiment);
	if (make_trial(run, &made, error)) {
		*ret_made = made;
		return true;
	}
	rerun_setup_clear(&made);
	return false;
}

void rerun_setup_clear(struct rerun_setup *made)
{
	experiment_trial_clear(&made->trial);
	workload_free(made->open);
	experiment_free(made->experiment);
	config_free(made->config);
	*made = (struct rerun_setup){0};
}
