/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config.h"
#include "common/config/config_files.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_holes.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Reading, checking and writing configurations: the shipped files load, what is saved reads back
 * bit for bit, and each kind of bad input gives one line with its place and cure.
 */

static const char *source_root;

static const char base[] = "name: t\n"
			   "clusters:\n"
			   "  - name: a\n"
			   "    nodes: 2\n"
			   "    cores: 1\n"
			   "    memory_mib: 100\n"
			   "types:\n"
			   "  - {name: x, benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1}\n"
			   "estimates:\n"
			   "  - {type: x, cluster: a, etc_s: 0.1, eec_j: 3}\n"
			   "workload:\n"
			   "  arrival_mean_s: 1.1\n"
			   "  duration_s: 10\n"
			   "  utility_max: [1, 2]\n"
			   "experiment:\n"
			   "  policies: [easy]\n"
			   "  limits: [1, 0.7]\n"
			   "  mapping_interval_s: 1\n"
			   "  duration_s: 10\n";

/* Writes `base` with the first `from` replaced by `to` into a new file; the caller frees the path. */
static char *write_variant(const char *from, const char *to)
{
	g_autofree char *path = NULL;
	const char *place = strstr(base, from);
	g_autoptr(GString) text = g_string_new(NULL);
	int fd = g_file_open_tmp("virtbed-config-XXXXXX.yaml", &path, NULL);

	g_assert_nonnull(place);
	g_string_append_len(text, base, place - base);
	g_string_append(text, to);
	g_string_append(text, place + strlen(from));
	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
	return g_steal_pointer(&path);
}

/* 64 lists within each other, in both ways to write them. The mapping of the file is around them. */
#define EIGHT(text) text text text text text text text text
#define DEEP EIGHT(EIGHT("["))
#define SHALLOW EIGHT(EIGHT("]"))
#define LIST EIGHT(EIGHT("- "))

struct bad_case {
	const char *from, *to;
	const char *message; /* must be part of the error */
};

static const struct bad_case bad_cases[] = {
	{ base, "just text\n", ":1:1: the file takes a mapping of keys" },
	{ base, "- name: t\n", ":1:1: the file takes a mapping of keys" },
	{ "name: t", "name: &a t", ":1:7: an anchor (&); a file has no anchors, aliases or tags" },
	{ "name: t", "&a name: t", ":1:1: an anchor (&)" },
	{ "  - name: a", "  - &c\n    name: a", "an anchor (&)" },
	{ "limits: [1, 0.7]", "limits: &l [1, 0.7]", "an anchor (&)" },
	{ "name: t", "name: " DEEP "t" SHALLOW, ":1:70: nested too deeply" },
	{ "name: t", "name: " DEEP, ":1:70: nested too deeply" },
	{ "name: t", "name:\n- " LIST "t", ":2:127: nested too deeply" },
	{ "duration_s: 10\n  utility", "duration_s: *d\n  utility", "an alias (*)" },
	{ "name: t", "name: !!str t", ":1:7: a tag (!)" },
	{ "name: t", "name: !x t", ":1:7: a tag (!)" },
	{ "name: t", "name: ! t", ":1:7: a tag (!)" },
	{ "limits: [1, 0.7]", "limits: !!seq [1, 0.7]", "a tag (!)" },
	{ "name: t", "!!map\nname: t", "a tag (!)" },
	{ "name: t", "%TAG !e! tag:e:\n---\nname: t", "a %TAG directive" },
	{ "name: t", "name: t\n<<: {patience: 2}", ":2:1: unknown key '<<'" },
	{ "name: t", "name: t\nname: u", "mapping field already seen: name" },
	{ "name: t", "name: t\ndescription: \"a\\uFFFFb\"", ":2:14: description: " },
	{ "name: t", "name: \"t\\0u\"", ":1:7: a character of code 0" },
	{ "nodes: 2", "knots: 2", ":4:5: unknown key 'knots'; known here: name, nodes" },
	{ "nodes: 2", "nodes: -2", ":4:12: clusters[0].nodes: '-2' is not a whole number" },
	{ "nodes: 2", "nodes: 0x10", ":4:12: clusters[0].nodes: '0x10' is not a whole number" },
	{ "nodes: 2", "nodes: 010", ":4:12: clusters[0].nodes: '010' is not a whole number" },
	{ "nodes: 2", "nodes: 1_000", ":4:12: clusters[0].nodes: '1_000' is not a whole number" },
	{ "nodes: 2", "nodes: 2.0", ":4:12: clusters[0].nodes: '2.0' is not a whole number" },
	{ "nodes: 2", "nodes: 1e1", ":4:12: clusters[0].nodes: '1e1' is not a whole number" },
	{ "nodes: 2", "nodes: +2", ":4:12: clusters[0].nodes: '+2' is not a whole number" },
	{ "nodes: 2", "nodes: 0o10", ":4:12: clusters[0].nodes: '0o10' is not a whole number" },
	{ "nodes: 2", "nodes: 0b10", ":4:12: clusters[0].nodes: '0b10' is not a whole number" },
	{ "nodes: 2", "nodes: '2 '", ":4:12: clusters[0].nodes: '2 ' is not a whole number" },
	{ "etc_s: 0.1", "etc_s: .nan", ":10:34: estimates[0].etc_s: '.nan' is not a number" },
	{ "etc_s: 0.1", "etc_s: nan", ":10:34: estimates[0].etc_s: 'nan' is not a number" },
	{ "etc_s: 0.1", "etc_s: .inf", ":10:34: estimates[0].etc_s: '.inf' is not a number" },
	{ "etc_s: 0.1", "etc_s: 0x10", ":10:34: estimates[0].etc_s: '0x10' is not a number" },
	{ "etc_s: 0.1", "etc_s: 1e999", ":10:34: estimates[0].etc_s: '1e999' is not a number" },
	{ "etc_s: 0.1", "etc_s: 010", ":10:34: estimates[0].etc_s: '010' is not a number" },
	{ "etc_s: 0.1", "etc_s: 1_0", ":10:34: estimates[0].etc_s: '1_0' is not a number" },
	{ "etc_s: 0.1", "etc_s: 1:30", ":10:34: estimates[0].etc_s: '1:30' is not a number" },
	{ "etc_s: 0.1", "etc_s: '1,5'", ":10:34: estimates[0].etc_s: '1,5' is not a number" },
	{ "etc_s: 0.1", "etc_s: 'on'", ":10:34: estimates[0].etc_s: 'on' is not a number" },
	{ "etc_s: 0.1", "etc_s: ~", ":10:34: estimates[0].etc_s: '~' is not a number" },
	{ "nodes: 2", "nodes: 0", "clusters[0].nodes: cluster 'a' has 0 nodes" },
	{ "nodes: 2", "nodes: 18446744073709551617", ":4:12: clusters[0].nodes" },
	{ "memory_mib: 100", "memory_mib: 1GB", ":6:17: clusters[0].memory_mib: '1GB'" },
	{ "memory_mib: 100", "memory_mib: [100]", "takes one value" },
	{ "memory_mib: 200", "memory_mib: 201", "type 'x' (2 cores, 201 MiB) fits no cluster" },
	{ "cores: 2,", "cores: 4,", "fits no cluster" },
	{ "class: S", "class: Z", "types[0].class: 'Z' is not one of" },
	{ "share: 1", "share: 0.5", "the shares sum to 0.5" },
	{ "name: a", "name: a/b", "clusters[0].name: 'a/b' is not a name" },
	{ "class: S", "class: \"S\\u202e\"", "is not" },
	{ "benchmark: is", "benchmark: \"i\\u2066s\"", "has a character that is not shown" },
	{ "etc_s: 0.1", "etc_s: 0", "estimates[0].etc_s: 0 is not a positive number" },
	{ "etc_s: 0.1", "etc_s: 1min", ":10:34: estimates[0].etc_s: '1min' is not a number" },
	{ "eec_j: 3", "eec_j: -3", "estimates[0].eec_j: -3 is negative" },
	{ "cluster: a", "cluster: b", "estimates[0].cluster: no cluster 'b'" },
	{ "workload:", "unmeasured: [{type: z, cluster: a, reason: r}]\nworkload:",
	  "unmeasured[0].type: no type 'z' in types" },
	{ "workload:", "unmeasured: [{type: x, cluster: z, reason: r}]\nworkload:",
	  "unmeasured[0].cluster: no cluster 'z' in clusters" },
	{ "workload:", "unmeasured: [{type: x, cluster: a, reason: r}]\nworkload:",
	  "unmeasured[0]: 'x' on 'a' has an entry in estimates as well" },
	{ "workload:", "unmeasured: [{type: x, cluster: a}]\nworkload:", "reason" },
	{ "  duration_s: 10\n", "  duration_s: inf\n", "'inf' is not a number" },
	{ "utility_max: [1, 2]", "utility_max: []",
	  "workload.utility_max: empty; give at least 1" },
	{ "limits: [1, 0.7]", "limits: [1.2]", "experiment.limits[0]: 1.2 is outside (0, 1]" },
	{ "mapping_interval_s: 1", "mapping_interval_s: 11", "is longer than duration_s" },
	{ "name: t\n", "", "missing required mapping field: name" },
	{ "types:", "types", "not YAML" },
	{ "name: t\n", "name: t\n---\nname: u\n---\n", ":3:1: a second YAML document begins here" },
	{ "benchmark: is", "benchmark: nosuch",
	  "types[0].benchmark: 'nosuch' is not known; there are cg, ep, is, is_cg, mg" },
	{ "cores: 2,", "cores: 0,", "types[0].cores: 0 cores; give a task 1 to 4096" },
	{ "cores: 2,", "nodes: 2,", "types[0].nodes: for scripts only" },
	{ "benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	  "benchmark: script, nodes: 2, cores: 2, time_s: 1, memory_mib: 1, share: 0",
	  "types[0]: cores and nodes; give one of them" },
	{ "benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	  "benchmark: script, time_s: 1, memory_mib: 1, share: 0",
	  "types[0].cores: 0 cores; give a task 1 to 4096, or nodes" },
	{ "benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	  "benchmark: script, nodes: 3, time_s: 1, memory_mib: 1, share: 0",
	  "type 'x' (3 nodes, 1 MiB) fits no cluster" },
	{ "benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	  "benchmark: script, nodes: 1, nodes_max: 3, time_s: 1, memory_mib: 1, share: 0",
	  "type 'x.3' (3 nodes, 3 MiB) fits no cluster" },
	{ "benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	  "benchmark: script, nodes: 2, nodes_max: 1, time_s: 1, memory_mib: 1, share: 0",
	  "types[0].nodes_max: 1; give a script's type `nodes` and a higher number up to 4096" },
	{ "benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1",
	  "benchmark: script, nodes: 1, nodes_max: 4097, time_s: 1, memory_mib: 1, share: 0",
	  "types[0].nodes_max: 4097; give" },
	{ "cores: 2,", "cores: 2, nodes_max: 2,", "types[0].nodes_max: 2; give" },
	{ "cores: 2,", "cores: 4097,", "types[0].cores: 4097 cores" },
	{ "cores: 2,", "cores: 3,", "types[0].cores: is runs on a power of two of ranks, not on 3" },
	{ "etc_s: 0.1", "etc_s: 0.1, etc_sd_s: -5", "estimates[0].etc_sd_s: -5 is negative" },
	{ "eec_j: 3", "eec_j: 3, eec_sd_j: -5", "estimates[0].eec_sd_j: -5 is negative" },
	{ "etc_s: 0.1", "etc_s: 1e300", "estimates[0].etc_s: 1e+300 is more than 1e+09" },
	{ "nodes: 2", "nodes: 2\n    max_cstate: Z9", "clusters[0].max_cstate: 'Z9' is no idle state" },
	{ "nodes: 2", "nodes: 2\n    local_scheduler: \"rubbish:::\"",
	  "clusters[0].local_scheduler: address \"rubbish:::\": expected unix:/PATH" },
	{ "nodes: 2", "nodes: 2\n    hosts: [{uri: blade}]",
	  "clusters[0].hosts[0].uri: 'blade' is no libvirt URI" },
	{ "nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu+tcp://10.0.0.1/system'}]",
	  "uri: 'qemu+tcp://10.0.0.1/system' goes over the network in the clear" },
	{ "nodes: 2", "nodes: 2\n    migration_tls: true\n    simulated: {idle_w: 1}",
	  "clusters[0].migration_tls: a simulated cluster has no VMs" },
	{ "nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu:///system', peer_uri: 'qemu+tcp://h/system'}]",
	  "clusters[0].hosts[0].peer_uri: 'qemu+tcp://h/system' goes over the network in the clear" },
	{ "nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu:///system', peer_uri: 'qemu:///system'}]",
	  "clusters[0].hosts[0].peer_uri: 'qemu:///system' names no host" },
	{ "nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu:///system', bridge: 'my bridge'}]",
	  "clusters[0].hosts[0].bridge: 'my bridge' cannot be the name" },
	{ "nodes: 2", "nodes: 2\n    hosts: [{uri: 'qemu:///system', bridge: ''}]",
	  "clusters[0].hosts[0].bridge: '' cannot be the name" },
	{ "arrival_mean_s: 1.1", "arrival_mean_s: 0.00000001",
	  "workload.arrival_mean_s: 1e+09 tasks in all are more than 1000000" },
	{ "  duration_s: 10\n", "  duration_s: 1e300\n", "workload.duration_s: 1e+300 is more than" },
	{ "mapping_interval_s: 1", "mapping_interval_s: 0.0000001",
	  "experiment.mapping_interval_s: 1e+08 mapping events in all are more than 10000000" },
	{ "policies: [easy]", "policies: [easy, max-upr, easy]",
	  "experiment.policies[2]: 'easy' appears twice" },
	{ "limits: [1, 0.7]", "limits: [1, 0.7, 0.70]", "experiment.limits[2]: 0.7 appears twice" },
	{ "duration_s: 10\n  utility", "duration_s: 10\n  seed: 0\n  utility",
	  ":14:9: workload.seed: 0 makes no sense" },
	{ "mapping_interval_s: 1", "repeats: 0\n  mapping_interval_s: 1",
	  "experiment.repeats: 0 makes no sense" },
	{ "mapping_interval_s: 1", "task_deadline_s: 0.0\n  mapping_interval_s: 1",
	  "experiment.task_deadline_s: 0 makes no sense" },
	{ "mapping_interval_s: 1", "baseline_s: -1\n  mapping_interval_s: 1",
	  "experiment.baseline_s: -1 is negative" },
	{ "share: 1}", "share: 1, repetitions: 0}", "types[0].repetitions: 0 makes no sense" },
	{ "share: 1}", "share: 1, preemptible: yes}",
	  "types[0].preemptible: 'yes' is neither true nor false" },
	{ "name: t\n",
	  "name: t\noverheads: [{cluster: z, freeze_s: 0, save_s: 0, restore_s: 0, resume_s: 0}]\n",
	  "overheads[0].cluster: no cluster 'z'" },
	{ "name: t\n",
	  "name: t\noverheads: [{cluster: a, freeze_s: 0, save_s: -1, restore_s: 0, resume_s: 0}]\n",
	  "overheads[0].save_s: -1 is negative" },
	{ "share: 1}", "share: 1, may_preempt: [true]}", "types[0].may_preempt: takes one value" },
	{ "utility_max: [1, 2]", "utility_max: [1, 2]\n  zero_at: 0", "workload.zero_at: 0 makes no" },
	{ "limits: [1, 0.7]\n  mapping_interval_s: 1\n  duration_s: 10\n",
	  "limits: [1]\n  mapping_interval_s: 1\n  duration_s: 10\n"
	  "study: {x: size, sizes: [0.5, 1, 0.5]}\n",
	  "study.sizes[2]: 0.5 appears twice" },
	{ "name: t\n", "name: t\nservice: {mapping_interval_s: -1}\n",
	  "service.mapping_interval_s: -1 is outside (0, 86400]" },
	{ "name: t\n", "name: t\nservice: {tasks_max: 1000001}\n",
	  "service.tasks_max: 1000001 is not from 1 to 1000000" },
	{ "name: t\n", "name: t\nservice: {user_tasks_max: 1000001}\n",
	  "service.user_tasks_max: 1000001 is not from 1 to 1000000" },
	{ "name: t\n", "name: t\nservice: {user_requests_per_s: 0.5}\n",
	  "service.user_requests_per_s: 0.5 is outside [1, 1e+06]" },
	{ "name: t\n", "name: t\nservice: {retention_days: -2}\n",
	  "service.retention_days: -2 is outside" },
	{ "name: t\n", "name: t\nservice: {energy_limit_j: -2}\n",
	  "service.energy_limit_j: -2 is not a number of joules above 0" },
	{ "name: t\n", "name: t\nservice: {energy_limit_j: 5, energy_window_s: 9}\n",
	  "service.energy_window_s: 9 is not from 10 to 31622400" },
	{ "name: t\n", "name: t\nservice: {meter_refresh_s: 601}\n",
	  "service.meter_refresh_s: 601 is not from 0 to 600" },
	{ "name: t\n", "name: t\nservice: {group: 'a b'}\n",
	  "service.group: 'a b' cannot be the name of a group" },
	{ "name: t\n", "name: t\nservice: {listen: 'http://127.1:80'}\n",
	  "service.listen: cannot listen on \"http://127.1:80\": expected unix:/PATH" },
	{ "name: t\n", "name: t\nservice: {listen: 'ftp://x'}\n", "service.listen: cannot listen on" },
	{ "name: t\n", "name: t\nservice: {listen: ''}\n", "service.listen: cannot listen on" },
	{ "name: t\n", "name: t\nservice: {listen: 'http://127.0.0.1:65536'}\n", "service.listen: cannot listen on" },
	{ "name: t\n", "name: t\nservice: {listen: 'https://0.0.0.0:1/x', certificate: c, key: k}\n",
	  "service.listen: cannot listen on" },
	{ "name: t\n", "name: t\npatience: 0.5\n", "patience: 0.5 is outside 1 to 1000" },
	{ "name: t\n", "name: t\npatience: 0\n", "patience: 0 makes no sense" },
	{ "name: t\n", "name: a.b\nlab: {blades: [{name: b1, cpu_cores: 1, idle_w: 1, core_w: 1}]}\n",
	  "name: 'a.b' cannot name a lab" },
};

static void test_bad_input_is_named(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
		const struct bad_case *bad = &bad_cases[i];
		g_autofree char *path = write_variant(bad->from, bad->to);
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
	g_autofree char *path = write_variant(
		"  - {name: x", "  - {name: any, benchmark: script, nodes: 1, nodes_max: 2, time_s: 60, "
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

/* Meters: what stands in a host's `meter`, and what the error says; NULL: it is good. */
static const struct {
	const char *uri;
	const char *meter;
	const char *message;
} meter_cases[] = {
	{ "qemu:///system", "kind: none", NULL },
	{ "qemu+ssh://b/system", "kind: ipmi, address: b, password_file: p", NULL },
	{ "qemu+ssh://b/system", "kind: redfish, address: b, password_file: p", NULL },
	{ "qemu+ssh://b/system",
	  "kind: redfish, address: b, password_file: p, auth: session, ca_file: c, chassis: x, "
	  "port: 8443",
	  NULL },
	{ "qemu+ssh://b/system",
	  "kind: redfish, address: b, password_file: p, tls: insecure", NULL },
	{ "qemu+ssh://b/system", "kind: amm, address: b, password_file: p, bay: 14", NULL },
	{ "qemu+ssh://b/system", "kind: amm, address: b, password_file: p, bay: 1, snmp: v1",
	  NULL },
	{ "qemu:///system", "kind: rapl, sys_root: /tmp", NULL },
	{ "qemu:///system", "kind: acpi", NULL },
	{ "qemu:///system", "kind: model, idle_w: 60, core_w: 12.5", NULL },
	{ "qemu:///system", "kind: model, idle_w: 0, core_w: 12.5", NULL },
	{ "qemu:///system", "kind: watts", ".yaml:" },
	{ "qemu:///system", "kind: ipmi, password_file: p", "meter.address: missing" },
	{ "qemu:///system", "kind: redfish, address: b", "meter.password_file: missing" },
	{ "qemu:///system", "kind: redfish, address: b, password_file: p, auth: digest", ".yaml:" },
	{ "qemu:///system", "kind: redfish, address: b, password_file: p, cipher_suite: 3",
	  "meter.cipher_suite: a meter of kind redfish has no such key" },
	{ "qemu:///system", "kind: ipmi, address: b, password_file: p, ca_file: c",
	  "meter.ca_file: a meter of kind ipmi has no such key" },
	{ "qemu:///system", "kind: ipmi, address: b, password_file: p, bay: 3",
	  "meter.bay: a meter of kind ipmi" },
	{ "qemu:///system",
	  "kind: redfish, address: b, password_file: p, ca_file: c, tls: insecure",
	  "meter.ca_file: of no use with `tls: insecure`" },
	{ "qemu:///system", "kind: amm, address: b, password_file: p", "meter.bay: missing" },
	{ "qemu:///system", "kind: amm, address: b, password_file: p, bay: 15",
	  "meter.bay: 15 is outside 1 to 14" },
	{ "qemu:///system", "kind: amm, address: b, password_file: p, bay: 1, snmp: v1, user: u",
	  "meter.user: only SNMP v3 has users" },
	{ "qemu:///system", "kind: rapl, address: b", "meter.address: a meter of kind rapl" },
	{ "qemu:///system", "kind: rapl, interval_s: 0.01", "meter.interval_s: 0.01 s is outside" },
	{ "qemu:///system", "kind: acpi, interval_s: -1", "meter.interval_s: -1 s is outside" },
	{ "qemu:///system", "kind: model", "meter.idle_w: missing" },
	{ "qemu:///system", "kind: model, idle_w: -1, core_w: 2", "are not negative" },
	{ "qemu:///system", "kind: model, idle_w: many, core_w: 2", "'many' is not a number" },
	{ "qemu+ssh://b/system", "kind: rapl", "meter.kind: rapl is read from the machine" },
	{ "qemu+ssh://b/system", "kind: acpi", "meter.kind: acpi is read from the machine" },
	{ "qemu+tls://10.0.0.1/system", "kind: model, idle_w: 1", "meter.kind: model is read" },
	{ "qemu+unix:///system?socket=/x", "kind: rapl", "meter.kind: rapl is read" },
	{ "qemu:///system", "kind: ipmi, address: b, password_file: p, cipher_suite: 200000",
	  "meter.cipher_suite: 200000 is outside 1 to 19" },
	{ "qemu:///system", "kind: ipmi, address: b, password_file: p, cipher_suite: 0",
	  "meter.cipher_suite: 0 makes no sense" },
	{ "qemu:///system", "kind: ipmi, address: b, password_file: p, port: 0",
	  "meter.port: 0 makes no sense" },
	{ "qemu:///system", "kind: ipmi, address: b, password_file: p, privilege: FOO",
	  "meter.privilege: 'FOO' is none of USER" },
	{ "qemu:///system", "kind: ipmi, address: b, password_file: p, interval_s: 0",
	  "meter.interval_s: 0 makes no sense" },
	{ "qemu:///system", "kind: rapl, watts: 3", "unknown key 'watts'" },
	{ "qemu:///system", "kind: ipmo", "meter.kind: 'ipmo' is not one of none, ipmi, redfish, amm, rapl, acpi, model, simulated" },
	{ "qemu:///system", "kind: redfish, address: b, password_file: p, auth: none",
	  "meter.auth: 'none' is not one of basic, session" },
};

static void test_each_meter_takes_its_own_keys(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(meter_cases); i++) {
		g_autofree char *hosts =
			g_strdup_printf("memory_mib: 100\n    hosts: [{uri: '%s', meter: {%s}}]",
					meter_cases[i].uri, meter_cases[i].meter);
		g_autofree char *path = write_variant("memory_mib: 100", hosts);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_test_message("%s", meter_cases[i].meter);
		if (!meter_cases[i].message)
			g_assert_no_error(error);
		else if (!error || !strstr(error->message, meter_cases[i].message))
			g_error("'%s' gave: %s", meter_cases[i].meter,
				error ? error->message : "no error");
		/* What is good reads back equal. */
		if (config) {
			g_autoptr(config_t) again = NULL;

			g_assert_true(config_save(config, path, &error));
			again = config_controller_load(path, &error);
			g_assert_no_error(error);
			g_assert_cmpint(again->clusters[0].hosts[0].meter->kind, ==,
					config->clusters[0].hosts[0].meter->kind);
		}
		g_unlink(path);
	}
}

static void test_meters_have_the_defaults_of_their_kind(void)
{
	static const struct {
		const char *meter;
		uint16_t port;
		const char *user;
		const char *sys_root;
	} cases[] = {
		{ "kind: ipmi, address: b, password_file: p", 623, "ADMIN", NULL },
		{ "kind: redfish, address: b, password_file: p", 443, "ADMIN", NULL },
		{ "kind: amm, address: b, password_file: p, bay: 1", 161, "ADMIN", NULL },
		{ "kind: amm, address: b, password_file: p, bay: 1, snmp: v2c", 161, NULL, NULL },
		{ "kind: rapl", 0, NULL, "/sys" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *hosts = g_strdup_printf(
			"memory_mib: 100\n    hosts: [{uri: 'qemu:///system', meter: {%s}}]",
			cases[i].meter);
		g_autofree char *path = write_variant("memory_mib: 100", hosts);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);
		const struct config_meter *meter;

		g_assert_no_error(error);
		meter = config->clusters[0].hosts[0].meter;
		g_assert_cmpuint(meter->port, ==, cases[i].port);
		g_assert_cmpstr(meter->user, ==, cases[i].user);
		g_assert_cmpstr(meter->sys_root, ==, cases[i].sys_root);
		g_assert_cmpfloat(meter->interval_s, ==, 1);
		g_unlink(path);
	}
}

/* A configuration of one blade with `cluster` and `host` (their keys). The caller frees the path. */
static char *write_lab(const char *cluster, const char *host, const char *blade)
{
	g_autofree char *text = g_strdup_printf("name: t\n"
						"lab: {%s}\n"
						"clusters: [{%s, hosts: [{%s}]}]\n",
						blade, cluster, host);

	return write_variant("name: t\nclusters:\n  - name: a\n    nodes: 2\n    cores: 1\n"
			     "    memory_mib: 100\n",
			     text);
}

static void test_blades_without_a_cap_count_with_their_budget(void)
{
	static const struct {
		const char *cluster, *blade, *message; /* NULL: good */
	} cases[] = {
		{ "nodes: 65536, cores: 1024", "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}]",
		  NULL },
		{ "nodes: 65536, cores: 1024", "blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]",
		  NULL },
		{ "nodes: 2, cores: 1", "overcommit: maybe, blades: [{name: b1, cpu_cores: 1, idle_w: 1, "
					"core_w: 1}]",
		  "maybe" },
		{ "nodes: 2, cores: 1, max_mhz: 500, base_mhz: 1000",
		  "blades: [{name: b1, cpu_cores: 0.9, idle_w: 1, core_w: 1}]",
		  "the quotas of its VMs sum to 1.00 cores, more than cpu_cores, 0.90" },
		{ "nodes: 2, cores: 1, max_mhz: 500, base_mhz: 1000",
		  "steady: yes, blades: [{name: b1, cpu_cores: 1.2, idle_w: 1, core_w: 1}]",
		  "1.00 cores, grow to 1.25 times as much while the machine is slow, more than cpu_cores, 1.20" },
		{ "nodes: 2, cores: 1", "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}, "
					"{name: B2, cpu_cores: 1, idle_w: 1, core_w: 1}]",
		  "lab.blades[1].name: 'B2' is not a host name" },
		{ "nodes: 2, cores: 1", "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}, "
					"{name: b1, cpu_cores: 1, idle_w: 1, core_w: 1}]",
		  "lab.blades[1].name: 'b1' appears twice" },
		{ "nodes: 2, cores: 1", "blades: [{name: b1, cpu_cores: 0, idle_w: 1, core_w: 1}]",
		  "lab.blades[0].cpu_cores: 0 is outside" },
		{ "nodes: 2, cores: 1", "blades: [{name: b1, cpu_cores: 1, idle_w: -1, core_w: 1}]",
		  "lab.blades[0].idle_w: -1 is outside" },
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
		{ "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}]", true },
		{ "blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]", false },
		{ "overcommit: yes, blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]", true },
		{ "fit: yes, blades: [{name: b1, cpu_cores: 4096, idle_w: 1, core_w: 1}]", true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = write_lab("name: a, memory_mib: 200, nodes: 4, cores: 1024", "blade: b1",
						  cases[i].lab);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_no_error(error);
		g_assert_true(config_check_room(config, path, &error) == cases[i].good);
		g_assert_true(cases[i].good || (strstr(error->message, "lab.blades: all VMs") &&
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
		{ "200, nodes: 2", "blade: b1", true },
		{ "67108864, nodes: 2", "blade: b1", false },
		{ "200, nodes: 65536", "blade: b1", false },
		{ "2000000, nodes: 2, preemption: {spares: 200, memory_mib: 1}", "blade: b1", false },
		{ "67108864, nodes: 2", "uri: 'qemu:///system'", false },
		{ "67108864, nodes: 2", "uri: 'qemu+ssh://other/system'", true },
		{ "67108864, nodes: 2, local_scheduler: 'unix:/run/ls'", "uri: 'qemu:///system'", true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *cluster = g_strdup_printf("name: a, cores: 1, memory_mib: %s", cases[i].memory);
		g_autofree char *path = write_lab(cluster, cases[i].host,
						  "overcommit: yes, blades: [{name: b1, cpu_cores: 1, idle_w: 1, core_w: 1}]");
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_no_error(error);
		if (config_check_room(config, path, &error) != cases[i].good)
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
		{ "nodes: 2", "nodes: 239", NULL },
		{ "nodes: 2", "nodes: 240", "clusters[0].nodes: a local scheduler serves 1 to 239 nodes" },
		{ "cores: 1\n    memory_mib: 100", "cores: 30\n    memory_mib: 200", NULL },
		{ "cores: 1\n    memory_mib: 100", "cores: 31\n    memory_mib: 200",
		  "clusters[0].cores: nodes that a local scheduler serves have 1 to 30 cores" },
		{ "nodes: 2", "nodes: 2\n    simulated: {idle_w: 1}\n    hosts: [{name: a}, {name: b}, {name: c}]",
		  "clusters[0].hosts: 3 hosts for 2 nodes" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = write_variant(cases[i].from, cases[i].to);
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
	g_autofree char *path = write_variant("nodes: 2", "nodes: 2\n    migration_tls: true");
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
	g_autofree char *path = write_lab("name: a, memory_mib: 200, nodes: 2, cores: 1",
					  "blade: b1, uri: 'qemu:///system', "
					  "peer_uri: 'qemu+tcp://10.77.0.1/system'",
					  "blades: [{name: b1, cpu_cores: 0.1, idle_w: 1, core_w: 1}]");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(config->clusters[0].hosts[0].peer_uri, ==, "qemu+tcp://10.77.0.1/system");
	g_unlink(path);
}

static void test_idle_states_are_those_of_the_kernel(void)
{
	static const char *const names[] = { "POLL", "C0", "C1E", "C7s", "C10", "C6-SKX", "C1_ACPI" };

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *key = g_strdup_printf("nodes: 2\n    max_cstate: %s", names[i]);
		g_autofree char *path = write_variant("nodes: 2", key);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_no_error(error);
		g_assert_cmpstr(config->clusters[0].max_cstate, ==, names[i]);
		g_unlink(path);
	}
}

static void test_hole_in_the_matrix_is_named(void)
{
	g_autofree char *path = write_variant("  - name: a\n", "  - {name: b, nodes: 2, cores: 2, "
							       "memory_mib: 500}\n  - name: a\n");
	g_autoptr(GError) error = NULL;

	g_assert_null(config_controller_load(path, &error));
	g_assert_nonnull(strstr(error->message, "no entry for type 'x' on cluster 'b'"));
	g_unlink(path);
}

static void test_defaults_are_filled_in(void)
{
	g_autofree char *path = write_variant("name: t", "name: t");
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
	g_autofree char *path = write_variant("share: 1}", "share: 1, preemptible: true}");
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

/* What was measured of suspensions travels with the estimates. */
static void test_overheads_are_read_with_estimates(void)
{
	g_autofree char *path = write_variant(
		"name: t\n",
		"name: t\noverheads: [{cluster: a, freeze_s: 0, save_s: 1, restore_s: 2, resume_s: 3}]\n");
	g_autofree char *file = g_strdup_printf("%s/virtbed-o-%d.yaml", g_get_tmp_dir(), getpid());
	const struct config_overhead measured[] = {
		{ (char *)"a", 0.5, 0, 0.25, 0.125 },
		{ (char *)"a", 0.75, 0, 0.25, 0.125 },
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(config->overheads_count, ==, 1);
	g_assert_cmpfloat(config->overheads[0].resume_s, ==, 3);
	/* Without any in the file those of the configuration stay. */
	g_assert_true(config_save_estimates(config->estimates, config->estimates_count, file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_cmpuint(config->overheads_count, ==, 1);
	g_assert_true(config_save_measured(
		&(struct config_measured){
			.estimates = config->estimates,
			.estimates_count = config->estimates_count,
			.overheads = (struct config_overhead *)measured,
			.overheads_count = 2,
		},
		file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(config->overheads_count, ==, 2);
	g_assert_cmpfloat(config->overheads[1].freeze_s, ==, 0.75);
	g_assert_cmpfloat(config->overheads[1].save_s, ==, 0);
	g_unlink(file);
	g_unlink(path);
}

static const char two_clusters[] = "  - {name: b, nodes: 2, cores: 1, memory_mib: 100}\ntypes:\n";

/* Holes are listed, travel with the estimates and in whole configurations, and are named. */
static void test_holes_are_read_with_estimates(void)
{
	g_autofree char *path = write_variant("types:\n", two_clusters);
	g_autofree char *file = g_strdup_printf("%s/virtbed-u-%d.yaml", g_get_tmp_dir(), getpid());
	struct config_unmeasured hole = {(char *)"x", (char *)"b", (char *)"it \"hangs\": \\o/"};
	struct config_estimate estimate = {(char *)"x", (char *)"a", 0.1, 0, 3, 0, 2};
	g_autoptr(GError) error = NULL;
	g_autofree char *holes = NULL;
	g_autofree char *lacks = NULL;
	config_t *config = config_controller_load(path, &error);

	g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING);
	g_assert_nonnull(strstr(error->message, "no entry for type 'x' on cluster 'b'"));
	g_clear_error(&error);
	g_unlink(path);
	g_free(path);
	path = write_variant("types:\n", "  - {name: b, nodes: 2, cores: 1, memory_mib: 100}\n"
					  "unmeasured: [{type: x, cluster: b, reason: slow}]\ntypes:\n");
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_assert_true(config_is_hole(config, &config->types[0], &config->clusters[1]));
	g_assert_false(config_is_hole(config, &config->types[0], &config->clusters[0]));
	g_assert_true(config_save_measured(&(struct config_measured){.estimates = &estimate,
								     .estimates_count = 1,
								     .unmeasured = &hole,
								     .unmeasured_count = 1},
					   file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_no_error(error);
	g_assert_true(config_save(config, file, &error));
	config_free(config);
	config = config_controller_load(file, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(config->unmeasured_count, ==, 1);
	g_assert_cmpstr(config->unmeasured[0].reason, ==, hole.reason);
	holes = config_holes(config, true);
	g_assert_cmpstr(holes, ==, "'x' on 'b': it \"hangs\": \\o/");
	g_assert_null(config_lacks(config));
	/* What is measured now is no hole any more. */
	g_assert_true(config_save_estimates(
		(struct config_estimate[]){estimate, {(char *)"x", (char *)"b", 1, 0, 1, 0, 1}}, 2, file,
		&error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_cmpuint(config->unmeasured_count, ==, 0);
	g_assert_null(config_holes(config, true));
	/* On no cluster at all: an experiment needs one. */
	g_assert_true(config_save_measured(
		&(struct config_measured){
			.unmeasured = (struct config_unmeasured[]){hole, {(char *)"x", (char *)"a",
									  (char *)"it failed"}},
			.unmeasured_count = 2},
		file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	lacks = config_lacks(config);
	g_assert_cmpstr(lacks, ==,
			"type 'x' (share 1) has no estimate on any cluster (on 'a': it failed; on 'b': it "
			"\"hangs\": \\o/)");
	config_free(config);
	g_unlink(file);
	g_unlink(path);
}

/* A type of share 0 needs no estimate, and no entry that says so. */
static void test_a_share_of_0_needs_nothing(void)
{
	g_autofree char *path = write_variant(
		"estimates:\n",
		"  - {name: y, benchmark: cg, class: S, cores: 1, memory_mib: 10, share: 0}\nestimates:\n");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autofree char *holes = config ? config_holes(config, false) : NULL;

	g_assert_no_error(error);
	g_assert_cmpstr(holes, ==, "'y' on 'a'");
	g_assert_null(config_lacks(config));
	g_unlink(path);
}

/* Loads `path`, saves it, loads that, and removes both. */
static struct config *load_and_load_again(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) first = config_controller_load(path, &error);
	struct config *second;

	g_assert_no_error(error);
	g_assert_true(config_save(first, path, &error));
	second = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return second;
}

static void test_zeros_that_are_written_stay(void)
{
	g_autofree char *path = write_variant("  mapping_interval_s: 1",
					      "  baseline_s: 0\n  mapping_interval_s: 1");
	g_autofree char *plain = write_variant("name: t", "name: t");
	g_autofree char *environment = g_build_filename(source_root, "configs/papers/energy-5000.yaml",
							NULL);
	g_autofree char *flat = g_strdup_printf("%s/virtbed-z-%d.yaml", g_get_tmp_dir(), getpid());
	g_autofree char *text = NULL;
	g_autoptr(GRegex) keys = g_regex_new("(lead_s|sine_amplitude): [0-9.]+ *", 0, 0, NULL);
	g_autoptr(GRegex) head = g_regex_new("environment:\n", 0, 0, NULL);
	g_autofree char *without = NULL;
	g_autofree char *with = NULL;
	g_autoptr(config_t) zero = load_and_load_again(path);
	g_autoptr(config_t) ten = load_and_load_again(plain);
	g_autoptr(config_t) calm = NULL;

	g_assert_cmpfloat(zero->experiment->baseline_s, ==, 0);
	g_assert_cmpfloat(ten->experiment->baseline_s, ==, 10);
	g_assert_true(g_file_get_contents(environment, &text, NULL, NULL));
	without = g_regex_replace_literal(keys, text, -1, 0, "", 0, NULL);
	with = g_regex_replace_literal(head, without, -1, 0,
				       "environment:\n  lead_s: 0\n  sine_amplitude: 0.0\n", 0, NULL);
	g_assert_true(g_file_set_contents(flat, with, -1, NULL));
	calm = load_and_load_again(flat);
	g_assert_cmpfloat(config_environment(calm)->lead_s, ==, 0);
	g_assert_cmpfloat(config_environment(calm)->sine_amplitude, ==, 0);
}

static void test_saved_configuration_reads_back_equal(void)
{
	static const char *const files[] = { "configs/testbed-hs22.yaml",
					     "configs/one-machine.yaml" };

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(source_root, files[i], NULL);
		g_autofree char *copy = g_strdup_printf("%s/virtbed-%d.yaml", g_get_tmp_dir(),
							getpid());
		g_autofree char *first = NULL;
		g_autofree char *second = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);
		g_autoptr(config_t) again = NULL;

		g_assert_no_error(error);
		g_assert_true(config_save(config, copy, &error));
		g_assert_true(g_file_get_contents(copy, &first, NULL, NULL));
		again = config_controller_load(copy, &error);
		g_assert_no_error(error);
		g_assert_true(config_save(again, copy, &error));
		g_assert_true(g_file_get_contents(copy, &second, NULL, NULL));
		g_assert_cmpstr(first, ==, second);
		g_unlink(copy);
	}
}

static void test_estimates_survive_bit_for_bit(void)
{
	g_autofree char *path = write_variant("name: t", "name: t");
	g_autofree char *file = g_strdup_printf("%s/virtbed-e-%d.yaml", g_get_tmp_dir(), getpid());
	g_autoptr(config_t) config = config_controller_load(path, NULL);
	struct config_estimate measured = { "x", "a", 1.0 / 3.0, 0.1, 2.0 / 7.0, 1e-9, 3 };
	g_autoptr(GError) error = NULL;

	g_assert_true(config_save_estimates(&measured, 1, file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_cmpfloat(config->estimates[0].etc_s, ==, measured.etc_s);
	g_assert_cmpfloat(config->estimates[0].eec_j, ==, measured.eec_j);
	g_assert_cmpfloat(config->estimates[0].eec_sd_j, ==, measured.eec_sd_j);
	g_assert_cmpuint(config->estimates[0].count, ==, 3);
	measured.cluster = "nowhere";
	g_assert_true(config_save_estimates(&measured, 1, file, NULL));
	g_assert_false(config_load_estimates(config, file, &error));
	g_assert_nonnull(strstr(error->message, "no cluster 'nowhere'"));
	g_assert_cmpstr(config->estimates[0].cluster, ==, "a");
	g_unlink(file);
	g_unlink(path);
}

static void test_password_files_are_looked_for(void)
{
	g_autofree char *path = write_variant(
		"    memory_mib: 100\n",
		"    memory_mib: 100\n"
		"    hosts:\n"
		"      - {name: h0, uri: 'test:///default'}\n"
		"      - name: h1\n"
		"        uri: test:///default\n"
		"        meter: {kind: ipmi, address: b, password_file: /nonexistent/p}\n");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_false(config_files_check(config, "x.yaml", 0, &error));
	g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_READ);
	g_assert_cmpstr(error->message, ==,
			"x.yaml: clusters[0].hosts[1].meter.password_file: '/nonexistent/p' cannot "
			"be read: No such file or directory; write the password into it, mode 0600");
	g_clear_error(&error);
	g_free(config->clusters[0].hosts[1].meter->password_file);
	config->clusters[0].hosts[1].meter->password_file = g_strdup(path);
	g_assert_true(config_files_check(config, "x.yaml", 0, &error));
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
	g_test_add_func("/config/a-range-of-nodes-is-a-type-each", test_a_range_of_nodes_is_a_type_each);
	g_test_add_func("/config/each-meter-takes-its-own-keys",
			test_each_meter_takes_its_own_keys);
	g_test_add_func("/config/meters-have-the-defaults-of-their-kind",
			test_meters_have_the_defaults_of_their_kind);
	g_test_add_func("/config/blades-without-a-cap-count-with-their-budget",
			test_blades_without_a_cap_count_with_their_budget);
	g_test_add_func("/config/a lab that is too large for this machine has no room",
			test_a_lab_that_is_too_large_for_this_machine_has_no_room);
	g_test_add_func("/config/VMs that need more memory than this machine has find no room",
			test_vms_that_need_more_memory_than_this_machine_has_find_no_room);
	g_test_add_func("/config/a cluster that no local scheduler serves is told",
			test_a_cluster_that_no_local_scheduler_serves_is_told);
	g_test_add_func("/config/a steady lab needs a metronome", test_a_steady_lab_needs_a_metronome);
	g_test_add_func("/config/migration-tls", test_migration_by_tls_is_saved);
	g_test_add_func("/config/blades-reach-each-other-in-the-clear",
			test_blades_reach_each_other_in_the_clear);
	g_test_add_func("/config/idle-states-are-those-of-the-kernel",
			test_idle_states_are_those_of_the_kernel);
	g_test_add_func("/config/hole-in-the-matrix-is-named", test_hole_in_the_matrix_is_named);
	g_test_add_func("/config/defaults-are-filled-in", test_defaults_are_filled_in);
	g_test_add_func("/config/zeros-that-are-written-stay", test_zeros_that_are_written_stay);
	g_test_add_func("/config/overheads-are-read-with-estimates",
			test_overheads_are_read_with_estimates);
	g_test_add_func("/config/holes are read with estimates, and named",
			test_holes_are_read_with_estimates);
	g_test_add_func("/config/a type of share 0 needs no estimate",
			test_a_share_of_0_needs_nothing);
	g_test_add_func("/config/flags-are-off-unless-given", test_flags_are_off_unless_given);
	g_test_add_func("/config/saved-configuration-reads-back-equal",
			test_saved_configuration_reads_back_equal);
	g_test_add_func("/config/estimates-survive-bit-for-bit",
			test_estimates_survive_bit_for_bit);
	g_test_add_func("/config/password-files-are-looked-for",
			test_password_files_are_looked_for);
	g_test_add_func("/config/table-5-holes-follow-from-memory",
			test_table_5_holes_follow_from_memory);
	g_test_add_func("/config/a type of nodes takes them whatever their cores",
			test_a_type_of_nodes_takes_them_whatever_their_cores);
	return g_test_run();
}
