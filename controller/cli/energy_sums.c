/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/energy_sums.h"

#include <math.h>

#include "common/json.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"

const char *const energy_sums_keys[] = {"task", "user", "type", "cluster", "policy", NULL};

/* The sum of the rows with the value that `row` has of the key; begun where there is none. */
static json_t *sum_of(json_t *sums, const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);
	g_autofree char *name = json_is_integer(value) ? g_strdup_printf("%" JSON_INTEGER_FORMAT,
									 json_integer_value(value))
						       : field_line(row, key);

	if (!json_object_get(sums, name))
		json_object_set_new(sums, name,
				    json_pack("{s:s, s:i, s:i, s:f, s:f}", key, name, "tasks", 0,
					      "metered", 0, "energy_j", 0.0, "utility", 0.0));
	return json_object_get(sums, name);
}

static void add_integer(json_t *sum, const char *key, json_int_t value)
{
	json_integer_set(json_object_get(sum, key), field_integer(sum, key) + value);
}

static void add_real(json_t *sum, const char *key, double value)
{
	if (isfinite(value))
		json_real_set(json_object_get(sum, key), field_number(sum, key) + value);
}

static void add_to_sum(json_t *sum, const json_t *row)
{
	/* A run stands for all of its tasks. */
	const json_t *all = json_object_get(row, "tasks");
	json_int_t tasks = json_is_integer(all) ? json_integer_value(all) : 1;

	add_integer(sum, "tasks", tasks);
	add_integer(sum, "metered", isfinite(field_number(row, "energy_j")) ? tasks : 0);
	add_real(sum, "energy_j", field_number(row, "energy_j"));
	add_real(sum, "utility", field_number(row, "utility"));
}

/* The largest first; ties are broken by the unique names. */
static int compare(gconstpointer a, gconstpointer b, gpointer key)
{
	const json_t *one = *(json_t *const *)a;
	const json_t *other = *(json_t *const *)b;
	const double one_j = field_number(one, "energy_j");
	const double other_j = field_number(other, "energy_j");

	if (one_j != other_j)
		return one_j < other_j ? 1 : -1;
	return g_strcmp0(field_text(one, key), field_text(other, key));
}

json_t *energy_sums(const json_t *rows, const char *key)
{
	g_autoptr(json_t) sums = json_object();
	g_autoptr(GPtrArray) order = g_ptr_array_new();
	json_t *list = json_array();
	const json_t *row;
	const char *name;
	json_t *sum;
	size_t i;

	json_array_foreach (rows, i, row)
		add_to_sum(sum_of(sums, row, key), row);
	json_object_foreach (sums, name, sum)
		g_ptr_array_add(order, sum);
	g_ptr_array_sort_with_data(order, compare, (gpointer)key);
	for (guint k = 0; k < order->len; k++)
		json_array_append(list, order->pdata[k]);
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
