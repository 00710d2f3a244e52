/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_quotas.h"

#include <glib/gstdio.h>
#include <string.h>

/* A directory that looks like the groups of lab "x" with one VM on its second blade. */
struct groups {
	struct lab_cgroup cgroup;
	char *root;
	char *vm;
};

static void write_in(const char *group, const char *file, const char *text)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	g_autoptr(GError) error = NULL;

	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
}

/* What a group's file begins with: it is written over, not replaced, as control files are. */
static int64_t read_from(const char *group, const char *file)
{
	g_autofree char *path = g_build_filename(group, file, NULL);
	g_autofree char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return g_ascii_strtoll(text, NULL, 10);
}

static void set_up(struct groups *groups, gconstpointer data)
{
	groups->root = g_dir_make_tmp("virtbed-quotas-XXXXXX", NULL);
	groups->vm = g_build_filename(groups->root, "virtbed-x/b2/machine/vm", NULL);
	g_assert_cmpint(g_mkdir_with_parents(groups->vm, 0755), ==, 0);
	groups->cgroup.version = GPOINTER_TO_INT(data);
	groups->cgroup.hierarchies[0].mount = groups->cgroup.hierarchies[0].parent = groups->root;
	groups->cgroup.hierarchies_count = 1;
}

static void tear_down(struct groups *groups, gconstpointer data)
{
	static const char *const files[] = {"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"};
	char *path = g_steal_pointer(&groups->vm);

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *file = g_build_filename(path, files[i], NULL);

		g_remove(file);
	}
	while (strlen(path) >= strlen(groups->root)) {
		char *above = g_path_get_dirname(path);

		g_rmdir(path);
		g_free(path);
		path = above;
	}
	g_free(path);
	g_free(groups->root);
}

static void configure(struct groups *groups, int64_t quota_us)
{
	g_autofree char *quota = g_strdup_printf("%" G_GINT64_FORMAT "\n", quota_us);
	g_autofree char *both = g_strdup_printf("%" G_GINT64_FORMAT " 100000\n", quota_us);

	if (groups->cgroup.version == 2) {
		write_in(groups->vm, "cpu.max", quota_us < 0 ? "max 100000\n" : both);
		return;
	}
	write_in(groups->vm, "cpu.cfs_quota_us", quota);
	write_in(groups->vm, "cpu.cfs_period_us", "100000\n");
}

static int64_t quota(const struct groups *groups)
{
	return read_from(groups->vm, groups->cgroup.version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
}

/* Ten periods until the next time, and one quota with the writing: 11 quotas are what 10 were. */
static void test_what_is_configured_is_scaled(struct groups *groups, gconstpointer data)
{
	g_autoptr(lab_quotas_t) quotas = lab_quotas_new(&groups->cgroup, "x", 2);

	configure(groups, 22000);
	lab_quotas_scale(quotas, 1.21, 1);
	g_assert_cmpint(quota(groups), ==, 22000); /* new: left alone once */
	lab_quotas_scale(quotas, 1.21, 1);
	g_assert_cmpint(quota(groups), ==, 24200);
	lab_quotas_scale(quotas, 1, 1);
	g_assert_cmpint(quota(groups), ==, 20000);
	configure(groups, 11000);
	lab_quotas_scale(quotas, 2, 1);
	g_assert_cmpint(quota(groups), ==, 11000);
	lab_quotas_scale(quotas, 2, 1);
	g_assert_cmpint(quota(groups), ==, 20000);
}

static void test_without_a_quota_there_is_nothing_to_scale(struct groups *groups,
							   gconstpointer data)
{
	g_autoptr(lab_quotas_t) quotas = lab_quotas_new(&groups->cgroup, "x", 2);
	struct lab_cgroup_quota now;

	configure(groups, -1);
	lab_quotas_scale(quotas, 1.2, 1);
	lab_quotas_scale(quotas, 1.2, 1);
	g_assert_true(lab_cgroup_get_quota(&groups->cgroup, groups->vm, &now));
	g_assert_cmpint(now.quota_us, ==, -1);
	g_assert_cmpint(now.period_us, ==, 100000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize version = 1; version <= 2; version++) {
		g_autofree char *scaled = g_strdup_printf("/lab/quotas/scaled/v%zu", version);
		g_autofree char *none = g_strdup_printf("/lab/quotas/none/v%zu", version);

		g_test_add(scaled, struct groups, GSIZE_TO_POINTER(version), set_up,
			   test_what_is_configured_is_scaled, tear_down);
		g_test_add(none, struct groups, GSIZE_TO_POINTER(version), set_up,
			   test_without_a_quota_there_is_nothing_to_scale, tear_down);
	}
	return g_test_run();
}
