/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_spec.h"
#include "local-sched/lab/lab_error.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* A configuration with a lab of these blades; all of it on the caller's stack. */
static struct config config_of(struct config_lab *lab, struct config_blade *blades, uint32_t count)
{
	*lab = (struct config_lab){.blades = blades, .blades_count = count};
	return (struct config){.name = (char *)"two", .lab = lab};
}

static struct config_blade blade_of(const char *name)
{
	return (struct config_blade){(char *)name, 0.5, 60, 100, CONFIG_BMC_REDFISH};
}

static void test_a_spec_survives_its_file(void)
{
	struct config_blade blades[] = {{(char *)"b1", 0.3, 60.25, 300, CONFIG_BMC_IPMI},
					blade_of("other")};
	struct config_lab lab;
	struct config config = config_of(&lab, blades, 2);
	g_autoptr(GError) error = NULL;
	g_autoptr(lab_spec_t) spec = lab_spec_new(&config, NULL, &error);
	g_autoptr(lab_spec_t) back = NULL;
	g_autofree char *text = NULL;

	g_assert_no_error(error);
	spec->blades[1].bmc_port = 20623;
	spec->patience = 2.5;
	text = lab_spec_text(spec);
	back = lab_spec_parse(text, strlen(text), "spec.json", &error);
	g_assert_no_error(error);
	g_assert_true(lab_spec_same(spec, back));
	g_assert_cmpfloat(back->patience, ==, 2.5);
	g_assert_cmpstr(back->name, ==, "two");
	g_assert_cmpint(back->blades[0].bmc, ==, CONFIG_BMC_IPMI);
	g_assert_cmpint(back->blades[1].bmc, ==, CONFIG_BMC_REDFISH);
	g_assert_cmpuint(back->blades[0].number, ==, 1);
	g_assert_cmpstr(back->blades[1].name, ==, "other");
	g_assert_cmpstr(back->blades[1].uuid, ==, spec->blades[1].uuid);
	g_assert_cmpuint(back->blades[1].bmc_port, ==, 20623);
}

static void test_identities_are_new_each_time_but_the_lab_is_the_same(void)
{
	struct config_blade blades[] = {blade_of("b1"), blade_of("b2")};
	struct config_lab lab;
	struct config config = config_of(&lab, blades, 2);
	g_autoptr(lab_spec_t) first = lab_spec_new(&config, NULL, NULL);
	g_autoptr(lab_spec_t) second = lab_spec_new(&config, NULL, NULL);
	g_autoptr(lab_spec_t) renamed = lab_spec_new(&config, "another", NULL);

	g_assert_cmpstr(first->blades[0].uuid, !=, second->blades[0].uuid);
	g_assert_cmpstr(first->blades[0].uuid, !=, first->blades[1].uuid);
	g_assert_true(lab_spec_same(first, second));
	g_assert_cmpstr(renamed->name, ==, "another");
	g_assert_false(lab_spec_same(first, renamed));
}

static void test_another_budget_or_coefficient_is_another_lab(void)
{
	struct config_blade blades[] = {blade_of("b1")};
	struct config_lab lab;
	struct config config = config_of(&lab, blades, 1);
	g_autoptr(lab_spec_t) spec = lab_spec_new(&config, NULL, NULL);
	double *const values[] = {&blades[0].cpu_cores, &blades[0].idle_w, &blades[0].core_w};

	for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
		g_autoptr(lab_spec_t) other = NULL;

		*values[i] += 0.001;
		other = lab_spec_new(&config, NULL, NULL);
		g_assert_false(lab_spec_same(spec, other));
		*values[i] -= 0.001;
	}
	blades[0].bmc = CONFIG_BMC_IPMI;

	g_autoptr(lab_spec_t) spoken = lab_spec_new(&config, NULL, NULL);

	g_assert_false(lab_spec_same(spec, spoken));
}

static void assert_refused(const struct config *config, const char *name, const char *because)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(lab_spec_new(config, name, &error));
	g_assert_error(error, LAB_ERROR, LAB_ERROR_INPUT);
	g_assert_nonnull(strstr(error->message, because));
}

static void test_bad_blades_are_refused(void)
{
	static const struct {
		struct config_blade blade;
		const char *because;
	} cases[] = {
		{{(char *)"", 1, 1, 1, 0}, "name"},
		{{(char *)"Upper", 1, 1, 1, 0}, "name"},
		{{(char *)"-dash", 1, 1, 1, 0}, "name"},
		{{(char *)"dash-", 1, 1, 1, 0}, "name"},
		{{(char *)"../..", 1, 1, 1, 0}, "name"},
		{{(char *)"a-name-of-25-characters-x", 1, 1, 1, 0}, "name"},
		{{(char *)"b1", 1, 1, 1, 0}, "twice"},
		{{(char *)"b2", 0, 1, 1, 0}, "cpu_cores"},
		{{(char *)"b2", -1, 1, 1, 0}, "cpu_cores"},
		{{(char *)"b2", NAN, 1, 1, 0}, "cpu_cores"},
		{{(char *)"b2", 1, -1, 1, 0}, "idle_w: -1 is outside 0 to 1e+06 W"},
		{{(char *)"b2", 1, 1, INFINITY, 0}, "core_w: inf is outside 0 to 1e+06 W"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct config_blade blades[] = {blade_of("b1"), cases[i].blade};
		struct config_lab lab;
		struct config config = config_of(&lab, blades, 2);

		assert_refused(&config, NULL, cases[i].because);
	}
}

static void test_bad_labs_are_refused(void)
{
	struct config_blade blades[] = {blade_of("b1")};
	struct config_lab lab;
	struct config config = config_of(&lab, blades, 1);

	assert_refused(&config, "../etc", "cannot name a lab");
	assert_refused(&config, "", "cannot name a lab");
	assert_refused(&config, "a-name-that-is-longer-than-forty-characters", "cannot name a lab");
	lab.blades_count = 0;
	assert_refused(&config, NULL, "no lab");
	config.lab = NULL;
	assert_refused(&config, NULL, "no lab");
}

static void test_broken_files_are_refused(void)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"name\": \"a\"}",
		"{\"name\": \"a\", \"blades\": 3}",
		"{\"name\": \"a\", \"blades\": [3]}",
		"{\"name\": \"a\", \"blades\": [{\"name\": \"b1\"}]}",
		"{\"name\": \"a\", \"blades\": [{\"name\": \"b1\", \"uuid\": \"u\", "
		"\"cpu_cores\": 1, \"idle_w\": 1, \"core_w\": 1, \"bmc\": 0, "
		"\"bmc_port\": 70000}]}",
		"{\"name\": \"a\", \"blades\": [{\"name\": \"b1\", \"uuid\": \"u\", "
		"\"cpu_cores\": 1, \"idle_w\": 1, \"core_w\": 1, \"bmc\": 9, "
		"\"bmc_port\": 7000}]}",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(lab_spec_parse(texts[i], strlen(texts[i]), "spec.json", &error));
		g_assert_error(error, LAB_ERROR, LAB_ERROR_BROKEN);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/spec/a spec survives its file", test_a_spec_survives_its_file);
	g_test_add_func("/lab/spec/identities are new each time but the lab is the same",
			test_identities_are_new_each_time_but_the_lab_is_the_same);
	g_test_add_func("/lab/spec/another budget or coefficient is another lab",
			test_another_budget_or_coefficient_is_another_lab);
	g_test_add_func("/lab/spec/bad blades are refused", test_bad_blades_are_refused);
	g_test_add_func("/lab/spec/bad labs are refused", test_bad_labs_are_refused);
	g_test_add_func("/lab/spec/broken files are refused", test_broken_files_are_refused);
	return g_test_run();
}
