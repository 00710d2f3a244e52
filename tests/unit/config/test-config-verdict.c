/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "controller/config/config_controller.h"
#include "controller/config/config_verdict.h"
#include "tests/unit/config/config_variant.h"

/* The small good configuration, with limits of 1 and 0.7, three policies and this section. */
static struct config *load(const char *verdict, GError **error)
{
	g_autofree char *text =
		g_strdup_printf("%sexperiment:\n  policies: [easy, max-upr, max-upe]\n", verdict);
	g_autofree char *path = config_variant_write("experiment:\n  policies: [easy]\n", text);
	struct config *config = config_controller_load(path, error);

	g_unlink(path);
	return config;
}

static void test_pairs_and_defaults(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) without = load("", &error);
	const struct config_verdict *verdict;

	g_assert_no_error(error);
	g_assert_null(config_verdict(without));
	g_autoptr(config_t) config =
		load("verdict:\n"
		     "  pairs:\n"
		     "    - {policies: [easy, max-upr]}\n"
		     "  controls: [{policies: [max-upe, max-upr], limits: [1]}]\n",
		     &error);
	g_assert_no_error(error);
	verdict = config_verdict(config);
	g_assert_cmpuint(verdict->pairs_count, ==, 1);
	g_assert_cmpstr(verdict->pairs[0].policies[1], ==, "max-upr");
	g_assert_cmpuint(verdict->pairs[0].limits_count, ==, 0);
	g_assert_cmpuint(verdict->controls_count, ==, 1);
	g_assert_cmpfloat(verdict->controls[0].limits[0], ==, 1);
	g_assert_cmpfloat(verdict->alpha, ==, 0.05);
	g_assert_cmpfloat(verdict->equal_within, ==, 0.05);
	g_assert_cmpuint(verdict->repeats, ==, CONFIG_VERDICT_REPEATS);
}

/* The first key of a pair is a list, which is no name that has to differ. */
static void test_many_pairs(void)
{
	for (int i = 0; i < 200; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config =
			load("verdict: {pairs: [{policies: [easy, max-upr], limits: [1]}, "
			     "{policies: [easy, max-upe], limits: [1]}, "
			     "{policies: [max-upe, max-upr], limits: [1]}, "
			     "{policies: [easy, max-upr], limits: [0.7]}, "
			     "{policies: [easy, max-upe], limits: [0.7]}, "
			     "{policies: [max-upe, max-upr], limits: [0.7]}]}\n",
			     &error);

		g_assert_no_error(error);
		g_assert_cmpuint(config_verdict(config)->pairs_count, ==, 6);
	}
}

static const struct {
	const char *verdict;
	const char *message; /* must be part of the error */
} bad_cases[] = {
	{"pairs: [{policies: [easy, max-util]}]",
	 "verdict.pairs[0].policies[1]: 'max-util' is none of experiment.policies"},
	{"pairs: [{policies: [easy, easy]}]", "verdict.pairs[0].policies[1]: 'easy'"},
	{"pairs: [{policies: [easy]}]", "verdict.pairs[0].policies"},
	{"pairs: [{policies: [easy, max-upr, max-upe]}]", "verdict.pairs[0].policies"},
	{"pairs: [{policies: [easy, max-upr], limits: [0.6]}]",
	 "verdict.pairs[0].limits[0]: 0.6 is none of experiment.limits"},
	{"pairs: [{policies: [easy, max-upr]}, {policies: [max-upr, easy], limits: [1]}]",
	 "verdict.pairs[1]: 'max-upr' and 'easy' at 1 are a pair already"},
	{"{pairs: [{policies: [easy, max-upr]}], controls: [{policies: [max-upr, easy]}]}",
	 "verdict.controls[0]: 'max-upr' and 'easy' at 1 are a pair already"},
	{"controls: [{policies: [easy, max-upr]}]", "verdict.pairs: none beside the controls"},
	{"alpha: 0.6", "verdict.alpha: 0.6 is outside (0, 0.5]"},
	{"alpha: 0", "verdict.alpha: 0"},
	{"equal_within: 2", "verdict.equal_within: 2 is more than 1"},
	{"repeats: 1", "verdict.repeats: 1"},
	{"pair: [{policies: [easy, max-upr]}]", "unknown key 'pair'"},
	{"pairs: [{policy: [easy, max-upr]}]", "unknown key 'policy'"},
};

static void test_what_makes_no_sense_is_refused(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
		const bool flow = bad_cases[i].verdict[0] == '{';
		g_autofree char *text = g_strdup_printf(flow ? "verdict: %s\n" : "verdict: {%s}\n",
							bad_cases[i].verdict);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = load(text, &error);

		g_assert_null(config);
		if (!strstr(error->message, bad_cases[i].message))
			g_error("'%s' does not say '%s'", error->message, bad_cases[i].message);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/config/verdict/pairs-and-defaults", test_pairs_and_defaults);
	g_test_add_func("/config/verdict/many-pairs", test_many_pairs);
	g_test_add_func("/config/verdict/what-makes-no-sense-is-refused",
			test_what_makes_no_sense_is_refused);
	return g_test_run();
}
