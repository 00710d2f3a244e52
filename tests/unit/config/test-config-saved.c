/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is saved reads back bit for bit. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "tests/unit/config/config_variant.h"

static const char *source_root;

/* Loads `path`, saves it, loads that, and removes both. */
static struct config *load_and_load_again(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) first = config_controller_load(path, &error);
	struct config *second;

	g_assert_no_error(error);
	g_assert_true(config_save(first, path, &error));
	second = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return second;
}

static void test_zeros_that_are_written_stay(void)
{
	g_autofree char *path = config_variant_write("  mapping_interval_s: 1",
					      "  baseline_s: 0\n  mapping_interval_s: 1");
	g_autofree char *plain = config_variant_write("name: t", "name: t");
	g_autofree char *environment = g_build_filename(source_root, "configs/papers/energy-5000.yaml",
							NULL);
	g_autofree char *flat = g_strdup_printf("%s/virtbed-z-%d.yaml", g_get_tmp_dir(), getpid());
	g_autofree char *text = NULL;
	g_autoptr(GRegex) keys = g_regex_new("(lead_s|sine_amplitude): [0-9.]+ *", 0, 0, NULL);
	g_autoptr(GRegex) head = g_regex_new("environment:\n", 0, 0, NULL);
	g_autofree char *without = NULL;
	g_autofree char *with = NULL;
	g_autoptr(config_t) zero = load_and_load_again(path);
	g_autoptr(config_t) ten = load_and_load_again(plain);
	g_autoptr(config_t) calm = NULL;

	g_assert_cmpfloat(zero->experiment->baseline_s, ==, 0);
	g_assert_cmpfloat(ten->experiment->baseline_s, ==, 10);
	g_assert_true(g_file_get_contents(environment, &text, NULL, NULL));
	without = g_regex_replace_literal(keys, text, -1, 0, "", 0, NULL);
	with = g_regex_replace_literal(head, without, -1, 0,
				       "environment:\n  lead_s: 0\n  sine_amplitude: 0.0\n", 0, NULL);
	g_assert_true(g_file_set_contents(flat, with, -1, NULL));
	calm = load_and_load_again(flat);
	g_assert_cmpfloat(config_environment(calm)->lead_s, ==, 0);
	g_assert_cmpfloat(config_environment(calm)->sine_amplitude, ==, 0);
}

static void test_saved_configuration_reads_back_equal(void)
{
	static const char *const files[] = { "configs/testbed-hs22.yaml",
					     "configs/one-machine.yaml" };

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(source_root, files[i], NULL);
		g_autofree char *copy = g_strdup_printf("%s/virtbed-%d.yaml", g_get_tmp_dir(),
							getpid());
		g_autofree char *first = NULL;
		g_autofree char *second = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);
		g_autoptr(config_t) again = NULL;

		g_assert_no_error(error);
		g_assert_true(config_save(config, copy, &error));
		g_assert_true(g_file_get_contents(copy, &first, NULL, NULL));
		again = config_controller_load(copy, &error);
		g_assert_no_error(error);
		g_assert_true(config_save(again, copy, &error));
		g_assert_true(g_file_get_contents(copy, &second, NULL, NULL));
		g_assert_cmpstr(first, ==, second);
		g_unlink(copy);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	g_test_add_func("/config/zeros-that-are-written-stay", test_zeros_that_are_written_stay);
	g_test_add_func("/config/saved-configuration-reads-back-equal",
			test_saved_configuration_reads_back_equal);
	return g_test_run();
}
