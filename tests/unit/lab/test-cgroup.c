/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_error.h"

#include <glib.h>
#include <glib/gstdio.h>

#include "local-sched/lab/lab_cgroup_parent.h"

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
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(separate, "", &error);

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
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(together, "", &error);

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
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(unified, "", &error);

	g_assert_no_error(error);
	g_assert_cmpint(cgroup->version, ==, 2);
	g_assert_cmpuint(cgroup->hierarchies_count, ==, 1);
	g_assert_cmpstr(cgroup->hierarchies[0].mount, ==, "/sys/fs/cgroup");
}

static void test_machines_without_the_controllers(void)
{
	static const char *const texts[] = {"", "rubbish\n\n - - -\n", partial,
					    "25 1 253:0 / / rw,relatime - ext4 /dev/vda rw\n"};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(lab_cgroup_parse(texts[i], "", &error));
		g_assert_error(error, LAB_ERROR, LAB_ERROR_MISSING);
	}
}

static void test_labs_are_below_the_callers_groups(void)
{
	static const char groups[] =
		"3:cpuset:/\n2:cpuacct:/user/a\n1:cpu:/limited\n0::/elsewhere\n";
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(separate, groups, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpu].parent, ==, "/sys/fs/cgroup/cpu/limited");
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpuacct].parent, ==,
			"/sys/fs/cgroup/cpuacct/user/a");
	g_assert_cmpstr(cgroup->hierarchies[cgroup->cpuset].parent, ==, "/sys/fs/cgroup/cpuset");
}

/* A tree of directories that looks like one of version 2; freed with its files by tree_remove(). */
struct tree {
	char *top;
};

static void tree_file(const struct tree *tree, const char *group, const char *file,
		      const char *text)
{
	g_autofree char *dir = g_build_filename(tree->top, group, NULL);
	g_autofree char *path = g_build_filename(dir, file, NULL);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static char *tree_text(const struct tree *tree, const char *group, const char *file)
{
	g_autofree char *path = g_build_filename(tree->top, group, file, NULL);
	char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

static void tree_group(const struct tree *tree, const char *group, const char *processes,
		       const char *max, const char *controllers, const char *below)
{
	tree_file(tree, group, "cgroup.type", "domain\n");
	tree_file(tree, group, "cgroup.procs", processes);
	if (max)
		tree_file(tree, group, "cpu.max", max);
	tree_file(tree, group, "cgroup.controllers", controllers);
	tree_file(tree, group, "cgroup.subtree_control", below);
}

/* As systemd has it: a session in a slice, controllers as far as its service managers gave them. */
static struct tree tree_new(void)
{
	struct tree tree = {g_dir_make_tmp("virtbed-cgroup-XXXXXX", NULL)};

	tree_file(&tree, "", "cgroup.procs", "1\n2\n");
	tree_file(&tree, "", "cgroup.controllers", "cpuset cpu io\n");
	tree_file(&tree, "", "cgroup.subtree_control", "cpu\n");
	tree_group(&tree, "slice", "", "max 100000\n", "cpu\n", "\n");
	tree_group(&tree, "slice/session", "7\n8\n", NULL, "\n", "\n");
	return tree;
}

static void remove_below(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *below = g_build_filename(path, name, NULL);

		remove_below(below);
	}
	g_remove(path);
}

static void tree_remove(struct tree *tree)
{
	remove_below(tree->top);
	g_free(tree->top);
}

static void assert_parent(const struct tree *tree, const char *group, const char *wanted)
{
	g_autofree char *from = g_build_filename(tree->top, group, NULL);
	g_autofree char *to =
		wanted[0] ? g_build_filename(tree->top, wanted, NULL) : g_strdup(tree->top);
	g_autofree char *found = lab_cgroup_parent_find(tree->top, group[0] ? from : tree->top);

	g_assert_cmpstr(found, ==, to);
}

static void test_version_2_takes_the_nearest_group_that_can_have_groups(void)
{
	struct tree tree = tree_new();

	assert_parent(&tree, "", "");
	assert_parent(&tree, "slice/session", "slice");
	/* Another process of the slice's own is in the way there. */
	tree_file(&tree, "slice", "cgroup.procs", "9\n");
	assert_parent(&tree, "slice/session", "");
	tree_remove(&tree);
}

static void test_version_2_escapes_no_quota(void)
{
	struct tree tree = tree_new();

	tree_group(&tree, "slice/session", "7\n8\n", "60000 100000\n", "cpu\n", "\n");
	assert_parent(&tree, "slice/session", "slice/session");
	tree_group(&tree, "slice/session", "7\n8\n", "max 100000\n", "cpu\n", "\n");
	tree_group(&tree, "slice", "9\n", "150000 100000\n", "cpu\n", "\n");
	assert_parent(&tree, "slice/session", "slice");
	tree_remove(&tree);
}

static void test_version_2_gives_controllers_from_the_top_down(void)
{
	g_autoptr(GError) error = NULL;
	struct tree tree = tree_new();
	g_autofree char *slice = g_build_filename(tree.top, "slice", NULL);
	g_autofree char *top = NULL;
	g_autofree char *below = NULL;

	g_assert_true(lab_cgroup_parent_prepare(tree.top, slice, &error));
	g_assert_no_error(error);
	top = tree_text(&tree, "", "cgroup.subtree_control");
	below = tree_text(&tree, "slice", "cgroup.subtree_control");
	g_assert_true(g_str_has_prefix(top, LAB_CGROUP_CONTROLLERS));
	g_assert_true(g_str_has_prefix(below, LAB_CGROUP_CONTROLLERS));
	tree_remove(&tree);
}

/* Files stay where they are: here the kernel's part is not played, and processes seem not to go. */
static void test_version_2_says_which_processes_are_in_the_way(void)
{
	g_autoptr(GError) error = NULL;
	struct tree tree = tree_new();
	g_autofree char *session = g_build_filename(tree.top, "slice", "session", NULL);
	g_autofree char *rest = g_build_filename(session, LAB_CGROUP_REST, NULL);

	g_assert_false(lab_cgroup_parent_prepare(tree.top, session, &error));
	g_assert_error(error, LAB_ERROR, LAB_ERROR_BUSY);
	g_assert_true(g_file_test(rest, G_FILE_TEST_IS_DIR));
	tree_remove(&tree);
}

static void test_removing_what_is_not_there_succeeds(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_parse(separate, "", &error);

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
	g_test_add_func("/lab/cgroup/labs are below the caller's groups",
			test_labs_are_below_the_callers_groups);
	g_test_add_func("/lab/cgroup/version 2 takes the nearest group that can have groups",
			test_version_2_takes_the_nearest_group_that_can_have_groups);
	g_test_add_func("/lab/cgroup/version 2 escapes no quota", test_version_2_escapes_no_quota);
	g_test_add_func("/lab/cgroup/version 2 gives controllers from the top down",
			test_version_2_gives_controllers_from_the_top_down);
	g_test_add_func("/lab/cgroup/version 2 says which processes are in the way",
			test_version_2_says_which_processes_are_in_the_way);
	g_test_add_func("/lab/cgroup/removing what is not there succeeds",
			test_removing_what_is_not_there_succeeds);
	return g_test_run();
}
