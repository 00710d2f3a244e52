/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labs, hosts and the room that their VMs need. */
#include <glib/gstdio.h>
#include <string.h>

#include "common/config/config.h"
#include "common/machine_room.h"
#include "controller/config/config_controller.h"
#include "tests/unit/config/config_variant.h"

/*
 * A configuration of one blade with `cluster` and `host` (their keys). The caller frees the path.
 */
static char *write_lab(const char *cluster, const char *host, const char *blade)
{
	g_autofree char *text = g_strdup_printf("name: t\n"
						"lab: {%s}\n"
						"clusters: [{%s, hosts: [{%s}]}]\n",
						blade, cluster, host);

	return config_variant_write("name: t\nclusters:\n  - name: a\n    nodes: 2\n    cores: 1\n"
				    "    memory_mib: 100\n",
				    text);
}

static void test_blades_without_a_cap_count_with_their_budget(void)
{
	static const struct {
		const char *cluster, *blade, *message; /* NULL: good */
	} cases[] = {
		{"nodes: 65536, cores: 1024",
		 "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}]", NULL},
		{"nodes: 65536, cores: 1024",
		 "blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]", NULL},
		{"nodes: 2, cores: 1",
		 "overcommit: maybe, blades: [{name: b1, cpu_cores: 1, idle_w: 1, "
		 "core_w: 1}]",
		 "maybe"},
		{"nodes: 2, cores: 1, max_mhz: 500, base_mhz: 1000",
		 "blades: [{name: b1, cpu_cores: 0.9, idle_w: 1, core_w: 1}]",
		 "the quotas of its VMs sum to 1.00 cores, more than cpu_cores, 0.90"},
		{"nodes: 2, cores: 1, max_mhz: 500, base_mhz: 1000",
		 "steady: yes, blades: [{name: b1, cpu_cores: 1.2, idle_w: 1, core_w: 1}]",
		 "1.00 cores, grow to 1.25 times as much while the machine is slow, more than cpu_cores, 1.20"},
		{"nodes: 2, cores: 1",
		 "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}, "
		 "{name: B2, cpu_cores: 1, idle_w: 1, core_w: 1}]",
		 "lab.blades[1].name: 'B2' is not a host name"},
		{"nodes: 2, cores: 1",
		 "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}, "
		 "{name: b1, cpu_cores: 1, idle_w: 1, core_w: 1}]",
		 "lab.blades[1].name: 'b1' appears twice"},
		{"nodes: 2, cores: 1", "blades: [{name: b1, cpu_cores: 0, idle_w: 1, core_w: 1}]",
		 "lab.blades[0].cpu_cores: 0 is outside"},
		{"nodes: 2, cores: 1", "blades: [{name: b1, cpu_cores: 1, idle_w: -1, core_w: 1}]",
		 "lab.blades[0].idle_w: -1 is outside"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *cluster =
			g_strdup_printf("name: a, memory_mib: 200, %s", cases[i].cluster);
		g_autofree char *path = write_lab(cluster, "blade: b1", cases[i].blade);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		if (!cases[i].message)
			g_assert_no_error(error);
		else if (!error || !strstr(error->message, cases[i].message))
			g_error("case %zu: %s", i, error ? error->message : "was taken for good");
		g_unlink(path);
	}
}

/* It may be simulated wherever it is read; only where its VMs are to run are there CPUs to have. */
static void test_a_lab_that_is_too_large_for_this_machine_has_no_room(void)
{
	static const struct {
		const char *lab;
		bool good;
	} cases[] = {
		{"blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}]", true},
		{"blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]", false},
		{"overcommit: yes, blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]",
		 true},
		{"fit: yes, blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]", true},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = write_lab("name: a, memory_mib: 200, nodes: 4, cores: 1024",
						  "blade: b1", cases[i].lab);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_no_error(error);
		g_assert_true(machine_room_check(config, path, &error) == cases[i].good);
		g_assert_true(
			cases[i].good ||
			(strstr(error->message, "lab.blades: all VMs") &&
			 strstr(error->message, "may use 4096.00 cores, more than 80 % of the ")));
		g_unlink(path);
	}
}

/* The same for memory, whatever is said of CPUs. */
static void test_vms_that_need_more_memory_than_this_machine_has_find_no_room(void)
{
	static const struct {
		const char *memory, *host;
		bool good;
	} cases[] = {
		{"200, nodes: 2", "blade: b1", true},
		{"67108864, nodes: 2", "blade: b1", false},
		{"200, nodes: 65536", "blade: b1", false},
		{"2000000, nodes: 2, preemption: {spares: 200, memory_mib: 1}", "blade: b1", false},
		{"67108864, nodes: 2", "uri: 'qemu:///system'", false},
		{"67108864, nodes: 2", "uri: 'qemu+ssh://other/system'", true},
		{"67108864, nodes: 2, local_scheduler: 'unix:/run/ls'", "uri: 'qemu:///system'",
		 true},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *cluster =
			g_strdup_printf("name: a, cores: 1, memory_mib: %s", cases[i].memory);
		g_autofree char *path = write_lab(
			cluster, cases[i].host,
			"overcommit: yes, blades: [{name: b1, cpu_cores: 1, idle_w: 1, core_w: 1}]");
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_no_error(error);
		if (machine_room_check(config, path, &error) != cases[i].good)
			g_error("case %zu: %s", i, error ? error->message : "has room");
		g_assert_true(cases[i].good || strstr(error->message, "need"));
		g_unlink(path);
	}
}

/* What only daemons refuse is refused before they are started. */
static void test_a_cluster_that_no_local_scheduler_serves_is_told(void)
{
	static const struct {
		const char *from, *to;
		const char *message; /* NULL: it is served */
	} cases[] = {
		{"nodes: 2", "nodes: 239", NULL},
		{"nodes: 2", "nodes: 240",
		 "clusters[0].nodes: a local scheduler serves 1 to 239 nodes"},
		{"cores: 1\n    memory_mib: 100", "cores: 30\n    memory_mib: 200", NULL},
		{"cores: 1\n    memory_mib: 100", "cores: 31\n    memory_mib: 200",
		 "clusters[0].cores: nodes that a local scheduler serves have 1 to 30 cores"},
		{"nodes: 2",
		 "nodes: 2\n    simulated: {idle_w: 1}\n    hosts: [{name: a}, {name: b}, {name: c}]",
		 "clusters[0].hosts: 3 hosts for 2 nodes"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = config_variant_write(cases[i].from, cases[i].to);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);
		g_autofree char *wrong = config ? config_cluster_check_served(config, 0) : NULL;

		g_assert_no_error(error);
		g_assert_true((wrong == NULL) == (cases[i].message == NULL));
		g_assert_true(!wrong || g_str_has_prefix(wrong, cases[i].message));
		g_unlink(path);
	}
}

/* Steady elsewhere than on x86-64 is nothing that can be had. */
static void test_a_steady_lab_needs_a_metronome(void)
{
	struct config_lab lab = {.steady = CONFIG_YES};
	struct config config = {.lab = &lab};

	g_assert_null(config_lab_unsteady(&config, true));
	g_assert_true(g_str_has_prefix(config_lab_unsteady(&config, false), "lab.steady: "));
	lab.steady = CONFIG_NO;
	g_assert_null(config_lab_unsteady(&config, false));
	config.lab = NULL;
	g_assert_null(config_lab_unsteady(&config, false));
}

/* Daemons load the configuration that a run has saved. */
static void test_migration_by_tls_is_saved(void)
{
	g_autofree char *path =
		config_variant_write("nodes: 2", "nodes: 2\n    migration_tls: true");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_true(config->clusters[0].migration_tls);
	g_assert_true(config_save(config, path, &error));

	g_autoptr(config_t) again = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_true(again->clusters[0].migration_tls);
	g_unlink(path);
}

/* What a lab says of its blades is in the configuration of a run, which its daemons load. */
static void test_blades_reach_each_other_in_the_clear(void)
{
	g_autofree char *path =
		write_lab("name: a, memory_mib: 200, nodes: 2, cores: 1",
			  "blade: b1, uri: 'qemu:///system', "
			  "peer_uri: 'qemu+tcp://10.77.0.1/system'",
			  "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}]");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(config->clusters[0].hosts[0].peer_uri, ==, "qemu+tcp://10.77.0.1/system");
	g_unlink(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/config/blades-without-a-cap-count-with-their-budget",
			test_blades_without_a_cap_count_with_their_budget);
	g_test_add_func("/config/a lab that is too large for this machine has no room",
			test_a_lab_that_is_too_large_for_this_machine_has_no_room);
	g_test_add_func("/config/VMs that need more memory than this machine has find no room",
			test_vms_that_need_more_memory_than_this_machine_has_find_no_room);
	g_test_add_func("/config/a cluster that no local scheduler serves is told",
			test_a_cluster_that_no_local_scheduler_serves_is_told);
	g_test_add_func("/config/a steady lab needs a metronome",
			test_a_steady_lab_needs_a_metronome);
	g_test_add_func("/config/migration-tls", test_migration_by_tls_is_saved);
	g_test_add_func("/config/blades-reach-each-other-in-the-clear",
			test_blades_reach_each_other_in_the_clear);
	return g_test_run();
}
