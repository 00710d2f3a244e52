/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <glib.h>
#include <math.h>
#include <stdint.h>

#include "common/number_option.h"
#include "common/read_number.h"

static void test_numbers(void)
{
	const struct {
		const char *text;
		double value;
	} good[] = {
		{"0", 0},
		{"-0", 0},
		{"-0.0", 0},
		{"7", 7},
		{"-7", -7},
		{"010", 10},
		{"1.5", 1.5},
		{".5", 0.5},
		{"5.", 5},
		{"-1.5e3", -1500},
		{"1E+3", 1000},
		{"123456789012345", 123456789012345.0},
		{"1234567890123456", 1234567890123456.0},
		{"0.1", 0.1},
		{"2.2250738585072014e-308", DBL_MIN},
		{"5e-324", 5e-324},
		{"1.7976931348623157e308", DBL_MAX},
		{"0e-999", 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		double value = -1;

		if (!read_number(good[i].text, -DBL_MAX, DBL_MAX, &value) ||
		    value != good[i].value || signbit(value) != signbit(good[i].value))
			g_error("\"%s\" is read as %g", good[i].text, value);
	}
}

static const char *const rubbish[] = {
	NULL,     "",       " ",        "-",     "+",     "+1",  " 1",    "1 ",
	"\t1",    "1\n",    ".",        "-.",    "e3",    "1e",  "1e+",   "1,024",
	"1_000",  "0x10",   "0X10",     "-0x1",  "0x1p3", "nan", "NaN",   "-nan",
	"inf",    "-inf",   "Infinity", "1.2.3", "1..2",  "--1", "1-",    "1e999",
	"-1e999", "1e-999", "1e5x",     "ten",   "1f",    "0b1", "1'000", "\xd9\xa1",
};

static void test_rubbish(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(rubbish); i++) {
		double value = 42;
		int64_t integer = 42;
		uint64_t whole = 42;

		if (read_number(rubbish[i], -DBL_MAX, DBL_MAX, &value) ||
		    read_number_integer(rubbish[i], INT64_MIN, INT64_MAX, &integer) ||
		    read_number_unsigned(rubbish[i], 0, UINT64_MAX, &whole))
			g_error("\"%s\" is a number", rubbish[i]);
		g_assert_true(value == 42 && integer == 42 && whole == 42);
	}
}

static void test_integers(void)
{
	const struct {
		const char *text;
		int64_t value;
	} good[] = {
		{"0", 0},
		{"-0", 0},
		{"-1", -1},
		{"007", 7},
		{"9007199254740993", INT64_C(9007199254740993)},
		{"9223372036854775807", INT64_MAX},
		{"-9223372036854775808", INT64_MIN},
	};
	static const char *const bad[] = {"1.0",
					  "1.",
					  "1e3",
					  "9223372036854775808",
					  "-9223372036854775809",
					  "18446744073709551616",
					  "99999999999999999999999"};
	int64_t value = 42;
	uint64_t whole = 42;

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		g_assert_true(read_number_integer(good[i].text, INT64_MIN, INT64_MAX, &value));
		g_assert_cmpint(value, ==, good[i].value);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		if (read_number_integer(bad[i], INT64_MIN, INT64_MAX, &value))
			g_error("\"%s\" is an integer", bad[i]);
	g_assert_true(read_number_unsigned("18446744073709551615", 0, UINT64_MAX, &whole));
	g_assert_true(whole == UINT64_MAX);
	g_assert_false(read_number_unsigned("18446744073709551616", 0, UINT64_MAX, &whole));
	g_assert_false(read_number_unsigned("-0", 0, UINT64_MAX, &whole));
	g_assert_false(read_number_unsigned("-1", 0, UINT64_MAX, &whole));
}

static void test_range(void)
{
	double value = 42;
	int64_t integer = 42;
	uint64_t whole = 42;

	g_assert_true(read_number("1", 0, 1, &value));
	g_assert_false(read_number("1.0001", 0, 1, &value));
	g_assert_false(read_number("-1", 0, 1, &value));
	g_assert_true(read_number_integer("-3", -3, 3, &integer));
	g_assert_false(read_number_integer("-4", -3, 3, &integer));
	g_assert_true(read_number_unsigned("3", 1, 3, &whole));
	g_assert_false(read_number_unsigned("0", 1, 3, &whole));
	g_assert_false(read_number_unsigned("4", 1, 3, &whole));
	g_assert_true(value == 1 && integer == -3 && whole == 3);
}

/* What comes behind a number is the caller's to judge. */
static void test_front(void)
{
	const struct {
		const char *text, *behind;
		double value;
	} cases[] = {
		{"12 W", " W", 12}, {"1,024", ",024", 1}, {"0x10", "x10", 0}, {"1.5h", "h", 1.5},
		{"1e", "e", 1},     {"1e+", "e+", 1},     {"-2/", "/", -2},
	};
	int64_t integer = 42;
	uint64_t whole = 42;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		double value = 42;

		g_assert_cmpstr(read_number_front(cases[i].text, &value), ==, cases[i].behind);
		g_assert_cmpfloat(value, ==, cases[i].value);
	}
	g_assert_cmpstr(read_number_front_integer("-12.5", &integer), ==, ".5");
	g_assert_cmpint(integer, ==, -12);
	g_assert_cmpstr(read_number_front_unsigned("12 8", &whole), ==, " 8");
	g_assert_cmpuint(whole, ==, 12);
	g_assert_null(read_number_front_unsigned("W", &whole));
}

static void test_option(void)
{
	double value = 42;
	int64_t integer = 42;
	uint32_t count = 42;
	g_autoptr(GError) error = NULL;

	g_assert_true(number_option("--x", NULL, 0, 1, &value, &error));
	g_assert_true(number_option_unsigned("--x", NULL, 0, 1, &count, &error));
	g_assert_true(value == 42 && count == 42);
	g_assert_true(number_option_unsigned("--x", "4294967295", 1, UINT32_MAX, &count, &error));
	g_assert_cmpuint(count, ==, UINT32_MAX);
	g_assert_false(number_option_unsigned("--x", "-1", 1, 8, &count, &error));
	g_assert_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
	g_assert_cmpstr(error->message, ==, "--x: \"-1\" is no whole number from 1 to 8");
	g_clear_error(&error);
	g_assert_false(number_option("--x", "nan", 0, 1, &value, &error));
	g_assert_cmpstr(error->message, ==, "--x: \"nan\" is no number from 0 to 1");
	g_clear_error(&error);
	g_assert_false(number_option_integer("--x", "0x10", 1, 100, &integer, &error));
	g_assert_true(value == 42 && integer == 42 && count == UINT32_MAX);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read-number/numbers in decimal notation", test_numbers);
	g_test_add_func("/read-number/anything else is no number", test_rubbish);
	g_test_add_func("/read-number/integers are exact over 64 bits", test_integers);
	g_test_add_func("/read-number/a number outside its range is none", test_range);
	g_test_add_func("/read-number/what is behind a number is returned", test_front);
	g_test_add_func("/read-number/an option says what it takes", test_option);
	return g_test_run();
}
