/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/report/resampling.h"
#include "fixture.h"
#include "testbed_runs.h"

static const char *const policies[] = {"easy", "max-upr", "max-upe", NULL};
static const char *const queue_policies[] = {"pam", "moc", "mm", NULL};
static const double limits[] = {0.7};

/* The paper's testbed (configs/testbed-hs22.yaml). */
static struct config *testbed(void)
{
	const char *root = g_getenv("VIRTBED_SOURCE_ROOT");
	g_autofree char *path =
		g_build_filename(root ? root : ".", "configs", "testbed-hs22.yaml", NULL);
	g_autoptr(GError) error = NULL;
	struct config *config = config_controller_load(path, &error);

	g_assert_no_error(error);
	return config;
}

/* Tasks with deadlines on three machines with queues, twice as many as they can do. */
static struct config *pruning(void)
{
	static const char text[] =
		"name: queues\n"
		"clusters:\n"
		"  - {name: m1, nodes: 1, cores: 1, memory_mib: 64}\n"
		"  - {name: m2, nodes: 1, cores: 1, memory_mib: 64}\n"
		"  - {name: m3, nodes: 1, cores: 1, memory_mib: 64}\n"
		"environment:\n"
		"  pruning:\n"
		"    {tasks: 80, level: 80, span_s: 35, left_out: 0, slack: 1, queue_length: 3,\n"
		"     bin_s: 0.2, defer_threshold: 0.7, entries: [\n"
		"      {type: a, machine: m1, samples: [0.7, 0.8, 0.8, 1.1, 1.4]},\n"
		"      {type: a, machine: m2, samples: [2.6, 3.1, 3.4, 3.4, 4.2]},\n"
		"      {type: a, machine: m3, samples: [1.6, 1.9, 2.1, 2.2, 3.0]},\n"
		"      {type: b, machine: m1, samples: [3.5, 4.1, 4.2, 4.9, 6.2]},\n"
		"      {type: b, machine: m2, samples: [1.7, 1.9, 2.0, 2.4, 3.1]},\n"
		"      {type: b, machine: m3, samples: [4.1, 4.4, 5.1, 5.1, 7.0]}]}\n"
		"experiment: {policies: [pam, moc, mm], limits: [1], mapping_interval_s: 1,\n"
		"  duration_s: 100}\n";
	char *dir = g_dir_make_tmp("virtbed-noise-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
	g_autoptr(GError) error = NULL;
	struct config *config;

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	fixture_remove(dir);
	return config;
}

/* A run directory of the testbed and its summary. */
struct experiment_dir {
	char *dir;
	struct summary *summary;
};

static struct experiment_dir make(const struct config *config, bool measured, uint32_t runs,
				  double spread, uint64_t seed)
{
	g_autoptr(GError) error = NULL;
	const bool queues = config_environment(config);
	const struct testbed_runs what = {
		.config = config,
		.policies = queues ? queue_policies : policies,
		.limits = limits,
		.limits_count = G_N_ELEMENTS(limits),
		.measured = measured,
		.runs = runs,
		.spread = spread,
		.seed = seed,
	};
	struct experiment_dir made = {.dir = testbed_runs_new(&what)};

	made.summary = summary_load(made.dir, &error);
	g_assert_no_error(error);
	return made;
}

static void clear(struct experiment_dir *made)
{
	summary_free(made->summary);
	fixture_remove(made->dir);
}

static double sd_of(struct resampling *noise, const char *policy, double limit)
{
	struct compare_resampling *base = resampling_compare(noise);
	uint32_t repeats;
	double sd;

	g_assert_true(base->sd(base, COMPARE_BY_UTILITY, policy, limit, &sd, &repeats));
	g_assert_cmpuint(repeats, ==, RESAMPLING_REPEATS);
	return sd;
}

static void test_exact_times_have_no_noise(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct experiment_dir measured = make(config, true, 1, 0, 1);
	g_autoptr(resampling_t) noise = resampling_new(measured.summary, true, &error);

	g_assert_no_error(error);
	/* Ratios are quotients of rounded numbers. */
	g_assert_cmpfloat(sd_of(noise, "max-upr", 0.7), <, 1e-6);
	clear(&measured);
}

/* The noise told from one run is about that of 40 runs, and told alike each time. */
static void test_noise_is_that_of_repeats(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct experiment_dir once = make(config, true, 1, 0.05, 1);
	struct experiment_dir often = make(config, true, 40, 0.05, 2);
	g_autoptr(resampling_t) noise = resampling_new(once.summary, true, &error);
	g_autoptr(resampling_t) again = resampling_new(once.summary, true, &error);

	g_assert_no_error(error);
	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
		for (gsize j = 0; policies[j]; j++) {
			double told = sd_of(noise, policies[j], limits[i]);
			double real =
				summary_cell(often.summary, policies[j], limits[i])->utility_sd;

			g_test_message("%s at %g: %.2f told, %.2f over 40 repeats", policies[j],
				       limits[i], told, real);
			g_assert_cmpfloat(told, >, 0.6 * real);
			g_assert_cmpfloat(told, <, 1.6 * real);
			g_assert_true(told == sd_of(again, policies[j], limits[i]));
		}
	}
	g_assert_false(resampling_compare(noise)->sd(resampling_compare(noise), COMPARE_BY_UTILITY,
						     "random", 1, &(double){0}, &(uint32_t){0}));
	clear(&once);
	clear(&often);
}

/*
 * As above, for tasks with deadlines, whose execution times are drawn from what was measured of
 * them.
 */
static void test_noise_of_deadlines(void)
{
	g_autoptr(config_t) config = pruning();
	g_autoptr(GError) error = NULL;
	struct experiment_dir once = make(config, true, 1, 0, 1);
	struct experiment_dir often = make(config, true, 40, 0, 2);
	g_autoptr(resampling_t) noise = resampling_new(once.summary, true, &error);
	g_autoptr(resampling_t) again = resampling_new(once.summary, true, &error);

	g_assert_no_error(error);
	for (gsize i = 0; queue_policies[i]; i++) {
		const char *policy = queue_policies[i];
		double told = sd_of(noise, policy, limits[0]);
		double real = summary_cell(often.summary, policy, limits[0])->utility_sd;

		g_test_message("%s: %.2f told, %.2f over 40 repeats", policy, told, real);
		g_assert_cmpfloat(told, >, 0.6 * real);
		g_assert_cmpfloat(told, <, 1.6 * real);
		g_assert_true(told == sd_of(again, policy, limits[0]));
	}
	clear(&once);
	clear(&often);
}

static enum compare_verdict verdict(const struct experiment_dir *measured,
				    const struct experiment_dir *simulated)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(resampling_t) noise = resampling_new(measured->summary, true, &error);
	g_auto(compare_sides_t) sides = {0};
	g_autoptr(compare_t) compare = NULL;
	g_autofree char *text = NULL;

	g_assert_no_error(error);
	compare_sides_init(&sides, measured->summary, resampling_compare(noise), simulated->summary,
			   NULL);
	compare = compare_new(&sides, false, &error);
	g_assert_no_error(error);
	text = compare_text(compare);
	g_test_message("%s", text);
	g_assert_true(compare->same_arrivals);
	for (guint i = 0; i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		g_assert_cmpint(pair->sides[0].basis, ==, COMPARE_BASIS_SIMULATED);
		g_assert_cmpint(pair->sides[1].basis, ==, COMPARE_BASIS_SIMULATED);
		g_assert_cmpint(pair->trials.basis, ==, COMPARE_BASIS_TRIALS);
	}
	return compare->verdict;
}

static void test_same_estimates_agree(void)
{
	g_autoptr(config_t) config = testbed();
	struct experiment_dir measured = make(config, true, 1, 0.05, 1);
	struct experiment_dir simulated = make(config, false, 10, 0, 1);

	g_assert_cmpint(verdict(&measured, &simulated), ==, COMPARE_AGREE);
	clear(&measured);
	clear(&simulated);
}

/* PAM and MOC get more tasks done in time than MM, measured and simulated. */
static void test_deadlines_agree(void)
{
	g_autoptr(config_t) config = pruning();
	struct experiment_dir measured = make(config, true, 1, 0.05, 1);
	struct experiment_dir simulated = make(config, false, 10, 0, 1);

	g_assert_cmpint(verdict(&measured, &simulated), ==, COMPARE_AGREE);
	clear(&measured);
	clear(&simulated);
}

static struct config_estimate *find(struct config *config, const char *type, const char *cluster)
{
	return (struct config_estimate *)config_estimate(config, type, cluster);
}

/*
 * With the execution times of clusters 3 and 4 exchanged (and the energies left), Max UPR runs its
 * tasks on the wrong cluster and falls behind EASY.
 */
static void test_permuted_etc_differs(void)
{
	static const char *const types[] = {"IS.8", "MG.16", "IS_CG.8"};
	g_autoptr(config_t) config = testbed();
	g_autoptr(config_t) permuted = testbed();
	struct experiment_dir measured = make(config, true, 1, 0.05, 1);
	struct experiment_dir simulated;

	for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
		struct config_estimate *c3 = find(permuted, types[i], "c3");
		struct config_estimate *c4 = find(permuted, types[i], "c4");
		double etc_s = c3->etc_s;

		c3->etc_s = c4->etc_s;
		c4->etc_s = etc_s;
	}
	simulated = make(permuted, false, 10, 0, 1);
	g_assert_cmpint(verdict(&measured, &simulated), ==, COMPARE_DIFFER);
	clear(&measured);
	clear(&simulated);
}

static void test_without_configuration(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct experiment_dir measured = make(config, true, 1, 0, 1);
	g_autofree char *path = g_build_filename(measured.dir, "config.yaml", NULL);

	g_unlink(path);
	g_assert_null(resampling_new(measured.summary, true, &error));
	g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_READ);
	clear(&measured);
}

/* Gives a policy of a directory a name that no build knows, in its records too. */
static void rename_policy(struct experiment_dir *made, const char *policy)
{
	g_autofree char *path = g_build_filename(made->dir, "run.sqlite", NULL);
	g_autofree char *sql = g_strdup_printf(
		"UPDATE run SET policy = 'mine' WHERE policy = '%s';"
		"UPDATE meta SET value = replace(value, '\"%s\"', '\"mine\"') WHERE key = 'noise';",
		policy, policy);
	g_autoptr(GError) error = NULL;
	sqlite3 *db;

	summary_free(made->summary);
	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
	made->summary = summary_load(made->dir, &error);
	g_assert_no_error(error);
}

/*
 * The comparison of two directories, all of it, with that name for the policy. `simulate`: noise
 * that is not on record is simulated.
 */
static char *compared(const struct experiment_dir *measured, const struct experiment_dir *simulated,
		      const char *name, bool simulate)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(resampling_t) noise = resampling_new(measured->summary, simulate, &error);
	g_auto(compare_sides_t) sides = {0};
	g_autoptr(compare_t) compare = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;
	g_auto(GStrv) parts = NULL;

	g_assert_no_error(error);
	compare_sides_init(&sides, measured->summary, resampling_compare(noise), simulated->summary,
			   NULL);
	compare = compare_new(&sides, false, &error);
	g_assert_no_error(error);
	document = compare_json(compare);
	text = json_dumps(document, JSON_INDENT(1));
	parts = g_strsplit(text, name, -1);
	return g_strjoinv("mine", parts);
}

/* Recorded by the build that measured, the comparison is the same where a policy is not known. */
static void test_record(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct experiment_dir measured = make(config, true, 1, 0.05, 1);
	struct experiment_dir simulated = make(config, false, 1, 0, 1);
	g_autofree char *before = compared(&measured, &simulated, "max-upr", true);
	g_autofree char *recorded = NULL;
	g_autofree char *unknown = NULL;

	g_assert_null(resampling_new(measured.summary, false, &error));
	g_assert_error(error, RESAMPLING_ERROR, RESAMPLING_ERROR_RECORD);
	g_clear_error(&error);
	g_assert_true(resampling_record(measured.dir, &error));
	summary_free(measured.summary);
	measured.summary = summary_load(measured.dir, &error);
	recorded = compared(&measured, &simulated, "max-upr", false);
	g_assert_cmpstr(recorded, ==, before);
	rename_policy(&measured, "max-upr");
	rename_policy(&simulated, "max-upr");
	unknown = compared(&measured, &simulated, "mine", false);
	g_assert_cmpstr(unknown, ==, before);
	clear(&measured);
	clear(&simulated);
}

/* Changes the record of a directory by an expression of SQLite. */
static void change_record(struct experiment_dir *made, const char *expression)
{
	g_autofree char *path = g_build_filename(made->dir, "run.sqlite", NULL);
	g_autofree char *sql =
		g_strdup_printf("UPDATE meta SET value = %s WHERE key = 'noise'", expression);
	g_autoptr(GError) error = NULL;
	sqlite3 *db;

	summary_free(made->summary);
	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
	made->summary = summary_load(made->dir, &error);
	g_assert_no_error(error);
}

/* A build that simulates another number of repeats has left a record that counts all the same. */
static void test_record_of_another_build(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct experiment_dir measured = make(config, true, 1, 0.05, 1);
	g_autoptr(resampling_t) noise = NULL;
	g_autoptr(resampling_t) partial = NULL;
	g_autofree char *unknown = NULL;
	struct compare_resampling *base;
	uint32_t repeats;
	double sd;

	g_assert_true(resampling_record(measured.dir, &error));
	change_record(&measured, "json_set(value, '$.repeats', 37)");
	noise = resampling_new(measured.summary, false, &error);
	g_assert_no_error(error);
	base = resampling_compare(noise);
	g_assert_true(base->sd(base, COMPARE_BY_UTILITY, "easy", 0.7, &sd, &repeats));
	g_assert_cmpuint(repeats, ==, 37);
	g_clear_pointer(&noise, resampling_free);
	change_record(&measured, "json_remove(value, '$.cells[0]')");
	partial = resampling_new(measured.summary, false, &error);
	unknown = resampling_unknown(partial);
	g_assert_cmpstr(unknown, ==, "easy");
	g_clear_pointer(&partial, resampling_free);
	clear(&measured);
}

/* The cells that a record lacks are simulated where that is wanted, as if there were no record. */
static void test_partial_record(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct experiment_dir measured = make(config, true, 1, 0.05, 1);
	g_autoptr(resampling_t) before = NULL;
	g_autoptr(resampling_t) noise = NULL;
	g_autofree char *unknown = NULL;
	struct compare_resampling *base;
	double sd, expected;
	uint32_t repeats;

	before = resampling_new(measured.summary, true, &error);
	g_assert_no_error(error);
	expected = sd_of(before, "easy", 0.7);
	g_clear_pointer(&before, resampling_free);
	g_assert_true(resampling_record(measured.dir, &error));
	change_record(&measured, "json_set(json_remove(value, '$.cells[0]'), '$.repeats', 37)");
	noise = resampling_new(measured.summary, true, &error);
	g_assert_no_error(error);
	unknown = resampling_unknown(noise);
	g_assert_null(unknown);
	base = resampling_compare(noise);
	g_assert_true(base->sd(base, COMPARE_BY_UTILITY, "easy", 0.7, &sd, &repeats));
	g_assert_cmpfloat(sd, ==, expected);
	g_assert_cmpuint(repeats, ==, RESAMPLING_REPEATS);
	g_assert_true(base->sd(base, COMPARE_BY_UTILITY, "max-upe", 0.7, &sd, &repeats));
	g_assert_cmpuint(repeats, ==, 37);
	g_clear_pointer(&noise, resampling_free);
	clear(&measured);
}

/* Without a record the policies that are known have the noise that they have beside known ones. */
static void test_unknown_policy(void)
{
	g_autoptr(config_t) config = testbed();
	g_autoptr(GError) error = NULL;
	struct experiment_dir measured = make(config, true, 1, 0.05, 1);
	double before[2];

	for (int unknown = 0; unknown < 2; unknown++) {
		g_autoptr(resampling_t) noise = NULL;
		g_autofree char *names = NULL;

		if (unknown)
			rename_policy(&measured, "max-upr");
		noise = resampling_new(measured.summary, true, &error);
		g_assert_no_error(error);
		names = resampling_unknown(noise);
		g_assert_cmpstr(names, ==, unknown ? "mine" : NULL);
		/* The last one, which is drawn behind the unknown one. */
		before[unknown] = sd_of(noise, "max-upe", 0.7);
	}
	g_assert_cmpfloat(before[0], ==, before[1]);
	clear(&measured);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/noise/exact times have none", test_exact_times_have_no_noise);
	g_test_add_func("/noise/one run tells that of many", test_noise_is_that_of_repeats);
	g_test_add_func("/noise/a simulation with the right estimates agrees",
			test_same_estimates_agree);
	g_test_add_func("/noise/one run of tasks with deadlines tells that of many",
			test_noise_of_deadlines);
	g_test_add_func("/noise/a simulation of tasks with deadlines agrees", test_deadlines_agree);
	g_test_add_func("/noise/a simulation with permuted times differs",
			test_permuted_etc_differs);
	g_test_add_func("/noise/on record it is the same where a policy is not known", test_record);
	g_test_add_func("/noise/on record from a build with other constants it counts",
			test_record_of_another_build);
	g_test_add_func("/noise/what a record lacks is simulated", test_partial_record);
	g_test_add_func("/noise/a policy that is not known takes it from no other",
			test_unknown_policy);
	g_test_add_func("/noise/without a configuration there is none", test_without_configuration);
	return g_test_run();
}
