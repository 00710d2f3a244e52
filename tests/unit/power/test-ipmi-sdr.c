/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/ipmi_sdr.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/random.h"

enum { NAME_AT = 48 };

/* A full record of a sensor of watts, M = 4, named by bytes of the given kind; its size. */
static size_t make_record(uint8_t *record, uint8_t kind, const char *name, size_t length)
{
	memset(record, 0, IPMI_SDR_RECORD_MAX);
	record[0] = 7;
	record[2] = 0x51;
	record[3] = IPMI_SDR_FULL;
	record[4] = (uint8_t)(NAME_AT - IPMI_SDR_HEADER + length);
	record[5] = 0x20;
	record[7] = 0x52;
	record[21] = 6;
	record[24] = 4;
	record[47] = (uint8_t)(kind << 6 | length);
	memcpy(record + NAME_AT, name, length);
	return NAME_AT + length;
}

static void test_names(void)
{
	static const struct {
		uint8_t kind;
		const char *bytes;
		const char *name;
	} cases[] = {
		{3, "PS1 Power In", "PS1 Power In"},
		{3, "Pwr   ", "Pwr"},
		{3, "Leistung \xfc", "Leistung ü"},     /* Latin-1 */
		{3, "Leistung \xc3\xbc", "Leistung ü"}, /* UTF-8 */
		{0, "Pwr", "Pwr"},
		{1, "\x12\x3a\x4c", "123 4."},
		{2, "\x29\xdc\xa6", "IPMI"}, /* the example of section 43.15 */
		{3, "", ""},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint8_t record[IPMI_SDR_RECORD_MAX];
		const size_t size =
			make_record(record, cases[i].kind, cases[i].bytes, strlen(cases[i].bytes));
		struct ipmi_sensor sensor;

		g_assert_true(ipmi_sdr_parse(record, size, &sensor));
		g_assert_cmpstr(sensor.name, ==, cases[i].name);
		g_assert_true(ipmi_sdr_is_named(&sensor, cases[i].name));
		g_assert_cmpint(sensor.number, ==, 0x52);
		g_assert_true(sensor.in_watts);
	}
}

static void test_a_number_tells_sensors_of_one_name_apart(void)
{
	struct ipmi_sensor sensor = {.number = 0x52, .name = "Power"};

	g_assert_true(ipmi_sdr_is_named(&sensor, "Power"));
	g_assert_true(ipmi_sdr_is_named(&sensor, "Power (0x52)"));
	g_assert_false(ipmi_sdr_is_named(&sensor, "Power (0x53)"));
	g_assert_false(ipmi_sdr_is_named(&sensor, "Pow"));
	g_assert_false(ipmi_sdr_is_named(&sensor, "Power 2"));
}

static void test_units_and_owners(void)
{
	static const struct {
		size_t at;
		uint8_t value;
		bool in_watts, of_software;
		struct ipmi_target owner;
	} cases[] = {
		{5, 0x2c, true, false, {0x2c, 0, 0}},
		{6, 0x63, true, false, {0x20, 6, 3}},
		{5, 0x41, true, true, {0x40, 0, 0}},
		{21, 1, false, false, {0x20, 0, 0}},    /* degrees C */
		{21, 9, false, false, {0x20, 0, 0}},    /* VA */
		{20, 0x01, false, false, {0x20, 0, 0}}, /* percent */
		{20, 0x08, false, false, {0x20, 0, 0}}, /* per time */
		{20, 0x02, false, false, {0x20, 0, 0}}, /* with another unit */
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint8_t record[IPMI_SDR_RECORD_MAX];
		const size_t size = make_record(record, 3, "Pwr", 3);
		struct ipmi_sensor sensor;

		g_test_message("case %zu", i);
		record[cases[i].at] = cases[i].value;
		g_assert_true(ipmi_sdr_parse(record, size, &sensor));
		g_assert_cmpint(sensor.in_watts, ==, cases[i].in_watts);
		g_assert_cmpint(sensor.of_software, ==, cases[i].of_software);
		g_assert_cmpint(sensor.owner.address, ==, cases[i].owner.address);
		g_assert_cmpint(sensor.owner.channel, ==, cases[i].owner.channel);
		g_assert_cmpint(sensor.owner.lun, ==, cases[i].owner.lun);
	}
}

static void test_cut_and_other_records_are_none(void)
{
	uint8_t record[IPMI_SDR_RECORD_MAX];
	const size_t whole = make_record(record, 3, "Pwr Consumption", 15);
	struct ipmi_sensor sensor;

	for (size_t size = 0; size < whole; size++)
		g_assert_false(ipmi_sdr_parse(record, size, &sensor));
	record[47] |= 0x1f; /* a name that is longer than the record ends with it */
	g_assert_true(ipmi_sdr_parse(record, whole, &sensor));
	g_assert_cmpstr(sensor.name, ==, "Pwr Consumption");
	record[3] = 0x02;
	g_assert_false(ipmi_sdr_parse(record, whole, &sensor));
	record[3] = IPMI_SDR_FULL;
	record[2] = 0x01;
	g_assert_false(ipmi_sdr_parse(record, whole, &sensor));
}

static void test_watts(void)
{
	static const struct {
		struct ipmi_factors factors;
		uint8_t raw;
		double watts; /* NAN: none */
	} cases[] = {
		{{.m = 4}, 50, 200},
		{{.m = 2, .r_exponent = -1}, 255, 51},
		{{.m = 1, .b = 10, .b_exponent = 1}, 50, 150},
		{{.m = -1, .b = 255}, 50, 205},
		{{.m = 511, .r_exponent = 2}, 1, 51100},
		{{.m = 1, .format = 2}, 0xff, -1},
		{{.m = 1, .format = 2}, 0x7f, 127},
		{{.m = 1, .format = 1}, 0xfe, -1},
		{{.m = 1, .format = 1}, 0xff, 0},
		{{.m = 1, .format = 3}, 50, (double)NAN},
		{{.m = 1, .linearization = 8}, 20, 400},
		{{.m = 1, .linearization = 10}, 225, 15},
		{{.m = 4, .linearization = 11}, 128, 8},
		{{.m = 1, .linearization = 7}, 4, 0.25},
		{{.m = 1, .linearization = 7}, 0, (double)NAN},
		{{.m = 1, .linearization = 1}, 0, (double)NAN},
		{{.m = 1, .linearization = 12}, 1, (double)NAN},
		{{.m = 3, .linearization = 0x70}, 7, 21},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const double watts = ipmi_sdr_watts(&cases[i].factors, cases[i].raw);

		g_test_message("case %zu: %g", i, watts);
		if (isnan(cases[i].watts))
			g_assert_true(isnan(watts));
		else
			g_assert_cmpfloat(fabs(watts - cases[i].watts), <, 1e-9);
	}
}

static void test_factors(void)
{
	static const uint8_t bytes[6] = {0xff, 0xc0, 0x01, 0x80, 0, 0xe1};
	struct ipmi_factors factors = {0};

	ipmi_sdr_parse_factors(bytes, &factors);
	g_assert_cmpint(factors.m, ==, -1);
	g_assert_cmpint(factors.b, ==, -511);
	g_assert_cmpint(factors.r_exponent, ==, -2);
	g_assert_cmpint(factors.b_exponent, ==, 1);
}

static void test_top_of_the_range(void)
{
	const struct ipmi_factors plain = {.m = 1};
	const struct ipmi_factors twos = {.m = 1, .format = 2};

	g_assert_true(ipmi_sdr_at_top(&plain, 255));
	g_assert_false(ipmi_sdr_at_top(&plain, 127));
	g_assert_true(ipmi_sdr_at_top(&twos, 127));
	g_assert_false(ipmi_sdr_at_top(&twos, 255));
}

static void test_random_bytes_never_crash(void)
{
	struct random_stream random;

	random_stream_init(&random, 1, 0);
	for (int i = 0; i < 20000; i++) {
		g_autofree uint8_t *record = NULL;
		const size_t size = random_stream_below(&random, IPMI_SDR_RECORD_MAX);
		struct ipmi_sensor sensor;

		record = g_malloc(size + 1);
		for (size_t b = 0; b < size; b++)
			record[b] = (uint8_t)random_stream_below(&random, 256);
		if (size > 4 && i % 2) {
			record[2] = 0x51;
			record[3] = IPMI_SDR_FULL;
			record[4] = (uint8_t)(size - IPMI_SDR_HEADER);
		}
		if (ipmi_sdr_parse(record, size, &sensor))
			g_assert_true(g_utf8_validate(sensor.name, -1, NULL));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ipmi-sdr/names", test_names);
	g_test_add_func("/ipmi-sdr/same-name", test_a_number_tells_sensors_of_one_name_apart);
	g_test_add_func("/ipmi-sdr/units", test_units_and_owners);
	g_test_add_func("/ipmi-sdr/cut", test_cut_and_other_records_are_none);
	g_test_add_func("/ipmi-sdr/watts", test_watts);
	g_test_add_func("/ipmi-sdr/factors", test_factors);
	g_test_add_func("/ipmi-sdr/top", test_top_of_the_range);
	g_test_add_func("/ipmi-sdr/random", test_random_bytes_never_crash);
	return g_test_run();
}
