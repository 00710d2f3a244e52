/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The AMM meter against the distribution's snmpd, which holds the object of a bay as if it were the
 * chassis, in each version of SNMP.
 */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/subprocess.h"
#include "local-sched/lab/bmc/bmc.h"
#include "local-sched/power/power_meter.h"
#include "tests/integration/power/meter_fixture.h"

#define PASSWORD "s3cret-word"
#define OBJECT ".1.3.6.1.4.1.2.3.51.2.2.10.2.1.1.7.19" /* bay 3 */

struct fixture {
	struct meter_fixture meter;
	uint16_t port;
	GPid agent;
};

/*
 * Runs one of the distribution's clients on the object; returns what it prints. Tries for half a
 * minute, since the agent answers some time after its start.
 */
static char *ask(const struct fixture *fixture, const char *program, const char *type,
		 const char *value)
{
	g_autofree char *peer = g_strdup_printf("udp:127.0.0.1:%u", fixture->port);
	const char *const argv[] = {program, "-v2c", "-c",   PASSWORD, "-t",   "1",  "-r",  "30",
				    "-m",    "",     "-Oqv", peer,     OBJECT, type, value, NULL};
	char *output = NULL;
	g_autoptr(GError) error = NULL;

	subprocess_run(argv, NULL, 60, &output, &error);
	g_assert_no_error(error);
	return g_strstrip(output);
}

static void set_value(const struct fixture *fixture, const char *text)
{
	g_autofree char *output = ask(fixture, "snmpset", "s", text);
}

static void start_agent(struct fixture *fixture)
{
	static const char text[] = "rwcommunity " PASSWORD " 127.0.0.1\n"
				   "createUser virtbed SHA \"" PASSWORD "\" DES\n"
				   "rouser virtbed priv\n"
				   "override -rw " OBJECT " octet_str \"123W\"\n";
	g_autofree char *config = meter_fixture_path(&fixture->meter, "snmpd.conf");
	g_autofree char *address = g_strdup_printf("udp:127.0.0.1:%u", fixture->port);
	g_autofree char *log = meter_fixture_path(&fixture->meter, "snmpd.log");
	g_autofree char *state = g_strconcat("SNMP_PERSISTENT_DIR=", fixture->meter.dir, NULL);
	g_autofree char *place = g_strconcat("SNMPCONFPATH=", fixture->meter.dir, NULL);
	const char *const environment[] = {state, place, NULL};
	const char *const argv[] = {"snmpd", "-f", "-Lo", "-C", "-c", config, address, NULL};
	g_autoptr(GError) error = NULL;

	meter_fixture_write(config, text);
	fixture->agent = subprocess_spawn(argv, environment, log, &error);
	g_assert_no_error(error);
}

static void setup(struct fixture *fixture, gconstpointer snmp)
{
	meter_fixture_init(&fixture->meter, "b3");
	meter_fixture_write(fixture->meter.password_file, PASSWORD "\n");
	fixture->port = meter_fixture_free_port();
	fixture->meter.config = (struct config_meter){
		.kind = CONFIG_METER_AMM,
		.address = (char *)"127.0.0.1",
		.port = fixture->port,
		.password_file = fixture->meter.password_file,
		.bay = 3,
		.snmp = GPOINTER_TO_INT(snmp),
		.interval_s = 1,
	};
	if (fixture->meter.config.snmp == CONFIG_METER_SNMP_V3)
		fixture->meter.config.user = (char *)"virtbed";
	start_agent(fixture);
	set_value(fixture, "123W");
}

static void teardown(struct fixture *fixture, gconstpointer snmp)
{
	meter_fixture_close(&fixture->meter);
	subprocess_stop(fixture->agent, 5);
	meter_fixture_finish(&fixture->meter);
}

static void test_readings_are_those_of_snmpget(struct fixture *fixture, gconstpointer snmp)
{
	static const char *const watts[] = {"123", "7", "4321"};

	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	g_assert_cmpstr(power_meter_source(fixture->meter.meter), ==, "amm");
	for (gsize i = 0; i < G_N_ELEMENTS(watts); i++) {
		g_autofree char *value = g_strconcat(watts[i], "W", NULL);
		g_autofree char *quoted = g_strdup_printf("\"%sW\"", watts[i]);
		g_autofree char *theirs = NULL;

		set_value(fixture, value);
		g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
		g_assert_cmpint(fixture->meter.mw, ==, atoi(watts[i]) * 1000);
		theirs = ask(fixture, "snmpget", NULL, NULL);
		g_assert_cmpstr(theirs, ==, quoted);
	}
}

static void test_what_is_no_reading(struct fixture *fixture, gconstpointer snmp)
{
	static const struct {
		const char *value;
		int code;
	} cases[] = {
		{"Not Readable", POWER_METER_ERROR_NOT_ACTIVE},
		{"0W", POWER_METER_ERROR_NOT_ACTIVE},
		{"", POWER_METER_ERROR_NOT_ACTIVE},
		{"lots", POWER_METER_ERROR_GARBAGE},
		{"-3W", POWER_METER_ERROR_GARBAGE},
		{"123W", 0},
	};

	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		set_value(fixture, cases[i].value);
		g_test_message("%s", cases[i].value);
		g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, cases[i].code);
	}
	/* A bay that the chassis does not have. */
	fixture->meter.config.bay = 14;
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, POWER_METER_ERROR_REJECTED);
}

static void test_wrong_secrets_are_refused(struct fixture *fixture, gconstpointer snmp)
{
	const int refusal = fixture->meter.config.snmp == CONFIG_METER_SNMP_V3
				    ? POWER_METER_ERROR_LOGIN
				    : POWER_METER_ERROR_NO_ANSWER;

	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	meter_fixture_write(fixture->meter.password_file, "n0t-the-w0rd\n");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, refusal);
	g_assert_null(strstr(fixture->meter.message, "n0t-the"));
	meter_fixture_write(fixture->meter.password_file, "quo\"te\n");
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
	meter_fixture_write(fixture->meter.password_file, "\n");
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
	meter_fixture_write(fixture->meter.password_file, PASSWORD "\n");
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	g_unlink(fixture->meter.password_file);
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
}

static void test_silence_and_closing(struct fixture *fixture, gconstpointer snmp)
{
	g_autofree char *path = g_strdup(g_getenv("PATH"));

	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0);
	power_meter_read(fixture->meter.meter, meter_fixture_on_read, &fixture->meter);
	fixture->meter.reads = 0;
	meter_fixture_close(&fixture->meter);
	g_assert_cmpint(fixture->meter.reads, ==, 0);
	fixture->meter.config.port = meter_fixture_free_port();
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NO_ANSWER);
	g_setenv("PATH", "/nonexistent", TRUE);
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
	g_setenv("PATH", path, TRUE);
}

/* Whether the peer is installed; snmpd lies in sbin. */
static bool has_peer(void)
{
	g_autofree char *path = g_strconcat(g_getenv("PATH"), ":/usr/sbin:/sbin", NULL);
	g_autofree char *agent = NULL;
	g_autofree char *client = NULL;

	g_setenv("PATH", path, TRUE);
	agent = g_find_program_in_path("snmpd");
	client = g_find_program_in_path("snmpget");
	return agent && client;
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (!has_peer()) {
		puts("1..0 # SKIP snmpd and snmpget are not installed");
		return g_getenv("CI") || g_getenv("VIRTBED_STRICT") ? 1 : 0;
	}
#define ADD(version, name, function)                                                               \
	g_test_add("/amm/" #version " " name, struct fixture,                                      \
		   GINT_TO_POINTER(CONFIG_METER_SNMP_##version), setup, function, teardown)
	ADD(V3, "readings are those of snmpget", test_readings_are_those_of_snmpget);
	ADD(V1, "readings are those of snmpget", test_readings_are_those_of_snmpget);
	ADD(V2C, "readings are those of snmpget", test_readings_are_those_of_snmpget);
	ADD(V3, "what is no reading", test_what_is_no_reading);
	ADD(V1, "what is no reading", test_what_is_no_reading);
	ADD(V2C, "what is no reading", test_what_is_no_reading);
	ADD(V3, "wrong secrets are refused", test_wrong_secrets_are_refused);
	ADD(V2C, "wrong secrets are refused", test_wrong_secrets_are_refused);
	ADD(V3, "silence and closing", test_silence_and_closing);
	return g_test_run();
}
