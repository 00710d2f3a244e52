/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/own_cgroup.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "common/read_number.h"

/* Fields of a mountinfo line. */
enum { FIELD_ROOT = 3, FIELD_MOUNT = 4, FIELDS_FIXED = 6 };
/* Fields after the dash. */
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

/* The group in a line "ID:CONTROLLERS:GROUP" of the hierarchy, else NULL. */
static const char *group_in(const char *line, const struct own_cgroup_mount *mount,
			    const char *controller)
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

char *own_cgroup_dir(const struct own_cgroup_mount *mount, const char *controller,
		     const char *cgroups)
{
	g_auto(GStrv) lines = g_strsplit(cgroups, "\n", -1);
	const gsize root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

	for (gsize i = 0; lines[i]; i++) {
		const char *group = group_in(lines[i], mount, controller);

		if (!group || strncmp(group, mount->root, root) != 0 || group[root] != '/' ||
		    g_str_has_prefix(group, "/.."))
			continue;
		return group[root + 1] ? g_strconcat(mount->mount, group + root, NULL)
				       : g_strdup(mount->mount);
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

/* The quota of a single group. */
static double quota_of(const char *group)
{
	g_autofree char *both = read_file(group, "cpu.max");
	g_autofree char *quota = both ? NULL : read_file(group, "cpu.cfs_quota_us");
	g_autofree char *period = quota ? read_file(group, "cpu.cfs_period_us") : NULL;
	uint64_t quota_us;
	uint64_t period_us;
	const char *behind = read_number_front_unsigned(both ?: quota, &quota_us);
	const char *second = both && behind && *behind == ' ' ? behind + 1 : period;

	if (!behind || !read_number_front_unsigned(second, &period_us) || period_us == 0)
		return (double)INFINITY; /* "max", or -1 */
	return (double)quota_us / (double)period_us;
}

/* The number in a group's file; NAN: there is no file, or it has a word ("max"). */
static double number_in(const char *group, const char *file)
{
	g_autofree char *text = read_file(group, file);

	uint64_t number;

	return read_number_front_unsigned(text, &number) ? (double)number : (double)NAN;
}

/* Cached files that the group and its descendants have not used for a while. */
static double dropped_at_once(const char *group, const char *key)
{
	g_autofree char *text = read_file(group, "memory.stat");
	g_auto(GStrv) lines = g_strsplit(text ?: "", "\n", -1);

	uint64_t number;

	for (gsize i = 0; lines[i]; i++)
		if (g_str_has_prefix(lines[i], key) && lines[i][strlen(key)] == ' ' &&
		    read_number_front_unsigned(lines[i] + strlen(key) + 1, &number))
			return (double)number;
	return 0;
}

/* Memory files of a group, in each version of control groups. */
static const struct {
	const char *limit, *used, *files;
} memory_files[] = {
	{"memory.max", "memory.current", "inactive_file"},
	{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
};

/* The limit of a single group, whatever is used. */
static double memory_limit_of(const char *group)
{
	for (gsize i = 0; i < G_N_ELEMENTS(memory_files); i++) {
		const double limit = number_in(group, memory_files[i].limit);

		if (!isnan(limit))
			return limit;
	}
	return (double)INFINITY;
}

/*
 * The available memory of a single group. The largest number in version 1, which means no limit,
 * exceeds any memory.
 */
static double memory_of(const char *group)
{
	for (gsize i = 0; i < G_N_ELEMENTS(memory_files); i++) {
		const double limit = number_in(group, memory_files[i].limit);
		const double used = number_in(group, memory_files[i].used);

		if (!isnan(limit) && !isnan(used))
			return fmax(0,
				    limit - fmax(0, used - dropped_at_once(group,
									   memory_files[i].files)));
	}
	return (double)INFINITY;
}

/* The minimum of `of` over `group` and its ancestors, up to `mount`. */
static double least_upwards(const char *mount, const char *group, double (*of)(const char *group))
{
	g_autofree char *at = g_strdup(group);
	double least = of(at);

	while (strlen(at) > strlen(mount)) {
		char *above = g_path_get_dirname(at);

		g_free(at);
		at = above;
		least = fmin(least, of(at));
	}
	return least;
}

double own_cgroup_quota(const char *mount, const char *group)
{
	return least_upwards(mount, group, quota_of);
}

/*
 * The minimum of `of` over a process's groups in the hierarchies that have `controller`; INFINITY:
 * its files are not known (NULL), or no group has a limit.
 */
static double least_of(const char *controller, const char *mountinfo, const char *cgroups,
		       double (*of)(const char *group))
{
	g_auto(GStrv) lines = g_strsplit(mountinfo && cgroups ? mountinfo : "", "\n", -1);
	double least = (double)INFINITY;

	for (gsize i = 0; lines[i]; i++) {
		struct own_cgroup_mount mount;
		g_autofree char *group = NULL;

		if (!own_cgroup_parse_mount(lines[i], &mount))
			continue;
		if (!mount.options || has_word(mount.options, controller)) {
			group = own_cgroup_dir(&mount, controller, cgroups);
			least = fmin(least, least_upwards(mount.mount, group, of));
		}
		own_cgroup_mount_clear(&mount);
	}
	return least;
}

double own_cgroup_cores_of(double affinity, const char *mountinfo, const char *cgroups)
{
	return fmin(affinity, least_of("cpu", mountinfo, cgroups, quota_of));
}

double own_cgroup_memory_of(const char *mountinfo, const char *cgroups)
{
	return least_of("memory", mountinfo, cgroups, memory_of);
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
	g_autofree char *mountinfo = read_file("/proc/self", "mountinfo");
	g_autofree char *cgroups = read_file("/proc/self", "cgroup");

	return own_cgroup_cores_of(affinity_cpus(), mountinfo, cgroups);
}

double own_cgroup_memory(void)
{
	g_autofree char *mountinfo = read_file("/proc/self", "mountinfo");
	g_autofree char *cgroups = read_file("/proc/self", "cgroup");

	return own_cgroup_memory_of(mountinfo, cgroups);
}

double own_cgroup_machine_memory_of(double machine, const char *mountinfo, const char *cgroups)
{
	return fmin(machine, least_of("memory", mountinfo, cgroups, memory_limit_of));
}

double own_cgroup_machine_memory(void)
{
	const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	g_autofree char *mountinfo = read_file("/proc/self", "mountinfo");
	g_autofree char *cgroups = read_file("/proc/self", "cgroup");

	return own_cgroup_machine_memory_of(machine, mountinfo, cgroups);
}
