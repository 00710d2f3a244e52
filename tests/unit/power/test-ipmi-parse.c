/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_ipmi_parse.h"

#include <glib.h>
#include <string.h>

#include "common/random.h"

/* A whole answer of ipmitool 1.8.19 as it comes from a shell. */
#define DCMI(watts, state)                                                                         \
	"\n    Instantaneous power reading:                  " watts                               \
	"\n    Minimum during sampling period:                 60 Watts"                           \
	"\n    Maximum during sampling period:                250 Watts"                           \
	"\n    Average power reading over sample period:      123 Watts"                           \
	"\n    IPMI timestamp:                           11/21/26 02:20:59 UTC"                    \
	"    Sampling period:                          00000001 Seconds."                          \
	"\n    Power reading state is:                   " state "\n\n\n"

static void test_dcmi(void)
{
	static const struct {
		const char *text;
		enum power_meter_error verdict;
		int64_t mw;
	} cases[] = {
		{DCMI("61 Watts", "activated"), POWER_METER_OK, 61000},
		{DCMI("0 Watts", "activated"), POWER_METER_OK, 0},
		{DCMI("65534 Watts", "activated"), POWER_METER_OK, 65534000},
		{DCMI("65535 Watts", "activated"), POWER_METER_ERROR_SATURATED, 0},
		{DCMI("65536 Watts", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("99999999999999999999 Watts", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("-61 Watts", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("61.5 Watts", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("61", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("61 kWatts", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("61 Watts x", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("nan Watts", "activated"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("61 Watts", "deactivated"), POWER_METER_ERROR_NOT_ACTIVE, 0},
		{DCMI("0 Watts", "deactivated"), POWER_METER_ERROR_NOT_ACTIVE, 0},
		{DCMI("61 Watts", ""), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("61 Watts", "activ"), POWER_METER_ERROR_GARBAGE, 0},
		{DCMI("61 Watts", "activated") DCMI("62 Watts", "activated"),
		 POWER_METER_ERROR_GARBAGE, 0},
		/* Truncated before the state. */
		{"\n    Instantaneous power reading:                    61 Watts\n",
		 POWER_METER_ERROR_GARBAGE, 0},
		{"    Power reading state is:                   activated\n",
		 POWER_METER_ERROR_GARBAGE, 0},
		{"", POWER_METER_ERROR_GARBAGE, 0},
		{"\n\n", POWER_METER_ERROR_GARBAGE, 0},
		{"hello\n", POWER_METER_ERROR_GARBAGE, 0},
		{"\n    DCMI request failed because: Invalid command (c1)\n",
		 POWER_METER_ERROR_SETUP, 0},
		{"\n    DCMI request failed because: Insufficient privilege level (d4)\n",
		 POWER_METER_ERROR_REJECTED, 0},
		{"\n    DCMI request failed because: Requested sensor, data, or record not found (cb)\n",
		 POWER_METER_ERROR_REJECTED, 0},
		{"\n    DCMI request failed because: Node busy (c0)\n", POWER_METER_ERROR_NO_ANSWER,
		 0},
		{"\n    DCMI request failed because: Timeout (c3)\n", POWER_METER_ERROR_NO_ANSWER,
		 0},
		{"\n    DCMI request failed because: \n", POWER_METER_ERROR_GARBAGE, 0},
		{"\n    DCMI request failed because: (zz)\n", POWER_METER_ERROR_GARBAGE, 0},
		{"\n    Unable to get DCMI information\n\n", POWER_METER_ERROR_NO_ANSWER, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		int64_t mw = -4711;

		g_test_message("case %zu: %s", i, cases[i].text);
		g_assert_cmpint(meter_ipmi_parse_dcmi(cases[i].text, &mw), ==, cases[i].verdict);
		g_assert_cmpint(mw, ==, cases[i].verdict == POWER_METER_OK ? cases[i].mw : -4711);
	}
}

/* Every proper beginning of an answer is refused: a cut answer never yields a reading. */
static void test_dcmi_truncated_anywhere_is_refused(void)
{
	static const char whole[] = DCMI("61 Watts", "activated");
	const size_t end = (size_t)(strstr(whole, "activated") - whole) + strlen("activated");

	for (size_t length = 0; length < end; length++) {
		g_autofree char *text = g_strndup(whole, length);
		int64_t mw;

		g_assert_cmpint(meter_ipmi_parse_dcmi(text, &mw), ==, POWER_METER_ERROR_GARBAGE);
	}
}

/* Random damage may be refused or go unnoticed in other lines, but yields no other number. */
static void test_damaged_text_never_crashes(void)
{
	static const char whole[] = DCMI("61 Watts", "activated");
	struct random_stream random;

	random_stream_init(&random, 1, 0);
	for (int i = 0; i < 20000; i++) {
		g_autofree char *text = g_strdup(whole);
		g_autofree char *gist = NULL;
		const size_t damages = 1 + random_stream_below(&random, 8);
		uint8_t number;
		int64_t mw = 0;

		for (size_t d = 0; d < damages; d++)
			text[random_stream_below(&random, strlen(whole))] =
				(char)(1 + random_stream_below(&random, 255));
		if (meter_ipmi_parse_dcmi(text, &mw) == POWER_METER_OK)
			g_assert_true(mw >= 0 && mw < 65535000);
		meter_ipmi_parse_sensor(text, "Pwr", &mw);
		meter_ipmi_parse_sensor_number(text, "Pwr", &number);
		meter_ipmi_parse_sensor_raw(text);
		gist = meter_ipmi_parse_gist(text);
		g_assert_true(g_utf8_validate(gist, -1, NULL));
	}
}

static void test_sensor_number(void)
{
	static const char rest[] =
		"\n Entity ID             : 7.1\n Sensor Type (Threshold)  : Other\n";
	static const struct {
		const char *id, *reading;
		enum power_meter_error verdict;
		int number;
	} cases[] = {
		{"Sensor ID              : Pwr (0x1)",
		 " Sensor Reading        : 124 (+/- 0) Watts\n", POWER_METER_OK, 1},
		{"Sensor ID              : Pwr (0xfe)", " Sensor Reading        : No Reading\n",
		 POWER_METER_OK, 0xfe},
		{"Sensor ID              : Pwr (0x1)", "", POWER_METER_OK, 1},
		{"Sensor ID              : Pwr (0x1)",
		 " Sensor Reading        : 24 (+/- 0) degrees C\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor ID              : Pwr (0x100)", "", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor ID              : Pwr (0x)", "", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor ID              : Pwr (1)", "", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor ID              : Pwr 2 (0x1)", "", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor ID              : Pw", "", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor ID", "", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor data record \"Pwr\" not found!", "", POWER_METER_ERROR_REJECTED, 0},
		{"Sensor \"Pwr\" not found!", "", POWER_METER_ERROR_REJECTED, 0},
		{"Unable to open SDR for reading", "", POWER_METER_ERROR_NO_ANSWER, 0},
		{"", "", POWER_METER_ERROR_GARBAGE, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strconcat("Locating sensor record...\n", cases[i].id,
						    rest, cases[i].reading, NULL);
		uint8_t number = 99;

		g_test_message("case %zu: %s", i, text);
		g_assert_cmpint(meter_ipmi_parse_sensor_number(text, "Pwr", &number), ==,
				cases[i].verdict);
		g_assert_cmpint(number, ==,
				cases[i].verdict == POWER_METER_OK ? cases[i].number : 99);
	}
}

static void test_sensor_raw(void)
{
	static const struct {
		const char *text;
		enum power_meter_error verdict;
	} cases[] = {
		{" 3e c0 00 00\n", POWER_METER_OK},
		{" 3e c0 00\n", POWER_METER_OK},
		{" 00 40 00\n", POWER_METER_OK},
		{" ff c0 00 00\n", POWER_METER_ERROR_SATURATED},
		{" 3e 80 00 00\n", POWER_METER_ERROR_NOT_ACTIVE},
		{" 3e e0 00 00\n", POWER_METER_ERROR_NOT_ACTIVE},
		{" ff 00 00 00\n", POWER_METER_ERROR_NOT_ACTIVE},
		{" 3e\n", POWER_METER_ERROR_GARBAGE},
		{" 3e c0 00 00 00\n", POWER_METER_ERROR_GARBAGE},
		{" 3ec0\n", POWER_METER_ERROR_GARBAGE},
		{" 3e cx\n", POWER_METER_ERROR_GARBAGE},
		{"", POWER_METER_ERROR_GARBAGE},
		{"Unable to send RAW command (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d)\n",
		 POWER_METER_ERROR_NO_ANSWER},
		{"Unable to send RAW command (channel=0x0 netfn=0x4 lun=0x0 cmd=0x2d rsp=0xcb): "
		 "Requested sensor, data, or record not found\n",
		 POWER_METER_ERROR_REJECTED},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("case %zu: %s", i, cases[i].text);
		g_assert_cmpint(meter_ipmi_parse_sensor_raw(cases[i].text), ==, cases[i].verdict);
	}
}

static void test_sensor(void)
{
	static const struct {
		const char *text;
		enum power_meter_error verdict;
		int64_t mw;
	} cases[] = {
		{"Pwr              | 124\n", POWER_METER_OK, 124000},
		{"Pwr              | 124.500\n", POWER_METER_OK, 124500},
		{"Pwr              | 0\n", POWER_METER_OK, 0},
		{"Pwr|1\n", POWER_METER_OK, 1000},
		{"Pwr              | na\n", POWER_METER_ERROR_NOT_ACTIVE, 0},
		{"Pwr              | disabled\n", POWER_METER_ERROR_NOT_ACTIVE, 0},
		{"", POWER_METER_ERROR_NOT_ACTIVE, 0},
		{"Pwr              | -4\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr              | 0x80\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr              | 1e5\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr              | 124.\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr              | 124 W\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr              | 70000\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr              |\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr              \n", POWER_METER_ERROR_GARBAGE, 0},
		{"Pwr 2            | 124\n", POWER_METER_ERROR_GARBAGE, 0},
		{"Sensor \"Pwr\" not found!\n", POWER_METER_ERROR_REJECTED, 0},
		{"Unable to open SDR for reading\n", POWER_METER_ERROR_NO_ANSWER, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		int64_t mw = -4711;

		g_test_message("case %zu: %s", i, cases[i].text);
		g_assert_cmpint(meter_ipmi_parse_sensor(cases[i].text, "Pwr", &mw), ==,
				cases[i].verdict);
		g_assert_cmpint(mw, ==, cases[i].verdict == POWER_METER_OK ? cases[i].mw : -4711);
	}
}

static void test_gist(void)
{
	g_autofree char *some = meter_ipmi_parse_gist("\n   a b  \r\n\n\tc\n");
	g_autofree char *none = meter_ipmi_parse_gist("\n\n");
	g_autofree char *text = g_strnfill(1000, 'x');
	g_autofree char *cut = meter_ipmi_parse_gist(text);

	g_assert_cmpstr(some, ==, "a b | c");
	g_assert_cmpstr(none, ==, "");
	g_assert_cmpuint(strlen(cut), ==, 120);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ipmi-parse/dcmi", test_dcmi);
	g_test_add_func("/ipmi-parse/dcmi-truncated", test_dcmi_truncated_anywhere_is_refused);
	g_test_add_func("/ipmi-parse/damaged", test_damaged_text_never_crashes);
	g_test_add_func("/ipmi-parse/sensor-number", test_sensor_number);
	g_test_add_func("/ipmi-parse/sensor-raw", test_sensor_raw);
	g_test_add_func("/ipmi-parse/sensor", test_sensor);
	g_test_add_func("/ipmi-parse/gist", test_gist);
	return g_test_run();
}
