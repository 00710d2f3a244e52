/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a local scheduler's answers say as rows of `config check --live`. */
#include <glib.h>
#include <string.h>

#include "common/json.h"
#include "controller/supervise/run_check_rows.h"

static struct config_meter meter = {.kind = CONFIG_METER_IPMI,
				    .address = (char *)"bmc1",
				    .port = 623,
				    .user = (char *)"virtbed",
				    .password_file = (char *)"/p",
				    .cipher_suite = 17,
				    .privilege = (char *)"USER",
				    .interval_s = 1};
static struct config_host hosts[] = {
	{.name = (char *)"b1", .uri = (char *)"qemu+ssh://b1/system", .meter = &meter},
	{.name = (char *)"b2", .uri = (char *)"qemu+ssh://b2/system"},
};
static const struct config_cluster cluster = {.name = (char *)"c1",
					      .nodes = 2,
					      .cores = 2,
					      .max_mhz = 1000,
					      .base_mhz = 2000,
					      .hosts = hosts,
					      .hosts_count = 2};

/* Everything as it should be, but for host b2, which has no meter. */
static const char *const good[] = {
	"{\"virt_type\": \"kvm\", \"virt_reason\": \"asked for\", \"cpu_cap\": \"cpufreq\","
	" \"cpu_cap_fraction\": 0.5, \"meter\": \"dcmi\", \"modelled_watts\": false, \"hosts\":"
	" {\"b1\": {\"cpu\": \"x86_64\", \"cpus\": 8, \"memory_mib\": 4096, \"libvirt\": \"9.0.0\","
	" \"qemu\": \"7.2.13\"}, \"b2\": {\"cpu\": \"x86_64\", \"cpus\": 8, \"memory_mib\": 4096}}}",
	"{\"nodes\": [{\"index\": 0, \"host\": \"b1\", \"state\": \"ready\"},"
	" {\"index\": 1, \"host\": \"b2\", \"state\": \"busy\"}]}",
	"{\"hosts\": [{\"host\": \"b1\", \"watts\": 61.5, \"lost\": false}]}",
	"{\"events\": []}",
	"{\"outcome\": \"completed\"}",
};

/* The second host cannot be reached, the meter refuses, the task fails. */
static const char *const bad[] = {
	"{\"virt_type\": \"qemu\", \"virt_reason\": \"no vmx\", \"cpu_cap\": \"none\","
	" \"cpu_cap_fraction\": 1, \"hosts\": {\"b1\": {\"cpu\": \"x\", \"cpus\": 1,"
	" \"memory_mib\": 1}}}",
	"{\"nodes\": [{\"host\": \"b1\", \"state\": \"ready\", \"caps\": ["
	"{\"knob\": \"boost\", \"effective\": \"yes\"}, {\"knob\": \"idle\", \"requested\": \"C1\","
	" \"effective\": \"no\", \"reason\": \"entered all the same\"}]},"
	" {\"host\": \"b2\", \"state\":"
	" \"down\", \"reason\": \"connection refused\"}]}",
	"{\"hosts\": [{\"host\": \"b1\", \"watts\": null, \"lost\": true}]}",
	"{\"events\": [{\"kind\": \"meter-lost\", \"host\": \"b1\", \"detail\": {\"reason\":"
	" \"wrong password\"}}]}",
	"{\"outcome\": \"failed\", \"reason\": \"rank 1 died\"}",
};

/* What was parsed; frees itself. */
struct parsed {
	json_t *documents[5];
};

static struct run_check_answers parse(const char *const *texts, struct parsed *parsed)
{
	for (int i = 0; i < 5; i++) {
		parsed->documents[i] = json_parse(texts[i], strlen(texts[i]), "test", NULL);
		g_assert_nonnull(parsed->documents[i]);
	}
	return (struct run_check_answers){.cluster = &cluster,
					  .capabilities = parsed->documents[0],
					  .nodes = parsed->documents[1],
					  .energy = parsed->documents[2],
					  .events = parsed->documents[3],
					  .task = parsed->documents[4],
					  .ranks = 4};
}

static void forget(struct parsed *parsed)
{
	for (int i = 0; i < 5; i++)
		json_decref(parsed->documents[i]);
}

static const struct run_check_row *find(const GPtrArray *rows, const char *host, const char *what)
{
	for (guint i = 0; i < rows->len; i++) {
		const struct run_check_row *row = rows->pdata[i];

		if (g_str_equal(row->host, host) && g_str_equal(row->what, what))
			return row;
	}
	return NULL;
}

static void assert_row(const GPtrArray *rows, const char *host, const char *what,
		       enum run_check_result result, const char *text)
{
	const struct run_check_row *row = find(rows, host, what);

	g_assert_nonnull(row);
	g_assert_cmpint(row->result, ==, result);
	g_assert_true(strstr(row->text, text));
	g_assert_true(result == RUN_CHECK_WORKS || row->cure);
}

static void test_good(void)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(good, &parsed);

	run_check_add_cluster(rows, &answers);
	g_assert_true(run_check_good(rows));
	g_assert_true(run_check_nodes_ready(&answers) && run_check_meters_read(&answers));
	assert_row(rows, "b1", "host", RUN_CHECK_WORKS, "libvirt 9.0.0, QEMU 7.2.13");
	assert_row(rows, "b2", "host", RUN_CHECK_WORKS, "8 CPUs");
	assert_row(rows, "", "KVM", RUN_CHECK_WORKS, "asked for");
	assert_row(rows, "", "nodes", RUN_CHECK_WORKS, "2 of 2");
	assert_row(rows, "", "cap", RUN_CHECK_WORKS, "cpufreq, 0.5");
	assert_row(rows, "b1", "meter", RUN_CHECK_WORKS, "61.5 W by dcmi");
	assert_row(rows, "b2", "meter", RUN_CHECK_NOTE, "none");
	assert_row(rows, "", "channels", RUN_CHECK_WORKS, "4 ranks");
	forget(&parsed);
}

/* Each host has one line with its machine, its watts and its caps, which names no address. */
static void test_report(void)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(good, &parsed);
	json_t *energy = json_array_get(json_object_get(answers.energy, "hosts"), 0);
	json_t *node = json_array_get(json_object_get(answers.nodes, "nodes"), 0);

	json_object_set_new(energy, "source", json_string("sensor"));
	json_object_set_new(energy, "mean_s", json_real(60));
	json_object_set_new(node, "caps",
			    json_pack("[{s:s, s:s, s:s, s:s, s:n}, {s:s, s:s, s:n, s:s, s:s}]",
				      "knob", "frequency", "requested", "1596 MHz", "set",
				      "1596 MHz", "effective", "yes", "reason", "knob", "boost",
				      "requested", "off", "set", "effective", "no", "reason",
				      "EPERM"));
	run_check_add_cluster(rows, &answers);
	g_assert_cmpstr(find(rows, "b1", RUN_CHECK_REPORT)->text, ==,
			"x86_64, 8 CPUs, libvirt 9.0.0, QEMU 7.2.13, kvm; meter ipmi 61.5 W by "
			"sensor, means over 60 s; frequency 1596 MHz, effective yes; boost off, "
			"set nothing, effective no (EPERM)");
	g_assert_cmpstr(find(rows, "b2", RUN_CHECK_REPORT)->text, ==,
			"x86_64, 8 CPUs, kvm; no meter");
	assert_row(rows, "b1", "meter", RUN_CHECK_NOTE, "61.5 W by sensor");
	forget(&parsed);
}

/* A meter that averages over a time that it does not tell says so. */
static void test_mean_of_unknown_time(void)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(good, &parsed);
	json_t *energy = json_array_get(json_object_get(answers.energy, "hosts"), 0);

	json_object_set_new(energy, "mean_unknown", json_true());
	run_check_add_cluster(rows, &answers);
	assert_row(rows, "b1", "meter", RUN_CHECK_NOTE, "61.5 W by dcmi");
	g_assert_nonnull(strstr(find(rows, "b1", "meter")->cure, "a time that is not known"));
	g_assert_nonnull(strstr(find(rows, "b1", RUN_CHECK_REPORT)->text,
				"means over a time that is not known"));
	forget(&parsed);
}

/* The watts of a simulated cluster are no model's of CPU time. */
static void test_simulated_watts(void)
{
	const struct config_meter before = meter;
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(good, &parsed);

	meter = (struct config_meter){.kind = CONFIG_METER_SIMULATED};
	json_object_set_new(answers.capabilities, "modelled_watts", json_true());
	run_check_add_cluster(rows, &answers);
	assert_row(rows, "b1", "meter", RUN_CHECK_NOTE, "61.5 W");
	g_assert_nonnull(strstr(find(rows, "b1", "meter")->cure, "simulated"));
	meter = before;
	forget(&parsed);
}

/* A management module tells what it allots to a bay. */
static void test_allotted_watts(void)
{
	const struct config_meter before = meter;
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(good, &parsed);

	meter = (struct config_meter){.kind = CONFIG_METER_AMM};
	run_check_add_cluster(rows, &answers);
	assert_row(rows, "b1", "meter", RUN_CHECK_NOTE, "61.5 W");
	g_assert_nonnull(strstr(find(rows, "b1", "meter")->cure, "allots"));
	g_assert_nonnull(strstr(find(rows, "b1", RUN_CHECK_REPORT)->text, "allots"));
	meter = before;
	forget(&parsed);
}

/* What makes emulated VMs steady does no good to others. */
static void test_steady_on_kvm(void)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(good, &parsed);

	answers.steady = true;
	run_check_add_cluster(rows, &answers);
	g_assert_true(run_check_good(rows));
	assert_row(rows, "", "KVM", RUN_CHECK_NOTE, "asked for");
	g_assert_nonnull(strstr(find(rows, "", "KVM")->cure, "leave it out"));
	forget(&parsed);
}

/* A CPU that has not the frequency asked for got another, which is said; a quota is none. */
static void test_another_frequency(void)
{
	static const char nodes[] =
		"{\"nodes\": [{\"host\": \"b1\", \"state\": \"ready\", \"caps\": ["
		"{\"knob\": \"frequency\", \"requested\": \"1596 MHz\", \"set\": \"1600 MHz\","
		" \"effective\": \"yes\", \"reason\": \"1600 MHz is the lowest\"},"
		" {\"knob\": \"boost\", \"requested\": \"off\", \"set\": null, \"effective\":"
		" \"unknown\"}]}, {\"host\": \"b2\", \"state\": \"ready\", \"caps\": ["
		"{\"knob\": \"frequency\", \"requested\": \"1596 MHz\", \"set\": \"quota 60\","
		" \"effective\": \"emulated\"}]}]}";
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	g_autoptr(json_t) document = json_parse(nodes, strlen(nodes), "test", NULL);
	struct parsed parsed;
	struct run_check_answers answers = parse(good, &parsed);

	answers.nodes = document;
	run_check_add_cluster(rows, &answers);
	g_assert_true(run_check_good(rows));
	assert_row(rows, "b1", "cap", RUN_CHECK_NOTE,
		   "frequency is 1600 MHz, not 1596 MHz: 1600 MHz is the lowest");
	g_assert_null(find(rows, "b2", "cap"));
	forget(&parsed);
}

/* A meter that is slow is waited for; its last words count, not those of when it was lost. */
static void test_slow_meter(void)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(bad, &parsed);
	json_t *energy = json_array_get(json_object_get(answers.energy, "hosts"), 0);

	g_assert_false(run_check_meters_told(&answers));
	json_object_set_new(energy, "failed", json_true());
	json_object_set_new(energy, "reason", json_string("several of its chassis"));
	g_assert_true(run_check_meters_told(&answers));
	g_assert_false(run_check_meters_read(&answers));
	run_check_add_cluster(rows, &answers);
	assert_row(rows, "b1", "meter", RUN_CHECK_FAILED, "several of its chassis");
	forget(&parsed);
}

static void test_bad(void)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	struct parsed parsed;
	struct run_check_answers answers = parse(bad, &parsed);

	run_check_add_cluster(rows, &answers);
	g_assert_false(run_check_good(rows));
	g_assert_false(run_check_nodes_ready(&answers) || run_check_meters_read(&answers));
	assert_row(rows, "b1", "host", RUN_CHECK_WORKS, "1 CPU,");
	assert_row(rows, "b2", "host", RUN_CHECK_FAILED, "connection refused");
	g_assert_true(strstr(find(rows, "b2", "host")->cure, "virsh -c 'qemu+ssh://b2/system'"));
	assert_row(rows, "", "KVM", RUN_CHECK_NOTE, "no vmx");
	assert_row(rows, "", "nodes", RUN_CHECK_FAILED, "1 of 2");
	assert_row(rows, "", "cap", RUN_CHECK_FAILED, "nothing enforces it");
	assert_row(rows, "b1", "cap", RUN_CHECK_NOTE, "idle at C1 is not effective: entered all");
	g_assert_null(find(rows, "b2", "cap"));
	assert_row(rows, "b1", "meter", RUN_CHECK_FAILED, "wrong password");
	g_assert_true(strstr(find(rows, "b1", "meter")->cure, "-H bmc1 -p 623 -U virtbed -f /p"));
	assert_row(rows, "", "channels", RUN_CHECK_FAILED, "rank 1 died");
	forget(&parsed);
}

/* The cure of a meter that gives nothing is for its kind. */
static void test_cures(void)
{
	static const struct {
		struct config_meter meter;
		const char *words;
	} cases[] = {
		{{.kind = CONFIG_METER_REDFISH,
		  .address = (char *)"bmc1",
		  .port = 443,
		  .user = (char *)"u",
		  .ca_file = (char *)"/ca"},
		 "curl -u u --cacert /ca https://bmc1:443/redfish"},
		{{.kind = CONFIG_METER_REDFISH,
		  .address = (char *)"bmc1",
		  .port = 443,
		  .user = (char *)"u",
		  .tls = CONFIG_METER_INSECURE},
		 "curl -u u -k https://bmc1:443/redfish"},
		{{.kind = CONFIG_METER_AMM, .address = (char *)"amm", .port = 161}, "at amm:161"},
		{{.kind = CONFIG_METER_SNMP, .address = (char *)"pdu", .port = 161}, "at pdu:161"},
		{{.kind = CONFIG_METER_HTTP, .url = (char *)"http://h/x"}, "curl 'http://h/x'"},
		{{.kind = CONFIG_METER_ACPI}, "docs/reference/meters.md"},
	};
	const struct config_meter before = meter;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) rows = run_check_rows_new();
		struct parsed parsed;
		struct run_check_answers answers = parse(bad, &parsed);

		meter = cases[i].meter;
		run_check_add_cluster(rows, &answers);
		g_assert_true(strstr(find(rows, "b1", "meter")->cure, cases[i].words));
		forget(&parsed);
	}
	meter = before;
}

/* A local scheduler that never answered has a row for its trouble, and none that guess. */
static void test_silent(void)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();
	const struct run_check_answers answers = {.cluster = &cluster,
						  .trouble = (char *)"it ended"};

	run_check_add_cluster(rows, &answers);
	g_assert_cmpuint(rows->len, ==, 1);
	assert_row(rows, "", "scheduler", RUN_CHECK_FAILED, "it ended");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run-check/all that works is said to", test_good);
	g_test_add_func("/run-check/a host is one line of a report", test_report);
	g_test_add_func("/run-check/mean-of-unknown-time", test_mean_of_unknown_time);
	g_test_add_func("/run-check/a steady lab is not for KVM", test_steady_on_kvm);
	g_test_add_func("/run-check/another frequency than the one asked for is said",
			test_another_frequency);
	g_test_add_func("/run-check/what fails has a reason and a cure", test_bad);
	g_test_add_func("/run-check/a slow meter", test_slow_meter);
	g_test_add_func("/run-check/watts that are simulated are said to be so",
			test_simulated_watts);
	g_test_add_func("/run-check/watts that are an allotment are said to be so",
			test_allotted_watts);
	g_test_add_func("/run-check/a cure is for the kind of meter", test_cures);
	g_test_add_func("/run-check/silence is told once", test_silent);
	return g_test_run();
}
