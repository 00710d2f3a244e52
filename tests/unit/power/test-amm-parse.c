/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_amm.h"

#include <glib.h>

static void test_bays_have_their_objects(void)
{
	static const struct {
		uint32_t bay;
		const char *object;
	} cases[] = {
		{1, "1.3.6.1.4.1.2.3.51.2.2.10.2.1.1.7.17"},
		{7, "1.3.6.1.4.1.2.3.51.2.2.10.2.1.1.7.23"},
		{8, "1.3.6.1.4.1.2.3.51.2.2.10.3.1.1.7.17"},
		{14, "1.3.6.1.4.1.2.3.51.2.2.10.3.1.1.7.23"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *object = meter_amm_object(cases[i].bay);

		g_assert_cmpstr(object, ==, cases[i].object);
	}
}

static void test_output_is_read_strictly(void)
{
	static const struct {
		const char *text;
		enum power_meter_error verdict;
		int64_t mw;
	} cases[] = {
		{"STRING: \"123W\"\n", POWER_METER_OK, 123000},
		{"STRING: \" 7 W \"\n", POWER_METER_OK, 7000},
		/* What it says the first time that it has a directory of its own. */
		{"Created directory: /tmp/a/cert_indexes\nSTRING: \"123W\"\n", POWER_METER_OK,
		 123000},
		{"Created directory: STRING: \"123W\"\n", POWER_METER_ERROR_GARBAGE, -1},
		{"STRING: \"1\nSTRING: \"123W\"\n", POWER_METER_ERROR_GARBAGE, -1},
		{"STRING: \"65534W\"\n", POWER_METER_OK, 65534000},
		{"STRING: \"65535W\"\n", POWER_METER_ERROR_GARBAGE, -1},
		{"STRING: \"0W\"\n", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"STRING: \"Not Readable\"\n", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"STRING: \"Not Available\"\n", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"STRING: \"\"\n", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"\"\"\n", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"STRING: \"123\"\n", POWER_METER_ERROR_GARBAGE, -1},
		{"STRING: \"-5W\"\n", POWER_METER_ERROR_GARBAGE, -1},
		{"STRING: \"12kW\"\n", POWER_METER_ERROR_GARBAGE, -1},
		{"STRING: \"99999999999999999999W\"\n", POWER_METER_ERROR_GARBAGE, -1},
		{"STRING: \"", POWER_METER_ERROR_GARBAGE, -1},
		{"INTEGER: 123\n", POWER_METER_ERROR_GARBAGE, -1},
		{"", POWER_METER_ERROR_GARBAGE, -1},
		{"Timeout: No Response from udp:127.0.0.1:161.\n", POWER_METER_ERROR_NO_ANSWER, -1},
		{"snmpget: Timeout\n", POWER_METER_ERROR_NO_ANSWER, -1},
		{"snmpget: Authentication failure (incorrect password, community or key)\n",
		 POWER_METER_ERROR_LOGIN, -1},
		{"snmpget: Unknown user name\n", POWER_METER_ERROR_LOGIN, -1},
		{"No Such Object available on this agent at this OID\n", POWER_METER_ERROR_REJECTED,
		 -1},
		{"No Such Instance currently exists at this OID\n", POWER_METER_ERROR_REJECTED, -1},
		{"Error in packet\nReason: (noSuchName) There is no such variable name in this "
		 "MIB.\n",
		 POWER_METER_ERROR_REJECTED, -1},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		int64_t mw = -1;

		g_test_message("%s", cases[i].text);
		g_assert_cmpint(meter_amm_parse(cases[i].text, &mw), ==, cases[i].verdict);
		g_assert_cmpint(mw, ==, cases[i].mw);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/amm/parse/bays have their objects", test_bays_have_their_objects);
	g_test_add_func("/amm/parse/output is read strictly", test_output_is_read_strictly);
	return g_test_run();
}
