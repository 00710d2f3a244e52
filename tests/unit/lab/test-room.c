/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_room.h"

#include <glib.h>
#include <string.h>

static struct config_host hosts[] = {{.blade = (char *)"b1"}, {.blade = (char *)"b2"}};
static struct config_preemption to_disk = {.keep = CONFIG_KEEP_DISK, .spares = 1};
static struct config_cluster clusters[] = {
	{.nodes = 4, .memory_mib = 100, .swap_mib = 50, .hosts = hosts, .hosts_count = 2},
	{.nodes = 1, .memory_mib = 200, .preemption = &to_disk, .hosts = hosts, .hosts_count = 1},
	{.nodes = 99, .memory_mib = 9999}, /* of another machine */
};
static struct config_lab lab = {.blades_count = 2};
static const struct config config = {.clusters = clusters, .clusters_count = 3, .lab = &lab};

static void test_a_lab_needs_what_its_vms_need(void)
{
	const struct lab_room room = lab_room_needed(&config, 30);

	g_assert_cmpuint(room.memory_mib, ==, 4 * 100 + 2 * 200 + 6 * CONFIG_LAB_EMULATOR_MIB);
	g_assert_cmpuint(room.disk_mib, ==, LAB_ROOM_FILES_MIB + 2 * 30 + 4 * 50 + 200);
}

static void test_what_is_not_enough_is_told(void)
{
	const struct lab_room needed = {2048, 1024};
	const struct {
		struct lab_room left;
		const char *trouble; /* NULL: none */
	} cases[] = {
		{{2048, 1024}, NULL},
		{{0, 1024}, NULL},
		{{1024, 1024},
		 "the VMs of this lab need 2.0 GiB of memory, and 1.0 GiB are available"},
		{{4096, 512}, "this lab needs 1.0 GiB of disk, and 0.5 GiB are free"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *trouble = lab_room_trouble(&needed, &cases[i].left);

		g_assert_true((trouble == NULL) == (cases[i].trouble == NULL));
		g_assert_true(!trouble || g_str_has_prefix(trouble, cases[i].trouble));
	}
}

static void test_this_machine_has_room(void)
{
	const struct lab_room left = lab_room_left();

	g_assert_cmpuint(left.memory_mib, >, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/room/a lab needs what its VMs need",
			test_a_lab_needs_what_its_vms_need);
	g_test_add_func("/lab/room/what is not enough is told", test_what_is_not_enough_is_told);
	g_test_add_func("/lab/room/this machine has room", test_this_machine_has_room);
	return g_test_run();
}
