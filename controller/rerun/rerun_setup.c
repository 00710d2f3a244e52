/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/rerun/rerun_setup.h"

#include <glib/gstdio.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/rerun/rerun.h"

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
	return true;
}

/* Whether it is the run of a service. */
static bool is_open(struct store *store, const struct store_run *run)
{
	g_autofree char *text = store_next_begin(store, run->run, 1);
	g_autoptr(json_t) stored =
		text ? json_parse(text, strlen(text), "the beginning", NULL) : NULL;

	return json_is_true(json_object_get(stored, "open"));
}

bool rerun_setup_init(struct store *store, const struct store_run *run,
		      struct rerun_setup *ret_made, GError **error)
{
	const char *const policies[] = {run->policy, NULL};
	g_autofree char *text = store_get_meta(store, "config_yaml");
	struct rerun_setup made = {0};
	bool good;

	if (is_open(store, run))
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
				  "the run of a service cannot be carried out again yet");
	if (!text)
		return error_fail(error, RERUN_ERROR, RERUN_ERROR_LACKS,
				  "the store has no configuration (meta, config_yaml)");
	made.config = read_config(text, error);
	if (made.config)
		made.experiment = experiment_new(made.config, policies, error);
	if (made.experiment && had_no_overheads(store))
		experiment_drop_overheads(made.experiment);
	good = made.experiment && make_trial(run, &made, error);
	if (good)
		*ret_made = made;
	else
		rerun_setup_clear(&made);
	return good;
}

void rerun_setup_clear(struct rerun_setup *made)
{
	experiment_trial_clear(&made->trial);
	experiment_free(made->experiment);
	config_free(made->config);
	*made = (struct rerun_setup){0};
}
