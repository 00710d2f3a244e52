/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys are ordered as the numbers that printf() gives with 12 significant digits. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/sched/rank_key.h"
#include "tests/oracle/printed.h"

#define TRIPLES 1000000

/* Some units in the last place away. */
static double step_by_units(double value, int units)
{
	for (; units > 0; units--)
		value = nextafter(value, (double)INFINITY);
	for (; units < 0; units++)
		value = nextafter(value, -(double)INFINITY);
	return value;
}

static double draw_bits(GRand *rand)
{
	double value;

	do {
		const guint64 bits = (guint64)g_rand_int(rand) << 32 | g_rand_int(rand);

		memcpy(&value, &bits, sizeof(value));
	} while (isnan(value));
	return value;
}

/*
 * Numbers of all kinds: any bits, denormals, next to powers of ten, few digits, next to a limit
 * between keys.
 */
static double draw(GRand *rand)
{
	static const double special[] = {0,           -0.0,        INFINITY,     -INFINITY,
					 G_MINDOUBLE, G_MAXDOUBLE, -G_MAXDOUBLE, 5e-324,
					 1,           -1};
	const double sign = g_rand_boolean(rand) ? 1 : -1;
	const int power = g_rand_int_range(rand, -40, 40);

	switch (g_rand_int_range(rand, 0, 8)) {
	case 0:
		return draw_bits(rand);
	case 1:
		return special[g_rand_int_range(rand, 0, G_N_ELEMENTS(special))];
	case 2:
		return sign * 5e-324 * g_rand_int_range(rand, 0, 1000000);
	case 3:
		return sign * step_by_units(pow(10, power), g_rand_int_range(rand, -4, 5));
	case 4:
		return sign * g_rand_int_range(rand, 1, 1000) * pow(10, power % 12);
	case 5:
		return sign * pow(10, power) *
		       (floor(g_rand_double_range(rand, 1e11, 1e12)) + 0.5 +
			g_rand_int_range(rand, -2, 3) * 1e-4);
	case 6:
		return sign * pow(10, power) * (1 - g_rand_double_range(rand, 0, 2e-11));
	default:
		return sign * g_rand_double_range(rand, 0, 1e6);
	}
}

/* Another number, or a close one. */
static double draw_near(GRand *rand, double value)
{
	switch (g_rand_int_range(rand, 0, 4)) {
	case 0:
		return draw(rand);
	case 1:
		return isinf(value) ? value : step_by_units(value, g_rand_int_range(rand, -3, 4));
	case 2:
		return value * (1 + g_rand_double_range(rand, -2e-11, 2e-11));
	default:
		return value * (1 + g_rand_int_range(rand, -3, 4) * 1e-12);
	}
}

/* A number, its key, and what printf() makes of it. */
struct number {
	double value;
	double key;
	double printed;
};

static struct number make_number(double value)
{
	const struct number number = {value, rank_key(value), printed(value)};

	g_assert_cmpint(rank_key_compare(value, value), ==, 0);
	g_assert_true(rank_key(number.key) == number.key);
	g_assert_true(rank_key(-value) == -number.key);
	g_assert_true(number.key == number.printed ||
		      fabs(number.key - number.printed) <= 4e-16 * fabs(value));
	return number;
}

/* What holds for two numbers. Returns how they compare. */
static int compare(const struct number *a, const struct number *b)
{
	const int order = rank_key_compare(a->value, b->value);

	g_assert_cmpint(order, ==, -rank_key_compare(b->value, a->value));
	g_assert_true(a->value <= b->value ? order <= 0 : order >= 0);
	g_assert_cmpint(order, ==, (a->printed > b->printed) - (a->printed < b->printed));
	g_assert_cmpint(order, ==, (a->key > b->key) - (a->key < b->key));
	return order;
}

static void test_order(void)
{
	GRand *rand = g_rand_new_with_seed(30);
	guint ties = 0;

	for (guint i = 0; i < TRIPLES; i++) {
		const struct number a = make_number(draw(rand));
		const struct number b = make_number(draw_near(rand, a.value));
		const struct number c = make_number(draw_near(rand, b.value));
		const int ab = compare(&a, &b);
		const int bc = compare(&b, &c);
		const int ac = compare(&a, &c);

		if (ab <= 0 && bc <= 0)
			g_assert_cmpint(ac, ==, ab == 0 ? bc : -1);
		if (ab >= 0 && bc >= 0)
			g_assert_cmpint(ac, ==, ab == 0 ? bc : 1);
		ties += a.value != b.value && ab == 0;
	}
	/* Or it would say little. */
	g_assert_cmpuint(ties, >, TRIPLES / 10);
	g_rand_free(rand);
}

/* The same number by two ways is a tie; a twelfth digit more is none. */
static void test_examples(void)
{
	const struct {
		double a;
		double b;
		int order;
	} cases[] = {
		{0.1 + 0.2, 0.3, 0},
		{8 * (1 - 5.0 / 14) / 4, 9.0 / 7, 0},
		{2488456.0 / (2488456.0 / 25962), 25962, 0},
		{1.00000000001, 1, 1},
		{1.000000000001, 1, 0},
		{9.99999999999, 10, -1},
		{9.9999999999996, 10, 0},
		{1e-300, 2e-300, -1},
		{-1, 1, -1},
		{-0.0, 0, 0},
		{G_MAXDOUBLE, (double)INFINITY, -1},
		{(double)INFINITY, (double)INFINITY, 0},
		{-(double)INFINITY, (double)INFINITY, -1},
		{5e-324, 0, 1},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_cmpint(rank_key_compare(cases[i].a, cases[i].b), ==, cases[i].order);
		g_assert_cmpint(rank_key_compare(cases[i].b, cases[i].a), ==, -cases[i].order);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rank-key/equal numbers by different ways are ties", test_examples);
	g_test_add_func("/rank-key/a million triples are in the order that printf() gives",
			test_order);
	return g_test_run();
}
