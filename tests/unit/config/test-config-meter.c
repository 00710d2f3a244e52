/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section of a meter: each kind takes its own keys, with its own defaults. */
#include <glib/gstdio.h>
#include <string.h>

#include "common/config/config.h"
#include "common/config/config_files.h"
#include "controller/config/config_controller.h"
#include "tests/unit/config/config_variant.h"

/* Meters: what stands in a host's `meter`, and what the error says; NULL: it is good. */
static const struct {
	const char *uri;
	const char *meter;
	const char *message;
} meter_cases[] = {
	{"qemu:///system", "kind: none", NULL},
	{"qemu+ssh://b/system", "kind: ipmi, address: b, password_file: p", NULL},
	{"qemu+ssh://b/system", "kind: redfish, address: b, password_file: p", NULL},
	{"qemu+ssh://b/system",
	 "kind: redfish, address: b, password_file: p, auth: session, ca_file: c, chassis: x, "
	 "port: 8443",
	 NULL},
	{"qemu+ssh://b/system", "kind: redfish, address: b, password_file: p, tls: insecure", NULL},
	{"qemu+ssh://b/system", "kind: amm, address: b, password_file: p, bay: 14", NULL},
	{"qemu+ssh://b/system", "kind: amm, address: b, password_file: p, bay: 1, snmp: v1", NULL},
	{"qemu+ssh://b/system", "kind: amm, address: b, password_file: p, bay: 1, timeout_s: 20",
	 NULL},
	{"qemu:///system", "kind: rapl, sys_root: /tmp", NULL},
	{"qemu:///system", "kind: acpi", NULL},
	{"qemu:///system", "kind: acpi, device: 'ACPI000D:01'", NULL},
	{"qemu:///system", "kind: acpi, device: ['ACPI000D:00', 'ACPI000D:01']", NULL},
	{"qemu:///system", "kind: hwmon, chip: ibmaem", NULL},
	{"qemu:///system", "kind: hwmon, chip: amd_energy, channel: [energy1, energy2]", NULL},
	{"qemu:///system", "kind: hwmon, chip: ina226, device: 1-0040, channel: power1", NULL},
	{"qemu:///system", "kind: model, idle_w: 60, core_w: 12.5", NULL},
	{"qemu:///system", "kind: model, idle_w: 0, core_w: 12.5", NULL},
	/*
	 * A meter that is switched off keeps its keys, those of every kind, and their ranges hold.
	 */
	{"qemu:///system", "kind: none, address: b, password_file: p, bay: 3, snmp: v1, user: u",
	 NULL},
	{"qemu+ssh://b/system",
	 "kind: none, sys_root: /x, proc_root: /y, idle_w: 3, cipher_suite: 3, auth: session",
	 NULL},
	{"qemu:///system", "kind: none, ca_file: c, tls: insecure, privilege: USER, interval_s: 5",
	 NULL},
	{"qemu:///system", "kind: none, bay: 99", "meter.bay: 99 is outside 1 to 14"},
	{"qemu:///system", "kind: none, cipher_suite: 99",
	 "meter.cipher_suite: 99 is outside 1 to 19"},
	{"qemu:///system", "kind: none, interval_s: 1000",
	 "meter.interval_s: 1000 s is outside 0.05 to 60 s"},
	{"qemu:///system", "kind: none, core_w: -1",
	 "meter.core_w: watts are numbers that are not negative"},
	{"qemu:///system", "kind: watts", ".yaml:"},
	{"qemu:///system", "kind: ipmi, password_file: p", "meter.address: missing"},
	{"qemu:///system", "kind: redfish, address: b", "meter.password_file: missing"},
	{"qemu:///system", "kind: redfish, address: b, password_file: p, auth: digest", ".yaml:"},
	{"qemu:///system", "kind: redfish, address: b, password_file: p, cipher_suite: 3",
	 "meter.cipher_suite: a meter of kind redfish has no such key"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, ca_file: c",
	 "meter.ca_file: a meter of kind ipmi has no such key"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, bay: 3",
	 "meter.bay: a meter of kind ipmi"},
	{"qemu:///system", "kind: redfish, address: b, password_file: p, ca_file: c, tls: insecure",
	 "meter.ca_file: of no use with `tls: insecure`"},
	{"qemu:///system", "kind: amm, address: b, password_file: p", "meter.bay: missing"},
	{"qemu:///system", "kind: amm, address: b, password_file: p, bay: 15",
	 "meter.bay: 15 is outside 1 to 14"},
	{"qemu:///system", "kind: amm, address: b, password_file: p, bay: 1, snmp: v1, user: u",
	 "meter.user: only SNMP v3 has users"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, sensor: PS1 Power In", NULL},
	{"qemu:///system",
	 "kind: redfish, address: b, password_file: p, timeout_s: 120, "
	 "sensor: [PS1 Power In, PS2 Power In]",
	 NULL},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, sensor: []",
	 "meter.sensor: empty; give at least 1"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, sensor: [a, a]",
	 "meter.sensor[1]: 'a' appears twice"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, sensor: {a: b}",
	 "meter.sensor: takes a list"},
	{"qemu:///system", "kind: acpi, sensor: a", "meter.sensor: a meter of kind acpi"},
	{"qemu:///system", "kind: acpi, mean_s: 60", NULL},
	{"qemu:///system", "kind: command, command: a, mean_s: 15", NULL},
	{"qemu:///system", "kind: http, url: 'http://b/', mean_s: 3600", NULL},
	{"qemu:///system", "kind: http, url: 'http://b/', mean_s: 4000",
	 "meter.mean_s: 4000 s is outside 0.001 to 3600 s"},
	{"qemu:///system", "kind: http, url: 'http://b/', mean_s: -1",
	 "meter.mean_s: -1 s is outside"},
	{"qemu:///system", "kind: rapl, mean_s: 15", "meter.mean_s: a meter of kind rapl"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, timeout_s: 0.5",
	 "meter.timeout_s: 0.5 s is outside 1 to 120 s"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, kg_file: k", NULL},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, ipmi: v1.5", NULL},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, ipmi: v1.5, kg_file: k",
	 "meter.kg_file: IPMI 1.5 has no such key"},
	{"qemu:///system",
	 "kind: ipmi, address: b, password_file: p, raw: 0x2e 0xc8 0x57, raw_at: 3, controller: 0x2c/6",
	 NULL},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, raw: 0x2e",
	 "meter.raw: takes 2 to 64 bytes"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, raw: 0x2e 0xc8 exit",
	 "meter.raw: takes 2 to 64 bytes"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, raw: 0x2e  0xc8",
	 "meter.raw: takes 2 to 64 bytes"},
	{"qemu:///system",
	 "kind: ipmi, address: b, password_file: p, raw: \"0x2e 0xc8\\n0x00 0x02\"",
	 "meter.raw: takes 2 to 64 bytes"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, controller: 0x2c",
	 "meter.controller: belongs to `raw`"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, raw_at: 1",
	 "meter.raw_at: belongs to `raw`"},
	{"qemu:///system",
	 "kind: ipmi, address: b, password_file: p, raw: 0x2e 0xc8, controller: 0x2c/16",
	 "meter.controller: '0x2c/16' is no address"},
	{"qemu:///system", "kind: redfish, address: b, password_file: p, kg_file: k",
	 "meter.kg_file: a meter of kind redfish"},
	{"qemu:///system", "kind: rapl, address: b", "meter.address: a meter of kind rapl"},
	{"qemu:///system", "kind: rapl, interval_s: 0.01", "meter.interval_s: 0.01 s is outside"},
	{"qemu:///system", "kind: acpi, interval_s: -1", "meter.interval_s: -1 s is outside"},
	{"qemu+ssh://b/system", "kind: command, command: x, timeout_s: -1",
	 "meter.timeout_s: -1 s is outside"},
	{"qemu+ssh://b/system", "kind: command, command: [/bin/cat, f], value: joules, scale: 0.1",
	 NULL},
	{"qemu+ssh://b/system", "kind: command, command: watts, run_as: root, timeout_s: 20", NULL},
	{"qemu+ssh://b/system",
	 "kind: http, url: 'http://prom:9090/api/v1/query?query=up', json: 'data.result[*].value[1]'",
	 NULL},
	{"qemu+ssh://b/system",
	 "kind: http, url: 'https://b/metrics', ca_file: c, user: u, password_file: p, metric: m",
	 NULL},
	{"qemu+ssh://b/system", "kind: http, url: 'https://b/', password_file: p", NULL},
	{"qemu+ssh://b/system",
	 "kind: snmp, address: b, password_file: p, snmp: v2c, oid: 1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.4",
	 NULL},
	{"qemu+ssh://b/system",
	 "kind: snmp, address: b, password_file: p, user: u, privacy: aes, scale: 0.1, oid: [1.3.6, "
	 "1.3.7]",
	 NULL},
	{"qemu+ssh://b/system", "kind: snmp, address: b, password_file: p", "meter.oid: missing"},
	{"qemu+ssh://b/system", "kind: snmp, address: b, password_file: p, oid: -Oq",
	 "meter.oid: '-Oq' is no object"},
	{"qemu+ssh://b/system", "kind: http", "meter.url: missing"},
	{"qemu+ssh://b/system", "kind: http, url: b", "meter.url: write it with http://"},
	{"qemu+ssh://b/system", "kind: http, url: 'https://b/', user: u",
	 "meter.password_file: missing"},
	{"qemu+ssh://b/system", "kind: http, url: 'http://b/', ca_file: c",
	 "meter.ca_file: of no use without https"},
	{"qemu+ssh://b/system", "kind: command", "meter.command: missing"},
	{"qemu+ssh://b/system", "kind: command, command: x, json: a, metric: b",
	 "meter.metric: a number is in JSON or"},
	{"qemu+ssh://b/system", "kind: command, command: x, value: ohms",
	 "'ohms' is not one of watts"},
	{"qemu+ssh://b/system", "kind: command, command: x, scale: -1", "meter.scale: "},
	{"qemu:///system", "kind: hwmon", "meter.chip: missing; name the chip"},
	{"qemu:///system", "kind: hwmon, chip: x, channel: []", "channel: empty"},
	{"qemu:///system", "kind: hwmon, chip: x, channel: [power1, power1]",
	 "'power1' appears twice"},
	{"qemu:///system", "kind: rapl, channel: power1", "meter.channel: a meter of kind rapl"},
	{"qemu+ssh://b/system", "kind: hwmon, chip: x",
	 "meter.kind: hwmon is read from the machine"},
	{"qemu:///system", "kind: model", "meter.idle_w: missing"},
	{"qemu:///system", "kind: model, idle_w: -1, core_w: 2", "are not negative"},
	{"qemu:///system", "kind: model, idle_w: many, core_w: 2", "'many' is not a number"},
	{"qemu+ssh://b/system", "kind: rapl", "meter.kind: rapl is read from the machine"},
	{"qemu+ssh://b/system", "kind: acpi", "meter.kind: acpi is read from the machine"},
	{"qemu+tls://10.0.0.1/system", "kind: model, idle_w: 1", "meter.kind: model is read"},
	{"qemu+unix:///system?socket=/x", "kind: rapl", "meter.kind: rapl is read"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, cipher_suite: 200000",
	 "meter.cipher_suite: 200000 is outside 1 to 19"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, cipher_suite: 0",
	 "meter.cipher_suite: 0 makes no sense"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, port: 0",
	 "meter.port: 0 makes no sense"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, privilege: FOO",
	 "meter.privilege: 'FOO' is none of USER"},
	{"qemu:///system", "kind: ipmi, address: b, password_file: p, interval_s: 0",
	 "meter.interval_s: 0 makes no sense"},
	{"qemu:///system", "kind: rapl, watts: 3", "unknown key 'watts'"},
	{"qemu:///system", "kind: ipmo",
	 "meter.kind: 'ipmo' is not one of none, ipmi, redfish, amm, rapl, acpi, hwmon, command, snmp, http, model, simulated"},
	{"qemu:///system", "kind: redfish, address: b, password_file: p, auth: none",
	 "meter.auth: 'none' is not one of auto, basic, session"},
};

static void test_each_meter_takes_its_own_keys(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(meter_cases); i++) {
		g_autofree char *hosts =
			g_strdup_printf("memory_mib: 100\n    hosts: [{uri: '%s', meter: {%s}}]",
					meter_cases[i].uri, meter_cases[i].meter);
		g_autofree char *path = config_variant_write("memory_mib: 100", hosts);
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
			g_assert_cmpuint(again->clusters[0].hosts[0].meter->sensor_count, ==,
					 config->clusters[0].hosts[0].meter->sensor_count);
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
		double interval_s;
	} cases[] = {
		{"kind: ipmi, address: b, password_file: p", 623, "ADMIN", NULL, 1},
		{"kind: redfish, address: b, password_file: p", 443, "ADMIN", NULL, 1},
		{"kind: amm, address: b, password_file: p, bay: 1", 161, "ADMIN", NULL, 5},
		{"kind: amm, address: b, password_file: p, bay: 1, snmp: v2c", 161, NULL, NULL, 5},
		{"kind: snmp, address: b, password_file: p, oid: 1.3.6", 161, "ADMIN", NULL, 5},
		{"kind: http, url: 'http://b/'", 0, NULL, NULL, 1},
		{"kind: rapl", 0, NULL, "/sys", 1},
		{"kind: command, command: a", 0, NULL, NULL, 5},
		{"kind: command, command: a, interval_s: 2", 0, NULL, NULL, 2},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *hosts = g_strdup_printf(
			"memory_mib: 100\n    hosts: [{uri: 'qemu:///system', meter: {%s}}]",
			cases[i].meter);
		g_autofree char *path = config_variant_write("memory_mib: 100", hosts);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);
		const struct config_meter *meter;

		g_assert_no_error(error);
		meter = config->clusters[0].hosts[0].meter;
		g_assert_cmpuint(meter->port, ==, cases[i].port);
		g_assert_cmpstr(meter->user, ==, cases[i].user);
		g_assert_cmpstr(meter->sys_root, ==, cases[i].sys_root);
		g_assert_cmpfloat(meter->interval_s, ==, cases[i].interval_s);
		g_unlink(path);
	}
}

static void test_password_files_are_looked_for(void)
{
	g_autofree char *path = config_variant_write(
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
	g_assert_cmpstr(
		error->message, ==,
		"x.yaml: clusters[0].hosts[1].meter.password_file: '/nonexistent/p' cannot "
		"be read: No such file or directory; write the password into it, mode 0600");
	g_clear_error(&error);
	config->clusters[0].hosts[1].meter->kind = CONFIG_METER_NONE;
	g_assert_true(config_files_check(config, "x.yaml", 0, &error));
	config->clusters[0].hosts[1].meter->kind = CONFIG_METER_IPMI;
	g_free(config->clusters[0].hosts[1].meter->password_file);
	config->clusters[0].hosts[1].meter->password_file = g_strdup(path);
	g_assert_true(config_files_check(config, "x.yaml", 0, &error));
	g_unlink(path);
}

static void test_meters_of_a_bmc_agree(void)
{
	static const struct {
		const char *first, *second; /* what they have beside kind and address */
		const char *key;            /* NULL: they are good */
		const char *kind;           /* NULL: redfish */
	} cases[] = {
		{"password_file: @1, sensor: a", "password_file: @2, sensor: b", NULL, "ipmi"},
		{"password_file: @1", "password_file: @3", "password_file", "ipmi"},
		{"password_file: @1", "password_file: @3, port: 624", NULL, "ipmi"},
		{"password_file: @1, ipmi: v1.5", "password_file: @1", "ipmi", "ipmi"},
		{"password_file: @1, cipher_suite: 3", "password_file: @1", "cipher_suite", "ipmi"},
		{"password_file: @1, privilege: OPERATOR", "password_file: @1", "privilege",
		 "ipmi"},
		{"password_file: @1, kg_file: @1", "password_file: @1, kg_file: @2", NULL, "ipmi"},
		{"password_file: @1, kg_file: @1", "password_file: @1", "kg_file", "ipmi"},
		{"password_file: @1", "password_file: @1", NULL},
		{"password_file: @1", "password_file: @2", NULL},
		{"password_file: @1", "password_file: @3", "password_file"},
		{"password_file: @1", "password_file: @3, port: 8443", NULL},
		{"password_file: @1", "password_file: @3, user: other", NULL},
		{"password_file: @1", "password_file: /nonexistent/p", NULL},
		{"password_file: @1, auth: basic", "password_file: @1", "auth"},
		{"password_file: @1, tls: insecure", "password_file: @1", "tls"},
		{"password_file: @1, ca_file: @1", "password_file: @1", "ca_file"},
		{"password_file: @1, ca_file: @1", "password_file: @1, ca_file: @2", "ca_file"},
		{"password_file: @1, ca_file: @2", "password_file: @1, ca_file: @4", NULL},
	};
	static const char *const texts[] = {"one\nmore\n", "one", "another\n", "one"};
	char *files[G_N_ELEMENTS(texts)];

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_close(g_file_open_tmp("virtbed-test-XXXXXX", &files[i], NULL), NULL);
		g_assert_true(g_file_set_contents(files[i], texts[i], -1, NULL));
	}
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) hosts = g_string_new(NULL);
		g_autoptr(GError) error = NULL;
		g_autofree char *path = NULL;
		g_autoptr(config_t) config = NULL;

		g_string_printf(hosts,
				"    memory_mib: 100\n    hosts:\n"
				"      - {uri: 'test:///default', meter: {kind: %s, address: "
				"BMC.example, %s}}\n"
				"      - {uri: 'test:///default', meter: {kind: %s, address: "
				"bmc.example., %s}}\n",
				cases[i].kind ?: "redfish", cases[i].first,
				cases[i].kind ?: "redfish", cases[i].second);
		for (size_t f = 0; f < G_N_ELEMENTS(texts); f++) {
			g_autofree char *word = g_strdup_printf("@%zu", f + 1);

			g_string_replace(hosts, word, files[f], 0);
		}
		path = config_variant_write("    memory_mib: 100\n", hosts->str);
		config = config_controller_load(path, &error);
		g_assert_no_error(error);
		g_assert_cmpint(config_files_check_shared(config, "x.yaml", &error), ==,
				!cases[i].key);
		if (cases[i].key) {
			g_autofree char *start = g_strdup_printf(
				"x.yaml: clusters[0].hosts[1].meter.%s: not that of "
				"clusters[0].hosts[0], whose BMC, bmc.example., and user, ADMIN, "
				"are the same",
				cases[i].key);

			g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING);
			g_assert_true(g_str_has_prefix(error->message, start));
		}
		g_unlink(path);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_unlink(files[i]);
		g_free(files[i]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/config/each-meter-takes-its-own-keys",
			test_each_meter_takes_its_own_keys);
	g_test_add_func("/config/meters-have-the-defaults-of-their-kind",
			test_meters_have_the_defaults_of_their_kind);
	g_test_add_func("/config/meters-of-a-bmc-agree", test_meters_of_a_bmc_agree);
	g_test_add_func("/config/password-files-are-looked-for",
			test_password_files_are_looked_for);
	return g_test_run();
}
