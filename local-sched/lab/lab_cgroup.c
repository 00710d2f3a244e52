/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

G_DEFINE_QUARK(virtbed-lab-cgroup, lab_cgroup_error)

/* Below a blade's group; libvirt's name for what holds its VMs. */
#define MACHINE "machine"
#define PROBE_PREFIX "virtbed-.probe-"

static const char *const controllers[] = { "cpu", "cpuacct", "cpuset" };

/* Fields of a mountinfo line (proc_pid_mountinfo(5)). */
enum { FIELD_ROOT = 3, FIELD_MOUNT = 4, FIELDS_FIXED = 6 };

static bool fail(GError **error, const char *doing, const char *path)
{
	int code = errno;

	g_set_error(error, LAB_CGROUP_ERROR, LAB_CGROUP_ERROR_WRITE, "cannot %s \"%s\": %s", doing,
		    path, g_strerror(code));
	return false;
}

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

/* Takes a mountinfo line; the first mount of a hierarchy counts, others are copies of it. */
static void parse_line(struct lab_cgroup *cgroup, const char *line, char **v2_mount)
{
	g_auto(GStrv) fields = g_strsplit(line, " ", -1);
	guint count = g_strv_length(fields);
	guint dash = FIELDS_FIXED;
	g_autofree char *options = NULL;

	while (dash < count && strcmp(fields[dash], "-") != 0)
		dash++;
	if (dash + 3 >= count)
		return;
	if (strcmp(fields[dash + 1], "cgroup2") == 0 && !*v2_mount) {
		*v2_mount = g_strcompress(fields[FIELD_MOUNT]);
		return;
	}
	if (strcmp(fields[dash + 1], "cgroup") != 0)
		return;
	options = our_controllers(fields[dash + 3]);
	if (!options || !is_new(cgroup, options) ||
	    cgroup->hierarchies_count == LAB_CGROUP_HIERARCHIES_MAX)
		return;
	cgroup->hierarchies[cgroup->hierarchies_count++] = (struct lab_cgroup_hierarchy){
		.mount = g_strcompress(fields[FIELD_MOUNT]),
		.options = g_steal_pointer(&options),
	};
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

struct lab_cgroup *lab_cgroup_parse(const char *mountinfo, GError **error)
{
	g_autoptr(lab_cgroup_t) cgroup = g_new0(struct lab_cgroup, 1);
	g_auto(GStrv) lines = g_strsplit(mountinfo, "\n", -1);
	g_autofree char *v2_mount = NULL;

	for (gsize i = 0; lines[i]; i++)
		parse_line(cgroup, lines[i], &v2_mount);
	cgroup->version = 1;
	if (find(cgroup, "cpu", &cgroup->cpu) && find(cgroup, "cpuacct", &cgroup->cpuacct) &&
	    find(cgroup, "cpuset", &cgroup->cpuset))
		return g_steal_pointer(&cgroup);
	if (cgroup->hierarchies_count == 0 && v2_mount) {
		cgroup->version = 2;
		cgroup->hierarchies[0].mount = g_steal_pointer(&v2_mount);
		cgroup->hierarchies_count = 1;
		return g_steal_pointer(&cgroup);
	}
	g_set_error(error, LAB_CGROUP_ERROR, LAB_CGROUP_ERROR_MISSING,
		    "no cgroup controllers cpu, cpuacct and cpuset (version 1) and no cgroup2 "
		    "mount on this machine");
	return NULL;
}

struct lab_cgroup *lab_cgroup_detect(GError **error)
{
	g_autofree char *text = NULL;

	if (!g_file_get_contents("/proc/self/mountinfo", &text, NULL, error))
		return NULL;
	return lab_cgroup_parse(text, error);
}

void lab_cgroup_free(struct lab_cgroup *cgroup)
{
	if (!cgroup)
		return;
	for (uint32_t i = 0; i < LAB_CGROUP_HIERARCHIES_MAX; i++) {
		g_free(cgroup->hierarchies[i].mount);
		g_free(cgroup->hierarchies[i].options);
	}
	g_free(cgroup);
}

static char *lab_group(const struct lab_cgroup *cgroup, uint32_t hierarchy, const char *lab)
{
	return g_strdup_printf("%s/virtbed-%s", cgroup->hierarchies[hierarchy].mount, lab);
}

static char *blade_group(const struct lab_cgroup *cgroup, uint32_t hierarchy, const char *lab,
			 uint32_t number)
{
	return g_strdup_printf("%s/virtbed-%s/b%u", cgroup->hierarchies[hierarchy].mount, lab,
			       number);
}

/* A control file takes each setting in one write; O_TRUNC and renames are not for it. */
static bool write_file(const char *group, const char *file, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return fail(error, "open", path);
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (!done)
		fail(error, "write to", path);
	close(fd);
	return done;
}

static bool make_group(const char *path, GError **error)
{
	return mkdir(path, 0755) == 0 || errno == EEXIST || fail(error, "make the group", path);
}

/* Version 1 makes a cpuset without CPUs and memory: no process can enter it before it has some. */
static bool inherit_cpuset(const char *parent, const char *group, GError **error)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems" };

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(parent, files[i], NULL);
		g_autofree char *text = NULL;

		if (!g_file_get_contents(path, &text, NULL, error) ||
		    !write_file(group, files[i], g_strstrip(text), error))
			return false;
	}
	return true;
}

static bool create_v1(const struct lab_cgroup *cgroup, const char *lab, uint32_t number,
		      GError **error)
{
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		g_autofree char *group = lab_group(cgroup, i, lab);
		g_autofree char *blade = blade_group(cgroup, i, lab, number);

		if (!make_group(group, error))
			return false;
		if (i == cgroup->cpuset &&
		    !inherit_cpuset(cgroup->hierarchies[i].mount, group, error))
			return false;
		if (!make_group(blade, error))
			return false;
		if (i == cgroup->cpuset && !inherit_cpuset(group, blade, error))
			return false;
	}
	return true;
}

/* Controllers reach a group through every group above it. */
static bool create_v2(const struct lab_cgroup *cgroup, const char *lab, uint32_t number,
		      GError **error)
{
	g_autofree char *group = lab_group(cgroup, 0, lab);
	g_autofree char *blade = blade_group(cgroup, 0, lab, number);

	return write_file(cgroup->hierarchies[0].mount, "cgroup.subtree_control", "+cpu +cpuset",
			  error) &&
	       make_group(group, error) &&
	       write_file(group, "cgroup.subtree_control", "+cpu +cpuset", error) &&
	       make_group(blade, error);
}

static bool set_budget(const struct lab_cgroup *cgroup, const char *blade, double cpu_cores,
		       GError **error)
{
	int64_t quota_us = (int64_t)(cpu_cores * LAB_CGROUP_PERIOD_US + 0.5);
	g_autofree char *period = g_strdup_printf("%d", LAB_CGROUP_PERIOD_US);
	g_autofree char *quota = g_strdup_printf("%" G_GINT64_FORMAT, quota_us);
	g_autofree char *both = g_strdup_printf("%s %s", quota, period);

	if (cgroup->version == 2)
		return write_file(blade, "cpu.max", both, error);
	return write_file(blade, "cpu.cfs_period_us", period, error) &&
	       write_file(blade, "cpu.cfs_quota_us", quota, error);
}

bool lab_cgroup_create(const struct lab_cgroup *cgroup, const char *lab, uint32_t number,
		       double cpu_cores, GError **error)
{
	g_autofree char *blade = blade_group(cgroup, cgroup->cpu, lab, number);
	bool made = cgroup->version == 2 ? create_v2(cgroup, lab, number, error) :
					   create_v1(cgroup, lab, number, error);

	return made && set_budget(cgroup, blade, cpu_cores, error);
}

bool lab_cgroup_join(const struct lab_cgroup *cgroup, const char *lab, uint32_t number, pid_t pid,
		     GError **error)
{
	g_autofree char *text = g_strdup_printf("%d", (int)pid);

	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		g_autofree char *blade = blade_group(cgroup, i, lab, number);

		if (!write_file(blade, "cgroup.procs", text, error))
			return false;
	}
	return true;
}

static uint64_t read_number(const char *group, const char *file, const char *key)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	g_autofree char *text = NULL;
	const char *at;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	at = key ? strstr(text, key) : text;
	return at ? g_ascii_strtoull(key ? at + strlen(key) : at, NULL, 10) : 0;
}

static uint64_t used_ns(const struct lab_cgroup *cgroup, const char *group)
{
	if (cgroup->version == 2)
		return read_number(group, "cpu.stat", "usage_usec ") * 1000;
	return read_number(group, "cpuacct.usage", NULL);
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
	ret_quota->quota_us = g_ascii_isdigit(text[0]) ? g_ascii_strtoll(text, NULL, 10) : -1;
	period = strchr(text, ' ');
	ret_quota->period_us = v2 ? (period ? g_ascii_strtoll(period, NULL, 10) : 0) :
				    (int64_t)read_number(group, "cpu.cfs_period_us", NULL);
	return ret_quota->period_us > 0;
}

bool lab_cgroup_set_quota(const struct lab_cgroup *cgroup, const char *group,
			  const struct lab_cgroup_quota *quota, GError **error)
{
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, quota->quota_us);

	/* Version 2 keeps the period where only a quota is given. */
	return write_file(group, cgroup->version == 2 ? "cpu.max" : "cpu.cfs_quota_us", text, error);
}

/* Removes a group and those below it, deepest first. errno tells why the group itself stays. */
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

			g_set_error(error, LAB_CGROUP_ERROR, LAB_CGROUP_ERROR_BUSY,
				    "cannot remove the group \"%s\": %s; see the files "
				    "cgroup.procs in it for the processes that it holds",
				    group, g_strerror(code));
			return false;
		}
		/* The kernel tells nobody when a group of version 1 gets empty. */
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

		if (g_str_has_prefix(name, PROBE_PREFIX) &&
		    kill((pid_t)g_ascii_strtoll(name + strlen(PROBE_PREFIX), NULL, 10), 0) < 0)
			remove_tree(path);
	}
}

bool lab_cgroup_probe(const struct lab_cgroup *cgroup, GError **error)
{
	g_autofree char *name = g_strdup_printf(".probe-%d", (int)getpid());
	bool made = lab_cgroup_create(cgroup, name, 1, 0.5, error);

	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++)
		remove_dead_probes(cgroup->hierarchies[i].mount);
	return lab_cgroup_remove(cgroup, name, made ? 1 : 0, made ? error : NULL) && made;
}

/* libvirt looks for a controller by its own name also where it is mounted together with others. */
static bool link_controllers(const char *options, GError **error)
{
	g_auto(GStrv) names = g_strsplit(options, ",", -1);

	for (gsize i = 0; names[0] && names[1] && names[i]; i++) {
		g_autofree char *path = g_build_filename("/sys/fs/cgroup", names[i], NULL);

		if (symlink(options, path) < 0)
			return fail(error, "link", path);
	}
	return true;
}

static bool mount_v1(const struct lab_cgroup *cgroup, GError **error)
{
	for (uint32_t i = 0; i < cgroup->hierarchies_count; i++) {
		const char *options = cgroup->hierarchies[i].options;
		g_autofree char *path = g_build_filename("/sys/fs/cgroup", options, NULL);

		if (!make_group(path, error))
			return false;
		if (mount("cgroup", path, "cgroup", 0, options) < 0)
			return fail(error, "mount the blade's cgroups on", path);
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
		return fail(error, "mount the blade's cgroups on", root);
	return make_group(host, error) && write_file(host, "cgroup.procs", "0", error) &&
	       write_file(root, "cgroup.subtree_control", "+cpu +cpuset", error);
}

bool lab_cgroup_mount(const struct lab_cgroup *cgroup, GError **error)
{
	return cgroup->version == 2 ? mount_v2(error) : mount_v1(cgroup, error);
}
