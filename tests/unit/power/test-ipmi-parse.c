/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_ipmi_parse.h"

#include <glib.h>
#include <string.h>

#include "common/random.h"

/* What the shell of ipmitool 1.8.19 prints of an answer; it logs in with -v. */
#define REQUEST "RAW REQ (channel=0x0 netfn=0x2c lun=0x0 cmd=0x2 data_len=4)\n"
#define REFUSED "Unable to send RAW command (channel=0x0 netfn=0x2c lun=0x0 cmd=0x2"

static void test_raw(void)
{
	static const struct {
		const char *text;
		enum power_meter_error verdict;
		int code;
		size_t size;
	} cases[] = {
		{REQUEST "RAW RSP (4 bytes)\n 3e c0 00 ff\n", POWER_METER_OK, 0, 4},
		{" 3e c0 00\n", POWER_METER_OK, 0, 3},
		{" 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n 10\n", POWER_METER_OK, 0, 17},
		{REQUEST "RAW RSP (0 bytes)\n\n", POWER_METER_OK, 0, 0},
		{"\n", POWER_METER_OK, 0, 0},
		{"ERROR: Received an Unexpected message ID\n 3e c0\n", POWER_METER_OK, 0, 2},
		/* Cut, or of another answer. */
		{"RAW RSP (4 bytes)\n 3e c0 00\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{"RAW RSP (2 bytes)\n 3e c0 00\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{"RAW RSP (9999999999999999999 bytes)\n 3e\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{"RAW RSP (-1 bytes)\n 3e\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{" 3e\nRAW RSP (1 bytes)\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{" 3ec0\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{" 3e cx\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{" 3e c\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{"hello\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{" 3e c0\nhello\n", POWER_METER_ERROR_GARBAGE, -1, 0},
		{REFUSED ")\n", POWER_METER_ERROR_NO_ANSWER, -1, 0},
		{REFUSED " rsp=0xc1): Invalid command\n", POWER_METER_ERROR_SETUP, 0xc1, 0},
		{REFUSED " rsp=0xd4): Insufficient privilege level\n", POWER_METER_ERROR_REJECTED,
		 0xd4, 0},
		{REFUSED " rsp=0xcb): Requested sensor, data, or record not found\n",
		 POWER_METER_ERROR_REJECTED, 0xcb, 0},
		{REFUSED " rsp=0xc0): Node busy\n", POWER_METER_ERROR_NO_ANSWER, 0xc0, 0},
		{REFUSED " rsp=0xc3): Timeout\n", POWER_METER_ERROR_NO_ANSWER, 0xc3, 0},
		{REFUSED " rsp=0x80): Unknown (0x80)\n", POWER_METER_ERROR_REJECTED, 0x80, 0},
		{REFUSED " rsp=0x0): ?\n", POWER_METER_ERROR_NO_ANSWER, -1, 0},
		{REFUSED " rsp=0x1c1): ?\n", POWER_METER_ERROR_NO_ANSWER, -1, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct ipmi_answer answer;

		g_test_message("case %zu: %s", i, cases[i].text);
		g_assert_cmpint(meter_ipmi_parse_raw(cases[i].text, &answer), ==, cases[i].verdict);
		g_assert_cmpint(answer.code, ==, cases[i].code);
		g_assert_cmpuint(answer.size, ==, cases[i].size);
	}
}

/* An answer of more bytes than any has is none. */
static void test_endless_answer(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	struct ipmi_answer answer;

	for (int i = 0; i < 1000; i++)
		g_string_append(text, " 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n");
	g_assert_cmpint(meter_ipmi_parse_raw(text->str, &answer), ==, POWER_METER_ERROR_GARBAGE);
}

/* An answer of `size` bytes, of which these come first. */
#define DCMI(...)                                                                                  \
	{                                                                                          \
		.code = 0, .size = 18, .bytes = { __VA_ARGS__ }                                    \
	}

static void test_dcmi(void)
{
	static const struct {
		struct ipmi_answer answer;
		enum power_meter_error verdict;
		int64_t mw;
	} cases[] = {
		/* A Lenovo XCC: 57 W, at least 59, at most 55, a mean of 57, over 1 s. */
		{DCMI(0xdc, 0x39, 0, 0x3b, 0, 0x37, 0, 0x39, 0, 0xe3, 0x6f, 0x0a, 0x39, 0xe8, 3, 0,
		      0, 0x40),
		 POWER_METER_OK, 57000},
		{DCMI(0xdc, 0xff, 0x7f, [13] = 0xe8, 3, 0, 0, 0x40), POWER_METER_OK, 32767000},
		/* Below 0 in two's complement. */
		{DCMI(0xdc, 0x00, 0x80, [17] = 0x40), POWER_METER_ERROR_SATURATED, 0},
		{DCMI(0xdc, 0xfe, 0xff, [17] = 0x40), POWER_METER_ERROR_SATURATED, 0},
		{DCMI(0xdc, 0, 0, [13] = 0xe8, 3, 0, 0, 0xff), POWER_METER_OK, 0},
		{DCMI(0xdc, 0xff, 0xff, [17] = 0x40), POWER_METER_ERROR_SATURATED, 0},
		{DCMI(0xdc, 0x39, 0), POWER_METER_ERROR_NOT_ACTIVE, 0},
		{DCMI(0xdc, 0x39, 0, [17] = 0xbf), POWER_METER_ERROR_NOT_ACTIVE, 0},
		{DCMI(0xdd, 0x39, 0, [17] = 0x40), POWER_METER_ERROR_GARBAGE, 0},
		{{.code = 0, .size = 17, .bytes = {0xdc, 0x39, 0, [16] = 0x40}},
		 POWER_METER_ERROR_GARBAGE,
		 0},
		{{.code = 0, .size = 3, .bytes = {0xdc, 0xc8, 0}}, POWER_METER_ERROR_GARBAGE, 0},
		{{.code = 0}, POWER_METER_ERROR_GARBAGE, 0},
		{{.code = 0xc1}, POWER_METER_ERROR_SETUP, 0},
		{{.code = 0xd4}, POWER_METER_ERROR_REJECTED, 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct ipmi_dcmi dcmi = {.mw = -4711};

		g_test_message("case %zu", i);
		g_assert_cmpint(meter_ipmi_parse_dcmi(&cases[i].answer, &dcmi), ==,
				cases[i].verdict);
		g_assert_cmpint(dcmi.mw, ==,
				cases[i].verdict == POWER_METER_OK ? cases[i].mw : -4711);
		if (i == 0) {
			g_assert_cmpint(dcmi.mean_mw, ==, 57000);
			g_assert_cmpfloat(dcmi.period_s, ==, 1.0);
		}
	}
}

static void test_watts_of_other_requests(void)
{
	static const struct {
		struct ipmi_answer answer;
		uint32_t at;
		enum power_meter_error verdict;
	} cases[] = {
		/* Intel's Node Manager: 230 W, measurement in progress, or suspended. */
		{{.size = 20, .bytes = {0x57, 1, 0, 0xe6, 0, [19] = 0x50}}, 4, POWER_METER_OK},
		{{.size = 20, .bytes = {0x57, 1, 0, 0xe6, 0, [19] = 0x10}},
		 4,
		 POWER_METER_ERROR_NOT_ACTIVE},
		{{.size = 2, .bytes = {0xe6, 0}}, 1, POWER_METER_OK},
		{{.size = 2, .bytes = {0xe6, 0}}, 2, POWER_METER_ERROR_GARBAGE},
		{{.size = 0}, 1, POWER_METER_ERROR_GARBAGE},
		{{.size = 2, .bytes = {0xff, 0xff}}, 1, POWER_METER_ERROR_SATURATED},
		{{.code = 0xc1}, 1, POWER_METER_ERROR_SETUP},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		int64_t mw = -4711;

		g_test_message("case %zu", i);
		g_assert_cmpint(meter_ipmi_parse_watts(&cases[i].answer, cases[i].at, &mw), ==,
				cases[i].verdict);
		g_assert_cmpint(mw, ==, cases[i].verdict == POWER_METER_OK ? 230000 : -4711);
	}
}

static void test_sensor(void)
{
	static const struct {
		struct ipmi_answer answer;
		enum power_meter_error verdict;
	} cases[] = {
		{{.size = 4, .bytes = {0x3e, 0xc0}}, POWER_METER_OK},
		{{.size = 3, .bytes = {0x3e, 0xc0}}, POWER_METER_OK},
		{{.size = 2, .bytes = {0x3e, 0x40}}, POWER_METER_OK},
		{{.size = 4, .bytes = {0x3e, 0x80}}, POWER_METER_ERROR_NOT_ACTIVE},
		{{.size = 4, .bytes = {0x3e, 0xe0}}, POWER_METER_ERROR_NOT_ACTIVE},
		{{.size = 4, .bytes = {0xff, 0x00}}, POWER_METER_ERROR_NOT_ACTIVE},
		{{.size = 1, .bytes = {0x3e, 0xc0}}, POWER_METER_ERROR_GARBAGE},
		{{.size = 0}, POWER_METER_ERROR_GARBAGE},
		{{.code = 0xcb}, POWER_METER_ERROR_REJECTED},
		{{.code = 0xc3}, POWER_METER_ERROR_NO_ANSWER},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint8_t raw = 99;

		g_test_message("case %zu", i);
		g_assert_cmpint(meter_ipmi_parse_sensor(&cases[i].answer, &raw), ==,
				cases[i].verdict);
		g_assert_cmpint(raw, ==, cases[i].verdict == POWER_METER_OK ? 0x3e : 99);
	}
}

static void test_damaged_text_never_crashes(void)
{
	static const char whole[] = REQUEST
		"RAW RSP (18 bytes)\n dc 39 00 3b 00 37 00 39 00 e3 6f 0a 39 e8 03 00\n 00 40\n";
	struct random_stream random;

	random_stream_init(&random, 1, 0);
	for (int i = 0; i < 20000; i++) {
		g_autofree char *text = g_strdup(whole);
		g_autofree char *gist = NULL;
		const size_t damages = 1 + random_stream_below(&random, 8);
		struct ipmi_answer answer;
		struct ipmi_dcmi dcmi;

		for (size_t d = 0; d < damages; d++)
			text[random_stream_below(&random, strlen(whole))] =
				(char)(1 + random_stream_below(&random, 255));
		meter_ipmi_parse_raw(text, &answer);
		g_assert_cmpuint(answer.size, <=, IPMI_ANSWER_MAX);
		if (meter_ipmi_parse_dcmi(&answer, &dcmi) == POWER_METER_OK)
			g_assert_true(dcmi.mw >= 0 && dcmi.mw < 65535000);
		gist = meter_ipmi_parse_gist(text);
		g_assert_true(g_utf8_validate(gist, -1, NULL));
	}
}

static void test_gist(void)
{
	static const struct {
		const char *text, *gist;
	} cases[] = {
		/* What snmpget says the first time. */
		{"Created directory: /tmp/a/cert_indexes\nTimeout: No Response\n",
		 "Timeout: No Response"},
		{"\n   a b  \r\n\n\tc\n", "a b | c"},
		{"\n\n", ""},
		{REQUEST "a\n", "a"},
		{"\033[31mred\n", "\\x1b[31mred"},
		{"\a\b\177\n", "\\x07\\x08\\x7f"},
		{"\xc2\x9b"
		 "2J\n",
		 "\\x9b2J"},
		{"\xe2\x80\xaenothing\n", "\\u202enothing"},
		{"\xff\n", "\xef\xbf\xbd"},
	};
	g_autofree char *text = g_strnfill(1000, 'x');
	g_autofree char *cut = meter_ipmi_parse_gist(text);

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *gist = meter_ipmi_parse_gist(cases[i].text);

		g_assert_cmpstr(gist, ==, cases[i].gist);
	}
	g_assert_cmpuint(strlen(cut), ==, 120);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ipmi-parse/raw", test_raw);
	g_test_add_func("/ipmi-parse/endless", test_endless_answer);
	g_test_add_func("/ipmi-parse/dcmi", test_dcmi);
	g_test_add_func("/ipmi-parse/watts", test_watts_of_other_requests);
	g_test_add_func("/ipmi-parse/sensor", test_sensor);
	g_test_add_func("/ipmi-parse/damaged", test_damaged_text_never_crashes);
	g_test_add_func("/ipmi-parse/gist", test_gist);
	return g_test_run();
}
