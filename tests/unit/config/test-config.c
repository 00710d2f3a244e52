/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading and checking configurations: each kind of bad input gives one line with its place and
 * cure.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "tests/unit/config/config_variant.h"

static const char *source_root;

/*
 * 64 lists within each other, in both ways to write them. The mapping of the file is around them.
 */
#define EIGHT(text) text text text text text text text text
#define DEEP EIGHT(EIGHT("["))
#define SHALLOW EIGHT(EIGHT("]"))
#define LIST EIGHT(EIGHT("- "))

struct bad_case {
	const char *from, *to;
	const char *message; /* must be part of the error */
};

static const struct bad_case bad_cases[] = {
	{config_variant_base, "just text\n", ":1:1: the file takes a mapping of keys"},
	{config_variant_base, "- name: t\n", ":1:1: the file takes a mapping of keys"},
	{"name: t", "name: &a t", ":1:7: an anchor (&); a file has no anchors, aliases or tags"},
	{"name: t", "&a name: t", ":1:1: an anchor (&)"},
	{"  - name: a", "  - &c\n    name: a", "an anchor (&)"},
	{"limits: [1, 0.7]", "limits: &l [1, 0.7]", "an anchor (&)"},
	{"name: t", "name: " DEEP "t" SHALLOW, ":1:70: nested too deeply"},
	{"name: t", "name: " DEEP, ":1:70: nested too deeply"},
	{"name: t", "name:\n- " LIST "t", ":2:127: nested too deeply"},
	{"duration_s: 10\n  utility", "duration_s: *d\n  utility", "an alias (*)"},
	{"name: t", "name: !!str t", ":1:7: a tag (!)"},
	{"name: t", "name: !x t", ":1:7: a tag (!)"},
	{"name: t", "name: ! t", ":1:7: a tag (!)"},
	{"limits: [1, 0.7]", "limits: !!seq [1, 0.7]", "a tag (!)"},
	{"name: t", "!!map\nname: t", "a tag (!)"},
	{"name: t", "%TAG !e! tag:e:\n---\nname: t", "a %TAG directive"},
	{"name: t", "name: t\n<<: {patience: 2}", ":2:1: unknown key '<<'"},
	{"name: t", "name: t\nname: u", "mapping field already seen: name"},
	{"name: t", "name: t\ndescription: \"a\\uFFFFb\"", ":2:14: description: "},
	{"name: t", "name: \"t\\0u\"", ":1:7: a character of code 0"},
	{"nodes: 2", "knots: 2", ":4:5: unknown key 'knots'; known here: name, nodes"},
	{"nodes: 2", "nodes: -2", ":4:12: clusters[0].nodes: '-2' is not a whole number"},
	{"nodes: 2", "nodes: 0x10", ":4:12: clusters[0].nodes: '0x10' is not a whole number"},
	{"nodes: 2", "nodes: 010", ":4:12: clusters[0].nodes: '010' is not a whole number"},
	{"nodes: 2", "nodes: 1_000", ":4:12: clusters[0].nodes: '1_000' is not a whole number"},
	{"nodes: 2", "nodes: 2.0", ":4:12: clusters[0].nodes: '2.0' is not a whole number"},
	{"nodes: 2", "nodes: 1e1", ":4:12: clusters[0].nodes: '1e1' is not a whole number"},
	{"nodes: 2", "nodes: +2", ":4:12: clusters[0].nodes: '+2' is not a whole number"},
	{"nodes: 2", "nodes: 0o10", ":4:12: clusters[0].nodes: '0o10' is not a whole number"},
	{"nodes: 2", "nodes: 0b10", ":4:12: clusters[0].nodes: '0b10' is not a whole number"},
	{"nodes: 2", "nodes: '2 '", ":4:12: clusters[0].nodes: '2 ' is not a whole number"},
	{"etc_s: 0.1", "etc_s: .nan", ":10:34: estimates[0].etc_s: '.nan' is not a number"},
	{"etc_s: 0.1", "etc_s: nan", ":10:34: estimates[0].etc_s: 'nan' is not a number"},
	{"etc_s: 0.1", "etc_s: .inf", ":10:34: estimates[0].etc_s: '.inf' is not a number"},
	{"etc_s: 0.1", "etc_s: 0x10", ":10:34: estimates[0].etc_s: '0x10' is not a number"},
	{"etc_s: 0.1", "etc_s: 1e999", ":10:34: estimates[0].etc_s: '1e999' is not a number"},
	{"etc_s: 0.1", "etc_s: 010", ":10:34: estimates[0].etc_s: '010' is not a number"},
	{"etc_s: 0.1", "etc_s: 1_0", ":10:34: estimates[0].etc_s: '1_0' is not a number"},
	{"etc_s: 0.1", "etc_s: 1:30", ":10:34: estimates[0].etc_s: '1:30' is not a number"},
	{"etc_s: 0.1", "etc_s: '1,5'", ":10:34: estimates[0].etc_s: '1,5' is not a number"},
	{"etc_s: 0.1", "etc_s: 'on'", ":10:34: estimates[0].etc_s: 'on' is not a number"},
	{"etc_s: 0.1", "etc_s: ~", ":10:34: estimates[0].etc_s: '~' is not a number"},
	{"nodes: 2", "nodes: 0", "clusters[0].nodes: cluster 'a' has 0 nodes"},
	{"nodes: 2", "nodes: 65537",
	 "clusters[0].nodes: cluster 'a' has 65537 nodes; give 1 to 65536"},
	{"nodes: 2", "nodes: 2\n    swap_mib: 67108865",
	 "clusters[0].swap_mib: 67108865 MiB is too much; give 0 to 67108864"},
	{"nodes: 2", "nodes: 2\n    preemption: {spares: 201}",
	 "clusters[0].preemption.spares: 201 VMs; give 0 to 200"},
	{"nodes: 2", "nodes: 18446744073709551617", ":4:12: clusters[0].nodes"},
	{"memory_mib: 100", "memory_mib: 1GB", ":6:17: clusters[0].memory_mib: '1GB'"},
	{"memory_mib: 100", "memory_mib: [100]", "takes one value"},
	{"memory_mib: 200", "memory_mib: 201", "type 'x' (2 cores, 201 MiB) fits no cluster"},
	{"cores: 2,", "cores: 4,", "fits no cluster"},
	{"class: S", "class: Z", "types[0].class: 'Z' is not one of"},
	{"share: 1", "share: 0.5", "the shares sum to 0.5"},
	{"name: a", "name: a/b", "clusters[0].name: 'a/b' is not a name"},
	{"class: S", "class: \"S\\u202e\"", "is not"},
	{"benchmark: is", "benchmark: \"i\\u2066s\"", "has a character that is not shown"},
	{"etc_s: 0.1", "etc_s: 0", "estimates[0].etc_s: 0 is not a positive number"},
	{"etc_s: 0.1", "etc_s: 1min", ":10:34: estimates[0].etc_s: '1min' is not a number"},
	{"eec_j: 3", "eec_j: -3", "estimates[0].eec_j: -3 is negative"},
	{"cluster: a", "cluster: b", "estimates[0].cluster: no cluster 'b'"},
	{"workload:", "unmeasured: [{type: z, cluster: a, reason: r}]\nworkload:",
	 "unmeasured[0].type: no type 'z' in types"},
	{"workload:", "unmeasured: [{type: x, cluster: z, reason: r}]\nworkload:",
	 "unmeasured[0].cluster: no cluster 'z' in clusters"},
	{"workload:", "unmeasured: [{type: x, cluster: a, reason: r}]\nworkload:",
	 "unmeasured[0]: 'x' on 'a' has an entry in estimates as well"},
	{"workload:", "unmeasured: [{type: x, cluster: a}]\nworkload:", "reason"},
	{"  duration_s: 10\n", "  duration_s: inf\n", "'inf' is not a number"},
	{"utility_max: [1, 2]", "utility_max: []", "workload.utility_max: empty; give at least 1"},
	{"limits: [1, 0.7]", "limits: [1.2]", "experiment.limits[0]: 1.2 is outside (0, 1]"},
	{"mapping_interval_s: 1", "mapping_interval_s: 11", "is longer than duration_s"},
	{"name: t\n", "", "missing required mapping field: name"},
	{"types:", "types", "not YAML"},
	{"name: t\n", "name: t\n---\nname: u\n---\n", ":3:1: a second YAML document begins here"},
	{"benchmark: is", "benchmark: nosuch",
	 "types[0].benchmark: 'nosuch' is not known; there are cg, ep, is, is_cg, mg"},
	{"cores: 2,", "cores: 0,", "types[0].cores: 0 cores; give a task 1 to 4096"},
	{"cores: 2,", "nodes: 2,", "types[0].nodes: for scripts only"},
	{"benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	 "benchmark: script, nodes: 2, cores: 2, time_s: 1, memory_mib: 1, share: 0",
	 "types[0]: cores and nodes; give one of them"},
	{"benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	 "benchmark: script, time_s: 1, memory_mib: 1, share: 0",
	 "types[0].cores: 0 cores; give a task 1 to 4096, or nodes"},
	{"benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	 "benchmark: script, nodes: 3, time_s: 1, memory_mib: 1, share: 0",
	 "type 'x' (3 nodes, 1 MiB) fits no cluster"},
	{"benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	 "benchmark: script, nodes: 1, nodes_max: 3, time_s: 1, memory_mib: 1, share: 0",
	 "type 'x.3' (3 nodes, 3 MiB) fits no cluster"},
	{"benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	 "benchmark: script, nodes: 2, nodes_max: 1, time_s: 1, memory_mib: 1, share: 0",
	 "types[0].nodes_max: 1; give a script's type `nodes` and a higher number up to 4096"},
	{"benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	 "benchmark: script, nodes: 1, nodes_max: 4097, time_s: 1, memory_mib: 1, share: 0",
	 "types[0].nodes_max: 4097; give"},
	{"cores: 2,", "cores: 2, nodes_max: 2,", "types[0].nodes_max: 2; give"},
	{"cores: 2,", "cores: 4097,", "types[0].cores: 4097 cores"},
	{"cores: 2,", "cores: 3,", "types[0].cores: is runs on a power of two of ranks, not on 3"},
	{"etc_s: 0.1", "etc_s: 0.1, etc_sd_s: -5", "estimates[0].etc_sd_s: -5 is negative"},
	{"eec_j: 3", "eec_j: 3, eec_sd_j: -5", "estimates[0].eec_sd_j: -5 is negative"},
	{"etc_s: 0.1", "etc_s: 1e300", "estimates[0].etc_s: 1e+300 is more than 1e+09"},
	{"nodes: 2", "nodes: 2\n    max_cstate: Z9",
	 "clusters[0].max_cstate: 'Z9' is no idle state"},
	{"nodes: 2", "nodes: 2\n    local_scheduler: \"rubbish:::\"",
	 "clusters[0].local_scheduler: address \"rubbish:::\": expected unix:/PATH"},
	{"nodes: 2", "nodes: 2\n    hosts: [{uri: blade}]",
	 "clusters[0].hosts[0].uri: 'blade' is no libvirt URI"},
	{"nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu+tcp://10.0.0.1/system'}]",
	 "uri: 'qemu+tcp://10.0.0.1/system' goes over the network in the clear"},
	{"nodes: 2", "nodes: 2\n    migration_tls: true\n    simulated: {idle_w: 1}",
	 "clusters[0].migration_tls: a simulated cluster has no VMs"},
	{"nodes: 2",
	 "nodes: 2\n    hosts: [{uri: 'qemu:///system', peer_uri: 'qemu+tcp://h/system'}]",
	 "clusters[0].hosts[0].peer_uri: 'qemu+tcp://h/system' goes over the network in the clear"},
	{"nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu:///system', peer_uri: 'qemu:///system'}]",
	 "clusters[0].hosts[0].peer_uri: 'qemu:///system' names no host"},
	{"nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu:///system', bridge: 'my bridge'}]",
	 "clusters[0].hosts[0].bridge: 'my bridge' cannot be the name"},
	{"nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu:///system', bridge: ''}]",
	 "clusters[0].hosts[0].bridge: '' cannot be the name"},
	{"arrival_mean_s: 1.1", "arrival_mean_s: 0.00000001",
	 "workload.arrival_mean_s: 1e+09 tasks in all are more than 1000000"},
	{"  duration_s: 10\n", "  duration_s: 1e300\n", "workload.duration_s: 1e+300 is more than"},
	{"mapping_interval_s: 1", "mapping_interval_s: 0.0000001",
	 "experiment.mapping_interval_s: 1e+08 mapping events in all are more than 10000000"},
	{"mapping_interval_s: 1", "mapping_interval_s: 0.0009",
	 "experiment.mapping_interval_s: 0.0009 s is below 0.001 s"},
	{"policies: [easy]", "policies: [easy, max-upr, easy]",
	 "experiment.policies[2]: 'easy' appears twice"},
	{"limits: [1, 0.7]", "limits: [1, 0.7, 0.70]", "experiment.limits[2]: 0.7 appears twice"},
	{"duration_s: 10\n  utility", "duration_s: 10\n  seed: 0\n  utility",
	 ":14:9: workload.seed: 0 makes no sense"},
	{"mapping_interval_s: 1", "repeats: 0\n  mapping_interval_s: 1",
	 "experiment.repeats: 0 makes no sense"},
	{"mapping_interval_s: 1", "task_deadline_s: 0.0\n  mapping_interval_s: 1",
	 "experiment.task_deadline_s: 0 makes no sense"},
	{"mapping_interval_s: 1", "baseline_s: -1\n  mapping_interval_s: 1",
	 "experiment.baseline_s: -1 is negative"},
	{"share: 1}", "share: 1, repetitions: 0}", "types[0].repetitions: 0 makes no sense"},
	{"share: 1}", "share: 1, preemptible: yes}",
	 "types[0].preemptible: 'yes' is neither true nor false"},
	{"name: t\n",
	 "name: t\noverheads: [{cluster: z, freeze_s: 0, save_s: 0, restore_s: 0, resume_s: 0}]\n",
	 "overheads[0].cluster: no cluster 'z'"},
	{"name: t\n",
	 "name: t\noverheads: [{cluster: a, freeze_s: 0, save_s: -1, restore_s: 0, resume_s: 0}]\n",
	 "overheads[0].save_s: -1 is negative"},
	{"share: 1}", "share: 1, may_preempt: [true]}", "types[0].may_preempt: takes one value"},
	{"utility_max: [1, 2]", "utility_max: [1, 2]\n  zero_at: 0",
	 "workload.zero_at: 0 makes no"},
	{"limits: [1, 0.7]\n  mapping_interval_s: 1\n  duration_s: 10\n",
	 "limits: [1]\n  mapping_interval_s: 1\n  duration_s: 10\n"
	 "study: {x: size, sizes: [0.5, 1, 0.5]}\n",
	 "study.sizes[2]: 0.5 appears twice"},
	{"name: t\n", "name: t\nservice: {mapping_interval_s: -1}\n",
	 "service.mapping_interval_s: -1 is outside (0, 86400]"},
	{"name: t\n", "name: t\nservice: {tasks_max: 1000001}\n",
	 "service.tasks_max: 1000001 is not from 1 to 1000000"},
	{"name: t\n", "name: t\nservice: {user_tasks_max: 1000001}\n",
	 "service.user_tasks_max: 1000001 is not from 1 to 1000000"},
	{"name: t\n", "name: t\nservice: {user_requests_per_s: 0.5}\n",
	 "service.user_requests_per_s: 0.5 is outside [1, 1e+06]"},
	{"name: t\n", "name: t\nservice: {retention_days: -2}\n",
	 "service.retention_days: -2 is outside"},
	{"name: t\n", "name: t\nservice: {energy_limit_j: -2}\n",
	 "service.energy_limit_j: -2 is not a number of joules above 0"},
	{"name: t\n", "name: t\nservice: {energy_limit_j: 5, energy_window_s: 9}\n",
	 "service.energy_window_s: 9 is not from 10 to 31622400"},
	{"name: t\n", "name: t\nservice: {meter_refresh_s: 601}\n",
	 "service.meter_refresh_s: 601 is not from 0 to 600"},
	{"name: t\n", "name: t\nservice: {group: 'a b'}\n",
	 "service.group: 'a b' cannot be the name of a group"},
	{"name: t\n", "name: t\nservice: {listen: 'http://127.1:80'}\n",
	 "service.listen: cannot listen on \"http://127.1:80\": expected unix:/PATH"},
	{"name: t\n", "name: t\nservice: {listen: 'ftp://x'}\n",
	 "service.listen: cannot listen on"},
	{"name: t\n", "name: t\nservice: {listen: ''}\n", "service.listen: cannot listen on"},
	{"name: t\n", "name: t\nservice: {listen: 'http://127.0.0.1:65536'}\n",
	 "service.listen: cannot listen on"},
	{"name: t\n", "name: t\nservice: {listen: 'https://0.0.0.0:1/x', certificate: c, key: k}\n",
	 "service.listen: cannot listen on"},
	{"name: t\n", "name: t\npatience: 0.5\n", "patience: 0.5 is outside 1 to 1000"},
	{"name: t\n", "name: t\npatience: 0\n", "patience: 0 makes no sense"},
	{"name: t\n",
	 "name: a.b\nlab: {blades: [{name: b1, cpu_cores: 1, idle_w: 1, core_w: 1}]}\n",
	 "name: 'a.b' cannot name a lab"},
};

static void test_bad_input_is_named(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
		const struct bad_case *bad = &bad_cases[i];
		g_autofree char *path = config_variant_write(bad->from, bad->to);
		g_autoptr(GError) error = NULL;

		g_assert_null(config_controller_load(path, &error));
		g_assert_nonnull(error);
		if (!strstr(error->message, bad->message) ||
		    !g_str_has_prefix(error->message, path) || strchr(error->message, '\n'))
			g_error("'%s' -> '%s' gave: %s", bad->from, bad->to, error->message);
		g_unlink(path);
	}
}

/* One line for scripts of any number of nodes, which are types like others from then on. */
static void test_a_range_of_nodes_is_a_type_each(void)
{
	g_autofree char *path = config_variant_write(
		"  - {name: x",
		"  - {name: any, benchmark: script, nodes: 1, nodes_max: 2, time_s: 60, "
		"memory_mib: 10, share: 0}\n  - {name: x");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autoptr(config_t) again = NULL;

	g_assert_no_error(error);
	for (int round = 0; round < 2; round++) {
		const struct config *one = round == 0 ? config : again;

		g_assert_cmpuint(one->types_count, ==, config->types_count);
		g_assert_cmpstr(one->types[0].name, ==, "any.1");
		g_assert_cmpstr(one->types[1].name, ==, "x");
		g_assert_cmpstr(one->types[one->types_count - 1].name, ==, "any.2");
		g_assert_cmpuint(one->types[one->types_count - 1].nodes, ==, 2);
		g_assert_cmpuint(one->types[one->types_count - 1].memory_mib, ==, 20);
		g_assert_cmpfloat(one->types[one->types_count - 1].time_s, ==, 60);
		if (round > 0)
			continue;
		g_assert_true(config_save(config, path, &error));
		again = config_controller_load(path, &error);
		g_assert_no_error(error);
	}
	g_unlink(path);
}

static void test_idle_states_are_those_of_the_kernel(void)
{
	static const char *const names[] = {"POLL", "C0", "C1E", "C7s", "C10", "C6-SKX", "C1_ACPI"};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *key = g_strdup_printf("nodes: 2\n    max_cstate: %s", names[i]);
		g_autofree char *path = config_variant_write("nodes: 2", key);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_no_error(error);
		g_assert_cmpstr(config->clusters[0].max_cstate, ==, names[i]);
		g_unlink(path);
	}
}

static void test_hole_in_the_matrix_is_named(void)
{
	g_autofree char *path =
		config_variant_write("  - name: a\n", "  - {name: b, nodes: 2, cores: 2, "
						      "memory_mib: 500}\n  - name: a\n");
	g_autoptr(GError) error = NULL;

	g_assert_null(config_controller_load(path, &error));
	g_assert_nonnull(strstr(error->message, "no entry for type 'x' on cluster 'b'"));
	g_unlink(path);
}

static void test_defaults_are_filled_in(void)
{
	g_autofree char *path = config_variant_write("name: t", "name: t");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_cmpfloat(config->workload->constant_until, ==, 2.5);
	g_assert_cmpfloat(config->workload->zero_at, ==, 4);
	g_assert_cmpuint(config->experiment->repeats, ==, 1);
	g_assert_cmpuint(config->types[0].repetitions, ==, 1);
	g_unlink(path);
}

static void test_flags_are_off_unless_given(void)
{
	g_autofree char *path = config_variant_write("share: 1}", "share: 1, preemptible: true}");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autoptr(config_t) again = NULL;

	g_assert_no_error(error);
	g_assert_false(config->types[0].may_preempt);
	g_assert_true(config->types[0].preemptible);
	g_assert_true(config_save(config, path, &error));
	again = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_assert_false(again->types[0].may_preempt);
	g_assert_true(again->types[0].preemptible);
	g_unlink(path);
}

static void test_table_5_holes_follow_from_memory(void)
{
	g_autofree char *path = g_build_filename(source_root, "configs/testbed-hs22.yaml", NULL);
	g_autoptr(config_t) config = config_controller_load(path, NULL);

	/* MG.8 is n.a. on clusters 3 and 4; IS_CG.8 runs everywhere, on cluster 4 by swapping. */
	g_assert_false(config_type_fits(&config->types[1], &config->clusters[2]));
	g_assert_false(config_type_fits(&config->types[1], &config->clusters[3]));
	g_assert_true(config_type_fits(&config->types[3], &config->clusters[3]));
	g_assert_null(config_estimate(config, "MG.8", "c3"));
	g_assert_cmpfloat(config_estimate(config, "IS_CG.8", "c4")->etc_s, ==, 1366);
}

static void test_a_type_of_nodes_takes_them_whatever_their_cores(void)
{
	const struct config_cluster one = {.nodes = 2, .cores = 1, .memory_mib = 100};
	const struct config_cluster eight = {.nodes = 4, .cores = 8, .memory_mib = 100};
	const struct config_type cores = {.cores = 10};
	const struct config_type nodes = {.nodes = 3, .memory_mib = 300};

	g_assert_cmpuint(config_type_nodes(&cores, &eight), ==, 2);
	g_assert_cmpuint(config_type_cores(&cores, &eight), ==, 10);
	g_assert_cmpuint(config_type_nodes(&nodes, &one), ==, 3);
	g_assert_cmpuint(config_type_nodes(&nodes, &eight), ==, 3);
	g_assert_cmpuint(config_type_cores(&nodes, &eight), ==, 24);
	g_assert_true(config_type_fits(&nodes, &eight));
	g_assert_false(config_type_fits(&nodes, &one));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	g_test_add_func("/config/bad-input-is-named", test_bad_input_is_named);
	g_test_add_func("/config/a-range-of-nodes-is-a-type-each",
			test_a_range_of_nodes_is_a_type_each);
	g_test_add_func("/config/idle-states-are-those-of-the-kernel",
			test_idle_states_are_those_of_the_kernel);
	g_test_add_func("/config/hole-in-the-matrix-is-named", test_hole_in_the_matrix_is_named);
	g_test_add_func("/config/defaults-are-filled-in", test_defaults_are_filled_in);
	g_test_add_func("/config/flags-are-off-unless-given", test_flags_are_off_unless_given);
	g_test_add_func("/config/table-5-holes-follow-from-memory",
			test_table_5_holes_follow_from_memory);
	g_test_add_func("/config/a type of nodes takes them whatever their cores",
			test_a_type_of_nodes_takes_them_whatever_their_cores);
	return g_test_run();
}
