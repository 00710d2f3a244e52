/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_fit.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/lab_state.h"
#include "common/machine_room.h"
#include "common/own_cgroup.h"
#include "common/program_path.h"
#include "common/subprocess.h"
#include "controller/run/run_paths.h"
#include "controller/supervise/run_watch.h"

/* For a busy machine; a probe itself gives up before, seconds. */
#define PROBE_S 120.0

/* The probe's file in a directory; NULL if there is none. */
static char *file_in(const char *dir)
{
	g_autofree char *path = g_build_filename(dir, MACHINE_PROBE_FILE, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

static char *file_beside(const char *path)
{
	g_autofree char *dir = path ? g_path_get_dirname(path) : NULL;

	return dir ? file_in(dir) : NULL;
}

/* The probe of a lab that is up: its blades are fitted to it already. */
static char *file_of_lab(const char *name)
{
	g_autofree char *state = lab_state_is_up(name) ? lab_state_file(name) : NULL;

	return file_beside(state);
}

static struct machine_probe *measure(GError **error)
{
	g_autofree char *program = program_path("virtbed-lab", error);
	const char *const argv[] = {program, "probe", "--json", NULL};
	g_autofree char *text = NULL;
	g_autoptr(GError) reason = NULL;

	if (!program)
		return NULL;
	if (subprocess_run(argv, NULL, PROBE_S, &text, &reason))
		return machine_probe_parse(text, strlen(text), "virtbed-lab probe", error);
	return error_null(
		error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
		"the machine cannot be probed, to which the lab is to be fitted: %s; or say what "
		"it has with --probe FILE",
		reason->message);
}

static bool is_continued(const struct run_request *request)
{
	return request->resume || request->serve;
}

/*
 * Whether the run or service in `dir` began without a probe: under an older version, or with
 * another configuration.
 */
static bool began_without(const struct run_request *request, const char *dir)
{
	g_autofree char *config = g_build_filename(dir, "config.yaml", NULL);
	g_autofree char *probe = file_in(dir);

	return is_continued(request) && !probe && g_file_test(config, G_FILE_TEST_EXISTS);
}

bool run_fit_check_request(const struct run_request *request, const char *dir,
			   const struct config *config, GError **error)
{
	g_autofree char *before = request->resume ? file_in(dir) : NULL;

	if (!request->probe)
		return true;
	if (!config_lab_is_to_fit(config))
		return run_refuse(error,
				  "--probe: %s has no lab that is to be fitted; say lab.fit: yes, "
				  "or leave --probe out",
				  request->config_path);
	return !before || run_refuse(error,
				     "--probe: this run was fitted to %s when it began, and stays "
				     "so; leave --probe out",
				     before);
}

static struct machine_probe *find_probe(const struct run_request *request, const char *dir,
					const char *name, GError **error)
{
	g_autofree char *path = is_continued(request) ? file_in(dir) : NULL;

	if (!path)
		path = g_strdup(request->probe);
	if (!path)
		path = file_beside(request->estimates);
	if (!path)
		path = file_of_lab(name);
	return path ? machine_probe_load(path, error) : measure(error);
}

/* Prints what was done, and writes it and the probe to `dir`. */
static bool keep_fit(const struct machine_probe *probe, const struct lab_fit *done, const char *dir,
		     GError **error)
{
	g_autofree char *probe_path = g_build_filename(dir, MACHINE_PROBE_FILE, NULL);
	g_autofree char *notices_path = g_build_filename(dir, RUN_FIT_FILE, NULL);
	g_autofree char *notices = g_strjoinv("\n", done->notices);
	g_autofree char *machine = machine_probe_describe(probe);

	if (!machine_probe_save(probe, probe_path, error) ||
	    !g_file_set_contents(notices_path, notices, -1, error))
		return false;
	run_watch_say(NULL, "machine: %s", machine);
	for (gsize i = 0; done->notices[i]; i++)
		run_watch_say(NULL, "machine: %s", done->notices[i]);
	return true;
}

bool run_fit_check_room(const struct run_request *request, const char *dir,
			const struct config *config, GError **error)
{
	g_autofree char *probe = is_continued(request) ? file_in(dir) : NULL;
	g_autoptr(GError) reason = NULL;

	if (!machine_room_check_memory(config, request->config_path, error))
		return false;
	if (machine_room_check(config, request->config_path, &reason))
		return true;
	if (!probe) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return false;
	}
	return run_refuse(
		error,
		"%s was fitted to more CPU time than this machine lets us use now: its VMs may use "
		"%.2f cores, more than 80 %% of the %.4g that there are; give it the CPUs back, or "
		"start in another directory (%s)",
		dir, config_lab_cores(config), own_cgroup_cores(),
		request->serve ? "--state" : "--out");
}

bool run_fit(const struct run_request *request, const char *dir, struct config *config,
	     bool *ret_fitted, GError **error)
{
	g_autoptr(machine_probe_t) probe = NULL;
	struct lab_fit done = {0};

	*ret_fitted = false;
	if (!config_lab_is_to_fit(config))
		return true;
	if (began_without(request, dir)) {
		config->lab->fit = CONFIG_NO;
		return config_check(config, request->config_path, error) &&
		       run_fit_check_room(request, dir, config, error);
	}
	probe = find_probe(request, dir, config->name, error);
	*ret_fitted = probe && lab_fit(config, probe, &done, error) &&
		      config_check(config, request->config_path, error) &&
		      run_fit_check_room(request, dir, config, error) &&
		      keep_fit(probe, &done, dir, error);
	lab_fit_clear(&done);
	return *ret_fitted;
}

bool run_fit_to_lab(struct config *config, const char *path, GError **error)
{
	g_autofree char *file = file_of_lab(config->name);
	g_autoptr(machine_probe_t) probe = NULL;
	struct lab_fit done;

	if (!config_lab_is_to_fit(config))
		return machine_room_check(config, path, error);
	if (!file)
		return run_refuse(error, "the lab that is up was not fitted to this machine, and "
					 "the configuration says lab.fit: yes");
	probe = machine_probe_load(file, error);
	if (!probe || !lab_fit(config, probe, &done, error))
		return false;
	lab_fit_clear(&done);
	return config_check(config, path, error) && machine_room_check(config, path, error);
}
