/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_blade_files.h"

#include <glib.h>
#include <string.h>

#include "common/lab_state.h"
#include "local-sched/lab/lab_paths.h"

static struct lab_spec_blade blades[] = {
	{.name = (char *)"left",
	 .number = 1,
	 .uuid = (char *)"00000000-0000-4000-8000-000000000001"},
	{.name = (char *)"right",
	 .number = 2,
	 .uuid = (char *)"00000000-0000-4000-8000-000000000002"},
};
static const struct lab_spec spec = {(char *)"two", blades, 2};

static void test_every_blade_finds_the_others_by_name(void)
{
	g_autofree char *hosts = lab_blade_files_hosts(&spec);

	g_assert_cmpstr(hosts, ==, "127.0.0.1 localhost\n10.77.0.1 left\n10.77.0.2 right\n");
}

static void test_libvirtd_listens_on_the_blades_own_address_alone(void)
{
	g_autofree char *text = lab_blade_files_libvirtd_conf(&blades[1]);

	g_assert_nonnull(strstr(text, "listen_addr = \"10.77.0.2\"\n"));
	g_assert_nonnull(strstr(text, "listen_tls = 0\n"));
	g_assert_nonnull(strstr(text, "host_uuid = \"00000000-0000-4000-8000-000000000002\"\n"));
	g_assert_null(strstr(text, "0.0.0.0"));
}

/* sockaddr_un holds 107 bytes, and libvirt makes no shorter path of it. */
static void test_the_longest_socket_path_fits(void)
{
	g_autofree char *name = g_strnfill(40, 'x');
	g_autofree char *path =
		lab_paths_blade_run(name, LAB_SPEC_BLADES_MAX, "run/libvirt-admin-sock");

	g_assert_true(lab_state_name_ok(name));
	g_assert_cmpuint(strlen(path), <=, 107);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/blade-files/every blade finds the others by name",
			test_every_blade_finds_the_others_by_name);
	g_test_add_func("/lab/blade-files/libvirtd listens on the blade's own address alone",
			test_libvirtd_listens_on_the_blades_own_address_alone);
	g_test_add_func("/lab/blade-files/the longest socket path fits",
			test_the_longest_socket_path_fits);
	return g_test_run();
}
