/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "common/host_facts.h"

static void put(const char *root, const char *path, const char *text)
{
	g_autofree char *full = g_strconcat(root, path, NULL);
	g_autofree char *dir = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
	g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void put_governor(const char *root, int cpu, const char *governor)
{
	g_autofree char *path =
		g_strdup_printf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);

	put(root, path, governor);
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		remove_tree(child);
	}
	g_remove(path);
}

static void test_blade(void)
{
	g_autofree char *root = g_dir_make_tmp("virtbed-facts-XXXXXX", NULL);
	g_autoptr(host_facts_t) facts = NULL;
	g_autoptr(host_facts_t) after = NULL;

	put(root, "/proc/cpuinfo",
	    "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU X5650 @ 2.67GHz\n"
	    "microcode\t: 0x1f\n\nprocessor\t: 1\nmodel name\t: other\n");
	put_governor(root, 0, "performance\n");
	put_governor(root, 1, "performance\n");
	facts = host_facts_read(root);
	g_assert_cmpstr(facts->cpu, ==, "Intel(R) Xeon(R) CPU X5650 @ 2.67GHz");
	g_assert_cmpstr(facts->microcode, ==, "0x1f");
	g_assert_cmpstr(facts->governor, ==, "performance");
	g_assert_cmpuint(facts->cores, >=, 1);
	put_governor(root, 1, "powersave\n");
	after = host_facts_read(root);
	g_assert_cmpstr(after->governor, ==, "mixed");
	remove_tree(root);
}

static void test_bare(void)
{
	g_autofree char *root = g_dir_make_tmp("virtbed-facts-XXXXXX", NULL);
	g_autoptr(host_facts_t) facts = host_facts_read(root);

	g_assert_null(facts->cpu);
	g_assert_null(facts->microcode);
	g_assert_null(facts->governor);
	g_assert_true(facts->kernel && *facts->kernel);
	remove_tree(root);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/host-facts/a blade tells processor, microcode and governor", test_blade);
	g_test_add_func("/host-facts/what a machine does not tell is not known", test_bare);
	return g_test_run();
}
