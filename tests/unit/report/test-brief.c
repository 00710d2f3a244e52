/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison in ten lines, word by word, for each verdict. */
#include <glib.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/compare_brief.h"
#include "fixture.h"

/* The lines of two experiments; no interval where runs are single. The caller frees. */
static char *brief(const struct fixture *measured, const struct fixture *simulated,
		   json_t **ret_document)
{
	g_autoptr(GError) error = NULL;
	char *measured_dir = fixture_new(measured);
	char *simulated_dir = fixture_new(simulated);
	struct summary *m = summary_load(measured_dir, &error);
	struct summary *s = summary_load(simulated_dir, &error);
	g_auto(compare_sides_t) sides = {0};
	g_autoptr(compare_t) compare = NULL;
	GPtrArray *lines;
	char *text;

	g_assert_no_error(error);
	compare_sides_init(&sides, m, NULL, s, NULL);
	/* Directories of tests have random names. */
	for (int i = 0; !sides.mixed && i < 2; i++) {
		g_free(sides.side[i].label);
		sides.side[i].label = g_strdup(i ? "tuesday" : "monday");
		sides.side[i].words = sides.side[i].label;
	}
	compare = compare_new(&sides, false, NULL);
	lines = compare_brief_lines(&sides, compare);
	g_assert_cmpuint(lines->len, <=, COMPARE_BRIEF_LINES);
	if (ret_document)
		*ret_document = compare_brief_json(&sides, compare);
	g_ptr_array_add(lines, NULL);
	text = g_strjoinv("\n", (char **)lines->pdata);
	g_ptr_array_unref(lines);
	summary_free(m);
	summary_free(s);
	fixture_remove(measured_dir);
	fixture_remove(simulated_dir);
	return text;
}

static const struct fixture measured_paper = {
	.measured = true, .runs = 4, .tasks = 40, .ratio = 1.05, .seed = 1, .cells = fixture_paper};
static const struct fixture simulated_paper = {.runs = 50, .seed = 1, .cells = fixture_paper};

static void test_agree(void)
{
	const struct fixture measured = {
		.measured = true,
		.runs = 4,
		.tasks = 40,
		.ratio = 1.05,
		.seed = 1,
		.cells = fixture_paper,
		.capabilities =
			"{\"c1\": {\"hosts\": {\"b1\": {}, \"b2\": {}}}, \"c2\": {\"hosts\": {\"b3\": {}}}}"};
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = brief(&measured, &simulated_paper, &document);
	const json_t *rankings = json_object_get(document, "rankings");

	g_assert_cmpstr(
		text, ==,
		"Measured: 32 runs of 4 policies at 2 limits of energy; 960 of 1280 tasks "
		"completed, of 1 type on 2 clusters.\n"
		"It ran on virtual machines on emulated CPUs (QEMU without KVM), 3 blades.\n"
		"Simulated: 400 runs of 4 policies at 2 limits of energy, 50 workloads of the "
		"same kind; judged on their mean.\n"
		"At 100 % of the energy, by utility: event-based 100.4 ~ max-upe 98.5 ~ "
		"max-upr 98.2 > easy 82.2. Simulated alike: 3 of 6 pairs, too noisy to tell: "
		"3.\n"
		"At 70 % of the energy, by utility: event-based 84.3 ~ max-upe 84.2 > max-upr "
		"73.7 > easy 54.2. Simulated alike: 5 of 6 pairs, too noisy to tell: 1.\n"
		"Verdict: agree. The simulation ranks the policies as the measurement does in "
		"the 8 pairs that both can tell apart, and turns none round.\n"
		"How sure: 8 of 12 pairs are decided (measured: 95 % intervals from repeats; "
		"simulated: 95 % intervals from trials). > stands where the measurement tells "
		"two apart, ~ where it does not.\n"
		"What limits it: emulated CPUs; CPU quotas in place of P-states; modelled "
		"watts; few repeats (4); execution times off their estimates by 5.0 % (median).");
	g_assert_cmpstr(json_string_value(json_object_get(document, "verdict")), ==, "agree");
	g_assert_cmpuint(json_array_size(rankings), ==, 2);
	g_assert_cmpint(json_integer_value(json_object_get(document, "pairs")), ==, 12);
	g_assert_cmpint(json_integer_value(
				json_object_get(json_object_get(document, "measured"), "hosts")),
			==, 3);
}

static void test_differ(void)
{
	const struct fixture simulated = {.runs = 50, .seed = 1, .cells = fixture_turned};
	g_autofree char *text = brief(&measured_paper, &simulated, NULL);

	g_assert_cmpstr(
		text, ==,
		"Measured: 32 runs of 4 policies at 2 limits of energy; 960 of 1280 tasks "
		"completed, of 1 type on 2 clusters.\n"
		"It ran on virtual machines on emulated CPUs (QEMU without KVM).\n"
		"Simulated: 400 runs of 4 policies at 2 limits of energy, 50 workloads of the "
		"same kind; judged on their mean.\n"
		"At 100 % of the energy, by utility: event-based 100.4 ~ max-upe 98.5 ~ "
		"max-upr 98.2 > easy 82.2. Simulated alike: 3 of 6 pairs, too noisy to tell: "
		"3.\n"
		"At 70 % of the energy, by utility: event-based 84.3 ~ max-upe 84.2 > max-upr "
		"73.7 > easy 54.2. Simulated alike: 2 of 6 pairs, the other way round: 3, too "
		"noisy to tell: 1.\n"
		"Verdict: differ. The simulation turns pairs round, by more than chance: easy "
		"and max-upr at 70 %, and others.\n"
		"How sure: 8 of 12 pairs are decided (measured: 95 % intervals from repeats; "
		"simulated: 95 % intervals from trials). > stands where the measurement tells "
		"two apart, ~ where it does not.\n"
		"What limits it: emulated CPUs; CPU quotas in place of P-states; modelled "
		"watts; few repeats (4); execution times off their estimates by 5.0 % (median).");
}

static void test_too_noisy(void)
{
	const struct fixture measured = {
		.measured = true, .runs = 1, .ratio = 1, .seed = 5, .cells = fixture_noisy};
	const struct fixture simulated = {.runs = 20, .seed = 5, .cells = fixture_noisy};
	g_autofree char *text = brief(&measured, &simulated, NULL);

	g_assert_cmpstr(
		text, ==,
		"Measured: 4 runs of 4 policies at 1 limit of energy; 120 of 160 tasks "
		"completed.\n"
		"It ran on virtual machines on emulated CPUs (QEMU without KVM).\n"
		"Simulated: 80 runs of 4 policies at 1 limit of energy, 20 workloads of the "
		"same kind; judged on their mean.\n"
		"At 100 % of the energy, by utility: easy 128.1 ~ max-upe 111.6 ~ event-based "
		"87.9 ~ max-upr 87.1. Simulated alike: 0 of 6 pairs, too noisy to tell: 6.\n"
		"Verdict: too noisy. No pair is decided: these runs show neither that the "
		"simulation ranks as the measurement does, nor that it does not.\n"
		"How sure: 0 of 6 pairs are decided (measured: no interval, as single runs "
		"tell of no noise; simulated: 95 % intervals from trials). > stands where the "
		"measurement tells two apart, ~ where it does not.\n"
		"What limits it: emulated CPUs; CPU quotas in place of P-states; modelled "
		"watts; one run of each, which cannot tell its own noise.");
}

static void test_two_measured(void)
{
	const struct fixture other = {.measured = true,
				      .runs = 1,
				      .tasks = 40,
				      .ratio = 1.05,
				      .seed = 3,
				      .cells = fixture_turned};
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = brief(&measured_paper, &other, &document);

	g_assert_cmpstr(
		text, ==,
		"monday, measured: 32 runs of 4 policies at 2 limits of energy; 960 of 1280 tasks "
		"completed, of 1 type on 2 clusters. It ran on virtual machines on emulated CPUs "
		"(QEMU without KVM).\n"
		"tuesday, measured: 8 runs of 4 policies at 2 limits of energy; 240 of 320 tasks "
		"completed, of 1 type on 2 clusters. It ran on virtual machines on emulated CPUs "
		"(QEMU without KVM).\n"
		"At 100 % of the energy, by utility: event-based 100.4 ~ max-upe 98.5 ~ "
		"max-upr 98.2 > easy 82.2. Alike in tuesday: 3 of 6 pairs, too noisy to tell: 3.\n"
		"At 70 % of the energy, by utility: event-based 84.3 ~ max-upe 84.2 > max-upr "
		"73.7 > easy 54.2. Alike in tuesday: 2 of 6 pairs, the other way round: 3, too "
		"noisy to tell: 1.\n"
		"Verdict: differ. tuesday turns pairs round, by more than chance: easy and max-upr "
		"at 70 %, and others.\n"
		"How sure: 8 of 12 pairs are decided (monday: 95 % intervals from repeats; "
		"tuesday: 95 % intervals from tasks). > stands where monday tells two apart, ~ "
		"where it does not.\n"
		"What limits it: emulated CPUs; CPU quotas in place of P-states; modelled watts; "
		"monday: few repeats (4); monday: execution times off their estimates by 5.0 % "
		"(median); tuesday: one run of each, which cannot tell its own noise; tuesday: "
		"execution times off their estimates by 5.1 % (median).");
	g_assert_nonnull(json_object_get(json_object_get(document, "b"), "runs"));
}

/* At the limits of one side the other did not run. */
static void test_nothing(void)
{
	static const struct fixture_cell alone[] = {{"easy", 0.5, 80, 2, 9000}, {NULL}};
	const struct fixture simulated = {.runs = 2, .seed = 1, .cells = alone};
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = brief(&measured_paper, &simulated, &document);

	g_assert_cmpstr(
		text, ==,
		"Measured: 32 runs of 4 policies at 2 limits of energy; 960 of 1280 tasks "
		"completed, of 1 type on 2 clusters.\n"
		"It ran on virtual machines on emulated CPUs (QEMU without KVM).\n"
		"Simulated: 2 runs of 1 policy at 1 limit of energy, 2 workloads of the same "
		"kind.\n"
		"Verdict: none. There is no limit at which both ran the same two policies.\n"
		"What limits it: emulated CPUs; CPU quotas in place of P-states; modelled "
		"watts; few repeats (4).");
	g_assert_true(json_is_null(json_object_get(document, "verdict")));
	g_assert_cmpuint(json_array_size(json_object_get(document, "rankings")), ==, 0);
}

static void test_troubles(void)
{
	static const struct {
		/* words: between what was modelled and the noise */
		const char *unmeasured, *speed_changes, *words;
	} cases[] = {
		{"'a' on 'c1': lost", NULL,
		 "watts; 1 pair of type and cluster could not be measured; few"},
		{"'a' on 'c1': lost\n'b' on 'c2': stalled",
		 "run 1 (easy at 100 %): the machine became 30 % slower while it ran\n",
		 "watts; 2 pairs of type and cluster could not be measured; the machine changed its speed in 1 of 32 runs; few"},
		{"", "run 1: slower\nrun 2: faster",
		 "watts; the machine changed its speed in 2 of 32 runs; few"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct fixture measured = measured_paper;
		g_autofree char *text = NULL;

		measured.unmeasured = cases[i].unmeasured;
		measured.speed_changes = cases[i].speed_changes;
		text = brief(&measured, &simulated_paper, NULL);
		g_assert_nonnull(strstr(text, cases[i].words));
	}
}

/* However many limits and policies there are, it is ten lines. */
static void test_many(void)
{
	static char names[8][8];
	struct fixture_cell cells[8 * 6 + 1] = {{NULL}};
	const struct fixture measured = {.measured = true, .runs = 2, .seed = 3, .cells = cells};
	const struct fixture simulated = {.runs = 5, .seed = 4, .cells = cells};
	g_autofree char *text = NULL;

	for (int p = 0; p < 8; p++) {
		g_snprintf(names[p], sizeof(names[p]), "p%d", p);
		for (int l = 0; l < 6; l++)
			cells[6 * p + l] =
				(struct fixture_cell){names[p], 1 - 0.1 * l, 100 - 10 * p, 1, 5000};
	}
	text = brief(&measured, &simulated, NULL);
	g_assert_nonnull(strstr(text, ", ... 3 more ..., last p7 "));
	g_assert_nonnull(strstr(text, "\nAnd 3 lower limits"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/brief/agree", test_agree);
	g_test_add_func("/brief/differ", test_differ);
	g_test_add_func("/brief/too noisy", test_too_noisy);
	g_test_add_func("/brief/measured with measured", test_two_measured);
	g_test_add_func("/brief/nothing that could be compared", test_nothing);
	g_test_add_func("/brief/troubles of the measurement", test_troubles);
	g_test_add_func("/brief/many limits and policies", test_many);
	return g_test_run();
}
