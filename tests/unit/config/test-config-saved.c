/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is saved reads back bit for bit. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_plugin.h"
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
	g_autofree char *environment =
		g_build_filename(source_root, "configs/papers/energy-5000.yaml", NULL);
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
				       "environment:\n  lead_s: 0\n  sine_amplitude: 0.0\n", 0,
				       NULL);
	g_assert_true(g_file_set_contents(flat, with, -1, NULL));
	calm = load_and_load_again(flat);
	g_assert_cmpfloat(config_environment(calm)->lead_s, ==, 0);
	g_assert_cmpfloat(config_environment(calm)->sine_amplitude, ==, 0);
}

static void test_no_sandbox_stays_none(void)
{
	g_autofree char *path = config_variant_write("name: t", "name: t\nplugin: {sandbox: no}");
	g_autofree char *plain = config_variant_write("name: t", "name: t\nplugin: {files: 9}");
	g_autoptr(config_t) without = load_and_load_again(path);
	g_autoptr(config_t) with = load_and_load_again(plain);

	g_assert_cmpint(config_plugin_of(without).sandbox, ==, CONFIG_NO);
	g_assert_cmpint(config_plugin_of(with).sandbox, ==, CONFIG_YES);
}

static void test_saved_configuration_reads_back_equal(void)
{
	static const char *const files[] = {"configs/testbed-hs22.yaml",
					    "configs/one-machine.yaml"};

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(source_root, files[i], NULL);
		g_autofree char *copy =
			g_strdup_printf("%s/virtbed-%d.yaml", g_get_tmp_dir(), getpid());
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

/* A short list of hosts of which each has many defaults. */
static void test_what_could_not_be_read_again_is_not_saved(void)
{
	static const struct {
		guint hosts;
		bool good;
	} cases[] = {{5000, true}, {33000, false}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) hosts =
			g_string_new("nodes: 65536\n    simulated: {idle_w: 1}\n    hosts: [");
		g_autofree char *path = NULL;
		g_autofree char *copy =
			g_strdup_printf("%s/virtbed-long-%d.yaml", g_get_tmp_dir(), getpid());
		g_autofree char *text = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = NULL;
		g_autoptr(config_t) again = NULL;

		for (guint h = 0; h < cases[i].hosts; h++)
			g_string_append(hosts, "{}, ");
		g_string_append(hosts, "]");
		path = config_variant_write("nodes: 2", hosts->str);
		config = config_controller_load(path, &error);
		g_assert_no_error(error);
		text = config_to_text(config);
		g_assert_cmpint(config_text_is_readable(text, copy, NULL), ==, cases[i].good);
		g_assert_cmpint(config_save(config, copy, &error), ==, cases[i].good);
		if (cases[i].good) {
			again = config_controller_load(copy, &error);
			g_assert_no_error(error);
			g_unlink(copy);
		} else {
			g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING);
			g_assert_nonnull(
				strstr(error->message, "more than 4 MiB is not read again"));
			g_assert_false(g_file_test(copy, G_FILE_TEST_EXISTS));
		}
		g_unlink(path);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	g_test_add_func("/config/no-sandbox-stays-none", test_no_sandbox_stays_none);
	g_test_add_func("/config/zeros-that-are-written-stay", test_zeros_that_are_written_stay);
	g_test_add_func("/config/saved-configuration-reads-back-equal",
			test_saved_configuration_reads_back_equal);
	g_test_add_func("/config/what-could-not-be-read-again-is-not-saved",
			test_what_could_not_be_read_again_is_not_saved);
	return g_test_run();
}
