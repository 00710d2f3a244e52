/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_cgroup_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/own_cgroup.h"
#include "local-sched/lab/lab_error.h"

/* A process may have forked while it was moved. */
enum { MOVES_MAX = 100 };

bool lab_cgroup_write(const char *group, const char *file, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return lab_error_set_errno(error, "open", path);
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (!done)
		lab_error_set_errno(error, "write to", path);
	close(fd);
	return done;
}

bool lab_cgroup_make(const char *path, GError **error)
{
	return mkdir(path, 0755) == 0 || errno == EEXIST ||
	       lab_error_set_errno(error, "make the group", path);
}

/* The words of a control file; none if it is not there. */
static char **words_of(const char *group, const char *file)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	g_autofree char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return g_new0(char *, 1);
	return g_strsplit_set(g_strstrip(text), " \n", -1);
}

static bool has_word(const char *group, const char *file, const char *word)
{
	g_auto(GStrv) words = words_of(group, file);

	return g_strv_contains((const char *const *)words, word);
}

static bool has_processes(const char *group)
{
	g_auto(GStrv) words = words_of(group, "cgroup.procs");

	return words[0] && words[0][0] != '\0';
}

/*
 * Whether the group is the hierarchy's real top, which may have processes and controllers; the top
 * in a container looks different.
 */
static bool is_root(const char *group)
{
	g_autofree char *type = g_build_filename(group, "cgroup.type", NULL);

	return !g_file_test(type, G_FILE_TEST_EXISTS);
}

/* Whether groups below can have the controllers: they are enabled here, or can be from above. */
static bool can_have(const char *mount, const char *group)
{
	g_autofree char *above = g_path_get_dirname(group);

	if (has_word(group, "cgroup.controllers", "cpu"))
		return true;
	return strlen(group) > strlen(mount) && (is_root(above) || !has_processes(above)) &&
	       can_have(mount, above);
}

char *lab_cgroup_parent_find(const char *mount, const char *group)
{
	char *at = g_strdup(group);

	while (strlen(at) > strlen(mount)) {
		char *above;

		if (!isinf(own_cgroup_quota(at, at)) || (!has_processes(at) && can_have(mount, at)))
			break;
		above = g_path_get_dirname(at);
		g_free(at);
		at = above;
	}
	return at;
}

static bool move_processes(const char *group, GError **error)
{
	g_autofree char *rest = g_build_filename(group, LAB_CGROUP_REST, NULL);

	for (int move = 0; move < MOVES_MAX; move++) {
		g_auto(GStrv) pids = words_of(group, "cgroup.procs");

		if (!pids[0] || pids[0][0] == '\0')
			return true;
		if (!lab_cgroup_make(rest, error))
			return false;
		for (gsize i = 0; pids[i]; i++) {
			g_autoptr(GError) ended = NULL;

			lab_cgroup_write(rest, "cgroup.procs", pids[i], &ended);
		}
	}
	return lab_error_set(
		error, LAB_ERROR_BUSY,
		"cannot move the processes of the group \"%s\" to \"%s\", which would let the "
		"group have the groups of a lab; start this from another group",
		group, rest);
}

/*
 * Enables the controllers from the top down, because they reach a group through every group above
 * it.
 */
static bool give_controllers(const char *mount, const char *group, GError **error)
{
	if (strlen(group) > strlen(mount)) {
		g_autofree char *above = g_path_get_dirname(group);

		if (!give_controllers(mount, above, error))
			return false;
	}
	return (has_word(group, "cgroup.subtree_control", "cpu") &&
		has_word(group, "cgroup.subtree_control", "cpuset")) ||
	       lab_cgroup_write(group, "cgroup.subtree_control", LAB_CGROUP_CONTROLLERS, error);
}

bool lab_cgroup_parent_prepare(const char *mount, const char *parent, GError **error)
{
	if (!is_root(parent) && !has_word(parent, "cgroup.subtree_control", "cpu") &&
	    !move_processes(parent, error))
		return false;
	return give_controllers(mount, parent, error);
}
