/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/page_facts.h"

#include "common/json.h"
#include "common/visible.h"
#include "controller/report/table.h"

/* Facts about the experiment (docs/reference/store.md, "meta") and their titles. */
static const struct {
	const char *key;
	const char *title;
} facts[] = {
	{"experiment", "experiment"},
	{"started_utc", "started"},
	{"ended_utc", "ended"},
	{"version", "virtbed"},
	{"seed", "seed"},
	{"repeats", "repeats"},
	{"trials", "trials"},
	{"budget_j", "100 % of the energy, J"},
	{"cluster_order", "clusters in the order"},
	{"estimates", "estimates"},
	{"virt_type", "virtualization"},
	{"cpu_cap", "P-states by"},
	{"caps_effective", "caps effective"},
	{"meter", "meters"},
	{"meter_mean_s", "watts are means over, s"},
	{"meter_mean_unknown", "watts are means over a time that is not known"},
	{"modelled_watts", "modelled watts"},
	{"host_name", "controller's machine"},
	{"host_cpu", "processor"},
	{"host_cores", "cores"},
	{"host_memory_mib", "memory, MiB"},
	{"host_kernel", "kernel"},
	{"host_governor", "frequency governor"},
	{"host_microcode", "microcode"},
	{"host_boot_id", "boot id"},
	{"libvirt", "libvirt"},
	{"qemu", "QEMU"},
	{"profile_host_load", "busy cores while estimates were measured"},
	{"daemons", "what the daemons took"},
};

static void add_fact(struct table *table, const char *title, const char *value)
{
	table_row(table);
	table_text(table, title);
	table_text(table, value);
}

static char *facts_table(const struct summary *summary)
{
	g_autoptr(table_t) table = table_with("<fact", "<value", NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(facts); i++) {
		g_autofree char *value = store_get_meta(summary->store, facts[i].key);

		if (value)
			add_fact(table, facts[i].title, value);
	}
	return table_html(table, "What was recorded of the experiment, the machine and the "
				 "programs.");
}

/* A value of a local scheduler's capabilities on one line. */
static char *value_text(const json_t *value)
{
	if (json_is_string(value))
		return g_strdup(json_string_value(value));
	return json_text(value);
}

static void add_cluster(GString *text, const char *cluster, const json_t *capabilities)
{
	g_autoptr(table_t) table = table_with("<capability", "<value", NULL);
	g_autofree char *caption =
		g_strdup_printf("Cluster %s, in its local scheduler's own words.", cluster);
	g_autofree char *html = NULL;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)capabilities, key, value) {
		g_autofree char *words = value_text(value);

		add_fact(table, key, words);
	}
	html = table_html(table, caption);
	g_string_append(text, html);
}

static void add_capabilities(GString *text, const struct summary *summary)
{
	g_autoptr(json_t) document = store_get_document(summary->store, "capabilities");
	const char *cluster;
	json_t *one;

	if (!json_is_object(document))
		return;
	g_string_append(text, "<details><summary>What each cluster can do</summary>\n");
	json_object_foreach (document, cluster, one)
		if (json_is_object(one))
			add_cluster(text, cluster, one);
	g_string_append(text, "</details>\n");
}

static void add_config(GString *text, const struct summary *summary)
{
	g_autofree char *config = store_get_meta(summary->store, "config_yaml");
	g_autofree char *shown = config ? visible_lines(config) : NULL;
	g_autofree char *escaped = shown ? g_markup_escape_text(shown, -1) : NULL;

	if (escaped)
		g_string_append_printf(text,
				       "<details><summary>The configuration as resolved</summary>\n"
				       "<pre>%s</pre></details>\n",
				       escaped);
}

char *page_facts_html(const struct summary *summary)
{
	GString *text = g_string_new("<h3>Where it comes from</h3>\n");
	g_autofree char *table = facts_table(summary);

	g_string_append_printf(text, "<div class=\"facts\">%s</div>\n", table);
	add_capabilities(text, summary);
	add_config(text, summary);
	return g_string_free(text, FALSE);
}
