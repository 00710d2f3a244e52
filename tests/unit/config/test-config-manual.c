/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>

#include "common/config/config_root.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_manual.h"

/*
 * The manual of configurations: docs/reference/virtbed.yaml.5 is what the rows print, its defaults
 * are those that are filled in, every key is explained, and its example is a configuration.
 */

static const char *source_root;

static char *read_page(void)
{
	g_autofree char *path =
		g_build_filename(source_root, "docs", "reference", "virtbed.yaml.5", NULL);
	char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

static void test_page(void)
{
	g_autofree char *committed = read_page();
	g_autofree char *printed = config_manual_page();
	g_auto(GStrv) is = g_strsplit(committed, "\n", -1);
	g_auto(GStrv) should = g_strsplit(printed, "\n", -1);

	for (guint i = 0; is[i] || should[i]; i++) {
		if (g_strcmp0(is[i], should[i]) != 0)
			g_error("docs/reference/virtbed.yaml.5:%u: '%s', not '%s'; print it by `virtbed config keys --man`",
				i + 1, is[i], should[i]);
		if (!is[i])
			break;
	}
}

static void check_key(const struct config_manual_key *key, void *data)
{
	GHashTable *seen = data;

	g_assert_true(g_hash_table_add(seen, g_strdup(key->path)));
	g_assert_cmpuint(strlen(key->help), >, 0);
	g_assert_null(strpbrk(key->help, "\n\\"));
}

static void test_every_key_is_explained(void)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	config_manual_each(check_key, seen);
	g_assert_true(g_hash_table_contains(seen, "clusters[].hosts[].meter.kind"));
	g_assert_true(g_hash_table_contains(seen, "environment.pruning.list[].deadline_s"));
	g_assert_true(g_hash_table_contains(seen, "study.sizes"));
}

static void check_words(const struct config_section *section)
{
	for (const struct config_key *key = section->keys; key->name; key++) {
		for (guint i = 0; key->kind == CONFIG_KIND_WORD && key->words[i]; i++) {
			g_autofree char *word = g_strdup_printf("`%s`", key->words[i]);

			if (!strstr(key->help, word))
				g_error("'%s' takes '%s', too", key->name, key->words[i]);
		}
		if (key->section)
			check_words(key->section);
	}
}

static void test_every_word_is_explained(void)
{
	struct config_root root;

	config_root_init(&config_controller, &root);
	check_words(&root.section);
}

static struct config *load(const char *text)
{
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	struct config *config;
	int fd = g_file_open_tmp("virtbed-config-XXXXXX.yaml", &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return config;
}

/* What is given in these stands in brackets, where the manual says the default of no such key. */
#define EXPERIMENT                                                                                 \
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 86400"
#define CLUSTER(extra) "clusters: [{name: a, nodes: 128, cores: 1, memory_mib: 4" extra "}]\n"

static const char *const configurations[] = {
	"name: t\n" CLUSTER(
		", simulated: {idle_w: 1}, preemption: {}, hosts: [{name: h}]") "types: [{name: x, benchmark: ep, class: S, cores: 1, memory_mib: 1, share: 1}]\n"
										"workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n" EXPERIMENT
										"}\nservice: {}\n",

	"name: t\n" CLUSTER(
		", hosts: [{uri: 'qemu:///system', meter: {kind: redfish, address: x, password_file: y}}]") "types: [{name: x, benchmark: ep, class: S, cores: 1, memory_mib: 1, share: 1}]\n"
													    "workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n" EXPERIMENT
													    "}\n",

	"name: t\n" CLUSTER(
		", hosts: [{blade: b, meter: {kind: amm, address: x, password_file: y, bay: 1}}]") "lab: {blades: [{name: b, cpu_cores: 0.1, idle_w: 1, core_w: 1}]}\n"
												   "types: [{name: x, benchmark: ep, class: S, cores: 1, memory_mib: 1, share: 1}]\n"
												   "workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n" EXPERIMENT
												   "}\n",

	"name: t\n" CLUSTER("") "environment: {tasks_per_day: 10}\n" EXPERIMENT ", budget_j: 1}\n",
	"name: t\n" CLUSTER("") "environment: {tasks_per_day: 10, serial: {}}\n" EXPERIMENT "}\n",
	"name: t\n" CLUSTER("") "environment: {sharing: {}}\n" EXPERIMENT "}\n",
	"name: t\n" CLUSTER(
		"") "environment: {pruning: {entries: [{type: x, machine: a, masses: [1]}]}}\n" EXPERIMENT
		    "}\n",
};

/*
 * A number of `data` has the default of its row, or the row has none and its help says one, or none
 * is filled in.
 */
static void compare_number(const char *path, const struct config_key *key, const void *place)
{
	const double value = config_key_number(key, key->kind, place);

	if (fpclassify(key->fallback) != FP_ZERO)
		g_assert_cmpfloat(value, ==, key->fallback);
	else if (fpclassify(value) != FP_ZERO && !strstr(key->help, "efault: "))
		g_error("'%s': %g is filled in, and the manual does not say so", path, value);
}

static void compare_section(const char *path, const char *given,
			    const struct config_section *section, const char *data)
{
	for (const struct config_key *key = section->keys; key->name; key++) {
		g_autofree char *name = g_strdup_printf("%s.%s", path, key->name);
		g_autofree char *mark = g_strdup_printf("\\b%s:", key->name);
		const bool within =
			key->kind == CONFIG_KIND_SECTION ||
			(key->kind == CONFIG_KIND_LIST && key->entry == CONFIG_KIND_SECTION);
		const char *below =
			within || key->kind == CONFIG_KIND_TEXT
				? *(const char *const *)(data + key->offset)
				: NULL; /* a number may not be aligned as a pointer is */

		if (within && below)
			compare_section(name, given, key->section, below);
		else if (key->kind < CONFIG_KIND_TEXT && !key->needed &&
			 !g_regex_match_simple(mark, given, 0, 0))
			compare_number(name, key, data + key->offset);
		else if (key->kind == CONFIG_KIND_TEXT && key->fallback_text &&
			 !g_regex_match_simple(mark, given, 0, 0))
			g_assert_cmpstr(below, ==, key->fallback_text);
	}
}

static void test_defaults(void)
{
	struct config_root root;

	config_root_init(&config_controller, &root);
	for (gsize i = 0; i < G_N_ELEMENTS(configurations); i++) {
		g_autoptr(config_t) config = load(configurations[i]);

		compare_section("", configurations[i], &root.section, (const char *)config);
	}
}

/* The example is a configuration. */
static void test_example(void)
{
	g_autofree char *manual = read_page();
	g_autofree char *text = NULL;
	g_autoptr(config_t) config = NULL;
	g_autoptr(GString) yaml = NULL;
	const char *start = strstr(manual, ".SH EXAMPLE");

	g_assert_nonnull(start);
	start = strstr(start, ".RS 4\n");
	g_assert_nonnull(start);
	start += strlen(".RS 4\n");
	text = g_strndup(start, (gsize)(strstr(start, ".RE") - start));
	yaml = g_string_new(text);
	g_string_replace(yaml, "\\-", "-", 0);
	config = load(yaml->str);
	g_assert_cmpuint(config->types_count, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	g_test_add_func("/config/manual/page", test_page);
	g_test_add_func("/config/manual/keys", test_every_key_is_explained);
	g_test_add_func("/config/manual/words", test_every_word_is_explained);
	g_test_add_func("/config/manual/defaults", test_defaults);
	g_test_add_func("/config/manual/example", test_example);
	return g_test_run();
}
