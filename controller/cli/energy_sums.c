/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/energy_sums.h"

#include <math.h>

#include "common/json.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"

const char *const energy_sums_keys[] = {"task", "user", "type", "cluster", "policy", NULL};

/* The sum of the rows with one value of the key. */
struct sum {
	char *name;
	double energy_j, utility;
	json_int_t tasks, metered;
};

static void sum_free(gpointer data)
{
	struct sum *sum = data;

	g_free(sum->name);
	g_free(sum);
}

/* Finds or makes the sum of a row. `order` owns it, `sums` finds it by name. */
static struct sum *sum_of(GHashTable *sums, GPtrArray *order, const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);
	g_autofree char *name =
		json_is_integer(value)
			? g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value))
			: field_line(row, key);
	struct sum *sum = g_hash_table_lookup(sums, name);

	if (sum)
		return sum;
	sum = g_new0(struct sum, 1);
	sum->name = g_strdup(name);
	g_hash_table_insert(sums, sum->name, sum);
	g_ptr_array_add(order, sum);
	return sum;
}

static void add_to_sum(struct sum *sum, const json_t *row)
{
	double energy_j = field_number(row, "energy_j");
	double utility = field_number(row, "utility");
	/* A run stands for all of its tasks. */
	const json_t *all = json_object_get(row, "tasks");
	json_int_t tasks = json_is_integer(all) ? json_integer_value(all) : 1;

	sum->tasks += tasks;
	if (isfinite(energy_j)) {
		sum->metered += tasks;
		sum->energy_j += energy_j;
	}
	if (isfinite(utility))
		sum->utility += utility;
}

/* The largest first; ties are broken by the unique names. */
static int compare(gconstpointer a, gconstpointer b)
{
	const struct sum *one = *(struct sum *const *)a;
	const struct sum *other = *(struct sum *const *)b;

	if (one->energy_j != other->energy_j)
		return one->energy_j < other->energy_j ? 1 : -1;
	return g_strcmp0(one->name, other->name);
}

json_t *energy_sums(const json_t *rows, const char *key)
{
	g_autoptr(GHashTable) sums = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) order = g_ptr_array_new_with_free_func(sum_free);
	json_t *list = json_array();
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		add_to_sum(sum_of(sums, order, row, key), row);
	g_ptr_array_sort(order, compare);
	for (guint k = 0; k < order->len; k++) {
		const struct sum *sum = g_ptr_array_index(order, k);

		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:f, s:f}", key, sum->name,
						      "tasks", sum->tasks, "metered", sum->metered,
						      "energy_j", sum->energy_j, "utility",
						      sum->utility));
	}
	return list;
}

json_t *energy_sums_document(const char *by, json_t *sums, const json_t *power)
{
	double all_j = field_number(power, "energy_j");
	double attributed_j = 0;
	const json_t *sum;
	size_t i;

	json_array_foreach (sums, i, sum)
		attributed_j += field_number(sum, "energy_j");
	return json_pack("{s:s, s:O, s:f, s:o, s:o, s:o}", "by", by, "sums", sums, "attributed_j",
			 attributed_j, "energy_j", json_number_or_null(all_j), "rest_j",
			 json_number_or_null(all_j - attributed_j), "limit_j",
			 json_number_or_null(field_number(power, "limit_j")));
}

static void add_total(struct table *table, const char *label, double energy_j)
{
	table_row(table);
	table_text(table, label);
	table_textf(table, "%s", "");
	table_textf(table, "%s", "");
	table_number(table, energy_j, 1);
}

struct table *energy_sums_table(const json_t *document)
{
	const char *by = field_text(document, "by") ?: "";
	g_autofree char *upper = g_ascii_strup(by, -1);
	g_autofree char *title = g_strconcat("<", upper, NULL);
	const struct tables_column columns[] = {
		{title, by},
		{">TASKS", "tasks"},
		{">METERED", "metered"},
		{">ENERGY J", "energy_j", 1},
		{">UTILITY", "utility", 3},
	};
	struct table *table = table_of_rows(columns, G_N_ELEMENTS(columns), document, "sums");

	table_rule(table);
	add_total(table, "attributed", field_number(document, "attributed_j"));
	add_total(table, "rest", field_number(document, "rest_j"));
	add_total(table, "dynamic, by the meters", field_number(document, "energy_j"));
	if (isfinite(field_number(document, "limit_j")))
		add_total(table, "limit", field_number(document, "limit_j"));
	return table;
}
