/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/service/daemons.h"

#include <glib/gstdio.h>

#include "common/subprocess.h"
#include "controller/run/run_plan.h"

static void remove_dir(const struct daemons *daemons)
{
	const char *const argv[] = {"rm", "-rf", daemons->dir, NULL};

	g_assert_true(subprocess_run(argv, NULL, 10, NULL, NULL));
}

void daemons_init(struct daemons *daemons, const struct platform *platform, const char *name)
{
	g_autofree char *template = g_strdup_printf("virtbed-%s-XXXXXX", name);
	g_autoptr(GError) error = NULL;

	*daemons = (struct daemons){.platform = platform};
	daemons->dir = g_dir_make_tmp(template, &error);
	g_assert_no_error(error);
	daemons->controller = g_strdup_printf("unix:%s/c", daemons->dir);
	daemons->local = g_strdup_printf("unix:%s/s", daemons->dir);
}

void daemons_clear(struct daemons *daemons)
{
	remove_dir(daemons);
	g_free(daemons->controller);
	g_free(daemons->local);
	g_free(daemons->dir);
}

static void write_text(const struct daemons *daemons, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(daemons->dir, name, NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

void daemons_write(const struct daemons *daemons, const char *config_text)
{
	g_autoptr(GError) error = NULL;
	const char *policies[] = {"easy", NULL};
	const char *schedulers[] = {daemons->local, NULL};
	double limit = 1;
	const struct run_plan plan = {
		.experiment = (char *)"daemons",
		.api = daemons->controller,
		.estimates = (char *)"given",
		.serve = true,
		.policies = (char **)policies,
		.limits = &limit,
		.limits_count = 1,
		.profile_repeats = 1,
		.repeats = 1,
		.schedulers = (char **)schedulers,
	};

	remove_dir(daemons);
	g_assert_cmpint(g_mkdir(daemons->dir, 0700), ==, 0);
	write_text(daemons, "wanted.yaml", config_text);
	write_text(daemons, "config.yaml", config_text);
	g_assert_true(run_plan_save(&plan, daemons->dir, &error));
}

bool daemons_try_local(struct daemons *daemons, GError **error)
{
	g_autofree char *path = g_build_filename(daemons->dir, "wanted.yaml", NULL);
	g_autofree char *state = g_build_filename(daemons->dir, "s1", NULL);
	struct scheduler_settings settings = {.platform = daemons->platform, .boot_timeout_s = 10};

	daemons->api = NULL;
	daemons->scheduler = NULL;
	daemons->store = NULL;
	daemons->config = config_load(path, error);
	if (!daemons->config)
		return false;
	daemons->store = task_store_open(daemons->platform, state, error);
	if (!daemons->store)
		return false;
	settings.config = daemons->config;
	settings.store = daemons->store;
	settings.state_directory = state;
	daemons->scheduler = scheduler_new(&settings, error);
	if (!daemons->scheduler)
		return false;
	daemons->api = api_new(daemons->local, NULL, daemons->scheduler, error);
	return daemons->api != NULL;
}

void daemons_start_local(struct daemons *daemons)
{
	g_autoptr(GError) error = NULL;

	daemons_try_local(daemons, &error);
	g_assert_no_error(error);
}

void daemons_end_local(struct daemons *daemons)
{
	api_free(daemons->api);
	scheduler_free(daemons->scheduler);
	task_store_close(daemons->store);
	config_free(daemons->config);
}
