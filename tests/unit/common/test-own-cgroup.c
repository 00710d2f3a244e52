/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/own_cgroup.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

/* A directory with the files of a group, below `top`. */
static void put(const char *top, const char *group, const char *file, const char *text)
{
	g_autofree char *dir = g_build_filename(top, group, NULL);
	g_autofree char *path = g_build_filename(dir, file, NULL);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void clear(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *below = g_build_filename(path, name, NULL);

		clear(below);
	}
	g_remove(path);
}

static void test_groups_as_mounts_show_them(void)
{
	static const struct {
		const char *root, *cgroups, *dir;
	} cases[] = {
		{"/", "4:memory:/m\n1:cpu,cpuacct:/a/b\n0::/u\n", "/c/a/b"},
		{"/", "1:cpu,cpuacct:/\n0::/u\n", "/c"},
		/* A container sees its own group as the top. */
		{"/docker/1", "1:cpu,cpuacct:/docker/1\n", "/c"},
		{"/docker/1", "1:cpu,cpuacct:/docker/1/x\n", "/c/x"},
		{"/docker/1", "1:cpu,cpuacct:/docker/12\n", "/c"},
		/* A group outside of the cgroup namespace. */
		{"/", "1:cpu,cpuacct:/../other\n", "/c"},
		{"/", "", "/c"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct own_cgroup_mount mount = {(char *)"/c", (char *)cases[i].root,
						       (char *)"rw,cpu,cpuacct"};
		g_autofree char *dir = own_cgroup_dir(&mount, "cpu", cases[i].cgroups);

		g_assert_cmpstr(dir, ==, cases[i].dir);
	}
}

static void test_the_least_quota_counts(void)
{
	g_autofree char *top = g_dir_make_tmp("virtbed-own-XXXXXX", NULL);
	g_autofree char *v1 =
		g_strdup_printf("30 29 0:26 / %s rw - cgroup cgroup rw,cpu\n"
				"31 29 0:27 / /nowhere rw - cgroup cgroup rw,cpuacct\n",
				top);
	g_autofree char *v2 =
		g_strdup_printf("29 23 0:25 / %s rw,nosuid shared:4 - cgroup2 cgroup2 rw\n", top);

	put(top, "", "cpu.cfs_quota_us", "-1\n");
	put(top, "", "cpu.cfs_period_us", "100000\n");
	put(top, "a", "cpu.cfs_quota_us", "60000\n");
	put(top, "a", "cpu.cfs_period_us", "100000\n");
	put(top, "a/b", "cpu.cfs_quota_us", "90000\n");
	put(top, "a/b", "cpu.cfs_period_us", "100000\n");
	g_assert_cmpfloat(own_cgroup_cores_of(2, v1, "1:cpu:/\n"), ==, 2);
	g_assert_cmpfloat_with_epsilon(own_cgroup_cores_of(2, v1, "1:cpu:/a/b\n"), 0.6, 1e-12);
	g_assert_cmpfloat_with_epsilon(own_cgroup_cores_of(0.5, v1, "1:cpu:/a/b\n"), 0.5, 1e-12);
	put(top, "s", "cpu.max", "150000 100000\n");
	put(top, "s/t", "cpu.max", "max 100000\n");
	g_assert_cmpfloat_with_epsilon(own_cgroup_cores_of(2, v2, "0::/s/t\n"), 1.5, 1e-12);
	g_assert_cmpfloat(own_cgroup_cores_of(2, v2, "0::/\n"), ==, 2);
	clear(top);
}

static void test_the_least_memory_counts(void)
{
	g_autofree char *top = g_dir_make_tmp("virtbed-own-XXXXXX", NULL);
	g_autofree char *v1 = g_strdup_printf("30 29 0:26 / %s rw - cgroup cgroup rw,memory\n"
					      "31 29 0:27 / /nowhere rw - cgroup cgroup rw,cpu\n",
					      top);
	g_autofree char *v2 =
		g_strdup_printf("29 23 0:25 / %s/v2 rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
				top);

	put(top, "", "memory.limit_in_bytes", "9223372036854771712\n");
	put(top, "", "memory.usage_in_bytes", "123456789\n");
	put(top, "a", "memory.limit_in_bytes", "1000000\n");
	put(top, "a", "memory.usage_in_bytes", "700000\n");
	put(top, "a", "memory.stat",
	    "inactive_file 1\ntotal_inactive_file 250000\ntotal_active_file 9\n");
	put(top, "a/b", "memory.limit_in_bytes", "600000\n");
	put(top, "a/b", "memory.usage_in_bytes", "100000\n");
	g_assert_cmpfloat(own_cgroup_memory_of(v1, "1:memory:/\n"), >, 9e18);
	g_assert_cmpfloat(own_cgroup_memory_of(v1, "1:memory:/a\n"), ==, 550000);
	g_assert_cmpfloat(own_cgroup_memory_of(v1, "1:memory:/a/b\n"), ==, 500000);
	g_assert_cmpfloat(own_cgroup_memory_of("", "1:memory:/a/b\n"), ==, (double)INFINITY);
	put(top, "v2/s", "memory.max", "2000000\n");
	put(top, "v2/s", "memory.current", "2100000\n");
	put(top, "v2/s", "memory.stat", "anon 1\ninactive_file 100000\n");
	put(top, "v2/s/t", "memory.max", "max\n");
	put(top, "v2/s/t", "memory.current", "2000000\n");
	g_assert_cmpfloat(own_cgroup_memory_of(v2, "0::/s/t\n"), ==, 0);
	put(top, "v2/s", "memory.current", "1100000\n");
	g_assert_cmpfloat(own_cgroup_memory_of(v2, "0::/s/t\n"), ==, 1000000);
	g_assert_cmpfloat(own_cgroup_memory_of(v2, "0::/u\n"), ==, (double)INFINITY);
	/* Whatever is used of it. */
	g_assert_cmpfloat(own_cgroup_machine_memory_of(5e6, v1, "1:memory:/a/b\n"), ==, 600000);
	g_assert_cmpfloat(own_cgroup_machine_memory_of(5e6, v2, "0::/s/t\n"), ==, 2000000);
	g_assert_cmpfloat(own_cgroup_machine_memory_of(5e6, v2, "0::/u\n"), ==, 5e6);
	clear(top);
}

static void test_this_process_has_cpus(void)
{
	const double cores = own_cgroup_cores();

	g_assert_cmpfloat(cores, >, 0);
	g_assert_cmpfloat(cores, <=, (double)sysconf(_SC_NPROCESSORS_CONF));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/own-cgroup/groups as mounts show them", test_groups_as_mounts_show_them);
	g_test_add_func("/own-cgroup/the least quota counts", test_the_least_quota_counts);
	g_test_add_func("/own-cgroup/the least memory counts", test_the_least_memory_counts);
	g_test_add_func("/own-cgroup/this process has CPUs", test_this_process_has_cpus);
	return g_test_run();
}
