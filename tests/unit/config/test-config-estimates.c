/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates, overheads and holes: files of their own, read into configurations. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_holes.h"
#include "tests/unit/config/config_variant.h"

/* What was measured of suspensions travels with the estimates. */
static void test_overheads_are_read_with_estimates(void)
{
	g_autofree char *path = config_variant_write(
		"name: t\n",
		"name: t\noverheads: [{cluster: a, freeze_s: 0, save_s: 1, restore_s: 2, resume_s: 3}]\n");
	g_autofree char *file = g_strdup_printf("%s/virtbed-o-%d.yaml", g_get_tmp_dir(), getpid());
	const struct config_overhead measured[] = {
		{(char *)"a", 0.5, 0, 0.25, 0.125},
		{(char *)"a", 0.75, 0, 0.25, 0.125},
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(config->overheads_count, ==, 1);
	g_assert_cmpfloat(config->overheads[0].resume_s, ==, 3);
	/* Without any in the file those of the configuration stay. */
	g_assert_true(
		config_save_measured(&(struct config_measured){.estimates = config->estimates,
							       .estimates_count =
								       config->estimates_count},
				     file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_cmpuint(config->overheads_count, ==, 1);
	g_assert_true(config_save_measured(
		&(struct config_measured){
			.estimates = config->estimates,
			.estimates_count = config->estimates_count,
			.overheads = (struct config_overhead *)measured,
			.overheads_count = 2,
		},
		file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(config->overheads_count, ==, 2);
	g_assert_cmpfloat(config->overheads[1].freeze_s, ==, 0.75);
	g_assert_cmpfloat(config->overheads[1].save_s, ==, 0);
	g_unlink(file);
	g_unlink(path);
}

static const char two_clusters[] = "  - {name: b, nodes: 2, cores: 1, memory_mib: 100}\ntypes:\n";

/* Holes are listed, travel with the estimates and in whole configurations, and are named. */
static void test_holes_are_read_with_estimates(void)
{
	g_autofree char *path = config_variant_write("types:\n", two_clusters);
	g_autofree char *file = g_strdup_printf("%s/virtbed-u-%d.yaml", g_get_tmp_dir(), getpid());
	struct config_unmeasured hole = {(char *)"x", (char *)"b", (char *)"it \"hangs\": \\o/"};
	struct config_estimate estimate = {(char *)"x", (char *)"a", 0.1, 0, 3, 0, 2};
	g_autoptr(GError) error = NULL;
	g_autofree char *holes = NULL;
	g_autofree char *lacks = NULL;
	config_t *config = config_controller_load(path, &error);

	g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING);
	g_assert_nonnull(strstr(error->message, "no entry for type 'x' on cluster 'b'"));
	g_clear_error(&error);
	g_unlink(path);
	g_free(path);
	path = config_variant_write("types:\n",
				    "  - {name: b, nodes: 2, cores: 1, memory_mib: 100}\n"
				    "unmeasured: [{type: x, cluster: b, reason: slow}]\ntypes:\n");
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_assert_true(config_is_hole(config, &config->types[0], &config->clusters[1]));
	g_assert_false(config_is_hole(config, &config->types[0], &config->clusters[0]));
	g_assert_true(config_save_measured(&(struct config_measured){.estimates = &estimate,
								     .estimates_count = 1,
								     .unmeasured = &hole,
								     .unmeasured_count = 1},
					   file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_no_error(error);
	g_assert_true(config_save(config, file, &error));
	config_free(config);
	config = config_controller_load(file, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(config->unmeasured_count, ==, 1);
	g_assert_cmpstr(config->unmeasured[0].reason, ==, hole.reason);
	holes = config_holes(config, true);
	g_assert_cmpstr(holes, ==, "'x' on 'b': it \"hangs\": \\o/");
	g_assert_null(config_lacks(config));
	/* What is measured now is no hole any more. */
	g_assert_true(config_save_measured(
		&(struct config_measured){.estimates = (struct config_estimate[]){estimate,
										  {(char *)"x",
										   (char *)"b", 1,
										   0, 1, 0, 1}},
					  .estimates_count = 2},
		file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_cmpuint(config->unmeasured_count, ==, 0);
	g_assert_null(config_holes(config, true));
	/* On no cluster at all: an experiment needs one. */
	g_assert_true(config_save_measured(
		&(struct config_measured){
			.unmeasured = (struct config_unmeasured[]){hole,
								   {(char *)"x", (char *)"a",
								    (char *)"it failed"}},
			.unmeasured_count = 2},
		file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	lacks = config_lacks(config);
	g_assert_cmpstr(
		lacks, ==,
		"type 'x' (share 1) has no estimate on any cluster (on 'a': it failed; on 'b': it "
		"\"hangs\": \\o/)");
	config_free(config);
	g_unlink(file);
	g_unlink(path);
}

/* A type of share 0 needs no estimate, and no entry that says so. */
static void test_a_share_of_0_needs_nothing(void)
{
	g_autofree char *path = config_variant_write(
		"estimates:\n",
		"  - {name: y, benchmark: cg, class: S, cores: 1, memory_mib: 10, share: 0}\nestimates:\n");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autofree char *holes = config ? config_holes(config, false) : NULL;

	g_assert_no_error(error);
	g_assert_cmpstr(holes, ==, "'y' on 'a'");
	g_assert_null(config_lacks(config));
	g_unlink(path);
}

static void test_estimates_survive_bit_for_bit(void)
{
	g_autofree char *path = config_variant_write("name: t", "name: t");
	g_autofree char *file = g_strdup_printf("%s/virtbed-e-%d.yaml", g_get_tmp_dir(), getpid());
	g_autoptr(config_t) config = config_controller_load(path, NULL);
	struct config_estimate measured = {"x", "a", 1.0 / 3.0, 0.1, 2.0 / 7.0, 1e-9, 3};
	g_autoptr(GError) error = NULL;

	g_assert_true(config_save_measured(&(struct config_measured){.estimates = &measured,
								     .estimates_count = 1},
					   file, &error));
	g_assert_true(config_load_estimates(config, file, &error));
	g_assert_cmpfloat(config->estimates[0].etc_s, ==, measured.etc_s);
	g_assert_cmpfloat(config->estimates[0].eec_j, ==, measured.eec_j);
	g_assert_cmpfloat(config->estimates[0].eec_sd_j, ==, measured.eec_sd_j);
	g_assert_cmpuint(config->estimates[0].count, ==, 3);
	measured.cluster = "nowhere";
	g_assert_true(config_save_measured(&(struct config_measured){.estimates = &measured,
								     .estimates_count = 1},
					   file, NULL));
	g_assert_false(config_load_estimates(config, file, &error));
	g_assert_nonnull(strstr(error->message, "no cluster 'nowhere'"));
	g_assert_cmpstr(config->estimates[0].cluster, ==, "a");
	g_unlink(file);
	g_unlink(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/config/overheads-are-read-with-estimates",
			test_overheads_are_read_with_estimates);
	g_test_add_func("/config/holes are read with estimates, and named",
			test_holes_are_read_with_estimates);
	g_test_add_func("/config/a type of share 0 needs no estimate",
			test_a_share_of_0_needs_nothing);
	g_test_add_func("/config/estimates-survive-bit-for-bit",
			test_estimates_survive_bit_for_bit);
	return g_test_run();
}
