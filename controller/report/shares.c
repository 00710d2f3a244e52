/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/shares.h"

#include <math.h>

#include "common/json.h"
#include "controller/store/store.h"

/* Adds an interval; fields for means hold sums until the end. */
static void add_delivery(struct shares_policy *row, const struct store_delivery *delivery)
{
	const double points =
		100 * delivery->share * (delivery->given_cores / delivery->asked_cores - 1);

	if (!(delivery->share < 1) || !isfinite(points))
		return;
	row->intervals++;
	row->asked_cores += delivery->asked_cores;
	row->given_cores += delivery->given_cores;
	row->difference_mean += points;
	row->difference_least = fmin(row->difference_least, points);
	row->difference_greatest = fmax(row->difference_greatest, points);
}

static bool add_run(const struct summary *summary, const struct store_run *run,
		    struct shares_policy *row, GError **error)
{
	g_autoptr(GPtrArray) yields = store_shares(summary->store, run->run, error);
	g_autoptr(GPtrArray) deliveries =
		yields ? store_deliveries(summary->store, run->run, error) : NULL;

	if (!deliveries)
		return false;
	row->yields += yields->len;
	for (guint i = 0; i < deliveries->len; i++)
		add_delivery(row, deliveries->pdata[i]);
	return true;
}

static bool add_cell(const struct summary *summary, const struct summary_cell *cell, GArray *shares,
		     GError **error)
{
	g_autoptr(GPtrArray) runs = summary_cell_runs(summary, cell->policy, cell->limit);
	struct shares_policy row = {
		.cell = cell,
		.difference_least = (double)NAN,
		.difference_greatest = (double)NAN,
	};

	for (guint i = 0; i < runs->len; i++)
		if (!add_run(summary, runs->pdata[i], &row, error))
			return false;
	if (row.yields == 0 && row.intervals == 0)
		return true;
	/* 0 / 0 is NAN: unknown without intervals. */
	row.asked_cores /= row.intervals;
	row.given_cores /= row.intervals;
	row.difference_mean /= row.intervals;
	g_array_append_val(shares, row);
	return true;
}

GArray *shares_new(const struct summary *summary, GError **error)
{
	g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(struct shares_policy));
	const guint cells = summary->policies->len * summary->limits->len;

	for (guint i = 0; i < cells; i++)
		if (summary->cells[i].runs &&
		    !add_cell(summary, &summary->cells[i], shares, error))
			return NULL;
	return g_steal_pointer(&shares);
}

/* Output. */

static const struct shares_policy *row_at(const GArray *shares, guint i)
{
	return &g_array_index(shares, struct shares_policy, i);
}

struct table *shares_table(const GArray *shares)
{
	static const char *const numbers[] = {
		"yields given", "intervals",   "asked cores", "given cores",
		"mean points",  "most below", "most above",
	};
	struct table *table = table_new();

	table_column(table, "limit %", TABLE_RIGHT);
	table_column(table, "policy", TABLE_LEFT);
	for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
		table_column(table, numbers[i], TABLE_RIGHT);
	for (guint i = 0; i < shares->len; i++) {
		const struct shares_policy *row = row_at(shares, i);

		table_row(table);
		table_number(table, 100 * row->cell->limit, 0);
		table_text(table, row->cell->policy);
		table_integer(table, row->yields);
		table_integer(table, row->intervals);
		table_number(table, row->asked_cores, 3);
		table_number(table, row->given_cores, 3);
		table_number(table, row->difference_mean, 1);
		table_number(table, row->difference_least, 1);
		table_number(table, row->difference_greatest, 1);
	}
	return table;
}

char *shares_text(const GArray *shares)
{
	g_autoptr(table_t) table = NULL;
	g_autofree char *body = NULL;

	if (shares->len == 0)
		return NULL;
	table = shares_table(shares);
	body = table_format(table, 2);
	return g_strdup_printf(SHARES_TITLE
			       "\n%s  over intervals of 2 s; points: delivered share less the one "
			       "asked for, of 100; VMs that wait for\n    one another use less "
			       "than "
			       "they may, and none may use more\n",
			       body);
}

json_t *shares_json(const GArray *shares)
{
	json_t *list = json_array();

	for (guint i = 0; i < shares->len; i++) {
		const struct shares_policy *row = row_at(shares, i);

		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "policy",
				  row->cell->policy, "limit", json_number_or_null(row->cell->limit),
				  "yields", (int)row->yields, "intervals", (int)row->intervals,
				  "asked_cores", json_number_or_null(row->asked_cores),
				  "given_cores", json_number_or_null(row->given_cores),
				  "difference_mean_points",
				  json_number_or_null(row->difference_mean),
				  "difference_least_points",
				  json_number_or_null(row->difference_least),
				  "difference_greatest_points",
				  json_number_or_null(row->difference_greatest)));
	}
	return list;
}
