/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_cgroup.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/own_cgroup.h"
#include "common/read_number.h"
#include "local-sched/lab/lab_cgroup_parent.h"
#include "local-sched/lab/lab_error.h"
#include "local-sched/lab/lab_paths.h"

/* Below a blade's group; libvirt's name for what holds its VMs. */
#define MACHINE "machine"
#define PROBE_PREFIX "virtbed-.probe-"
#define RECORD_FILE "groups"

static const char *const controllers[] = {"cpu", "cpuacct", "cpuset"};

static bool has_word(const char *list, const char *word)
{
	g_auto(GStrv) words = g_strsplit(list, ",", -1);

	return g_strv_contains((const char *const *)words, word);
}

/* The controllers among ours that a hierarchy's super options name, or NULL. */
static char *our_controllers(const char *options)
{
	g_autoptr(GString) ours = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(controllers); i++)
		if (has_word(options, controllers[i]))
			g_string_append_printf(ours, "%s%s", ours->len ? "," : "", controllers[i]);
	return ours->len ? g_string_free(g_steal_pointer(&ours), FALSE) : NULL;
}

static bool is_new(const struct lab_cgroup *cgroup, const char *options)
{
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++)
		if (strcmp(cgroup->hierarchies[i].options, options) == 0)
			return false;
	return true;
}

static void add(struct lab_cgroup *cgroup, const struct own_cgroup_mount *mount,
		const char *controller, char *options, const char *cgroups)
{
	cgroup->hierarchies[cgroup->hierarchies_count++] = (struct lab_cgroup_hierarchy){
		.mount = g_strdup(mount->mount),
		.options = options,
		.parent = own_cgroup_dir(mount, controller, cgroups),
	};
}

/* Takes a mounted hierarchy; its first mount counts, others are copies of it. */
static void take_mount(struct lab_cgroup *cgroup, struct own_cgroup_mount *mount,
		       const char *cgroups, struct own_cgroup_mount *v2)
{
	g_autofree char *options = mount->options ? our_controllers(mount->options) : NULL;

	if (!mount->options && !v2->mount) {
		*v2 = *mount;
		*mount = (struct own_cgroup_mount){0};
	}
	if (options && is_new(cgroup, options) &&
	    cgroup->hierarchies_count < LAB_CGROUP_HIERARCHIES_MAX) {
		g_auto(GStrv) names = g_strsplit(options, ",", -1);

		add(cgroup, mount, names[0], g_steal_pointer(&options), cgroups);
	}
	own_cgroup_mount_clear(mount);
}

static bool find(const struct lab_cgroup *cgroup, const char *controller, uint32_t *ret_index)
{
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		if (!has_word(cgroup->hierarchies[i].options, controller))
			continue;
		*ret_index = i;
		return true;
	}
	return false;
}

/* The one hierarchy of version 2, with a parent that can have groups with controllers. */
static void take_v2(struct lab_cgroup *cgroup, const struct own_cgroup_mount *mount,
		    const char *cgroups)
{
	struct lab_cgroup_hierarchy *hierarchy = &cgroup->hierarchies[0];
	char *parent;

	cgroup->version = 2;
	add(cgroup, mount, NULL, NULL, cgroups);
	parent = lab_cgroup_parent_find(hierarchy->mount, hierarchy->parent);
	g_free(hierarchy->parent);
	hierarchy->parent = parent;
}

struct lab_cgroup *lab_cgroup_parse(const char *mountinfo, const char *cgroups, GError **error)
{
	g_autoptr(lab_cgroup_t) cgroup = g_new0(struct lab_cgroup, 1);
	g_auto(GStrv) lines = g_strsplit(mountinfo, "\n", -1);
	struct own_cgroup_mount v2 = {0};
	struct own_cgroup_mount mount;
	bool good;

	for (gsize i = 0; lines[i]; i++)
		if (own_cgroup_parse_mount(lines[i], &mount))
			take_mount(cgroup, &mount, cgroups, &v2);
	cgroup->version = 1;
	good = find(cgroup, "cpu", &cgroup->cpu) && find(cgroup, "cpuacct", &cgroup->cpuacct) &&
	       find(cgroup, "cpuset", &cgroup->cpuset);
	if (!good && cgroup->hierarchies_count == 0 && v2.mount) {
		take_v2(cgroup, &v2, cgroups);
		good = true;
	}
	own_cgroup_mount_clear(&v2);
	if (good)
		return g_steal_pointer(&cgroup);
	g_set_error(error, LAB_ERROR, LAB_ERROR_MISSING,
		    "no cgroup controllers cpu, cpuacct and cpuset (version 1) and no cgroup2 "
		    "mount on this machine");
	return NULL;
}

struct lab_cgroup *lab_cgroup_detect(GError **error)
{
	g_autofree char *mountinfo = NULL;
	g_autofree char *cgroups = NULL;

	if (!g_file_get_contents("/proc/self/mountinfo", &mountinfo, NULL, error) ||
	    !g_file_get_contents("/proc/self/cgroup", &cgroups, NULL, error))
		return NULL;
	return lab_cgroup_parse(mountinfo, cgroups, error);
}

/*
 * Reads a recorded line for each hierarchy. Hierarchies that this machine does not have are from an
 * earlier time, and are ignored.
 */
static void take_record(struct lab_cgroup *cgroup, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	if (g_strv_length(lines) != cgroup->hierarchies_count + 1)
		return;
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++)
		if (!g_str_has_prefix(lines[i], cgroup->hierarchies[i].mount))
			return;
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		g_free(cgroup->hierarchies[i].parent);
		cgroup->hierarchies[i].parent = g_strdup(lines[i]);
	}
}

struct lab_cgroup *lab_cgroup_of(const char *lab, GError **error)
{
	struct lab_cgroup *cgroup = lab_cgroup_detect(error);
	g_autofree char *path = lab_paths_run(lab, RECORD_FILE);
	g_autofree char *text = NULL;

	if (cgroup && g_file_get_contents(path, &text, NULL, NULL))
		take_record(cgroup, text);
	return cgroup;
}

bool lab_cgroup_record(const struct lab_cgroup *cgroup, const char *lab, GError **error)
{
	g_autofree char *path = lab_paths_run(lab, RECORD_FILE);
	g_autoptr(GString) text = g_string_new(NULL);

	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++)
		g_string_append_printf(text, "%s\n", cgroup->hierarchies[i].parent);
	return g_file_set_contents(path, text->str, -1, error);
}

void lab_cgroup_free(struct lab_cgroup *cgroup)
{
	if (!cgroup)
		return;
	for (uint32_t i = 0; i < LAB_CGROUP_HIERARCHIES_MAX; i++) {
		g_free(cgroup->hierarchies[i].mount);
		g_free(cgroup->hierarchies[i].options);
		g_free(cgroup->hierarchies[i].parent);
	}
	g_free(cgroup);
}

static char *lab_group(const struct lab_cgroup *cgroup, uint32_t hierarchy, const char *lab)
{
	return g_strdup_printf("%s/virtbed-%s", cgroup->hierarchies[hierarchy].parent, lab);
}

static char *blade_group(const struct lab_cgroup *cgroup, uint32_t hierarchy, const char *lab,
			 uint32_t number)
{
	return g_strdup_printf("%s/virtbed-%s/b%u", cgroup->hierarchies[hierarchy].parent, lab,
			       number);
}

/*
 * Version 1 creates a cpuset without CPUs and memory, which no process can enter before it has
 * some.
 */
static bool inherit_cpuset(const char *parent, const char *group, GError **error)
{
	static const char *const files[] = {"cpuset.cpus", "cpuset.mems"};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(parent, files[i], NULL);
		g_autofree char *text = NULL;

		if (!g_file_get_contents(path, &text, NULL, error) ||
		    !lab_cgroup_write(group, files[i], g_strstrip(text), error))
			return false;
	}
	return true;
}

/* Version 1's setting of the weight of the lab's top group, or version 2's. */
static bool set_weight(const struct lab_cgroup *cgroup, const char *group, GError **error)
{
	if (cgroup->version == 2)
		return lab_cgroup_write(group, "cpu.weight", G_STRINGIFY(LAB_CGROUP_WEIGHT), error);
	return lab_cgroup_write(group, "cpu.shares", G_STRINGIFY(LAB_CGROUP_SHARES), error);
}

static bool create_v1(const struct lab_cgroup *cgroup, const char *lab, uint32_t number,
		      GError **error)
{
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		g_autofree char *group = lab_group(cgroup, i, lab);
		g_autofree char *blade = blade_group(cgroup, i, lab, number);

		if (!lab_cgroup_make(group, error))
			return false;
		if (i == cgroup->cpuset &&
		    !inherit_cpuset(cgroup->hierarchies[i].parent, group, error))
			return false;
		if (i == cgroup->cpu && !set_weight(cgroup, group, error))
			return false;
		if (!lab_cgroup_make(blade, error))
			return false;
		if (i == cgroup->cpuset && !inherit_cpuset(group, blade, error))
			return false;
	}
	return true;
}

static bool create_v2(const struct lab_cgroup *cgroup, const char *lab, uint32_t number,
		      GError **error)
{
	const struct lab_cgroup_hierarchy *hierarchy = &cgroup->hierarchies[0];
	g_autofree char *group = lab_group(cgroup, 0, lab);
	g_autofree char *blade = blade_group(cgroup, 0, lab, number);

	return lab_cgroup_parent_prepare(hierarchy->mount, hierarchy->parent, error) &&
	       lab_cgroup_make(group, error) && set_weight(cgroup, group, error) &&
	       lab_cgroup_write(group, "cgroup.subtree_control", LAB_CGROUP_CONTROLLERS, error) &&
	       lab_cgroup_make(blade, error);
}

static bool set_budget(const struct lab_cgroup *cgroup, const char *blade, double cpu_cores,
		       GError **error)
{
	const struct lab_cgroup_hierarchy *hierarchy = &cgroup->hierarchies[cgroup->cpu];
	/* Version 1 refuses a quota above that of a group further up. */
	const double most = own_cgroup_quota(hierarchy->mount, hierarchy->parent);
	int64_t quota_us = cpu_cores > most ? (int64_t)(most * LAB_CGROUP_PERIOD_US)
					    : (int64_t)(cpu_cores * LAB_CGROUP_PERIOD_US + 0.5);
	g_autofree char *period = g_strdup_printf("%d", LAB_CGROUP_PERIOD_US);
	g_autofree char *quota = g_strdup_printf("%" G_GINT64_FORMAT, quota_us);
	g_autofree char *both = g_strdup_printf("%s %s", quota, period);

	if (cgroup->version == 2)
		return lab_cgroup_write(blade, "cpu.max", both, error);
	return lab_cgroup_write(blade, "cpu.cfs_period_us", period, error) &&
	       lab_cgroup_write(blade, "cpu.cfs_quota_us", quota, error);
}

bool lab_cgroup_create(const struct lab_cgroup *cgroup, const char *lab, uint32_t number,
		       double cpu_cores, GError **error)
{
	g_autofree char *blade = blade_group(cgroup, cgroup->cpu, lab, number);
	bool made = cgroup->version == 2 ? create_v2(cgroup, lab, number, error)
					 : create_v1(cgroup, lab, number, error);

	return made && set_budget(cgroup, blade, cpu_cores, error);
}

bool lab_cgroup_join(const struct lab_cgroup *cgroup, const char *lab, uint32_t number, pid_t pid,
		     GError **error)
{
	g_autofree char *text = g_strdup_printf("%d", (int)pid);

	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		g_autofree char *blade = blade_group(cgroup, i, lab, number);

		if (!lab_cgroup_write(blade, "cgroup.procs", text, error))
			return false;
	}
	return true;
}

static uint64_t number_in(const char *group, const char *file, const char *key)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	g_autofree char *text = NULL;
	const char *at;
	uint64_t number;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	at = key ? strstr(text, key) : text;
	return read_number_front_unsigned(at && key ? at + strlen(key) : at, &number) ? number : 0;
}

static uint64_t used_ns(const struct lab_cgroup *cgroup, const char *group)
{
	if (cgroup->version == 2)
		return number_in(group, "cpu.stat", "usage_usec ") * 1000;
	return number_in(group, "cpuacct.usage", NULL);
}

uint64_t lab_cgroup_vms_ns(const struct lab_cgroup *cgroup, const char *lab, uint32_t number)
{
	g_autofree char *blade = blade_group(cgroup, cgroup->cpuacct, lab, number);
	g_autofree char *machine = g_build_filename(blade, MACHINE, NULL);

	return used_ns(cgroup, machine);
}

uint64_t lab_cgroup_own_ns(const struct lab_cgroup *cgroup, const char *lab, uint32_t number)
{
	g_autofree char *blade = blade_group(cgroup, cgroup->cpuacct, lab, number);

	return used_ns(cgroup, blade);
}

char **lab_cgroup_vms(const struct lab_cgroup *cgroup, const char *lab, uint32_t number)
{
	g_autoptr(GStrvBuilder) groups = g_strv_builder_new();
	g_autofree char *blade = blade_group(cgroup, cgroup->cpu, lab, number);
	g_autofree char *machine = g_build_filename(blade, MACHINE, NULL);
	g_autoptr(GDir) dir = g_dir_open(machine, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *group = g_build_filename(machine, name, NULL);

		if (g_file_test(group, G_FILE_TEST_IS_DIR))
			g_strv_builder_add(groups, group);
	}
	return g_strv_builder_end(groups);
}

bool lab_cgroup_get_quota(const struct lab_cgroup *cgroup, const char *group,
			  struct lab_cgroup_quota *ret_quota)
{
	const bool v2 = cgroup->version == 2;
	g_autofree char *path = g_build_filename(group, v2 ? "cpu.max" : "cpu.cfs_quota_us", NULL);
	g_autofree char *text = NULL;
	const char *period;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return false;
	if (!read_number_front_integer(text, &ret_quota->quota_us))
		ret_quota->quota_us = -1; /* "max" */
	period = strchr(text, ' ');
	if (!v2)
		ret_quota->period_us = (int64_t)number_in(group, "cpu.cfs_period_us", NULL);
	else if (!period || !read_number_front_integer(period + 1, &ret_quota->period_us))
		ret_quota->period_us = 0;
	return ret_quota->period_us > 0;
}

bool lab_cgroup_set_quota(const struct lab_cgroup *cgroup, const char *group,
			  const struct lab_cgroup_quota *quota, GError **error)
{
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, quota->quota_us);

	/* Version 2 keeps the period if only a quota is written. */
	return lab_cgroup_write(group, cgroup->version == 2 ? "cpu.max" : "cpu.cfs_quota_us", text,
				error);
}

/* Removes a group and those below it, deepest first. errno says why the group itself stays. */
static bool remove_tree(const char *path)
{
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *below = g_build_filename(path, name, NULL);

		if (g_file_test(below, G_FILE_TEST_IS_DIR))
			remove_tree(below);
	}
	if (dir)
		g_dir_close(dir);
	return rmdir(path) == 0 || errno == ENOENT;
}

static bool remove_until(const char *group, int64_t until_ns, GError **error)
{
	while (!remove_tree(group)) {
		if (clock_now_ns() > until_ns) {
			int code = errno;

			return lab_error_set(error, LAB_ERROR_BUSY,
					     "cannot remove the group \"%s\": %s; see the files "
					     "cgroup.procs in it for the processes that it holds",
					     group, g_strerror(code));
		}
		/* The kernel has no notification for an empty group of version 1. */
		g_usleep(5000);
	}
	return true;
}

bool lab_cgroup_remove(const struct lab_cgroup *cgroup, const char *lab, double timeout_s,
		       GError **error)
{
	int64_t until_ns = clock_now_ns() + (int64_t)(timeout_s * 1e9);

	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		g_autofree char *group = lab_group(cgroup, i, lab);

		if (!remove_until(group, until_ns, error))
			return false;
	}
	return true;
}

bool lab_cgroup_exists(const struct lab_cgroup *cgroup, const char *lab)
{
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		g_autofree char *group = lab_group(cgroup, i, lab);

		if (g_file_test(group, G_FILE_TEST_IS_DIR))
			return true;
	}
	return false;
}

static void remove_dead_probes(const char *mount)
{
	g_autoptr(GDir) dir = g_dir_open(mount, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(mount, name, NULL);
		int64_t pid;

		if (g_str_has_prefix(name, PROBE_PREFIX) &&
		    read_number_integer(name + strlen(PROBE_PREFIX), 1, INT32_MAX, &pid) &&
		    kill((pid_t)pid, 0) < 0)
			remove_tree(path);
	}
}

bool lab_cgroup_probe(const struct lab_cgroup *cgroup, GError **error)
{
	g_autofree char *name = g_strdup_printf(".probe-%d", (int)getpid());
	bool made = lab_cgroup_create(cgroup, name, 1, 0.5, error);

	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++)
		remove_dead_probes(cgroup->hierarchies[i].parent);
	return lab_cgroup_remove(cgroup, name, made ? 1 : 0, made ? error : NULL) && made;
}

/* libvirt looks for a controller by its own name also where it is mounted together with others. */
static bool link_controllers(const char *options, GError **error)
{
	g_auto(GStrv) names = g_strsplit(options, ",", -1);

	for (gsize i = 0; names[0] && names[1] && names[i]; i++) {
		g_autofree char *path = g_build_filename("/sys/fs/cgroup", names[i], NULL);

		if (symlink(options, path) < 0)
			return lab_error_set_errno(error, "link", path);
	}
	return true;
}

static bool mount_v1(const struct lab_cgroup *cgroup, GError **error)
{
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		const char *options = cgroup->hierarchies[i].options;
		g_autofree char *path = g_build_filename("/sys/fs/cgroup", options, NULL);

		if (!lab_cgroup_make(path, error))
			return false;
		if (mount("cgroup", path, "cgroup", 0, options) < 0)
			return lab_error_set_errno(error, "mount the blade's cgroups on", path);
		if (!link_controllers(options, error))
			return false;
	}
	return true;
}

static bool mount_v2(GError **error)
{
	static const char root[] = "/sys/fs/cgroup";
	static const char host[] = "/sys/fs/cgroup/host";

	if (mount("cgroup2", root, "cgroup2", 0, NULL) < 0)
		return lab_error_set_errno(error, "mount the blade's cgroups on", root);
	return lab_cgroup_make(host, error) && lab_cgroup_write(host, "cgroup.procs", "0", error) &&
	       lab_cgroup_write(root, "cgroup.subtree_control", LAB_CGROUP_CONTROLLERS, error);
}

bool lab_cgroup_mount(const struct lab_cgroup *cgroup, GError **error)
{
	return cgroup->version == 2 ? mount_v2(error) : mount_v1(cgroup, error);
}
