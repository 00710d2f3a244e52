/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_cgroup.h"

#include <glib.h>

/* Separate hierarchies, with an empty cgroup2 beside them. */
static const char separate[] =
	"25 1 253:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"30 29 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"31 29 0:27 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
	"32 29 0:28 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
	"33 29 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	"34 29 0:30 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
	"35 29 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

/* As systemd mounts version 1, with optional fields, and the same hierarchy seen twice. */
static const char together[] =
	"36 28 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:14 - cgroup c rw,cpu,cpuacct\n"
	"37 28 0:33 / /sys/fs/cgroup/cpuset rw,nosuid shared:15 master:2 - cgroup c rw,cpuset\n"
	"99 28 0:32 / /mnt/copy rw,nosuid shared:14 - cgroup cgroup rw,cpu,cpuacct\n";

static const char unified[] =
	"24 1 0:21 / /run rw,nosuid shared:5 - tmpfs tmpfs rw\n"
	"29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

/* Half of version 1 is no base: the rest is neither here nor in version 2. */
static const char partial[] =
	"30 29 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"35 29 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static void test_version_1_in_separate_hierarchies(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(separate, &error);

	g_assert_no_error(error);
	g_assert_cmpint(cgroup->version, ==, 1);
	g_assert_cmpuint(cgroup->hierarchies_count, ==, 3);
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpu].mount, ==, "/sys/fs/cgroup/cpu");
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpuacct].mount, ==, "/sys/fs/cgroup/cpuacct");
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpuset].options, ==, "cpuset");
}

static void test_version_1_with_controllers_together(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(together, &error);

	g_assert_no_error(error);
	g_assert_cmpint(cgroup->version, ==, 1);
	g_assert_cmpuint(cgroup->hierarchies_count, ==, 2);
	g_assert_cmpuint(cgroup->cpu, ==, cgroup->cpuacct);
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpu].mount, ==, "/sys/fs/cgroup/cpu,cpuacct");
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpu].options, ==, "cpu,cpuacct");
}

static void test_version_2(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(unified, &error);

	g_assert_no_error(error);
	g_assert_cmpint(cgroup->version, ==, 2);
	g_assert_cmpuint(cgroup->hierarchies_count, ==, 1);
	g_assert_cmpstr(cgroup->hierarchies[0].mount, ==, "/sys/fs/cgroup");
}

static void test_machines_without_the_controllers(void)
{
	static const char *const texts[] = { "", "rubbish\n\n - - -\n", partial,
					     "25 1 253:0 / / rw,relatime - ext4 /dev/vda rw\n" };

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(lab_cgroup_parse(texts[i], &error));
		g_assert_error(error, LAB_CGROUP_ERROR, LAB_CGROUP_ERROR_MISSING);
	}
}

static void test_removing_what_is_not_there_succeeds(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(separate, &error);

	g_assert_true(lab_cgroup_remove(cgroup, "unit-test-no-such-lab", 0, &error));
	g_assert_no_error(error);
	g_assert_false(lab_cgroup_exists(cgroup, "unit-test-no-such-lab"));
	g_assert_cmpuint(lab_cgroup_vms_ns(cgroup, "unit-test-no-such-lab", 1), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/cgroup/version 1 in separate hierarchies",
			test_version_1_in_separate_hierarchies);
	g_test_add_func("/lab/cgroup/version 1 with controllers together",
			test_version_1_with_controllers_together);
	g_test_add_func("/lab/cgroup/version 2", test_version_2);
	g_test_add_func("/lab/cgroup/machines without the controllers",
			test_machines_without_the_controllers);
	g_test_add_func("/lab/cgroup/removing what is not there succeeds",
			test_removing_what_is_not_there_succeeds);
	return g_test_run();
}
