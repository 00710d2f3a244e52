/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/plugin_reach.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "controller/config/config_plugin.h"
#include "controller/plugin/plugin.h"

/* Whether a folder lets a user through. In the sandbox the user has the first group alone. */
static bool lets_through(const char *folder, const struct passwd *user)
{
	struct stat status;

	if (stat(folder, &status) < 0 || getxattr(folder, "system.posix_acl_access", NULL, 0) > 0)
		return true;
	return status.st_mode & (status.st_uid == user->pw_uid   ? S_IXUSR
				 : status.st_gid == user->pw_gid ? S_IXGRP
								 : S_IXOTH);
}

/* The uppermost folder on the way to an absolute path that is closed to a user; NULL: none is. */
static char *find_closed(const char *path, const struct passwd *user)
{
	g_autofree char *at = g_path_get_dirname(path);
	char *closed = NULL;

	for (;;) {
		char *parent = g_path_get_dirname(at);

		if (!lets_through(at, user)) {
			g_free(closed);
			closed = g_strdup(at);
		}
		if (g_str_equal(parent, at)) {
			g_free(parent);
			return closed;
		}
		g_free(at);
		at = parent;
	}
}

static bool check_file(const char *policy, const char *file, const struct passwd *user,
		       GError **error)
{
	g_autofree char *path = g_canonicalize_filename(file, NULL);
	char *real = realpath(path, NULL); /* behind links */
	g_autofree char *closed = find_closed(path, user);

	if (!closed && real)
		closed = find_closed(real, user);
	free(real);
	return !closed ||
	       error_fail(
		       error, PLUGIN_ERROR, PLUGIN_ERROR_NAME,
		       "policy \"%s\": the folder \"%s\" is closed to user %s, "
		       "which it has in the sandbox: move \"%s\" to a folder that is open, set plugin.user "
		       "to a user who gets there, or plugin.sandbox: no",
		       policy, closed, user->pw_name, file);
}

/* Checks the program, and what of its arguments is a file. */
static bool check_words(const char *policy, char **words, const struct passwd *user, GError **error)
{
	g_autofree char *program = g_find_program_in_path(words[0]);

	if (program && !check_file(policy, program, user, error))
		return false;
	for (int i = program ? 1 : 0; words[i]; i++)
		if (g_file_test(words[i], G_FILE_TEST_IS_REGULAR) &&
		    !check_file(policy, words[i], user, error))
			return false;
	return true;
}

bool plugin_reach_check(const struct policy *policy, const struct config *config, GError **error)
{
	const struct config_plugin plugin = config_plugin_of(config);
	const struct passwd *user;
	g_auto(GStrv) words = NULL;
	const char *given;

	if (!policy_is_outside(policy) || geteuid() != 0 || plugin.sandbox != CONFIG_YES)
		return true;
	user = getpwnam(plugin.user);
	given = strchr(policy->name, ':') + 1;
	if (!user)
		return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_NAME,
				  "policy \"%s\": the sandbox has no user \"%s\"; set plugin.user "
				  "to a user of this machine",
				  policy->name, plugin.user);
	if (user->pw_uid == 0)
		return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_NAME,
				  "policy \"%s\": the sandbox cannot run it as root; set "
				  "plugin.user to another user",
				  policy->name);
	if (g_str_has_prefix(policy->name, "so:"))
		return check_file(policy->name, given, user, error);
	/* What cannot be split is refused elsewhere. */
	return !g_shell_parse_argv(given, NULL, &words, NULL) ||
	       check_words(policy->name, words, user, error);
}
