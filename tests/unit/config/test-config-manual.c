/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config.h"
#include "common/config_schema.h"

#include <glib/gstdio.h>
#include <string.h>

/*
 * The manual of configurations (docs/reference/virtbed.yaml.5) against the schema that they are
 * read by: the same sections with the same keys, every key's kind, whether it is needed, the words
 * that it takes, and its default, as it is filled in.
 */

static const char *source_root;

/* What the manual says of a key: "clusters[].nodes" and what follows it. */
struct entry {
	char *kind;    /* "whole number, needed": what is in brackets */
	GString *text; /* what is said of it */
	bool met;      /* the schema has it */
	bool compared; /* its default was seen in a configuration */
};

static void entry_free(void *data)
{
	struct entry *entry = data;

	g_free(entry->kind);
	g_string_free(entry->text, TRUE);
	g_free(entry);
}

static void take_line(GHashTable *entries, const char *section, const char *line, struct entry **last)
{
	static const char tag[] = ".BR ";
	const char *bracket = strstr(line, " \" (");

	if (g_str_has_prefix(line, ".TP") || g_str_has_prefix(line, ".S")) {
		*last = NULL;
	} else if (!*last && g_str_has_prefix(line, tag) && bracket) {
		g_autofree char *key = g_strndup(line + strlen(tag), (gsize)(bracket - line) - strlen(tag));
		char *path = *section ? g_strdup_printf("%s.%s", section, key) : g_strdup(key);

		*last = g_new0(struct entry, 1);
		(*last)->kind = g_strndup(bracket + 4, strcspn(bracket + 4, ")"));
		(*last)->text = g_string_new(NULL);
		g_assert_true(g_hash_table_insert(entries, path, *last));
	} else if (*last) {
		g_string_append_printf((*last)->text, " %s ", line);
	}
}

/* The entries of the part KEYS, by path; its first section is that of the file itself. */
static GHashTable *read_manual(void)
{
	g_autofree char *path = g_build_filename(source_root, "docs", "reference", "virtbed.yaml.5", NULL);
	GHashTable *entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	const char *section = NULL;
	struct entry *last = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		if (g_str_has_prefix(lines[i], ".SH "))
			section = g_str_equal(lines[i], ".SH KEYS") ? "" : NULL;
		if (section && g_str_has_prefix(lines[i], ".SS "))
			section = g_str_equal(lines[i], ".SS The file") ? "" : lines[i] + 4;
		if (section)
			take_line(entries, section, lines[i], &last);
	}
	return entries;
}

static const char *kind_of(cyaml_type_e type)
{
	switch (type) {
	case CYAML_UINT:
		return "whole number";
	case CYAML_FLOAT:
		return "number";
	case CYAML_STRING:
		return "text";
	case CYAML_ENUM:
		return "word";
	case CYAML_BOOL:
		return "true or false";
	case CYAML_SEQUENCE:
		return "list";
	case CYAML_MAPPING:
		return "section";
	default:
		return "?";
	}
}

/* A word, and not part of another one; words stand in bold. */
static bool says(const struct entry *entry, const char *word)
{
	g_autofree char *bold = g_strdup_printf("\\fB%s\\fR", word);

	return strstr(entry->text->str, bold) != NULL;
}

static struct entry *find(GHashTable *entries, const char *path)
{
	struct entry *entry = g_hash_table_lookup(entries, path);

	if (!entry)
		g_error("docs/reference/virtbed.yaml.5 says nothing of '%s'", path);
	return entry;
}

static void compare_field(GHashTable *entries, const char *path, const cyaml_schema_field_t *field)
{
	const char *kind = kind_of(field->value.type);
	struct entry *entry = find(entries, path);
	const bool needed = !(field->value.flags & CYAML_FLAG_OPTIONAL);

	entry->met = true;
	if (!g_str_has_prefix(entry->kind, kind) || !strchr(",", entry->kind[strlen(kind)]))
		g_error("'%s' is a %s, not a %s", path, kind, entry->kind);
	if (needed != g_str_has_suffix(entry->kind, ", needed"))
		g_error("'%s' is %sneeded", path, needed ? "" : "not ");
	for (uint32_t i = 0; field->value.type == CYAML_ENUM && i < field->value.enumeration.count; i++)
		if (!says(entry, field->value.enumeration.strings[i].str))
			g_error("'%s' takes '%s', too", path, field->value.enumeration.strings[i].str);
}

static void compare_mapping(GHashTable *entries, const char *path, const cyaml_schema_value_t *mapping)
{
	for (const cyaml_schema_field_t *field = mapping->mapping.fields; field->key; field++) {
		const bool list = field->value.type == CYAML_SEQUENCE;
		const cyaml_schema_value_t *below = list ? field->value.sequence.entry : &field->value;
		g_autofree char *key = g_strdup_printf("%s%s%s", path, *path ? "." : "", field->key);
		g_autofree char *inside = g_strconcat(key, list ? "[]" : "", NULL);

		compare_field(entries, key, field);
		if (below->type == CYAML_MAPPING)
			compare_mapping(entries, inside, below);
	}
}

static void test_keys(void)
{
	g_autoptr(GHashTable) entries = read_manual();
	GHashTableIter iter;
	gpointer key;
	gpointer value;

	compare_mapping(entries, "", &config_schema);
	g_hash_table_iter_init(&iter, entries);
	while (g_hash_table_iter_next(&iter, &key, &value))
		if (!((struct entry *)value)->met)
			g_error("docs/reference/virtbed.yaml.5 has '%s', which is no key", (char *)key);
}

/* What is given in these stands in brackets, where the manual says the default of no such key. */
#define EXPERIMENT "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 86400"
#define CLUSTER(extra) "clusters: [{name: a, nodes: 128, cores: 1, memory_mib: 4" extra "}]\n"

static const char *const configurations[] = {
	"name: t\n" CLUSTER(", simulated: {idle_w: 1}, preemption: {}, hosts: [{name: h}]")
	"types: [{name: x, benchmark: ep, class: S, cores: 1, memory_mib: 1, share: 1}]\n"
	"workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n" EXPERIMENT "}\nservice: {}\n",

	"name: t\n" CLUSTER(", hosts: [{uri: 'qemu:///system', meter: {kind: redfish, address: x, password_file: y}}]")
	"types: [{name: x, benchmark: ep, class: S, cores: 1, memory_mib: 1, share: 1}]\n"
	"workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n" EXPERIMENT "}\n",

	"name: t\n" CLUSTER(", hosts: [{blade: b, meter: {kind: amm, address: x, password_file: y, bay: 1}}]")
	"lab: {blades: [{name: b, cpu_cores: 0.1, idle_w: 1, core_w: 1}]}\n"
	"types: [{name: x, benchmark: ep, class: S, cores: 1, memory_mib: 1, share: 1}]\n"
	"workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n" EXPERIMENT "}\n",

	"name: t\n" CLUSTER("") "environment: {tasks_per_day: 10}\n" EXPERIMENT ", budget_j: 1}\n",
	"name: t\n" CLUSTER("") "environment: {tasks_per_day: 10, serial: {}}\n" EXPERIMENT "}\n",
	"name: t\n" CLUSTER("") "environment: {sharing: {}}\n" EXPERIMENT "}\n",
	"name: t\n" CLUSTER("") "environment: {pruning: {entries: [{type: x, machine: a, masses: [1]}]}}\n"
	EXPERIMENT "}\n",
};

/* A value as the manual writes it; NULL: nothing, or 0. */
static char *text_of(const cyaml_schema_value_t *schema, const void *place)
{
	uint64_t number = 0;

	if (schema->type == CYAML_STRING)
		return g_strdup(*(char *const *)place);
	if (schema->type == CYAML_FLOAT)
		return *(const double *)place > 0 ? g_strdup_printf("%.15g", *(const double *)place) : NULL;
	memcpy(&number, place, schema->data_size);
	if (schema->type == CYAML_BOOL)
		return number ? g_strdup("true") : NULL;
	if (schema->type == CYAML_ENUM)
		for (uint32_t i = 0; i < schema->enumeration.count; i++)
			if ((uint64_t)schema->enumeration.strings[i].val == number)
				return g_strdup(schema->enumeration.strings[i].str);
	return number ? g_strdup_printf("%" G_GUINT64_FORMAT, number) : NULL;
}

/* `given`: the text of the configuration. What it has, wherever it stands, is no default. */
static void compare_default(GHashTable *entries, const char *path, const char *given,
			    const cyaml_schema_field_t *field, const void *place)
{
	struct entry *entry = find(entries, path);
	const char *says_default = strstr(entry->kind, ", default ");
	g_autofree char *filled_in = text_of(&field->value, place);
	g_autofree char *mark = g_strdup_printf("\\b%s:", field->key);

	if (!(field->value.flags & CYAML_FLAG_OPTIONAL) || g_regex_match_simple(mark, given, 0, 0))
		return;
	if (says_default && g_strcmp0(says_default + strlen(", default "), filled_in) != 0)
		g_error("'%s': the default is %s, not%s", path, filled_in ?: "nothing", strchr(says_default, ' '));
	if (!says_default && filled_in && !strstr(entry->text->str, "efault: "))
		g_error("'%s': the default is %s", path, filled_in);
	entry->compared = true;
}

static void compare_data(GHashTable *entries, const char *path, const char *given,
			 const cyaml_schema_value_t *mapping, const void *data)
{
	for (const cyaml_schema_field_t *field = mapping->mapping.fields; field->key; field++) {
		g_autofree char *key = g_strdup_printf("%s%s%s", path, *path ? "." : "", field->key);
		g_autofree char *inside = g_strconcat(key, "[]", NULL);
		const void *place = (const char *)data + field->data_offset;
		const void *below = *(void *const *)place;

		if (field->value.type == CYAML_MAPPING && below)
			compare_data(entries, key, given, &field->value, below);
		else if (field->value.type == CYAML_SEQUENCE && below &&
			 field->value.sequence.entry->type == CYAML_MAPPING)
			compare_data(entries, inside, given, field->value.sequence.entry, below);
		else if (field->value.type != CYAML_MAPPING && field->value.type != CYAML_SEQUENCE)
			compare_default(entries, key, given, field, place);
	}
}

static struct config *load(const char *text)
{
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	struct config *config;
	int fd = g_file_open_tmp("virtbed-config-XXXXXX.yaml", &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	config = config_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return config;
}

static void test_defaults(void)
{
	g_autoptr(GHashTable) entries = read_manual();
	GHashTableIter iter;
	gpointer key;
	gpointer value;

	for (gsize i = 0; i < G_N_ELEMENTS(configurations); i++) {
		g_autoptr(config_t) config = load(configurations[i]);

		compare_data(entries, "", configurations[i], &config_schema, config);
	}
	g_hash_table_iter_init(&iter, entries);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct entry *entry = value;

		if (strstr(entry->kind, ", default ") && !entry->compared)
			g_error("the default of '%s' was seen in no configuration", (char *)key);
	}
}

/* The example is a configuration. */
static void test_example(void)
{
	g_autofree char *path = g_build_filename(source_root, "docs", "reference", "virtbed.yaml.5", NULL);
	g_autofree char *manual = NULL;
	g_autofree char *text = NULL;
	g_autoptr(config_t) config = NULL;
	g_autoptr(GString) yaml = NULL;
	const char *start;

	g_assert_true(g_file_get_contents(path, &manual, NULL, NULL));
	start = strstr(manual, ".SH EXAMPLE");
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
	g_test_add_func("/config/manual/keys", test_keys);
	g_test_add_func("/config/manual/defaults", test_defaults);
	g_test_add_func("/config/manual/example", test_example);
	return g_test_run();
}
