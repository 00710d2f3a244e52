/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_prepare_service.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/config/config_controller.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_service_check.h"
#include "controller/store/store.h"

#define UNIX "unix:"

static bool holds(const char *dir, const char *name)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

bool run_prepare_service_check(const struct config *config, const char *path, GError **error)
{
	const struct config_service service = config_service_of(config);
	g_autoptr(GError) reason = NULL;

	if (!run_service_check(config, &reason))
		return run_refuse(error, "%s: %s", path, reason->message);
	return !service.group || getgrnam(service.group) ||
	       run_refuse(error, "%s: service.group: this machine has no group '%s'", path,
			  service.group);
}

/* Reads what was served from the directory before; it must have the same name. */
static bool recall_config(struct run_prepared *prepared, GError **error)
{
	g_autofree char *path = g_build_filename(prepared->dir, "config.yaml", NULL);
	g_autoptr(config_t) before = NULL;

	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return true;
	before = config_controller_load(path, error);
	if (!before)
		return false;
	if (!g_str_equal(before->name, prepared->config->name))
		return run_refuse(error,
				  "%s is the state of service '%s', not of '%s'; name another "
				  "directory with --state",
				  prepared->dir, before->name, prepared->config->name);
	return prepared->config->estimates_count || prepared->config->unmeasured_count ||
	       (!before->estimates_count && !before->unmeasured_count) ||
	       config_load_estimates(prepared->config, path, error);
}

bool run_prepare_service(const struct run_request *request, struct run_prepared *prepared,
			 GError **error)
{
	g_autofree char *chosen = request->out ? g_strdup(request->out) : run_paths_service_state();
	g_autoptr(GError) reason = NULL;

	if (!run_prepare_service_check(prepared->config, request->config_path, error))
		return false;
	prepared->dir = g_canonicalize_filename(chosen, NULL);
	if (holds(prepared->dir, STORE_FILE) && !holds(prepared->dir, "plan.json"))
		return run_refuse(error,
				  "%s holds a simulation; name another directory with --state",
				  prepared->dir);
	if (!holds(prepared->dir, "plan.json") && !run_service_find(prepared->config, &reason))
		return run_refuse(error, "%s: %s", request->config_path, reason->message);
	if (request->estimates &&
	    !config_load_estimates(prepared->config, request->estimates, error))
		return false;
	return recall_config(prepared, error);
}

/* One run at the whole budget, which never ends. */
static struct run_plan *new_plan(const struct run_request *request, const struct config *config)
{
	static const double whole[] = {1};
	const struct run_plan plan = {
		.experiment = run_plan_experiment_id(config),
		.estimates = g_strdup(request->estimates ?: "given"),
		.serve = true,
		.repeats = 1,
		.limits = g_memdup2(whole, sizeof(whole)),
		.limits_count = 1,
	};

	return g_memdup2(&plan, sizeof(plan));
}

struct run_plan *run_prepare_service_plan(const struct run_request *request,
					  const struct run_prepared *prepared, GError **error)
{
	const struct config_service service = config_service_of(prepared->config);
	g_autoptr(run_plan_t) plan = NULL;

	if (!holds(prepared->dir, "plan.json"))
		plan = new_plan(request, prepared->config);
	else
		plan = run_plan_load(prepared->dir, error);
	if (!plan)
		return NULL;
	if (!plan->serve) {
		run_refuse(error,
			   "%s holds an experiment of `virtbed run`; name another directory with "
			   "--state",
			   prepared->dir);
		return NULL;
	}
	g_strfreev(plan->policies);
	plan->policies = g_new0(char *, 2);
	plan->policies[0] = g_strdup(service.policy);
	g_clear_pointer(&plan->schedulers, g_strfreev);
	g_clear_pointer(&plan->api, g_free);
	g_clear_pointer(&plan->listen, g_free);
	plan->listen = g_strdup(request->listen && !g_str_has_prefix(request->listen, UNIX)
					? request->listen
					: service.listen);
	return g_steal_pointer(&plan);
}

/*
 * Whether we may set the mode of a directory: it is a service's, empty, or our default one. The
 * latter may also hold data of labs and local schedulers, which are as private.
 */
static bool is_service_dir(const char *dir)
{
	g_autofree char *usual = run_paths_service_state();
	g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);

	return g_str_equal(dir, usual) || holds(dir, "plan.json") ||
	       (entries && !g_dir_read_name(entries));
}

bool run_prepare_service_dir(const char *dir, GError **error)
{
	struct stat status;

	if (g_mkdir_with_parents(dir, 0700) < 0 || stat(dir, &status) < 0)
		return error_fail(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
				  "cannot make directory '%s': %s", dir, g_strerror(errno));
	if (status.st_uid != geteuid()) /* that user could replace our files by links */
		return run_refuse(
			error,
			"%s is the directory of another user (%u, and we are %u); serve as that "
			"user, or name another directory with --state",
			dir, (unsigned)status.st_uid, (unsigned)geteuid());
	if (!(status.st_mode & 0077))
		return true;
	if (is_service_dir(dir) && chmod(dir, 0700) == 0)
		return true;
	return run_refuse(error,
			  "%s is open to other users, and the state of a service must be private; "
			  "name another directory with --state, or make it private "
			  "(chmod 700)",
			  dir);
}

/* Whether only the owner can search the directory; the group's bits may be an ACL's mask. */
static bool is_private_dir(const char *dir)
{
	struct stat status;

	return stat(dir, &status) == 0 && !(status.st_mode & (S_IXGRP | S_IXOTH));
}

/* The first directory on the way from `dir` to the root that other users cannot search, or NULL. */
static char *find_private_dir(const char *dir)
{
	g_autofree char *at = g_canonicalize_filename(dir, NULL);

	while (!is_private_dir(at)) {
		char *parent = g_path_get_dirname(at);

		if (g_str_equal(parent, at)) {
			g_free(parent);
			return NULL;
		}
		g_free(at);
		at = parent;
	}
	return g_steal_pointer(&at);
}

/*
 * Makes our directory searchable, which runs and labs use, too, and which the first of them made
 * for its user alone. Files in it are private by their own mode, and their names stay hidden.
 */
static bool make_searchable(const char *dir)
{
	struct stat status;

	return stat(dir, &status) == 0 && status.st_uid == geteuid() &&
	       chmod(dir, (status.st_mode & 07777) | S_IXGRP | S_IXOTH) == 0;
}

/* Whether we may give a socket to `group`: root to any group, other users to their own groups. */
static bool may_give(const char *group)
{
	const struct group *entry = getgrnam(group);
	const int count = getgroups(0, NULL);
	g_autofree gid_t *groups = g_new0(gid_t, MAX(count, 0) + 1);
	bool own = entry && entry->gr_gid == getegid();

	for (int i = 0; entry && i < getgroups(MAX(count, 0), groups); i++)
		own = own || groups[i] == entry->gr_gid;
	return own || geteuid() == 0;
}

/*
 * Why members of `group` could not reach a socket in `dir` whose own mode admits them; NULL: they
 * can.
 */
static char *group_trouble(const char *group, const char *dir)
{
	g_autofree char *shut = NULL;

	if (!may_give(group))
		return g_strdup_printf(
			"service.group: this user is no member of '%s', and cannot let it use a "
			"socket; serve as a member of it, or as root",
			group);
	shut = find_private_dir(dir);
	if (!shut)
		return NULL;
	return g_strdup_printf(
		"service.group: the members of '%s' cannot reach a socket in '%s', since '%s' is "
		"private to its owner; name another place with --listen unix:/PATH",
		group, dir, shut);
}

char *run_prepare_service_group_trouble(const struct config *config)
{
	const struct config_service service = config_service_of(config);
	g_autofree char *address = run_paths_service_address();
	g_autofree char *dir = g_path_get_dirname(address + strlen(UNIX));

	if (!service.group)
		return NULL;
	/* Our own directory can be made searchable. */
	return group_trouble(service.group, g_str_equal(dir, RUN_PATHS_OUR_DIR) ? "/run" : dir);
}

/* Whether the members of service.group can reach the socket. */
static bool open_to_group(const struct run_request *request, const char *group, const char *dir,
			  GError **error)
{
	g_autofree char *trouble = NULL;

	if (g_str_equal(dir, RUN_PATHS_OUR_DIR) && is_private_dir(dir))
		make_searchable(dir);
	trouble = group_trouble(group, dir);
	return !trouble || run_refuse(error, "%s: %s", request->config_path, trouble);
}

char *run_prepare_service_address(const struct run_request *request, const struct config *config,
				  GError **error)
{
	const struct config_service service = config_service_of(config);
	g_autofree char *address = request->listen && g_str_has_prefix(request->listen, UNIX)
					   ? g_strdup(request->listen)
					   : run_paths_service_address();
	g_autofree char *dir = g_path_get_dirname(address + strlen(UNIX));

	/* The mode of the socket itself decides which users may connect. */
	if (g_mkdir_with_parents(dir, 0755) < 0) {
		run_refuse(error, "cannot make directory '%s' for the service's socket: %s", dir,
			   g_strerror(errno));
		return NULL;
	}
	if (service.group && !open_to_group(request, service.group, dir, error))
		return NULL;
	return g_steal_pointer(&address);
}
