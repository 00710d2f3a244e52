/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/own_cgroup.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* Fields of a mountinfo line. */
enum { FIELD_ROOT = 3, FIELD_MOUNT = 4, FIELDS_FIXED = 6 };
/* Those after the dash. */
enum { FIELD_TYPE = 1, FIELD_OPTIONS = 3 };

enum { AFFINITY_CPUS_MAX = 1 << 16 };

bool own_cgroup_parse_mount(const char *line, struct own_cgroup_mount *ret_mount)
{
	g_auto(GStrv) fields = g_strsplit(line, " ", -1);
	guint count = g_strv_length(fields);
	guint dash = FIELDS_FIXED;
	bool v1;

	while (dash < count && strcmp(fields[dash], "-") != 0)
		dash++;
	if (dash + FIELD_OPTIONS >= count)
		return false;
	v1 = strcmp(fields[dash + FIELD_TYPE], "cgroup") == 0;
	if (!v1 && strcmp(fields[dash + FIELD_TYPE], "cgroup2") != 0)
		return false;
	*ret_mount = (struct own_cgroup_mount){
		.mount = g_strcompress(fields[FIELD_MOUNT]),
		.root = g_strcompress(fields[FIELD_ROOT]),
		.options = v1 ? g_strdup(fields[dash + FIELD_OPTIONS]) : NULL,
	};
	return true;
}

void own_cgroup_mount_clear(struct own_cgroup_mount *mount)
{
	g_clear_pointer(&mount->mount, g_free);
	g_clear_pointer(&mount->root, g_free);
	g_clear_pointer(&mount->options, g_free);
}

static bool has_word(const char *list, const char *word)
{
	g_auto(GStrv) words = g_strsplit(list, ",", -1);

	return g_strv_contains((const char *const *)words, word);
}

/* The group in a line "ID:CONTROLLERS:GROUP" if it is the hierarchy's, or NULL. */
static const char *group_in(const char *line, const struct own_cgroup_mount *mount, const char *controller)
{
	const char *controllers = strchr(line, ':');
	const char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	g_autofree char *list = NULL;

	if (!group)
		return NULL;
	list = g_strndup(controllers + 1, (gsize)(group - controllers - 1));
	if (mount->options ? has_word(list, controller) : list[0] == '\0')
		return group + 1;
	return NULL;
}

char *own_cgroup_dir(const struct own_cgroup_mount *mount, const char *controller, const char *cgroups)
{
	g_auto(GStrv) lines = g_strsplit(cgroups, "\n", -1);
	const gsize root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

	for (gsize i = 0; lines[i]; i++) {
		const char *group = group_in(lines[i], mount, controller);

		if (!group || strncmp(group, mount->root, root) != 0 || group[root] != '/' ||
		    g_str_has_prefix(group, "/.."))
			continue;
		return group[root + 1] ? g_strconcat(mount->mount, group + root, NULL) :
					 g_strdup(mount->mount);
	}
	return g_strdup(mount->mount);
}

static char *read_file(const char *group, const char *file)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

/* Of one group alone. */
static double quota_of(const char *group)
{
	g_autofree char *both = read_file(group, "cpu.max");
	g_autofree char *quota = both ? NULL : read_file(group, "cpu.cfs_quota_us");
	g_autofree char *period = quota ? read_file(group, "cpu.cfs_period_us") : NULL;
	const char *quota_us = both ?: quota;
	const char *period_us = both ? strchr(both, ' ') : period;

	if (!quota_us || !period_us || !g_ascii_isdigit(quota_us[0]) ||
	    g_ascii_strtoll(period_us, NULL, 10) <= 0)
		return (double)INFINITY;
	return g_ascii_strtod(quota_us, NULL) / g_ascii_strtod(period_us, NULL);
}

double own_cgroup_quota(const char *mount, const char *group)
{
	g_autofree char *at = g_strdup(group);
	double least = quota_of(at);

	while (strlen(at) > strlen(mount)) {
		char *above = g_path_get_dirname(at);

		g_free(at);
		at = above;
		least = fmin(least, quota_of(at));
	}
	return least;
}

double own_cgroup_cores_of(double affinity, const char *mountinfo, const char *cgroups)
{
	g_auto(GStrv) lines = g_strsplit(mountinfo, "\n", -1);
	double least = affinity;

	for (gsize i = 0; lines[i]; i++) {
		struct own_cgroup_mount mount;
		g_autofree char *group = NULL;

		if (!own_cgroup_parse_mount(lines[i], &mount))
			continue;
		if (!mount.options || has_word(mount.options, "cpu")) {
			group = own_cgroup_dir(&mount, "cpu", cgroups);
			least = fmin(least, own_cgroup_quota(mount.mount, group));
		}
		own_cgroup_mount_clear(&mount);
	}
	return least;
}

static double affinity_cpus(void)
{
	cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS_MAX);
	const size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS_MAX);
	int count = 0;

	if (set && sched_getaffinity(0, size, set) == 0)
		count = CPU_COUNT_S(size, set);
	CPU_FREE(set);
	return count > 0 ? count : (double)sysconf(_SC_NPROCESSORS_ONLN);
}

double own_cgroup_cores(void)
{
	g_autofree char *mountinfo = NULL;
	g_autofree char *cgroups = NULL;

	if (!g_file_get_contents("/proc/self/mountinfo", &mountinfo, NULL, NULL) ||
	    !g_file_get_contents("/proc/self/cgroup", &cgroups, NULL, NULL))
		return affinity_cpus();
	return own_cgroup_cores_of(affinity_cpus(), mountinfo, cgroups);
}
